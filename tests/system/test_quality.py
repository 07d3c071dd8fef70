"""The audit: what must hold before a build is published, and how failures are described."""

import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assets.filings import companyfacts
from assets.metrics.derive import metrics
from quality.audit import audit
from quality.checks import check_results, check_specs
from quality.floors import FLOORS, measure
from quality.history import append_history, history
from quality.losses import is_loss
from quality.report import Counts, Report
from quality.suites import SUITES
from tests.helpers.audited import MOMENT, audited, load, party, release, sighting, staged
from tests.helpers.facts import fact, facts
from tests.helpers.installation import loaded_record
from tests.helpers.organisations import derive_organisations
from tests.helpers.paths import REAL
from tests.helpers.real_files import REAL_FILES, read_file
from tests.helpers.real_files import load as load_real
from tests.helpers.tenders import real
from tests.helpers.unchecked import append_unchecked
from warehouse.mart.tables import MART_TABLES
from warehouse.record.append import Load, append
from warehouse.record.store import Record
from warehouse.record.tables import (
    ENTITIES,
    FUNDAMENTALS,
    RECORD_TABLES,
    TENDER_PARTIES,
    TENDER_RELEASES,
    arrow_schema,
)
from warehouse.tables import DERIVED, PartyMatch


def test_every_table_of_the_record_and_of_the_mart_has_a_suite() -> None:
    named = {suite.name for suite in SUITES}
    assert {f"record.{table.name}" for table in RECORD_TABLES} <= named
    assert {f"served.{table.name}" for table in MART_TABLES} <= named
    assert {f"served.{name}" for name in DERIVED} <= named
    assert len(named) == len(SUITES)


def test_a_party_that_is_a_person_is_found_by_its_row(record: Record, tmp_path: Path) -> None:
    person = party(name="Mrs Thandiwe Fictional", party_key="k2", source_ref="d#/person")
    load(record, TENDER_PARTIES, party(), person)

    report = audited(record, tmp_path / "stage")

    assert not report.ok
    assert "tender_parties: a named party is established as an organisation" in (report.problems)
    assert "d#/person" in report.problems and "Thandiwe" not in report.problems
    assert "parties_established is 0.5 share; the floor is at least 1" in report.problems


def test_a_party_without_evidence_is_found(record: Record, tmp_path: Path) -> None:
    append_unchecked(record, TENDER_PARTIES, party(), party(party_key="k2", org_evidence=None))

    assert "a named party has evidence" in audited(record, tmp_path / "stage").problems


def test_an_organisation_is_judged_by_its_name_only_where_nobody_vouches_for_it(
    record: Record, tmp_path: Path
) -> None:
    def entity(service_id: str, name: str, kind: str | None) -> dict[str, Any]:
        columns = dict.fromkeys(ENTITIES.row.model_fields) | sighting(source_ref=f"d#/{service_id}")
        return columns | {"service_id": service_id, "legal_name": name, "entity_type": kind}

    load(
        record,
        ENTITIES,
        entity("DCA", "Dr. Fictional's Laboratories", "company"),
        entity("DCB", "Thandiwe Fictional", None),
        entity("DCC", "Ubuntu Fictional Mining Ltd", None),
    )

    (failure,) = audited(record, tmp_path / "stage").failures

    assert failure.rows == 1
    assert failure.examples[0].startswith("d#/DCB")


@pytest.mark.parametrize(
    ("spoiled", "words"),
    [
        (
            "fundamentals: NULL::VARCHAR AS license_class",
            "fundamentals: every row has a licence that permits serving it; fails for 2 rows",
        ),
        (
            "fundamentals: 'restricted' AS license_class",
            "fundamentals: every row has a licence that permits serving it",
        ),
        (
            "fundamentals: CASE WHEN period_end < DATE '2018-01-01' THEN '' "
            "ELSE source_ref END AS source_ref",
            "fundamentals: every row has a source_ref; fails for 1 row",
        ),
        (
            "fundamentals: DATE '2018-01-01' AS period_start, DATE '2018-12-31' AS period_end",
            "fundamentals: no two rows have the same service_id, line_item, unit, basis, "
            "period_start, period_end and vintage",
        ),
        ("fundamentals: 2 AS vintage", "numbered from 1 without gaps"),
        ("fundamentals: DATE '2027-01-01' AS available_at", "no row is available after the day"),
        ("fundamentals: 'Rand' AS currency_reported", "currencies are three-letter codes"),
        ("fundamentals: 'X1' AS service_id", "organisation ids start with DC"),
        ("fundamentals: 'yearly' AS period_type", "period_type is one of its allowed values"),
    ],
)
def test_a_failing_rule_is_described(
    spoiled: str, words: str, record: Record, tmp_path: Path
) -> None:
    append(record, FUNDAMENTALS, facts(fact(year=2017), fact(year=2018)), Load("test", ()))

    report = audited(record, tmp_path / "stage", spoiled)

    assert not report.ok
    assert words in report.problems
    assert "#/revenue/20" in report.problems or "row " in report.problems


def test_a_contact_left_in_a_text_is_found(record: Record, tmp_path: Path) -> None:
    load(
        record,
        TENDER_RELEASES,
        release("Road works, 14 km @ R 100 each"),
        release("Ask thandi@example.org", release_id="r2", source_ref="d#/left"),
    )

    report = audited(record, tmp_path / "stage")

    assert "tender_releases: no served release contains a contact" in report.problems
    assert "d#/left" in report.problems
    assert "no_contact_in_text is 0.5 share" in report.problems


def test_a_floor_below_its_minimum_stops_the_build(record: Record, tmp_path: Path) -> None:
    at_an_instant: dict[str, Any] = {
        "period_start": None,
        "period_type": "INSTANT",
        "statement": "balance",
    }
    lines = {"total_assets": "100", "total_liabilities": "70", "total_equity": "10"}
    rows = [fact(value, item=item, **at_an_instant) for item, value in lines.items()]
    append(record, FUNDAMENTALS, facts(*rows), Load("test", ()))

    report = audited(record, tmp_path / "stage")

    assert [str(failure) for failure in report.failures] == [
        "fundamentals: AF-FUND consistency accounting_identity is 0 share; the floor is at least "
        "0.5; fails for 1 row"
    ]


def test_a_floor_that_finds_nothing_is_unmeasured_and_never_a_pass(
    record: Record, tmp_path: Path
) -> None:
    with staged(record, tmp_path / "stage") as snapshot:
        snapshot.add({"party_matches": arrow_schema(PartyMatch).empty_table()})
        for name in ("failing_parties", "releases_with_contact"):
            snapshot.sql.execute(f"CREATE TABLE {name} (row_id VARCHAR)")
        measured = measure(snapshot, MOMENT)

    assert len(measured) == len(FLOORS)
    assert {(row.status, row.value) for _, row in measured} == {("UNMEASURED", None)}


def test_a_source_that_was_silent_turns_red_and_does_not_stop_the_build(
    record: Record, tmp_path: Path
) -> None:
    append(record, FUNDAMENTALS, facts(fact()), Load("test", ()))

    report = audited(record, tmp_path / "stage")

    (fresh,) = [row for row in report.measurements if row.metric == "days_since_new" and row.value]
    assert (fresh.scope, fresh.value, fresh.status) == ("test", Decimal(318), "FAIL")
    assert report.ok


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


def test_dagster_shows_each_check_with_its_first_rows(record: Record, tmp_path: Path) -> None:
    load(record, TENDER_PARTIES, party(name="Mrs Thandiwe Fictional", source_ref="d#/person"))
    report = audited(record, tmp_path / "stage", previous={"entities": {"gleif": 5}})
    asset = dg.AssetKey("published_build")

    results = {result.check_name: result for result in check_results(report, asset)}

    specs = check_specs(asset)
    assert list(results) == [spec.name for spec in specs]
    assert all(spec.blocking for spec in specs)
    failed = {name for name, result in results.items() if not result.passed}
    assert failed == {"record_tender_parties", "floors", "losses"}
    metadata = results["record_tender_parties"].metadata
    assert metadata["failing rows"].value == 1
    assert "d#/person" in str(metadata["first rows"].value)


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Record:
    return loaded_record(tmp_path_factory)


def test_the_sample_world_passes_and_its_pages_ask_nothing_of_another_host(
    sample: Record, tmp_path: Path
) -> None:
    from quality.data_docs import write_docs

    with staged(sample, tmp_path / "stage") as snapshot:
        snapshot.add(derive_organisations(snapshot))
        snapshot.add(metrics(snapshot))
        report = audit(snapshot, measured_at=MOMENT)
    write_docs(report, tmp_path / "docs")

    assert report.ok, report.problems
    pages = {
        page.relative_to(tmp_path / "docs"): page for page in (tmp_path / "docs").rglob("*.html")
    }
    for suite in SUITES:
        parts = suite.name.split(".")
        assert Path("expectations", *parts).with_suffix(".html") in pages
        validations = [page for page in pages if page.parts[0] == "validations"]
        shown = any(page.parts[1:3] == tuple(parts) for page in validations)
        assert shown == (report.results[suite.name] is not None)
    text = "\n".join(page.read_text("utf-8") for page in pages.values())
    assert "//" not in text.replace("https://www.w3.org/2000/svg", "")
    assert not re.search(r"<style|<script|<[^>]*\s(?:style|on[a-z]+)=", text)
    assert "every row has a licence that permits serving it" in text


@pytest.mark.shared
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
