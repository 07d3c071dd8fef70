"""From the record to a build: what was published answers, whole and at once."""

import json
import tempfile
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.arrivals import DAYS, MODES, arrivals
from tests.helpers.arrivals import row as sighting_row
from tests.helpers.facts import fact, facts
from tests.helpers.nightly import times
from tests.helpers.publishing import publish, write_mart
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
from warehouse.publish.builds import SAMPLE_NOTICE, builds_at, manifest_file
from warehouse.publish.snapshot import Snapshot
from warehouse.record.append import Load, append
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
    arrow_schema,
)
from warehouse.record.versions import load_seqs_of, name_version
from warehouse.serve.build import Mart
from warehouse.serve.entities import entity
from warehouse.serve.fundamentals import facts_known, issuers
from warehouse.serve.macro import annual, series_known
from warehouse.serve.parties import parties
from warehouse.serve.rows import RowPage
from warehouse.serve.tenders import releases
from warehouse.shared.errors import DatastoreUnavailable, NothingPublished, UnknownVersion
from warehouse.shared.json_encoding import encode
from warehouse.tables import DERIVED

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


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "mart"


def test_what_was_published_answers_as_of(record: Record, folder: Path) -> None:
    restated(record)
    publish(record, folder)
    mart = Mart(folder)

    def values_on(as_of: date | None, vintages: Vintages = "latest") -> list[Any]:
        return values(facts_known(mart, "DCTEST1", as_of, vintages=vintages))

    assert values_on(date(2019, 3, 28)) == []
    assert values_on(FIRST) == values_on(date(2020, 3, 29)) == [10]
    assert values_on(SECOND) == values_on(None) == [Decimal("12.5")]
    assert values_on(None, "as_reported") == [10]
    assert values_on(None, "all") == [10, Decimal("12.5")]
    assert values_on(FIRST, "all") == [10]


def test_a_withdrawn_figure_is_not_served_as_latest(record: Record, folder: Path) -> None:
    restated(record)
    gone = fact(None, available_at=date(2021, 1, 1), publication="a-3")
    append(record, FUNDAMENTALS, facts(gone), Load("test", ("d",)))
    publish(record, folder)
    mart = Mart(folder)

    assert values(facts_known(mart, "DCTEST1")) == []
    assert values(facts_known(mart, "DCTEST1", date(2021, 1, 1))) == []
    assert values(facts_known(mart, "DCTEST1", date(2020, 12, 31))) == [Decimal("12.5")]
    assert values(facts_known(mart, "DCTEST1", vintages="all"))[-1] is None


def test_digits_survive_from_the_record_to_the_json(record: Record, folder: Path) -> None:
    texts = ("1234567890123456.78", "0.1", "100", "-0.000000000000000001", "0")
    rows = [fact(text, item=f"item{index}") for index, text in enumerate(texts)]
    load(record, FUNDAMENTALS, *rows)
    publish(record, folder)

    page = facts_known(Mart(folder), "DCTEST1")

    assert page is not None
    digits = [json.loads(row, parse_float=str, parse_int=str) for row in page.rows]
    assert [row["value_reported"] for row in digits] == list(texts)


def test_no_row_served_shows_what_came_after(record: Record, folder: Path) -> None:
    restated(record)
    publish(record, folder)

    page = facts_known(Mart(folder), "DCTEST1", FIRST, vintages="all")

    assert page is not None
    (row,) = map(json.loads, page.rows)
    assert set(row) > PROVENANCE and {"fact_id", "vintage", "available_at"} < set(row)
    assert not {"superseded_at", "latest", "withdrawn", "row_id", "figure"} & set(row)


def test_newest_periods_come_first_and_a_cut_is_told_exactly(record: Record, folder: Path) -> None:
    load(record, FUNDAMENTALS, *(fact("1", year=year) for year in (2016, 2018, 2017)))
    publish(record, folder)
    mart = Mart(folder)

    whole, cut = facts_known(mart, "DCTEST1", limit=3), facts_known(mart, "DCTEST1", limit=2)

    assert values(whole, "period_end") == ["2018-12-31", "2017-12-31", "2016-12-31"]
    assert values(cut, "period_end") == ["2018-12-31", "2017-12-31"]
    assert whole is not None and cut is not None
    assert (whole.truncated, cut.truncated) == (False, True)


def test_an_id_nobody_has_is_told_from_an_issuer_without_figures_yet(
    record: Record, folder: Path
) -> None:
    restated(record)
    publish(record, folder)

    assert facts_known(Mart(folder), "DCNOBODY") is None
    assert facts_known(Mart(folder), "DCTEST1", date(2000, 1, 1)) is not None
    assert issuers(Mart(folder), 5) == ["DCTEST1"]


def test_a_build_is_switched_to_at_once(record: Record, folder: Path) -> None:
    restated(record)
    first = publish(record, folder)
    mart = Mart(folder)
    before = facts_known(mart, "DCTEST1")
    load(record, FUNDAMENTALS, fact("13", available_at=date(2021, 1, 1), publication="a-3"))

    second = publish(record, folder)

    after, then = facts_known(mart, "DCTEST1"), facts_known(mart.at(first), "DCTEST1")
    assert before is not None and after is not None
    assert (before.data_version, after.data_version) == (first, second)
    assert values(after) == [13]
    assert then == before
    assert builds_at(folder).names() == [first, second]
    builds_at(folder).switch(first)
    assert facts_known(mart, "DCTEST1") == before


def test_a_new_record_beside_older_builds_never_takes_one_of_their_names(
    record: Record, folder: Path, tmp_path: Path
) -> None:
    restated(record)
    first = publish(record, folder)
    replaced = Record(str(tmp_path / "replaced"))
    restated(replaced)
    load(replaced, FUNDAMENTALS, fact("13", available_at=date(2021, 1, 1), publication="a-3"))

    second = publish(replaced, folder)

    assert builds_at(folder).names() == [first, second]


def test_killed_before_the_switch_the_old_build_answers(record: Record, folder: Path) -> None:
    restated(record)
    first = publish(record, folder)
    load(record, FUNDAMENTALS, fact("13", available_at=date(2021, 1, 1), publication="a-3"))
    named = name_version(record)
    loads = load_seqs_of(record, named)
    with Snapshot(folder / "stage" / named, record, loads, named) as snapshot:
        snapshot.copy_record()
        snapshot.add({name: arrow_schema(row).empty_table() for name, row in DERIVED.items()})
        write_mart(snapshot, folder, {"notice": "notice"})
    (folder / "20990101.1.partial").write_bytes(b"half of a build")

    page = facts_known(Mart(folder), "DCTEST1")

    assert page is not None and page.data_version == first
    assert publish(record, folder) > named
    assert values(facts_known(Mart(folder), "DCTEST1")) == [13]
    assert not list(folder.glob("*.partial"))


def test_publishing_again_with_nothing_loaded_keeps_the_build(record: Record, folder: Path) -> None:
    restated(record)
    first = publish(record, folder)
    restated(record)

    assert publish(record, folder) == first
    assert builds_at(folder).names() == [first]
    assert publish(record, folder, notice=SAMPLE_NOTICE) != first


def test_a_build_that_cannot_be_read_is_published_anew(record: Record, folder: Path) -> None:
    restated(record)
    first = publish(record, folder)
    manifest_file(folder, first).write_bytes(b"no database at all" * 100)

    assert publish(record, folder) != first
    assert values(facts_known(Mart(folder), "DCTEST1")) == [Decimal("12.5")]


def test_a_party_without_evidence_is_left_out_and_the_rest_is_published(
    record: Record, folder: Path
) -> None:
    restated(record)
    load(record, TENDER_PARTIES, party_row())
    append_unchecked(record, TENDER_PARTIES, party_row(party_key="k2", org_evidence=None))

    publish(record, folder)

    (row,) = map(json.loads, parties(Mart(folder)).rows)
    assert row["releases"] == 1
    page = facts_known(Mart(folder), "DCTEST1")
    assert page is not None


def test_a_withheld_party_is_not_in_the_build(record: Record, folder: Path) -> None:
    withheld = party_row(party_key="secret", name=None, org_evidence=None)
    load(record, TENDER_PARTIES, party_row(), withheld)
    publish(record, folder)

    (row,) = map(json.loads, parties(Mart(folder)).rows)
    assert (row["role"], row["releases"]) == ("buyer", 1)


def test_a_series_is_answered_in_the_vintage_of_the_day(record: Record, folder: Path) -> None:
    load(
        record,
        MACRO_SERIES,
        series_row("20.5", date(2019, 1, 2)),
        series_row("20.75", date(2019, 1, 2), available_at=SECOND, publication="p2"),
        series_row("7", date(2019, 1, 3), series="FX.EUR.KES", country="KE", country_iso3="KEN"),
    )
    publish(record, folder)
    mart = Mart(folder)

    assert values(series_known(mart, series="FX.EUR.ZAR", as_of=FIRST), "value") == [
        Decimal("20.5")
    ]
    assert values(series_known(mart, "zaf"), "value") == [Decimal("20.75")]
    assert values(series_known(mart, "KE", as_of=FIRST), "series") == ["FX.EUR.KES"]
    assert values(series_known(mart, from_=date(2019, 1, 3)), "value") == [7]
    assert values(series_known(mart, as_of=date(2018, 1, 1)), "value") == []


def test_annual_indicators_serve_only_the_last_reading(record: Record, folder: Path) -> None:
    year = {"period_start": date(2010, 1, 1), "period_end": date(2010, 12, 31)}
    named = {**year, "indicator": "NY.GDP.MKTP.CD", "available_at": None}
    load(record, MACRO_ANNUAL, observation("1", FIRST, publication="u1", **named))
    load(record, MACRO_ANNUAL, observation("2", FIRST, publication="u2", **named))
    publish(record, folder)
    mart = Mart(folder)

    (row,) = map(json.loads, annual(mart, "ZA", "NY.GDP.MKTP.CD").rows)

    assert (row["value"], row["frequency"], row["available_at"]) == (2, "annual", None)
    assert annual(mart, from_=date(2011, 1, 1)).rows == []


def test_walking_releases_by_key_meets_each_once(record: Record, folder: Path) -> None:
    undated = release_row(98, released_on=None)
    twin = release_row(3, source="other portal")
    load(record, TENDER_RELEASES, *map(release_row, range(23)), undated, twin)
    load(record, TENDER_RELEASES, release_row(4, tag="award", publication="p2"))
    publish(record, folder)
    mart, after, met, days = Mart(folder), None, [], []

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


def test_a_release_keeps_its_parts_and_names_all_members(record: Record, folder: Path) -> None:
    load(record, TENDER_RELEASES, release_row(1))
    publish(record, folder)

    (row,) = releases(Mart(folder), "ZA").rows

    assert b'"tender":{"value":{"amount":1500000.10,"currency":"ZAR"}}' in row
    shown = json.loads(row)
    assert shown["tag"] == ["tender", "planning"]
    assert shown["awards"] is None and shown["contracts"] is None and shown["buyer"] is None


def test_an_entity_is_one_record_with_listings_and_datasets(record: Record, folder: Path) -> None:
    restated(record)
    lei = entity_row(source="gleif", lei="2138002QX8KZTPLXS721", available_at=date(2018, 1, 1))
    load(record, ENTITIES, entity_row(legal_name="Ubuntu"), lei)
    ticker: dict[str, Any] = {"service_id": "DCTEST1", "id_type": "ticker", "id_value": "XJSE:UFM"}
    load(record, IDENTIFIERS, sighting(**ticker, issuer="XJSE", status="active"))
    publish(record, folder)

    page = entity(Mart(folder), "DCTEST1")

    assert page is not None
    (row,) = map(json.loads, page.rows)
    assert (row["lei"], row["other_names"]) == ("2138002QX8KZTPLXS721", ["UFM", "Ubuntu"])
    assert row["listings"] == [{"mic": "XJSE", "ticker": "UFM", "status": "active"}]
    assert row["datasets"] == ["AF-FUND"]
    assert entity(Mart(folder), "DCNOBODY") is None


def test_before_the_first_build_the_mart_says_so(folder: Path) -> None:
    with pytest.raises(NothingPublished):
        issuers(Mart(folder), 1)
    folder.mkdir()
    with pytest.raises(UnknownVersion):
        builds_at(folder).switch("20260101.1")
    with pytest.raises(UnknownVersion):
        issuers(Mart(folder).at("../secret"), 1)


def test_a_build_cannot_be_written_by_its_readers(record: Record, folder: Path) -> None:
    publish(record, folder)
    (file,) = Mart(folder).build().files("countries")
    with pytest.raises(DatastoreUnavailable, match="readonly"):
        file.query("DELETE FROM countries")


@settings(max_examples=times(2), deadline=None)
@given(arrivals())
def test_a_build_answers_any_history_as_the_model_does(
    arrived: tuple[list[ModelSighting], list[list[ModelSighting]]],
) -> None:
    history, batches = arrived
    with tempfile.TemporaryDirectory() as root:
        record, folder = Record(f"{root}/record"), Path(root) / "mart"
        for batch in batches:
            load(record, FUNDAMENTALS, *map(sighting_row, batch))
        publish(record, folder)
        for as_of in (None, *DAYS):
            for mode in MODES:
                assert served(Mart(folder), as_of, mode) == answer(history, as_of, mode)


def served(mart: Mart, as_of: date | None, vintages: Vintages) -> Answer:
    page = facts_known(mart, "DCTEST1", as_of, vintages=vintages)
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
