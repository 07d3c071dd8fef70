"""The audit: what must hold before a build is published, and how failures are described."""

import re
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from html import unescape
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assets.filings import companyfacts
from pipelines.definitions import audit_results, audit_specs, suite_results, suite_specs
from pipelines.publication import Audited, Publication
from quality.audit import audit, is_loss
from quality.catalogue import Catalogue
from quality.floors import FLOORS, MEANINGS, measure, with_freshness
from quality.personal_data_audit import PERSONAL_DATA_RULES
from quality.report import Counts, Report, append_history, history
from quality.rules import MAX_EXAMPLES, Suite
from quality.suites import RECORD_SUITES, SUITES
from tests.helpers.audited import MOMENT, audited, load, party, release, sighting, staged
from tests.helpers.facts import fact, facts
from tests.helpers.installation import sample_home, settings_of
from tests.helpers.paths import REAL
from tests.helpers.real_files import REAL_FILES, read_file
from tests.helpers.real_files import load as load_real
from tests.helpers.record_rows import series_row
from tests.helpers.tenders import real
from tests.helpers.unchecked import append_unchecked
from warehouse.publish.candidate import Candidate
from warehouse.publish.tables import MART_TABLES
from warehouse.publish.write import countries
from warehouse.record.append import Load, append
from warehouse.record.relations import create_table
from warehouse.record.store import Record, open_record
from warehouse.record.tables import (
    ENTITIES,
    FUNDAMENTALS,
    MACRO_ANNUAL,
    MACRO_SERIES,
    RECORD_TABLES,
    TENDER_PARTIES,
    TENDER_RELEASES,
    arrow_schema,
)
from warehouse.shared.settings import Settings
from warehouse.tables.derived import DERIVED


def test_every_table_of_the_record_and_of_the_mart_has_a_suite() -> None:
    named = {suite.name for suite in SUITES}
    assert {f"record.{table.name}" for table in RECORD_TABLES} <= named
    # What a screen ranks are columns of the metrics, and these others count, index, date or sum up
    # rows of tables that are audited.
    others = {"screens", "screens_ttm", "search", "party_history", "catalogue", "changes"}
    others |= {"series", "universe", "page_data"}
    served = {table.name for table in MART_TABLES} - others
    assert {f"served.{name}" for name in served} <= named
    # Those that say when what is in the others can be traded.
    sessions = {"first_listings", "exchange_sessions"}
    assert {f"served.{name}" for name in DERIVED.keys() - sessions} <= named
    assert len(named) == len(SUITES)


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """The audit of a record with people, and with a contact, among organisations."""
    folder = tmp_path_factory.mktemp("people")
    record = Record(str(folder / "record"))

    def entity(service_id: str, name: str, kind: str | None) -> dict[str, Any]:
        columns = dict.fromkeys(ENTITIES.row.model_fields) | sighting(source_ref=f"d#/{service_id}")
        return columns | {"service_id": service_id, "legal_name": name, "entity_type": kind}

    person = party(name="Mrs Thandiwe Fictional", party_key="k2", source_ref="d#/person")
    load(record, TENDER_PARTIES, party(), person)
    unsupported = party(party_key="k3", org_evidence=None, source_ref="d#/unsupported")
    append_unchecked(record, TENDER_PARTIES, party(party_key="k4"), unsupported)
    load(
        record,
        ENTITIES,
        entity("DCA", "Dr. Fictional's Laboratories", "company"),
        entity("DCB", "Thandiwe Fictional", None),
        entity("DCC", "Ubuntu Fictional Mining Ltd", None),
    )
    load(
        record,
        TENDER_RELEASES,
        release("Road works, 14 km @ R 100 each"),
        release("Ask thandi@example.org", release_id="r2", source_ref="d#/left"),
    )
    return audited(record, folder / "stage", previous={"entities": {"gleif": 5}})


def test_a_party_that_is_a_person_is_found_by_its_row(people: Report) -> None:
    assert not people.ok
    assert "tender_parties: a named party is established as an organisation" in people.problems
    assert "d#/person" in people.problems and "Thandiwe" not in people.problems
    assert "parties_established is 0.5 share; the floor is at least 1" in people.problems


def test_a_party_without_evidence_is_found(people: Report) -> None:
    assert "a named party has evidence" in people.problems
    assert "d#/unsupported" in people.problems


def test_an_organisation_is_judged_by_its_name_only_where_nobody_vouches_for_it(
    people: Report,
) -> None:
    (failure,) = [failure for failure in people.failures if failure.table == "entities"]
    assert failure.rows == 1
    assert failure.examples[0].startswith("d#/DCB")


def test_a_contact_left_in_a_text_is_found(people: Report) -> None:
    assert "tender_releases: no served release contains a contact" in people.problems
    assert "d#/left" in people.problems
    assert "no_contact_in_text is 0.5 share" in people.problems


def test_dagster_shows_each_check_with_its_first_rows(people: Report) -> None:
    asset = dg.AssetKey("quality")

    results = {
        result.check_name: result
        for result in (
            *suite_results(people, asset, RECORD_SUITES),
            *audit_results(people, asset),
        )
    }

    specs = [*suite_specs(asset, RECORD_SUITES), *audit_specs(asset)]
    assert list(results) == [spec.name for spec in specs]
    assert all(spec.blocking for spec in specs)
    failed = {name for name, result in results.items() if not result.passed}
    tables = {f"record_{name}" for name in ("tender_parties", "entities", "tender_releases")}
    assert failed == {*tables, "floors", "losses"}
    metadata = results["record_entities"].metadata
    assert metadata["failing rows"].value == 1
    assert "d#/DCB" in str(metadata["first rows"].value)


SPOILED = {
    "licence_complete": {
        "NULL::VARCHAR AS license_class": "fundamentals: every row has a licence that permits "
        "serving it; fails for 2 rows",
        "2 AS vintage": "numbered from 1 without gaps",
        "DATE '2027-01-01' AS available_at": "no row is available after the day",
        "'Rand' AS currency_reported": "currencies are three-letter codes",
        "'X1' AS service_id": "organisation ids start with DC",
        "'yearly' AS period_type": "period_type is one of its allowed values",
    },
    "key_unique": {
        "'restricted' AS license_class": "fundamentals: every row has a licence that permits "
        "serving it",
        "CASE WHEN period_end < DATE '2018-01-01' THEN '' ELSE source_ref END AS source_ref": (
            "fundamentals: every row has a source_ref; fails for 1 row"
        ),
        "DATE '2018-01-01' AS period_start, DATE '2018-12-31' AS period_end": (
            "fundamentals: no two rows have the same service_id, line_item, unit, basis, "
            "period_start, period_end and vintage"
        ),
    },
}


@pytest.mark.parametrize("floor", SPOILED)
def test_every_failing_rule_is_described_and_its_floor_is_missed(
    floor: str, record: Record, tmp_path: Path
) -> None:
    spoiled = SPOILED[floor]
    append(record, FUNDAMENTALS, facts(fact(year=2017), fact(year=2018)), Load("test", ()))

    report = audited(record, tmp_path / "stage", f"fundamentals: {', '.join(spoiled)}")

    assert not report.ok
    for words in (*spoiled.values(), floor):
        assert words in report.problems
    assert "#/revenue/20" in report.problems or "row " in report.problems


def balance(year: int, **lines: str) -> list[dict[str, Any]]:
    """Return the lines of the balance sheet of a year."""
    at_an_instant = {"period_start": None, "period_type": "INSTANT", "statement": "balance"}
    return [
        fact(value, item=item, year=year, **at_an_instant)  # type: ignore[arg-type]
        for item, value in lines.items()
    ]


def measured(report: Report, metric: str) -> tuple[int | None, int | None, str]:
    (row,) = [row for row in report.measurements if row.metric == metric]
    return row.n_checked, row.n_passed, row.status


READ = datetime(2026, 11, 14, tzinfo=UTC)


def observed(day: date, **others: Any) -> dict[str, Any]:
    shared = {"source": "both", "observed_at": READ, "document": str(others)}
    return series_row("1", day, **(shared | others))


def annual(year: int, **others: Any) -> dict[str, Any]:
    row = observed(date(year, 12, 31), available_at=None, **others)
    del row["series"], row["series_type"], row["frequency"]
    return row | {"indicator": "X"}


def of_issuer(name: str, *items: str, year: int = 2018) -> list[dict[str, Any]]:
    return [fact("1", issuer=name, item=item, year=year) for item in items]


@pytest.fixture(scope="module")
def measurements(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """The audit of balance sheets, of core items, and of sources of several ages."""
    folder = tmp_path_factory.mktemp("measurements")
    record = Record(str(folder / "record"))
    right = {"total_assets": "100", "total_liabilities": "70", "total_equity": "30"}
    sheets = [
        *balance(2015, **right),
        *balance(2016, **(right | {"total_equity": "20", "temporary_equity": "10"})),
        *balance(2017, **(right | {"total_equity": "10"})),
        # No balance sheet with all three sides.
        *balance(2018, total_assets="100", total_equity="10"),
    ]
    # It adds up, but contradicts another line of its filing.
    in_conflict = balance(2019, **right)
    in_conflict[0] |= {"conflicts_with": "liabilities_and_equity"}
    whole = [
        *of_issuer("DCWHOLE", "revenue", "profit_attributable"),
        *(row | {"service_id": "DCWHOLE"} for row in balance(2018, total_assets="9")),
    ]
    stopped = of_issuer("DCSTOPPED", "revenue", "profit", year=2017)
    stopped += of_issuer("DCSTOPPED", "profit")
    bank = of_issuer("DCBANK", "profit", "premiums")
    rows = facts(*sheets, *in_conflict, *whole, *stopped, *bank)
    # Published in March 2019 and read in January 2026: the age is that of the filing.
    append(record, FUNDAMENTALS, rows, Load("test", ()))
    # In several tables, the newest counts.
    load(record, MACRO_SERIES, observed(date(2026, 1, 1), available_at=date(2026, 1, 2)))
    # Without a day, but named by one; and with neither: then the first sight of it counts.
    load(record, MACRO_ANNUAL, annual(2024, publication="2026-10-16"))
    load(record, MACRO_ANNUAL, annual(2023, publication="autumn", source="undated"))
    # Reading the same again makes a source no fresher.
    for day in ("2026-06-01", "2026-11-14"):
        moment = datetime.fromisoformat(day).replace(tzinfo=UTC)
        found = {"available_at": moment.date(), "publication": day, "observed_at": moment}
        load(record, MACRO_SERIES, series_row("1", date(2026, 5, 1), source="h10", **found))
    floors = with_freshness({"both": 30, "undated": 120})
    return audited(record, folder / "stage", floors=floors, suites=())


def test_a_balance_sheet_that_does_not_add_up_turns_red_and_never_stops_the_build(
    measurements: Report,
) -> None:
    assert measured(measurements, "accounting_identity") == (4, 2, "FAIL")
    assert measurements.ok


def test_core_items_are_those_of_the_newest_full_year_and_not_asked_of_banks(
    measurements: Report,
) -> None:
    assert measured(measurements, "core_items_reported") == (2, 1, "FAIL")
    assert measurements.ok


def test_only_floors_that_our_own_mistake_can_miss_stop_a_build() -> None:
    assert {floor.dimension for floor in FLOORS if floor.blocks} == {
        *("completeness", "uniqueness", "privacy")
    }
    assert {floor.metric for floor in FLOORS} == set(MEANINGS)


def test_a_floor_that_finds_nothing_is_unmeasured_and_never_a_pass(
    record: Record, tmp_path: Path
) -> None:
    with staged(record, tmp_path / "stage") as snapshot:
        for name in ("party_matches", "signals", "same_as", "vetoed_joins"):
            snapshot.add({name: arrow_schema(DERIVED[name]).empty_table()})
        for name in ("failing_parties", "releases_with_contact"):
            snapshot.sql.execute(f"CREATE TABLE {name} (row_id VARCHAR)")
        measured = measure(snapshot, MOMENT)

    assert len(measured) == len(FLOORS)
    assert {(row.status, row.value) for _, row in measured} == {("UNMEASURED", None)}


def ages(report: Report) -> dict[str, tuple[Decimal | None, Decimal | None, str]]:
    """Return the age of each source, its floor and its status."""
    return {
        row.scope: (row.value, row.floor, row.status)
        for row in report.measurements
        if row.metric == "days_since_new" and row.value is not None
    }


def test_the_age_of_a_source_is_that_of_its_newest_publication_and_never_stops_the_build(
    measurements: Report,
) -> None:
    published = fact()["available_at"]
    assert ages(measurements) == {
        "test": (Decimal((MOMENT.date() - published).days), Decimal(7), "FAIL"),
        "both": (Decimal(30), Decimal(30), "PASS"),
        "undated": (Decimal(1), Decimal(120), "PASS"),
        "h10": (Decimal(167), Decimal(7), "FAIL"),
    }
    assert measurements.ok


def test_sample_data_does_not_age(record: Record, tmp_path: Path) -> None:
    for source, day in (("h10", "2026-05-02"), ("ecb", "2026-05-09")):
        read = datetime.fromisoformat(day).replace(tzinfo=UTC)
        found = {"available_at": read.date(), "observed_at": read, "source": source}
        load(record, MACRO_SERIES, series_row("1", date(2026, 5, 1), **found))

    floors = with_freshness({}, is_sample=True)
    report = audited(record, tmp_path / "stage", floors=floors, suites=())

    assert ages(report) == {
        "h10": (Decimal(7), Decimal(7), "PASS"),
        "ecb": (Decimal(0), Decimal(7), "PASS"),
    }


def test_one_row_among_very_many_is_never_rounded_away(tmp_path: Path, record: Record) -> None:
    floor = next(floor for floor in FLOORS if floor.metric == "licence_complete")
    many = f"SELECT 'x' AS scope, {10**13} AS n_checked, {10**13 - 1} AS n_passed"
    with staged(record, tmp_path / "stage") as snapshot:
        [(_, row)] = measure(
            snapshot, MOMENT, [floor.__class__(**{**vars(floor), "statement": many})]
        )
    assert row.status == "FAIL"


@given(before=st.integers(0, 10**9), after=st.integers(0, 10**9))
def test_more_than_a_fifth_is_a_loss(before: int, after: int) -> None:
    lost = Decimal(before - after) / before if before else Decimal(0)
    assert is_loss(before, after) == (lost > Decimal("0.2"))


def test_rows_that_vanish_wait_for_a_person(record: Record, tmp_path: Path) -> None:
    append(record, FUNDAMENTALS, facts(fact()), Load("test", ()))
    before = {"fundamentals": {"test": 2}, "macro_series": {"ecb": 960}}

    def against(counts: Counts, **how: Any) -> Report:
        return audited(record, tmp_path / "stage", previous=counts, suites=(), **how)

    stopped, lifted = against(before), against(before, confirmed="the feed was split")
    unchanged = against(stopped.counts)

    assert not stopped.ok and lifted.ok and unchanged.ok
    assert "macro_series: served rows of ecb fell from 960 to 0" in stopped.problems
    assert 'sankofa publish --confirm-loss "why"' in stopped.problems
    assert lifted.confirmed == "the feed was split" and len(lifted.losses) == 2
    assert not unchanged.losses


def test_an_address_that_gives_less_than_before_waits_for_a_person(
    record: Record, tmp_path: Path
) -> None:
    ten = [fact(year=2000 + number) for number in range(10)]
    for rows, moment in ((ten, "1"), (ten[:7], "2")):
        append(record, FUNDAMENTALS, facts(*rows), Load("sec", (f"sha{moment}-address-{moment}",)))
    append(record, FUNDAMENTALS, facts(fact()), Load("sec", ("sha-elsewhere-3",)))

    report = audited(record, tmp_path / "a", suites=())
    assert [(loss.before, loss.after) for loss in report.losses] == [(10, 7)]

    later = [
        row.model_copy(update={"measured_at": datetime.now(UTC)}) for row in report.measurements
    ]
    append_history(record, later)
    assert not audited(record, tmp_path / "b", suites=()).losses


def test_the_history_grows_by_each_publication_once(record: Record, tmp_path: Path) -> None:
    append(record, FUNDAMENTALS, facts(fact()), Load("test", ()))
    versions = ("20261115.1", "20261115.2")
    for number, version in enumerate(versions, 1):
        with staged(record, tmp_path / version, version) as snapshot:
            report = audit(snapshot, measured_at=MOMENT + timedelta(days=number), suites=())
            shown = snapshot.read("SELECT DISTINCT data_version FROM quality ORDER BY 1")
        assert shown["data_version"].to_pylist() == list(versions[:number])
        append_history(record, report.measurements)
        append_history(record, report.measurements)
        assert len(history(record)) == number * len(report.measurements)


def test_the_sample_world_passes_and_its_pages_ask_nothing_of_another_host(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    pages = audit_of(settings_of(sample_home(tmp_path_factory))).docs

    assert "All checks passed." in pages["index.html"]
    # Nothing failed.
    assert pages.keys() == {"index.html", "style.css"}
    without_rows = re.findall(
        r"<td>([a-z_.]+)</td><td>.*</td><td>no rows</td>", pages["index.html"]
    )
    assert without_rows == ["served.vetoed_joins", "served.left_out"]
    text = "\n".join(pages.values())
    assert "//" not in text.replace("https://www.w3.org/2000/svg", "")
    assert not re.search(r"<style|<script|<[^>]*\s(?:style|on[a-z]+)=", text)
    assert all(rule.words in unescape(text) for suite in SUITES for rule in suite.rules)


def audit_of(settings: Settings) -> Audited:
    return candidate_of(settings).handed_over("quality", Audited)


def candidate_of(settings: Settings) -> Candidate:
    return Publication(open_record(settings), settings, "").candidate


# What a seventh each of the rows gets in a column of a type, in place of its value.
WRONG = {
    "VARCHAR": ("''", "'[]'", "NULL"),
    "DATE": ("DATE '1700-01-02'", "DATE '2999-01-01'", "NULL"),
    "BOOLEAN": ("NOT {}", "NULL", "{}"),
    "BIGINT": ("-{}", "{} + 1", "NULL"),
    "DOUBLE": ("-{}", "{} + 1", "NULL"),
}


def spoiled(catalogue: Catalogue, suite: Suite) -> str:
    """Return SQL of the rows of a suite, some twice, with wrong values in every column."""
    rows = ".".join(catalogue.prepare(suite))
    columns = catalogue.sql.execute(f"SELECT column_name, column_type FROM (DESCRIBE FROM {rows})")
    # To a text that is no JSON, a function of JSON answers by an error.
    json = " ".join(rule.condition for rule in suite.rules if "json" in rule.condition)
    wrong = []
    for name, kind in columns.fetchall():
        values = WRONG.get(kind.partition("(")[0], ("NULL",)) if name not in json else ("'[]'",)
        cases = " ".join(
            f"WHEN {number} THEN {value.format(name)}" for number, value in enumerate(values)
        )
        case = f"CASE hash(number, '{name}') % 7 {cases} ELSE {name} END"
        wrong.append(f"CAST({case} AS {kind}) AS {name}")
    twice = f"(SELECT *, row_number() OVER () AS number FROM (FROM {rows} UNION ALL FROM {rows}))"
    return f"SELECT {', '.join(wrong)} FROM {twice}"


def test_the_one_query_of_a_table_says_of_each_rule_what_the_rule_says_by_itself(
    tmp_path_factory: pytest.TempPathFactory, tmp_path: Path
) -> None:
    """Of nearly every rule, with rows of the sample world that fail it."""
    failing = 0
    candidate = candidate_of(settings_of(sample_home(tmp_path_factory)))
    with (
        candidate.open(tmp_path) as snapshot,
        Catalogue(snapshot, {}) as catalogue,
    ):
        create_table(catalogue.sql, "countries", countries())
        for rule in PERSONAL_DATA_RULES:
            some = f"SELECT row_id FROM {rule.table.name} LIMIT 9"
            catalogue.sql.execute(f"CREATE TABLE IF NOT EXISTS {rule.failing} AS {some}")
        for suite in SUITES:
            if suite.kept_with not in catalogue.names():
                continue
            rows = f"CREATE OR REPLACE TABLE spoiled AS {spoiled(catalogue, suite)}"
            catalogue.sql.execute(rows)
            alone = {}
            for of_suite in suite.rules:
                query = of_suite.failing("spoiled", suite.row_reference)
                found = f"SELECT count(*), min(row_reference, {MAX_EXAMPLES}) FROM ({query})"
                [(count, examples)] = catalogue.sql.execute(found).fetchall()
                if count:
                    alone[of_suite.words] = (count, examples)
            together = catalogue.sql.execute(suite.failures("spoiled")).fetchall()
            assert {words: found for words, *found in together} == {
                words: list(found) for words, found in alone.items()
            }
            failing += len(alone)
    assert failing > 0.9 * sum(len(suite.rules) for suite in SUITES)


@pytest.mark.shared
@pytest.mark.nightly
def test_real_filings_and_releases_pass(record: Record, tmp_path: Path) -> None:
    files = (path for path in (REAL_FILES / "filings/companyfacts").iterdir() if path.is_file())
    parsed_files = [read_file(companyfacts.parse, path) for path in files]
    portals = [path for path in (REAL / "ocds").rglob("*") if path.is_file()]
    parsed_files += [real(str(path.relative_to(REAL))) for path in portals]
    for parsed in parsed_files:
        for name in parsed.rows:
            load_real(record, name, parsed)

    report = audited(record, tmp_path / "stage")

    assert report.ok, report.problems
    assert report.counts["fundamentals"] and report.counts["tender_parties"]
