"""Tenders say how the day is known from which they could be read: published, or first read."""

import json
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import partial
from random import Random
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from assets.ingest.land import land_all
from assets.ingest.load import load_source
from assets.source import Parser, Source
from assets.tenders.parse import parse_portal
from assets.tenders.portal_files import Portal
from tests.helpers.nightly import times
from warehouse.record.as_of import vintages_query
from warehouse.record.landing import FetchedResponse, Landing
from warehouse.record.store import Record
from warehouse.record.tables import TENDER_PARTIES, TENDER_RELEASES

PORTAL = Portal("na-epc", "NA", "Namibia, fictional e-procurement", "cc-by")
SOURCE = Source(
    "na-epc",
    "tenders",
    "Namibia",
    "cc-by",
    "CC BY",
    Parser(1, partial(parse_portal, portal=PORTAL, key=b"key")),
    (TENDER_RELEASES, TENDER_PARTIES),
)
FIRST = date(2026, 3, 1)
PUBLISHED, FIRST_READ = "published", "first_read"


@dataclass(frozen=True)
class Reading:
    """What an address of the portal showed on a day: numbers of releases and their days."""

    day: int
    releases: tuple[tuple[int, int], ...] = ()
    address: str = "a"
    published: int | None = None
    title: str = "Road works"

    @property
    def moment(self) -> datetime:
        return datetime.combine(day_of(self.day), datetime.min.time(), UTC) + timedelta(hours=6)

    def response(self) -> FetchedResponse:
        package: dict[str, Any] = {
            # No two readings have the same bytes: those would be one document.
            "uri": f"{self.day}/{self.address}",
            "releases": [self._release(*each) for each in self.releases],
        }
        if self.published is not None:
            package["publishedDate"] = f"{day_of(self.published)}T08:00:00Z"
        url = f"https://eprocurement.example.na/{self.address}"
        return FetchedResponse("na-epc", url, json.dumps(package).encode(), "cc-by", self.moment)

    def _release(self, number: int, day: int) -> dict[str, Any]:
        return {
            "ocid": f"ocds-namibi-{number}",
            "id": f"{number}-tender",
            "date": f"{day_of(day)}T23:30:00+02:00",
            "tag": ["tender"],
            "buyer": {"id": "1", "name": "Ministry of Fictional Works"},
            "tender": {"id": "1", "title": self.title},
        }


def day_of(number: int) -> date:
    return FIRST + timedelta(number)


def loaded(readings: Iterable[Reading], *, at_once: bool = False) -> list[tuple[Any, ...]]:
    """Load readings in their order, and return every vintage with what a reader sees of it."""
    with tempfile.TemporaryDirectory() as folder:
        landing, record = Landing(f"{folder}/landing"), Record(f"{folder}/record")
        for reading in readings:
            land_all(landing, [reading.response()])
            if not at_once:
                load_source(record, landing, SOURCE)
        load_source(record, landing, SOURCE)
        served = []
        for table in (TENDER_RELEASES, TENDER_PARTIES):
            query = vintages_query(table, record.relation(table.name), vintages="all")
            names = (
                *("ocid", "vintage", "available_at", "available_at_evidence"),
                *("observed_at", "source_ref", "superseded_at"),
            )
            served += [
                (table.name, *(row[name] for name in names))
                for row in record.query(query).to_pylist()
            ]
    return sorted(served, key=str)


def evidence(*readings: Reading) -> list[tuple[int, str]]:
    """Return the day and the evidence of each vintage of the releases."""
    rows = [row for row in loaded(readings) if row[0] == "tender_releases"]
    return [((row[3] - FIRST).days, row[4]) for row in rows]


@pytest.mark.parametrize(
    ("readings", "known"),
    [
        # never read before, however long ago it was made
        ([Reading(30, ((1, 2),))], (2, PUBLISHED)),
        # last read before it was made, or on its day: it may have appeared after that
        ([Reading(1), Reading(30, ((1, 2),))], (2, PUBLISHED)),
        ([Reading(2), Reading(30, ((1, 2),))], (2, PUBLISHED)),
        # read between, and it was not there
        ([Reading(3), Reading(30, ((1, 2),))], (30, FIRST_READ)),
        ([Reading(1), Reading(29), Reading(30, ((1, 2),))], (30, FIRST_READ)),
        # another address, while the portal is followed; what is older than that was not requested
        (
            [Reading(1, address="b"), Reading(9, address="b"), Reading(30, ((1, 2),))],
            (30, FIRST_READ),
        ),
        ([Reading(9, address="b"), Reading(30, ((1, 2),))], (2, PUBLISHED)),
        # its package says when it was published, and no reading contradicts that
        ([Reading(9), Reading(30, ((1, 2),), published=20)], (20, PUBLISHED)),
        ([Reading(9), Reading(30, ((1, 2),), published=30)], (30, PUBLISHED)),
        ([Reading(9), Reading(30, ((1, 2),), published=8)], (30, FIRST_READ)),
        ([Reading(9), Reading(30, ((1, 2),), published=31)], (30, FIRST_READ)),
        ([Reading(30, ((1, 2),), published=20)], (2, PUBLISHED)),
        # made after it was read
        ([Reading(30, ((1, 40),))], (30, FIRST_READ)),
    ],
)
def test_a_release_is_published_on_its_day_unless_a_reading_contradicts_that(
    readings: Sequence[Reading], known: tuple[int, str]
) -> None:
    assert evidence(*readings) == [known]


def test_a_release_without_a_day_is_dated_by_its_reading() -> None:
    undated = Reading(5, ((1, -20_000),))
    assert evidence(undated) == [(5, FIRST_READ)]


def test_a_silent_edit_is_dated_by_its_reading_and_keeps_the_day_of_the_first() -> None:
    shown = ((1, 2),)
    readings = Reading(3, shown), Reading(7, shown), Reading(9, shown, title="Bridge works")
    assert evidence(*readings) == [(2, PUBLISHED), (9, FIRST_READ)]


READINGS = st.lists(
    st.builds(
        Reading,
        day=st.integers(0, 12),
        releases=st.lists(
            st.sampled_from([(number, (number * 5) % 11) for number in range(5)]), unique=True
        ).map(tuple),
        address=st.sampled_from("ab"),
        published=st.none() | st.integers(0, 12),
        title=st.sampled_from(["Road works", "Bridge works"]),
    ),
    min_size=2,
    max_size=4,
    unique_by=lambda reading: reading.day,
)


def expected(readings: Sequence[Reading]) -> dict[str, tuple[int, str]]:
    """Return the day and the evidence of the first vintage of each release, by the rule itself."""
    known = {}
    ordered = sorted(readings, key=lambda reading: reading.moment)
    for number, released in {each for reading in readings for each in reading.releases}:
        first = next(each for each in ordered if (number, released) in each.releases)
        followed = min(each.day for each in readings) <= released
        contradicting = [
            each.day
            for each in readings
            if each.moment < first.moment
            and released < each.day
            and (each.address == first.address or (followed and each.day < first.day))
        ]
        if released > first.day:
            answer = first.day, FIRST_READ
        elif not contradicting:
            answer = released, PUBLISHED
        elif first.published is not None and max(contradicting) <= first.published <= first.day:
            answer = first.published, PUBLISHED
        else:
            answer = first.day, FIRST_READ
        known[f"ocds-namibi-{number}"] = answer
    return known


@settings(max_examples=times(8), deadline=None)
@given(readings=READINGS, seed=st.integers(0, 1000))
# The last was read first, and dated as the first, before two earlier ones turned up.
@example(readings=[Reading(8, ((0, 0),)), Reading(2, ((0, 0),), "b"), Reading(1, (), "b")], seed=0)
# The package of an edit states the day of its reading, which counts once another reading is known.
@example(
    readings=[
        *(Reading(0), Reading(1, ((1, 5),), title="Bridge works")),
        *(Reading(12, ((1, 5),), published=12), Reading(11)),
    ],
    seed=6,
)
def test_the_rows_are_those_of_the_rule_in_whatever_order_documents_are_read(
    readings: list[Reading], seed: int
) -> None:
    in_order = loaded(sorted(readings, key=lambda reading: reading.moment), at_once=True)
    shuffled = Random(seed).sample(readings, len(readings))
    assert loaded(shuffled) == in_order
    first = {
        row[1]: ((row[3] - FIRST).days, row[4])
        for row in in_order
        if row[0] == "tender_releases" and row[2] == 1
    }
    assert first == expected(readings)


def test_later_readings_change_nothing_that_was_known_before() -> None:
    shown = ((1, 2), (2, 6))
    before = loaded([Reading(3, shown[:1]), Reading(7, shown)])
    after = loaded([Reading(3, shown[:1]), Reading(7, shown), Reading(8), Reading(20, shown)])
    assert after == before
