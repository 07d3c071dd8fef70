"""Documents are read in several processes and appended in one: the record is the same."""

import pickle
import random
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from assets.ingest import load, workers
from assets.ingest.failures import ParserFailed
from assets.ingest.land import land_all
from assets.ingest.load import failed_documents, load_source
from assets.ingest.sources import SOURCES
from assets.parsing.limits import DocumentLimits
from tests.helpers import monthly_portal
from tests.helpers.nightly import is_nightly, times
from tests.helpers.parallel_source import SOURCE
from warehouse.record.landing import FetchedResponse, Landing
from warehouse.record.store import Record
from warehouse.shared.errors import LandingError
from warehouse.tables.operations import LoadEntry

# What differs from run to run: the random id of a load, and when things happened.
_RANDOM = ("load_id", "loaded_at", "quarantined_at", "failed_at")
TABLES = ("macro_series", "loads", "quarantine", "failures")


class KeptPool(workers.WorkerPool):
    """Leaves all its processes to the next load, and not only one: each takes seconds to start."""

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if kind is None:
            with self._lock:
                idle, self._idle = self._idle, []
            workers._spare.extend(idle)
        super().__exit__(kind, error, trace)


@pytest.fixture(autouse=True)
def always_worth_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "WorkerPool", KeptPool)
    monkeypatch.setattr(workers, "WORTH_A_POOL", 0)
    monkeypatch.setattr(load, "BATCH", 3)
    # In bytes: a body of some lines is read in pieces.
    monkeypatch.setattr(load, "LARGE", 100)


def landed(folder: Path, bodies: Iterable[tuple[str, bytes]]) -> Landing:
    """Land bodies, each by its address, an hour after the other."""
    landing, start = Landing(str(folder / "landing")), datetime(2026, 1, 1, tzinfo=UTC)
    for number, (path, body) in enumerate(bodies):
        observed_at = start + timedelta(hours=number)
        url = f"https://example.org/{path}"
        land_all(landing, [FetchedResponse("test", url, body, "cc0", observed_at)])
    return landing


def loaded(landing: Landing, folder: Path, processes: int) -> tuple[Record, list[LoadEntry], str]:
    """Load everything in so many processes; return the record, the entries and what failed."""
    record = Record(str(folder / f"record{processes}"))
    try:
        entries, failed = load_source(record, landing, SOURCE, processes=processes), ""
    except ParserFailed as failure:
        entries, failed = list(failure.entries), str(failure)
    return record, entries, failed


def content(record: Record) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of every table, without what differs from run to run."""
    tables = {}
    for name in TABLES:
        rows = record.query(f"FROM {record.relation(name)}").to_pylist()
        known = [{key: row[key] for key in row if key not in _RANDOM} for row in rows]
        tables[name] = sorted(known, key=repr)
    return tables


IN_ONE_AND_TWO = pytest.mark.parametrize(
    "processes", [pytest.param(1, marks=pytest.mark.nightly), 2]
)
LINES = ("revenue=1", "revenue=2", "profit=3", "profit=4", "tax=5", "debt=6", "unreadable")


def random_bodies(seed: int) -> list[tuple[str, bytes]]:
    """Make short and long documents of four addresses; one in ten makes the parser raise."""
    chance = random.Random(seed)
    bodies = []
    for _ in range(6):
        lines = chance.choices(LINES, k=chance.choice((1, 2, 5, 14)))
        if chance.random() < 0.1:
            lines.insert(chance.randrange(len(lines)), "bug")
        bodies.append((chance.choice("abcd"), "\n".join(lines).encode()))
    return bodies


@settings(
    max_examples=times(1),
    # Each example starts processes: nothing is shrunk.
    phases=[Phase.generate],
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.integers(0, 1 << 32))
def test_several_processes_make_the_record_that_one_makes(
    tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    folder = tmp_path_factory.mktemp("parallel")
    landing = landed(folder, random_bodies(seed))
    one, one_entries, one_failed = loaded(landing, folder, 1)
    several, several_entries, several_failed = loaded(landing, folder, 3 if is_nightly() else 2)

    assert content(several) == content(one)
    assert several_failed == one_failed
    counts = [
        [entry.model_dump(exclude=set(_RANDOM)) for entry in entries]
        for entries in (one_entries, several_entries)
    ]
    assert counts[0] == counts[1]


@IN_ONE_AND_TWO
def test_a_document_that_ends_its_readers_is_quarantined_whole_and_the_others_are_loaded(
    tmp_path: Path, processes: int
) -> None:
    long = b"\n".join([b"debt=1"] * 20)
    landing = landed(
        tmp_path,
        [("a", b"revenue=1"), ("b", b"die"), ("c", b"profit=2"), ("d", long + b"\nabort\ntax=3")],
    )
    record, _, failed = loaded(landing, tmp_path, processes)

    reasons = {row["source_ref"]: row["reason"] for row in content(record)["quarantine"]}
    assert reasons.keys() == {"https://example.org/b", "https://example.org/d"}
    # The first may have been ended by somebody: two were. The other ends itself.
    assert "its reader ended (signal 9)" in reasons["https://example.org/b"]
    assert "its reader ended (signal 6)" in reasons["https://example.org/d"]
    series = {row["series"] for row in content(record)["macro_series"]}
    # What came before the part that cannot be read is kept.
    assert failed == "" and series == {"revenue", "profit", "debt"}
    # They count as read: the same parser does not try them again, another version does.
    assert load_source(record, landing, SOURCE, processes=processes) == []
    assert not failed_documents(record, landing, SOURCE)
    newer = replace(SOURCE, parser=replace(monthly_portal.SOURCE.parser, version=2))
    assert load_source(record, landing, newer, processes=processes)
    assert not failed_documents(record, landing, newer)


EXCEEDED = {
    b"hog": "limit of memory exceeded: more than 192 MB for 3 bytes",
    b"spin": "limit of CPU time exceeded: more than 1 s",
    b"deep": "limit of depth exceeded",
    b"abort": "its reader ended (signal 6)",
    b"unreadable\n" * 9: "limit of rejections exceeded: 6",
}


def test_a_document_that_exceeds_a_limit_is_quarantined_with_the_limit(tmp_path: Path) -> None:
    limits = DocumentLimits(seconds=1, rejections=5)
    exceeding = [(str(number), body) for number, body in enumerate(EXCEEDED)]
    landing = landed(tmp_path, [("a", b"revenue=1"), *exceeding, ("c", b"profit=2")])
    record = Record(str(tmp_path / "record"))
    source = replace(SOURCE, complete=False)
    load_source(record, landing, source, limits=limits)

    reasons = {row["source_ref"]: row["reason"] for row in content(record)["quarantine"]}
    assert len(content(record)["quarantine"]) == len(EXCEEDED)
    for number, reason in enumerate(EXCEEDED.values()):
        assert reasons[f"https://example.org/{number}"].startswith(reason)
    assert {row["series"] for row in content(record)["macro_series"]} == {"revenue", "profit"}
    assert load_source(record, landing, source, limits=limits) == []


@IN_ONE_AND_TWO
@pytest.mark.nightly
def test_a_bug_of_the_cutter_fails_the_document_after_what_came_before_it(
    tmp_path: Path, processes: int
) -> None:
    long = b"\n".join(b"item%d=1" % number for number in range(20))
    landing = landed(tmp_path, [("a", long + b"\nuncut\nlast=1"), ("b", b"tax=1")])
    record, _, failed = loaded(landing, tmp_path, processes)
    assert "https://example.org/a: RuntimeError: a bug of the cutter" in failed
    assert len(content(record)["macro_series"]) == 21


@IN_ONE_AND_TWO
@pytest.mark.nightly
def test_a_damaged_body_ends_the_load_after_what_came_before_it(
    tmp_path: Path, processes: int
) -> None:
    landing = landed(tmp_path, [(path, f"{path}=1".encode()) for path in "abcdefgh"])
    damaged = landing.documents("test")[4]
    for path in (tmp_path / "landing" / "bodies").rglob(f"*{damaged.sha256}*"):
        path.write_bytes(b"no zstd")
    record = Record(str(tmp_path / "record"))
    with pytest.raises(LandingError):
        load_source(record, landing, replace(SOURCE, complete=False), processes=processes)
    assert {row["series"] for row in content(record)["macro_series"]} == {"a", "b", "c"}


def test_every_parser_can_be_sent_to_another_process() -> None:
    for source in SOURCES:
        parser = replace(source.with_withheld_key("k").parser, bind_key=None)
        assert pickle.loads(pickle.dumps(parser)).version == parser.version
