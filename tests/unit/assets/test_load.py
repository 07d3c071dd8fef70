"""From landed documents to the record: every document is read once, late ones in order."""

import hashlib
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import permutations
from pathlib import Path

import pytest

from assets.ingest.land import land_all
from assets.ingest.load import load_source
from assets.parsing.parsed import Parsed, provenance
from assets.source import Parser, Source
from warehouse.record import ledger
from warehouse.record.as_of import vintages_query
from warehouse.record.landing import Document, FetchedResponse, Landing
from warehouse.record.store import Record
from warehouse.record.tables import MACRO_SERIES


def parse(document: Document, body: bytes) -> Parsed:
    """Read lines of ``item=value``; the publication is always the same one of 2019."""
    parsed = Parsed()
    if body == b"boom":
        raise RuntimeError("a bug")
    for number, line in enumerate(body.decode().split()):
        item, _, value = line.partition("=")
        if not value:
            parsed.reject(MACRO_SERIES, document, f"line {number}", "no value")
            continue
        parsed.add(MACRO_SERIES, [row(document, f"line {number}", item, value)])
    return parsed


def row(document: Document, location: str, item: str, value: str) -> dict[str, object]:
    return provenance(document, location, "file") | {
        "available_at": date(2019, 3, 29),
        "publication": "the only one",
        "country": "ZA",
        "country_iso3": "ZAF",
        "series": item,
        "series_type": "cpi",
        "frequency": "monthly",
        "period_start": date(2019, 2, 1),
        "period_end": date(2019, 2, 28),
        "value": Decimal(value),
        "unit": "Index",
        "base_period": None,
        "obs_status": None,
    }


SOURCE = Source(
    "test", "macro", "Test", "cc0", "CC0", Parser(1, parse), (MACRO_SERIES,), complete=True
)


class MonthlyPortal:
    """A landing, a record, and a source whose content changes every month."""

    def __init__(self, folder: Path) -> None:
        self.landing = Landing(str(folder / "landing"))
        self.record = Record(str(folder / "record"))
        self.available_at: date | None = date(2019, 3, 29)
        self.corrections: dict[str, object] = {}
        self.source = replace(SOURCE, parser=Parser(1, self.parse))

    def parse(self, document: Document, body: bytes) -> Parsed:
        parsed = parse(document, body)
        for parsed_row in parsed.rows.get("macro_series", []):
            parsed_row["available_at"] = self.available_at
            parsed_row.update(self.corrections)
        return parsed

    def publish(
        self, month: int, body: bytes, path: str = "a", day: int = 1, hour: int = 6
    ) -> None:
        observed_at = datetime(2026, month, day, hour, tzinfo=UTC)
        url = f"https://example.org/{path}"
        land_all(self.landing, [FetchedResponse("test", url, body, "cc0", observed_at)])

    def load(self) -> dict[str, int]:
        entries = load_source(self.record, self.landing, self.source)
        names = ("read", "appended", "held", "quarantined", "withdrawn")
        sums = {name: sum(getattr(entry, name) for entry in entries) for name in names}
        assert sums["read"] == sums["appended"] + sums["held"] + sums["quarantined"]
        return {name: number for name, number in sums.items() if number}

    def values(self, as_of: date | None = None) -> dict[str, int]:
        relation = self.record.relation("macro_series")
        rows = self.record.query(vintages_query(MACRO_SERIES, relation, as_of=as_of)).to_pylist()
        return {row["series"]: int(row["value"]) for row in rows}


@pytest.fixture
def portal(tmp_path: Path) -> MonthlyPortal:
    return MonthlyPortal(tmp_path)


def test_a_document_is_read_once(portal: MonthlyPortal) -> None:
    portal.publish(1, b"revenue=1 profit=2")
    assert portal.load() == {"read": 2, "appended": 2}
    assert portal.load() == {}
    portal.publish(2, b"revenue=1 profit=2")
    assert portal.load() == {}


def test_an_edit_and_a_withdrawal_are_known_from_the_day_they_were_observed(
    portal: MonthlyPortal,
) -> None:
    portal.publish(1, b"revenue=1 profit=2")
    portal.publish(2, b"revenue=3")
    assert portal.load() == {"read": 3, "appended": 3, "withdrawn": 1}
    assert portal.values(date(2026, 1, 31)) == {"revenue": 1, "profit": 2}
    assert portal.values(date(2026, 2, 1)) == {"revenue": 3}


def test_a_figure_missing_at_one_url_may_be_shown_at_another(portal: MonthlyPortal) -> None:
    portal.publish(1, b"revenue=1", path="a")
    portal.publish(1, b"profit=2", path="b")
    portal.publish(2, b"revenue=1 tax=3", path="a")
    portal.load()
    assert portal.values() == {"revenue": 1, "profit": 2, "tax": 3}


@pytest.mark.parametrize("order", list(permutations((1, 2, 3))))
def test_a_late_document_is_read_in_the_order_of_observation(
    portal: MonthlyPortal, order: tuple[int, ...]
) -> None:
    """The portal showed 1, then 2, then 1 again; the documents reach us in any order."""
    bodies = {1: b"revenue=1", 2: b"revenue=2", 3: b"revenue=1 "}
    for month in order:
        portal.publish(month, bodies[month])
        portal.load()
    assert portal.values(date(2026, 1, 31)) == {"revenue": 1}
    assert portal.values(date(2026, 2, 28)) == {"revenue": 2}
    assert portal.values(date(2026, 3, 31)) == {"revenue": 1}


def test_a_value_that_comes_back_in_the_same_bytes_is_known_again(portal: MonthlyPortal) -> None:
    for month, body in ((1, b"revenue=1"), (2, b"revenue=2"), (3, b"revenue=1")):
        portal.publish(month, body)
    portal.load()
    assert portal.values(date(2026, 2, 28)) == {"revenue": 2}
    assert portal.values(date(2026, 3, 31)) == {"revenue": 1}


@pytest.mark.parametrize("order", list(permutations((6, 12, 18))))
@pytest.mark.parametrize("available_at", [None, date(2026, 1, 5)])
def test_the_last_reading_of_a_day_or_without_a_date_counts(
    portal: MonthlyPortal, order: tuple[int, ...], available_at: date | None
) -> None:
    portal.available_at = available_at
    for hour in order:
        portal.publish(1, f"revenue={hour}".encode(), day=5, hour=hour)
        portal.load()
    assert portal.values() == {"revenue": 18}


@pytest.mark.parametrize("first", ["a", "b"])
@pytest.mark.parametrize("together", [True, False])
def test_contradicting_documents_of_one_moment_end_the_same_in_any_order(
    portal: MonthlyPortal, first: str, together: bool
) -> None:
    bodies = {"a": b"revenue=1", "b": b"revenue=2"}
    for path in (first, "b" if first == "a" else "a"):
        portal.publish(1, bodies[path], path=path)
        if not together:
            portal.load()
    portal.load()
    winner = max(bodies.values(), key=lambda body: hashlib.sha256(body).hexdigest())
    assert portal.values() == {"revenue": int(winner[-1:])}


def test_an_unreadable_part_is_quarantined_and_withdraws_nothing(portal: MonthlyPortal) -> None:
    portal.publish(1, b"revenue=1 profit=2")
    portal.publish(2, b"revenue=3 profit")
    assert portal.load() == {"read": 4, "appended": 3, "quarantined": 1}
    assert portal.values() == {"revenue": 3, "profit": 2}


def test_a_failing_parser_loses_nothing_and_stops_nothing(portal: MonthlyPortal) -> None:
    portal.publish(1, b"boom", path="a")
    portal.publish(2, b"revenue=1", path="b")
    assert portal.load() == {"read": 2, "appended": 1, "quarantined": 1}
    quarantined = portal.record.query(f"SELECT reason FROM {portal.record.relation('quarantine')}")
    assert quarantined["reason"].to_pylist() == [
        "the parser failed (RuntimeError: a bug); report it"
    ]


def test_corrected_code_replaces_the_rows_of_a_document(
    portal: MonthlyPortal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first version of a parser took the wrong day, the wrong country and wrong values."""
    portal.available_at = date(2019, 9, 30)
    portal.publish(1, b"revenue=1 profit=2")
    portal.load()
    monkeypatch.setattr(ledger, "code_version", lambda: "corrected")
    portal.available_at = date(2019, 3, 29)
    portal.corrections = {"country": "ZW", "value": Decimal(5)}
    assert portal.load() == {"read": 2, "appended": 2}
    assert portal.load() == {}
    relation = portal.record.relation("macro_series")
    rows = portal.record.query(vintages_query(MACRO_SERIES, relation, vintages="all")).to_pylist()
    assert [(row["vintage"], row["value"], row["available_at"]) for row in rows] == [
        (1, Decimal(5), date(2019, 3, 29))
    ] * 2
    assert portal.values(date(2019, 4, 1)) == {"revenue": 5, "profit": 5}
