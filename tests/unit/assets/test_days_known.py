"""Every parser says of a day whether its source gives it, or it is the day of reading."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from assets.ingest.land import fetch_sample
from assets.ingest.sources import SOURCES
from assets.macro import alfred, h10
from tests.helpers.macro import FRED, VERSIONS, document, rows, sdmx, vintage
from tests.sample_world.world import SMALL_WORLD, write_world
from warehouse.record.landing import Landing
from warehouse.tables.sighting import FIRST_READ, PUBLISHED

TABLES = ("fundamentals", "macro_series", "macro_annual")
OF_SOURCES = {
    "sec-companyfacts": {PUBLISHED},
    "cvm": {FIRST_READ},
    "alfred": {PUBLISHED},
    "br-bcb-sgs": {FIRST_READ},
    "ecb": {PUBLISHED, FIRST_READ},
    "worldbank": {None},
}
TODAY = "2026-02-10"


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[dict[str, Any]]]:
    """Return the figures of each source of the sample world."""
    folder = tmp_path_factory.mktemp("known")
    write_world(folder / "sample", SMALL_WORLD)
    landing = Landing(str(folder / "landing"))
    found = {}
    for source in SOURCES:
        if source.key in OF_SOURCES:
            for response in fetch_sample(folder / "sample", source):
                landing.land(response)
            found[source.key] = list(_figures(landing, source))
    return found


def _figures(landing: Landing, source: Any) -> Iterator[dict[str, Any]]:
    for landed in landing.documents(source.key):
        parsed = source.parser.parse(landed, landing.read(landed))
        for name in TABLES:
            yield from parsed.rows.get(name, ())


@pytest.mark.slow
def test_every_figure_of_the_sample_world_says_how_its_day_is_known(
    read: dict[str, list[dict[str, Any]]],
) -> None:
    assert {key: {row.get("available_at_evidence") for row in of} for key, of in read.items()} == (
        OF_SOURCES
    )
    for row in (row for of_source in read.values() for row in of_source):
        assert (row["available_at"] is None) == (row.get("available_at_evidence") is None)


def evidence(parsed: Any) -> list[Any]:
    return [(str(row["available_at"]), row["available_at_evidence"]) for row in rows(parsed)]


@pytest.mark.parametrize(
    ("asked_from", "asked_to", "known"),
    [
        (TODAY, TODAY, FIRST_READ),
        # It is still yesterday where FRED is.
        ("2026-02-09", "2026-02-09", FIRST_READ),
        ("1776-07-04", "9999-12-31", PUBLISHED),
        # The archive says what could be read on a day long ago.
        ("2020-01-30", "2020-01-30", PUBLISHED),
    ],
)
def test_fred_does_not_say_since_when_todays_values_stand(
    asked_from: str, asked_to: str, known: str
) -> None:
    start = asked_from if asked_from > "1900" else "2019-04-01"
    entry = vintage(start, "5") | {"realtime_end": asked_to}
    answer = {"realtime_start": asked_from, "realtime_end": asked_to, "observations": [entry]}
    body = json.dumps(answer).encode()
    assert evidence(alfred.parse(document(body, f"{FRED}GDP", TODAY), body)) == [(start, known)]


def test_a_csv_of_fred_is_dated_by_its_vintages_or_by_our_reading() -> None:
    today = b"observation_date,GDP\n1946-01-01,5\n"
    assert evidence(alfred.parse(document(today, read=TODAY), today)) == [(TODAY, FIRST_READ)]
    archived = b"observation_date,GDP_20200130\n1946-01-01,5\n"
    assert evidence(alfred.parse(document(archived, read=TODAY), archived)) == [
        ("2020-01-30", PUBLISHED)
    ]


def test_rates_are_dated_by_their_validity_by_their_day_or_by_our_reading() -> None:
    daily = sdmx("EXR.D,D,ZAR,EUR,SP00,A,2026-02-06,19.1,A", read=TODAY)
    monthly = sdmx("EXR.M,M,ZAR,EUR,SP00,A,2026-01,19.1,A", read=TODAY)
    valid = sdmx(
        "EXR.M,M,ZAR,EUR,SP00,A,2026-01,19.1,Replace,2026-02-02T15:57:01.000+02:00,",
        header=VERSIONS,
        read=TODAY,
    )
    assert [evidence(parsed)[0] for parsed in (daily, monthly, valid)] == [
        ("2026-02-06", PUBLISHED),
        (TODAY, FIRST_READ),
        ("2026-02-02", PUBLISHED),
    ]
    rates = b"Date,Country,Exchange rate\n2026-02-06,Brazil,5.1234\n"
    parsed = h10.parse(document(rates, read=TODAY, frequency="daily"), rates)
    assert evidence(parsed) == [(TODAY, FIRST_READ)]
