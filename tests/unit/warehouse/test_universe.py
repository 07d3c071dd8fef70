"""Who was listed on a day: every listing in its state on it, by what was public then."""

import json
import tempfile
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.nightly import times
from tests.helpers.record_rows import entity_row, load, sighting
from warehouse.publish.served_rows import UNIVERSE
from warehouse.publish.snapshot import Snapshot
from warehouse.record.store import Record
from warehouse.record.tables import ENTITIES, IDENTIFIERS, RECORD_TABLES

pytestmark = pytest.mark.slow

Row = dict[str, Any]
FIRST = date(2019, 1, 1)
SHOWN = ("ticker", "legal_name", "former_names", "state", "listed_from", "listed_to", "first_shown")


def day(number: int) -> date:
    return FIRST + timedelta(number)


def listing(number: int, ticker: str = "ABC", source: str = "list", **others: Any) -> Row:
    columns: Row = {"service_id": f"DC{ticker}", "id_type": "ticker", "id_value": f"XJSE:{ticker}"}
    columns |= {"issuer": "XJSE", "status": None, "publication": f"{number:04}"}
    return sighting(day(number), source=source, **{**columns, **others})


def named(number: int, name: str | None, ticker: str = "ABC", **others: Any) -> Row:
    columns = {"service_id": f"DC{ticker}", "legal_name": name, "publication": f"{number:04}"}
    return entity_row(available_at=day(number), **{**columns, "other_names": None, **others})


def universe(*rows: Row) -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        record = Record(str(Path(folder, "record")))
        load(record, IDENTIFIERS, *(row for row in rows if "id_type" in row))
        load(record, ENTITIES, *(row for row in rows if "legal_name" in row))
        loads = {table.name: record.load_seq(table) for table in RECORD_TABLES}
        with Snapshot(Path(folder, "snapshot"), record, loads, "20260101.1") as snapshot:
            snapshot.copy_record((ENTITIES, IDENTIFIERS))
            return list(snapshot.read(f"{UNIVERSE} ORDER BY ticker, vintage").to_pylist())


def on(rows: list[Row], day: date) -> list[tuple[Any, ...]]:
    return [
        tuple(row[name] for name in SHOWN)
        for row in rows
        if row["available_at"] <= day
        and (row["superseded_at"] is None or row["superseded_at"] > day)
    ]


def test_a_listing_begins_and_ends_on_the_days_that_a_list_states() -> None:
    rows = universe(
        listing(0, valid_from=day(10), valid_to=day(20)),
        # Known of later, and over before that.
        listing(5, "OLD", valid_from=day(-90), valid_to=day(3)),
    )
    assert [row["state"] for row in rows] == ["announced", "listed", "delisted", "delisted"]
    assert [row["available_at"] for row in rows] == [day(0), day(10), day(21), day(5)]
    # What is still to come by the newest list is not the latest.
    assert [row["latest"] for row in rows] == [True, False, False, True]


def test_what_a_complete_list_no_longer_shows_is_not_shown_and_may_return() -> None:
    rows = universe(
        listing(0, status="active"),
        listing(7, status=None, withdrawn=True),
        listing(9, status="Delisted"),
    )
    assert [(row["state"], row["available_at"]) for row in rows] == [
        ("listed", day(0)),
        ("not_shown", day(7)),
        ("delisted", day(9)),
    ]
    assert {row["first_shown"] for row in rows} == {day(0)}


def test_an_issuer_has_the_name_that_was_known_on_the_day_and_those_before() -> None:
    stated = json.dumps(["Fictional Shafts Ltd"])
    rows = universe(
        named(0, "Old Fictional Mining Ltd"),
        listing(2),
        named(6, "New Fictional Mining Ltd"),
        named(8, "New Fictional Mining Ltd", other_names=stated, former_names=stated)
        | {"former_names_until": json.dumps([str(day(-400))])},
    )
    before = {"name": "Old Fictional Mining Ltd", "until": str(day(6))}
    shafts = {"name": "Fictional Shafts Ltd", "until": str(day(-400))}
    assert [(row["legal_name"], json.loads(row["former_names"] or "null")) for row in rows] == [
        ("Old Fictional Mining Ltd", None),
        ("New Fictional Mining Ltd", [before]),
        ("New Fictional Mining Ltd", [shafts, before]),
    ]
    assert [row["available_at"] for row in rows] == [day(2), day(6), day(8)]


def test_a_list_that_repeats_what_is_known_is_no_new_state() -> None:
    rows = universe(listing(0, status="active"), listing(4, source="other", status="active"))
    assert [(row["state"], row["vintage"]) for row in rows] == [("listed", 1)]


NUMBERS = st.integers(0, 6)
LISTINGS = st.builds(
    lambda number, ticker, source, status, span, gone: listing(
        number,
        ticker,
        source,
        status=None if gone else status,
        valid_from=None if gone or span is None else day(min(span)),
        valid_to=None if gone or span is None else day(max(span)),
        withdrawn=gone,
    ),
    NUMBERS,
    st.sampled_from(["ABC", "XYZ"]),
    st.sampled_from(["list", "other"]),
    st.sampled_from([None, "active", "delisted"]),
    st.none() | st.tuples(st.integers(-3, 9), st.integers(-3, 9)),
    st.booleans(),
)
NAMES = st.builds(named, NUMBERS, st.sampled_from(["One Ltd", "Two Ltd"]))


@settings(max_examples=times(4))
@given(st.lists(LISTINGS, max_size=6), st.lists(NAMES, max_size=3))
def test_what_lists_say_later_never_changes_who_was_listed(
    listings: list[Row], names: list[Row]
) -> None:
    # One list of a day says one thing of a listing.
    said = {(row["source"], row["id_value"], row["available_at"]): row for row in listings}
    named_on = {row["available_at"]: row for row in names}
    rows = [*said.values(), *named_on.values()]
    whole = universe(*rows)
    for number in (1, 3, 5):
        public = [row for row in rows if row["available_at"] <= day(number)]
        assert on(whole, day(number)) == on(universe(*public), day(number))
