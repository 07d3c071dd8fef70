"""A document that is read again appends nothing, and the order of arrival makes no difference.

Every real file of a known format, each source by itself, as it was read on its day.
"""

import gzip
import re
from collections import Counter, defaultdict
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from assets.ingest.land import land_all
from assets.ingest.load import load_source
from assets.ingest.sources import SOURCES
from assets.source import Source
from tests.helpers.real_recordings import COLLECTED, RealRecording, real_recordings
from tests.system.test_real_record import READ_BY, paths, pattern_of
from warehouse.record.as_of import vintages_query
from warehouse.record.landing import FetchedResponse, Landing
from warehouse.record.store import Record

pytestmark = pytest.mark.shared

BY_KEY = {
    source.key: source for source in SOURCES if source.subject in ("macro", "entities", "filings")
}
BASE_URLS = {source.key: source.base_url for source in SOURCES}
_DAY = re.compile(r"[-_]?(20\d\d-(?:0\d|1[0-2]))(-\d\d)?(?!\d)")
# By day one source of each kind: a table, a file that two addresses have, dated versions.
BY_DAY = ("ke-cbk-inflation", "ecb")


@cache
def all_recordings() -> dict[str, list[RealRecording]]:
    """Return the real files of each source; editions of one table have one address."""
    found: dict[str, list[RealRecording]] = defaultdict(list)
    for recording in real_recordings():
        found[recording.source].append(recording)
    known = {recording.path for each in found.values() for recording in each}
    for path in paths():
        key = READ_BY.get(pattern_of(path) or "")
        if key is None or path in known:
            continue
        day = _DAY.search(path.name)
        read = f"{day[1]}{day[2] or '-28'}" if day else COLLECTED
        name = _DAY.sub("", path.name.removesuffix(".gz"))
        url = f"{BASE_URLS[key] or 'https://example.org'}/{name}"
        found[key].append(RealRecording(path, key, url, read))
    return {key: sorted(found[key], key=lambda each: each.day) for key in found.keys() & BY_KEY}


def land(folder: Path, source: Source, recordings: list[RealRecording], later: int = 0) -> None:
    responses = []
    for each in recordings:
        body = each.path.read_bytes()
        body = gzip.decompress(body) if each.path.suffix == ".gz" else body
        # No two were read at one moment.
        number = all_recordings()[source.key].index(each)
        moment = datetime.fromisoformat(each.day).replace(tzinfo=UTC)
        moment += timedelta(days=later, minutes=number)
        # Another address of the same document.
        url = f"{each.url}{'&' if '?' in each.url else '?'}again={later}" if later else each.url
        # What is not cleared for redistribution is cleared for this test.
        licence = "cc-by" if source.license_class == "restricted" else source.license_class
        responses.append(
            FetchedResponse(source.key, url, body, licence, moment, headers=each.headers)
        )
    land_all(Landing(str(folder / "landing")), responses)


def load(folder: Path, source: Source, **how: Any) -> Counter[str]:
    record, landing = Record(str(folder / "record")), Landing(str(folder / "landing"))
    counts: Counter[str] = Counter()
    for entry in load_source(record, landing, source, **how):
        for name in ("appended", "retracted", "withdrawn"):
            counts[name] += getattr(entry, name) or 0
    return +counts


def vintages(folder: Path, source: Source) -> list[Any]:
    record, rows = Record(str(folder / "record")), []
    for table in source.tables:
        statement = vintages_query(table, record.relation(table.name), vintages="all")
        rows += record.query(statement).to_pylist()
    return sorted(map(repr, rows))


def each_source() -> list[Any]:
    marks = {key: () if key in BY_DAY else (pytest.mark.nightly,) for key in sorted(BY_KEY)}
    return [pytest.param(key, marks=marks[key]) for key in marks]


@pytest.mark.parametrize("key", each_source())
def test_real_files_read_again_append_nothing_and_any_order_gives_the_same_vintages(
    key: str, tmp_path: Path
) -> None:
    files, source = all_recordings().get(key, []), BY_KEY[key]
    if not files:
        pytest.skip("no real file")
    in_order, reversed_order = tmp_path / "in order", tmp_path / "reversed"
    land(in_order, source, files)
    load(in_order, source)
    known = vintages(in_order, source)
    keys = frozenset(Landing(str(in_order / "landing")).readable_keys(key))
    assert load(in_order, source, reread=keys) == Counter()

    land(in_order, source, files[-1:], later=1)
    assert load(in_order, source) == Counter()
    assert vintages(in_order, source) == known

    ordered = files[::-1]
    third = len(ordered) // 3 + 1
    for start in range(0, len(ordered), third):
        land(reversed_order, source, ordered[start : start + third])
        load(reversed_order, source)
    assert vintages(reversed_order, source) == known
