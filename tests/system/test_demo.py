"""The sample world goes all the way through Dagster, and a second start repeats nothing.

It is the world of the package: every panel, metric and reason has rows, and every issuer is
found by every identifier that it has.
"""

import json
import os
from collections import defaultdict
from pathlib import Path
from typing import Any, get_args

import pytest

from pipelines.commands.serving import DAGSTER, MCP, REST
from pipelines.commands.up import greeting, is_ready
from pipelines.jobs import run_job
from pipelines.output import Steps
from pipelines.up import prepare
from tests.helpers.metrics import exposed
from tests.helpers.metrics import value as counted
from tests.helpers.reads import facts_known, lookup, metrics, panel
from tests.helpers.whole_tables import query
from tests.sample_world.organisations import (
    ISSUERS_PER_SCALE,
    cik_of,
    figi_of,
    isin_of,
    issuer,
    role_of,
    ticker_of,
)
from warehouse.methodology.metrics import FORMULAS, AbsentReason
from warehouse.methodology.signals import PANELS
from warehouse.publish.builds import builds_at
from warehouse.record.store import open_record
from warehouse.serve.build import Mart
from warehouse.shared.errors import SankofaError
from warehouse.shared.settings import Settings, read_settings
from warehouse.tables.derived import JoinMethod
from warehouse.tables.entities import IdType
from warehouse.tables.fundamentals import RestatementKind


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SANKOFA_HOME", str(tmp_path_factory.mktemp("home")))
        home = read_settings(os.environ)
        prepare(home, Steps(lambda _: None))
    return home


@pytest.fixture(autouse=True)
def at_home(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SANKOFA_HOME", str(settings.home))


def test_every_count_of_the_ledger_adds_up(settings: Settings) -> None:
    record = open_record(settings)
    wrong = record.query(
        f"SELECT * FROM {record.relation('loads')} WHERE read <> appended + held + quarantined"
    )
    assert len(wrong) == 0


def test_what_prometheus_reads_of_ingest_is_what_the_ledger_says(settings: Settings) -> None:
    record, samples = open_record(settings), exposed(Path(settings.metrics))
    rows = record.query(
        "SELECT source, sum(read) AS read, sum(appended) AS appended, "
        f"sum(quarantined) AS quarantined FROM {record.relation('loads')} GROUP BY source"
    ).to_pylist()
    assert rows
    for row in rows:
        source = row.pop("source")
        for outcome, number in row.items():
            labels = {"source": source, "outcome": outcome}
            assert counted(samples, "sankofa_ingest_rows_total", **labels) == number
    assert counted(samples, "sankofa_publications_total", outcome="published") == 1
    assert counted(samples, "sankofa_publication_duration_seconds") > 0


def test_everything_quarantined_says_why_and_where(settings: Settings) -> None:
    record = open_record(settings)
    quarantined = record.query(f"SELECT * FROM {record.relation('quarantine')}").to_pylist()
    assert quarantined
    for row in quarantined:
        assert len(row["reason"].split()) >= 2
        assert row["source_ref"].startswith("https://fictional.example/")


def test_starting_again_reads_nothing_and_keeps_the_build(settings: Settings) -> None:
    build = builds_at(settings.marts).current()
    counts_by_asset = run_job(settings, "ingest")
    assert {counts["read"] for counts in counts_by_asset.values()} == {0}
    assert {counts["documents_new"] for counts in counts_by_asset.values()} == {0}
    run_job(settings, "publish")
    assert builds_at(settings.marts).current() == build


def test_the_restatements_of_the_sample_world_are_vintages(settings: Settings) -> None:
    record = open_record(settings)
    traps = json.loads((settings.sample / "traps.json").read_text())
    several = record.query(
        f"SELECT figure FROM {record.relation('fundamentals')} "
        "GROUP BY figure, figure_check HAVING count(DISTINCT content) > 1"
    )
    assert len(several) >= len(traps["restatement"]) > 0


def test_no_withheld_name_of_the_sample_world_is_in_the_record(settings: Settings) -> None:
    record = open_record(settings)
    withheld = record.query(
        f"SELECT name, identifier_id FROM {record.relation('tender_parties')} "
        "WHERE org_evidence IS NULL"
    )
    assert len(withheld) > 0
    assert withheld["name"].null_count == withheld["identifier_id"].null_count == len(withheld)


def test_the_greeting_has_a_key_and_three_commands(settings: Settings) -> None:
    text = greeting(settings, {REST: "http://127.0.0.1:8321", MCP: "http://127.0.0.1:8322"})
    assert text.count("curl -s -H 'X-API-Key: sk_") == 3
    assert "http://127.0.0.1:8322/mcp" in text and "Runs" not in text and "Metrics" not in text
    dagster = greeting(settings, {REST: "http://127.0.0.1:8321", DAGSTER: "http://127.0.0.1:8323"})
    assert "Pipeline      http://127.0.0.1:8323/asset-groups" in dagster


def test_a_home_is_ready_once_something_is_published(settings: Settings, tmp_path: Path) -> None:
    assert is_ready(settings)
    assert not is_ready(settings.model_copy(update={"marts": str(tmp_path)}))


def test_a_source_that_fails_leaves_the_others_running_and_is_named(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SANKOFA_HOME", str(tmp_path))
    other = read_settings(os.environ)
    for key in ("ecb", "alfred"):
        (other.sample / key / "2026-01-01").mkdir(parents=True)
    (other.sample / "ecb" / "not a day").mkdir()
    with pytest.raises(
        SankofaError, match=r"the job ingest failed in ecb: .*: name the folder after the day"
    ):
        run_job(other, "ingest")


def decoded(rows: Any) -> list[dict[str, Any]]:
    return [json.loads(row) for row in rows]


@pytest.fixture(scope="module")
def mart(settings: Settings) -> Mart:
    return Mart(settings.marts)


@pytest.fixture(scope="module")
def ids(mart: Mart) -> dict[int, str]:
    """The canonical id of each issuer, by its serial number."""
    found = {}
    for serial in range(ISSUERS_PER_SCALE):
        (row,) = decoded(lookup(mart, "cik", cik_of(issuer(serial))).rows.rows)
        found[serial] = row["service_id"]
    return found


def test_every_source_was_fresh_on_the_day_of_the_world(mart: Mart) -> None:
    rows = decoded(row for (row,) in query(mart.build(), "SELECT row FROM quality"))
    fresh = {row["scope"]: row["status"] for row in rows if row["dimension"] == "freshness"}
    assert len(fresh) >= 7 and set(fresh.values()) == {"PASS"}, fresh


@pytest.mark.parametrize("panel_of", PANELS, ids=lambda panel: panel.key)
def test_every_measure_of_every_panel_has_values_in_every_country(
    panel_of: Any, mart: Mart
) -> None:
    valued: dict[tuple[str, str], set[str]] = defaultdict(set)
    for country in ("ZA", "KE", "CO"):
        page = panel(mart, panel_of.key, country)
        assert page is not None
        for row in decoded(page.rows):
            if row["value"] is not None:
                valued[country, row["measure"]].add(row["dimension"])
    for country in ("ZA", "KE", "CO"):
        dimensions = set()
        for measure in panel_of.measures:
            assert valued[country, measure.key], (country, measure.key)
            dimensions |= valued[country, measure.key]
        assert dimensions == set(panel_of.dimensions)


def test_every_metric_has_values_and_every_reason_for_none_occurs(
    mart: Mart, ids: dict[int, str]
) -> None:
    valued = {
        row["metric"]
        for service_id in ids.values()
        for row in decoded(metrics(mart, service_id).rows)
        if row["value"] is not None
    }
    assert valued == {formula.slug for formula in FORMULAS}
    reasons = query(mart.build(), "SELECT DISTINCT reason FROM metrics_absent")
    assert {reason for (reason,) in reasons} == set(get_args(AbsentReason))


def test_every_kind_of_restatement_occurs_and_most_issuers_restate(
    mart: Mart, ids: dict[int, str]
) -> None:
    kinds: dict[str, set[str | None]] = {}
    for service_id in ids.values():
        page = facts_known(mart, service_id, vintages="all")
        assert page is not None
        later = [row for row in decoded(page.rows) if row["vintage"] > 1]
        kinds[service_id] = {row["restatement_kind"] for row in later}
    assert set().union(*kinds.values()) >= set(get_args(RestatementKind))
    assert sum(map(bool, kinds.values())) > ISSUERS_PER_SCALE / 2


def test_every_issuer_is_reached_by_every_identifier_it_has(
    mart: Mart, ids: dict[int, str]
) -> None:
    wrong = []
    for serial, service_id in ids.items():
        company = issuer(serial)
        known: dict[IdType, str] = {
            "lei": company.lei,
            "isin": isin_of(company.country, serial),
            "ticker": f"{company.country.mic}:{ticker_of(company)}",
        }
        if role_of(company) not in (5, 8):
            known["figi"] = figi_of(serial, 1)
        for id_type, value in known.items():
            reached = [row["service_id"] for row in decoded(lookup(mart, id_type, value).rows.rows)]
            if reached != [service_id]:
                wrong.append((serial, id_type, value, reached))
    assert wrong == []


def test_issuers_are_joined_by_every_kind_of_evidence(mart: Mart) -> None:
    methods: set[str] = set()
    for (row,) in query(mart.build(), "SELECT row FROM entities"):
        methods |= {join["match_method"] for join in json.loads(row)["joins"]}
    # No register of the sample world declares a duplicate.
    assert methods >= set(get_args(JoinMethod)) - {"declared", "registry_id"}
