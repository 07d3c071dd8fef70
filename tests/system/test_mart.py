"""From the record to a build: what was published answers, whole and at once."""

import json
import shutil
import tempfile
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.arrivals import DAYS, MODES, arrivals
from tests.helpers.arrivals import row as sighting_row
from tests.helpers.facts import fact
from tests.helpers.nightly import times
from tests.helpers.publishing import publish
from tests.helpers.reads import (
    annual,
    entity,
    facts_known,
    issuers,
    parties,
    releases,
    series_known,
)
from tests.helpers.record_rows import (
    FIRST,
    SECOND,
    entity_row,
    load,
    observation,
    party_row,
    release_row,
    restated,
    series_row,
    sighting,
)
from tests.helpers.unchecked import append_unchecked
from tests.models.record_model import Answer, ModelSighting, answer
from warehouse.publish.builds import NOTICE, SAMPLE_NOTICE, builds_at, manifest_file
from warehouse.record.as_of import Vintages
from warehouse.record.store import Record
from warehouse.record.tables import (
    ENTITIES,
    FUNDAMENTALS,
    IDENTIFIERS,
    MACRO_ANNUAL,
    MACRO_SERIES,
    TENDER_PARTIES,
    TENDER_RELEASES,
)
from warehouse.serve.build import Mart
from warehouse.serve.rows import RowPage
from warehouse.shared.errors import DatastoreUnavailable, NothingPublished, UnknownVersion
from warehouse.shared.json_encoding import encode

PROVENANCE = {
    "source_ref",
    "license_class",
    "observed_at",
    "method",
    "extraction_confidence",
    "provenance_id",
}


def values(rows: RowPage | None, name: str = "value_reported") -> list[Any]:
    assert rows is not None
    return [json.loads(row, parse_float=Decimal)[name] for row in rows.rows]


@dataclass(frozen=True)
class Installation:
    """A record and its builds in one folder."""

    root: Path

    @property
    def record(self) -> Record:
        return Record(str(self.root / "record"))

    @property
    def folder(self) -> Path:
        return self.root / "mart"

    @property
    def builds(self) -> list[str]:
        return builds_at(self.folder).names()

    def publish(self, notice: str = NOTICE) -> str:
        return publish(self.record, self.folder, notice)


TEXTS = ("1234567890123456.78", "0.1", "100", "-0.000000000000000001", "0")
THIRD = date(2021, 1, 1)
YEAR = {"period_start": date(2010, 1, 1), "period_end": date(2010, 12, 31)}
INDICATOR = {**YEAR, "indicator": "NY.GDP.MKTP.CD", "available_at": None}


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Installation:
    """Figures of several issuers, and tenders of several countries: a story for each."""
    here = Installation(tmp_path_factory.mktemp("published"))
    record = here.record
    restated(record)
    load(
        record,
        FUNDAMENTALS,
        fact("10", issuer="DCGONE", available_at=FIRST),
        fact("12.50", issuer="DCGONE", available_at=SECOND, publication="a-2"),
        fact(None, issuer="DCGONE", available_at=THIRD, publication="a-3"),
        *(fact(text, item=f"item{n}", issuer="DCDIGITS") for n, text in enumerate(TEXTS)),
        *(fact("1", year=year, issuer="DCYEARS") for year in (2016, 2018, 2017)),
    )
    load(
        record,
        TENDER_PARTIES,
        party_row(),
        party_row(party_key="secret", name=None, org_evidence=None),
        party_row(country="KE", ocid="ocds-ke"),
    )
    unsupported = party_row(country="KE", ocid="ocds-ke", party_key="k2", org_evidence=None)
    append_unchecked(record, TENDER_PARTIES, unsupported)
    load(
        record,
        MACRO_SERIES,
        series_row("20.5", date(2019, 1, 2)),
        series_row("20.75", date(2019, 1, 2), available_at=SECOND, publication="p2"),
        series_row("7", date(2019, 1, 3), series="FX.EUR.KES", country="KE", country_iso3="KEN"),
    )
    load(record, MACRO_ANNUAL, observation("1", FIRST, publication="u1", **INDICATOR))
    load(record, MACRO_ANNUAL, observation("2", FIRST, publication="u2", **INDICATOR))
    undated = release_row(98, released_on=None)
    twin = release_row(3, source="other portal")
    alone = release_row(1, country="KE", ocid="ocds-ke")
    load(record, TENDER_RELEASES, *map(release_row, range(23)), undated, twin, alone)
    load(record, TENDER_RELEASES, release_row(4, tag="award", publication="p2"))
    lei = entity_row(source="gleif", lei="2138002QX8KZTPLXS721", available_at=date(2018, 1, 1))
    load(record, ENTITIES, entity_row(legal_name="Ubuntu"), lei)
    ticker: dict[str, Any] = {"service_id": "DCTEST1", "id_type": "ticker", "id_value": "XJSE:UFM"}
    load(record, IDENTIFIERS, sighting(**ticker, issuer="XJSE", status="active"))
    # Another list states the same listing otherwise: without a status, but with its first day.
    first_day: dict[str, Any] = {
        "valid_from": date(2008, 10, 6),
        "source": "in-nse",
        "status": None,
    }
    load(record, IDENTIFIERS, sighting(**ticker, issuer=None, **first_day))
    here.publish()
    return here


@pytest.fixture(scope="module")
def mart(published: Installation) -> Mart:
    return Mart(published.folder)


@pytest.fixture
def copied(published: Installation, tmp_path: Path) -> Installation:
    """The published rows, for a test that publishes more."""
    shutil.copytree(published.root, tmp_path / "copy")
    return Installation(tmp_path / "copy")


def test_what_was_published_answers_as_of(mart: Mart) -> None:
    def values_on(as_of: date | None, vintages: Vintages = "latest") -> list[Any]:
        return values(facts_known(mart, "DCTEST1", as_of, vintages=vintages))

    assert values_on(date(2019, 3, 28)) == []
    assert values_on(FIRST) == values_on(date(2020, 3, 29)) == [10]
    assert values_on(SECOND) == values_on(None) == [Decimal("12.5")]
    assert values_on(None, "as_reported") == [10]
    assert values_on(None, "all") == [10, Decimal("12.5")]
    assert values_on(FIRST, "all") == [10]


def test_a_withdrawn_figure_is_not_served_as_latest(mart: Mart) -> None:
    assert values(facts_known(mart, "DCGONE")) == []
    assert values(facts_known(mart, "DCGONE", THIRD)) == []
    assert values(facts_known(mart, "DCGONE", date(2020, 12, 31))) == [Decimal("12.5")]
    assert values(facts_known(mart, "DCGONE", vintages="all"))[-1] is None


def test_digits_survive_from_the_record_to_the_json(mart: Mart) -> None:
    page = facts_known(mart, "DCDIGITS")

    assert page is not None
    digits = [json.loads(row, parse_float=str, parse_int=str) for row in page.rows]
    assert [row["value_reported"] for row in digits] == list(TEXTS)


def test_no_row_served_shows_what_came_after(mart: Mart) -> None:
    page = facts_known(mart, "DCTEST1", FIRST, vintages="all")

    assert page is not None
    (row,) = map(json.loads, page.rows)
    assert set(row) > PROVENANCE and {"fact_id", "vintage", "available_at"} < set(row)
    assert not {"superseded_at", "latest", "withdrawn", "row_id", "figure"} & set(row)


def test_newest_periods_come_first_and_a_cut_is_told_exactly(mart: Mart) -> None:
    whole, cut = facts_known(mart, "DCYEARS", limit=3), facts_known(mart, "DCYEARS", limit=2)

    assert values(whole, "period_end") == ["2018-12-31", "2017-12-31", "2016-12-31"]
    assert values(cut, "period_end") == ["2018-12-31", "2017-12-31"]
    assert whole is not None and cut is not None
    assert (whole.truncated, cut.truncated) == (False, True)


def test_an_id_nobody_has_is_told_from_an_issuer_without_figures_yet(mart: Mart) -> None:
    assert facts_known(mart, "DCNOBODY") is None
    assert facts_known(mart, "DCTEST1", date(2000, 1, 1)) is not None
    assert issuers(mart, 5) == ["DCDIGITS", "DCTEST1", "DCYEARS"]


def test_a_build_is_switched_to_at_once(copied: Installation) -> None:
    mart, (first,) = Mart(copied.folder), copied.builds
    before = facts_known(mart, "DCTEST1")
    load(copied.record, FUNDAMENTALS, fact("13", available_at=THIRD, publication="a-3"))

    second = copied.publish()

    after, then = facts_known(mart, "DCTEST1"), facts_known(mart.at(first), "DCTEST1")
    assert before is not None and after is not None
    assert (before.data_version, after.data_version) == (first, second)
    assert values(after) == [13]
    assert then == before
    assert copied.builds == [first, second]
    builds_at(copied.folder).switch(first)
    assert facts_known(mart, "DCTEST1") == before


def test_a_new_record_beside_older_builds_never_takes_one_of_their_names(
    copied: Installation,
) -> None:
    (first,) = copied.builds
    shutil.rmtree(copied.root / "record")
    restated(copied.record)

    second = copied.publish()

    assert copied.builds == [first, second]


def test_publishing_again_with_nothing_loaded_keeps_the_build(copied: Installation) -> None:
    (first,) = copied.builds
    restated(copied.record)

    assert copied.publish() == first
    assert copied.builds == [first]
    assert copied.publish(SAMPLE_NOTICE) != first


def test_a_build_that_cannot_be_read_is_published_anew(copied: Installation) -> None:
    (first,) = copied.builds
    manifest_file(copied.folder, first).write_bytes(b"no database at all" * 100)

    assert copied.publish() != first
    assert values(facts_known(Mart(copied.folder), "DCTEST1")) == [Decimal("12.5")]


@pytest.mark.parametrize(
    "country", ["KE", "ZA"], ids=["without evidence of an organisation", "without a name"]
)
def test_a_party_that_may_be_a_person_is_left_out_and_the_rest_is_published(
    country: str, mart: Mart
) -> None:
    (row,) = map(json.loads, parties(mart, country).rows)
    assert (row["role"], row["releases"]) == ("buyer", 1)


def test_a_series_is_answered_in_the_vintage_of_the_day(mart: Mart) -> None:
    assert values(series_known(mart, series="FX.EUR.ZAR", as_of=FIRST), "value") == [
        Decimal("20.5")
    ]
    assert values(series_known(mart, "zaf"), "value") == [Decimal("20.75")]
    assert values(series_known(mart, "KE", as_of=FIRST), "series") == ["FX.EUR.KES"]
    assert values(series_known(mart, from_=date(2019, 1, 3)), "value") == [7]
    assert values(series_known(mart, as_of=date(2018, 1, 1)), "value") == []


def test_annual_indicators_serve_only_the_last_reading(mart: Mart) -> None:
    (row,) = map(json.loads, annual(mart, "ZA", "NY.GDP.MKTP.CD").rows)

    assert (row["value"], row["frequency"], row["available_at"]) == (2, "annual", None)
    assert annual(mart, from_=date(2011, 1, 1)).rows == []


def test_walking_releases_by_key_meets_each_once(mart: Mart) -> None:
    after, met, days = None, [], []

    while True:
        page = releases(mart, "za", limit=4, after=after)
        met += [(row["ocid"], row["source_ref"]) for row in map(json.loads, page.rows)]
        days += values(page, "date")
        after = page.key_of(len(page.rows))
        if not page.truncated:
            break

    assert len(met) == 25
    assert len({ocid for ocid, _ in met}) == 24
    assert days[-1] is None and days[:-1] == sorted(days[:-1], reverse=True)
    assert len(releases(mart, "ZA", from_=date(2026, 1, 5)).rows) == 4


def test_a_release_keeps_its_parts_and_names_all_members(mart: Mart) -> None:
    (row,) = releases(mart, "KE").rows

    assert b'"tender":{"value":{"amount":1500000.10,"currency":"ZAR"}}' in row
    shown = json.loads(row)
    assert shown["tag"] == ["tender", "planning"]
    assert shown["awards"] is None and shown["contracts"] is None and shown["buyer"] is None


def test_an_entity_is_one_record_with_listings_and_datasets(mart: Mart) -> None:
    page = entity(mart, "DCTEST1")

    assert page is not None
    (row,) = map(json.loads, page.rows)
    assert (row["lei"], row["other_names"]) == ("2138002QX8KZTPLXS721", ["UFM", "Ubuntu"])
    listing = {"mic": "XJSE", "ticker": "UFM", "status": "active"}
    assert row["listings"] == [listing | {"from": "2008-10-06", "to": None}]
    assert row["datasets"] == ["AF-FUND"]
    assert entity(mart, "DCNOBODY") is None


def test_before_the_first_build_the_mart_says_so(tmp_path: Path) -> None:
    folder = tmp_path / "mart"
    with pytest.raises(NothingPublished):
        issuers(Mart(folder), 1)
    folder.mkdir()
    with pytest.raises(UnknownVersion):
        builds_at(folder).switch("20260101.1")
    with pytest.raises(UnknownVersion):
        issuers(Mart(folder).at("../secret"), 1)


def test_a_build_cannot_be_written_by_its_readers(mart: Mart) -> None:
    (file,) = mart.build().files("countries")
    with pytest.raises(DatastoreUnavailable, match="readonly"):
        file.query("DELETE FROM countries")


@settings(max_examples=times(2), deadline=None)
@given(st.lists(arrivals(), min_size=4, max_size=4))
def test_a_build_answers_any_history_as_the_model_does(
    arrived: list[tuple[list[ModelSighting], list[list[ModelSighting]]]],
) -> None:
    # Each history is that of another issuer, so that several are published at once.
    histories = {f"DC{n}": history for n, (history, _) in enumerate(arrived)}
    with tempfile.TemporaryDirectory() as root:
        here = Installation(Path(root))
        for batches in zip_longest(*(batches for _, batches in arrived), fillvalue=[]):
            rows = zip(histories, batches, strict=True)
            load(
                here.record,
                FUNDAMENTALS,
                *(
                    {**sighting_row(s), "service_id": issuer}
                    for issuer, batch in rows
                    for s in batch
                ),
            )
        here.publish()
        mart = Mart(here.folder)
        for issuer, history in histories.items():
            for as_of in (None, *DAYS):
                for mode in MODES:
                    assert served(mart, issuer, as_of, mode) == answer(history, as_of, mode)


def served(mart: Mart, issuer: str, as_of: date | None, vintages: Vintages) -> Answer:
    page = facts_known(mart, issuer, as_of, vintages=vintages)
    rows = [json.loads(row, parse_float=Decimal) for row in (page.rows if page else [])]
    return {
        (
            row["line_item"],
            None if row["value_reported"] is None else Decimal(row["value_reported"]),
            row["vintage"],
            date.fromisoformat(row["available_at"]),
        )
        for row in rows
    }


@given(st.decimals(allow_nan=False, allow_infinity=False, places=6))
def test_a_decimal_is_the_same_number_in_json(value: Decimal) -> None:
    text = encode({"value": value}).decode()

    assert json.loads(text, parse_float=Decimal, parse_int=Decimal)["value"] == value
    assert "e" not in text.replace("value", "").lower() or abs(value.adjusted()) > 60


def test_values_are_written_as_everyone_reads_them() -> None:
    moment = datetime(2026, 1, 1, 6, tzinfo=UTC)
    shown = {
        "a": Decimal("1E+2"),
        "b": date(2026, 1, 2),
        "c": moment,
        "d": None,
        "e": [Decimal("1.500")],
    }

    assert (
        encode(shown) == b'{"a":100,"b":"2026-01-02","c":"2026-01-01T06:00:00Z","d":null,"e":[1.5]}'
    )
    for refused in (Decimal("NaN"), datetime(2026, 1, 1)):
        with pytest.raises(ValueError, match=r"JSON number|no time zone"):
            encode(refused)
