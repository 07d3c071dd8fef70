"""A first start goes all the way through Dagster, and a second one repeats nothing.

In the sample world every panel, metric and reason has rows, and every issuer is found by every
identifier that it has.
"""

import json
import os
import re
import shutil
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any, get_args

import dagster as dg
import pytest

from pipelines.commands.serving import DAGSTER, MCP, REST
from pipelines.commands.up import greeting, is_ready
from pipelines.jobs import instance, run_job
from pipelines.output import Steps
from pipelines.sample_world import unpack_world
from pipelines.up import prepare
from tests.helpers.installation import files_below, sample_home, settings_of, write_sample
from tests.helpers.made_once import copy_of
from tests.helpers.metrics import exposed
from tests.helpers.metrics import value as counted
from tests.helpers.nightly import is_nightly
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
from tests.sample_world.world import TENDERS_A_MONTH, SampleWorld, digest, write_world
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

# At night all sources of the world are loaded.
STARTED = ("ecb", "za-etenders")


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """A home after its first start, on a few sources of the sample world."""
    home = tmp_path_factory.mktemp("home")
    write_sample(home)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SANKOFA_HOME", str(home))
        settings = read_settings(os.environ)
        for folder in settings.sample.iterdir():
            if folder.is_dir() and folder.name not in STARTED and not is_nightly():
                shutil.rmtree(folder)
        prepare(settings, Steps(lambda _: None))
    return settings


@pytest.fixture(autouse=True)
def at_home(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SANKOFA_HOME", str(settings.home))


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """The home of the published sample world."""
    return settings_of(copy_of(sample_home(tmp_path_factory), "demo", tmp_path_factory))


def test_every_count_of_the_ledger_adds_up(sample: Settings) -> None:
    record = open_record(sample)
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


def test_everything_quarantined_says_why_and_where(sample: Settings) -> None:
    record = open_record(sample)
    quarantined = record.query(f"SELECT * FROM {record.relation('quarantine')}").to_pylist()
    assert quarantined
    for row in quarantined:
        assert len(row["reason"].split()) >= 2
        assert row["source_ref"].startswith("https://fictional.example/")


def test_starting_again_reads_nothing_and_keeps_the_build(settings: Settings) -> None:
    def stored() -> tuple[object, ...]:
        record = open_record(settings)
        loads = record.query(f"SELECT count(*), sum(read) FROM {record.relation('loads')}")
        landed = list(files_below(Path(settings.landing)))
        return builds_at(settings.marts).current(), loads.to_pylist(), landed

    before = stored()
    prepare(settings, Steps(lambda _: None))
    assert stored() == before


def test_dagster_shows_how_many_parties_were_resolved(settings: Settings) -> None:
    with instance(settings) as dagster_instance:
        event = dagster_instance.get_latest_materialization_event(dg.AssetKey("party_matches"))
    assert event is not None and event.asset_materialization is not None
    metadata = event.asset_materialization.metadata
    counts: dict[str, Any] = {name: value.value for name, value in metadata.items()}
    assert counts["parties"] > 0
    assert counts["resolution rate"] == round(counts["resolved"] / counts["parties"], 3)


def test_the_restatements_of_the_sample_world_are_vintages(sample: Settings) -> None:
    record = open_record(sample)
    traps = json.loads((sample.sample / "traps.json").read_text())
    several = record.query(
        f"SELECT figure FROM {record.relation('fundamentals')} "
        "GROUP BY figure, figure_check HAVING count(DISTINCT content) > 1"
    )
    assert len(several) >= len(traps["restatement"]) > 0


def test_no_withheld_name_of_the_sample_world_is_in_the_record(sample: Settings) -> None:
    record = open_record(sample)
    withheld = record.query(
        f"SELECT name, identifier_id FROM {record.relation('tender_parties')} "
        "WHERE org_evidence IS NULL"
    )
    assert len(withheld) > 0
    assert withheld["name"].null_count == withheld["identifier_id"].null_count == len(withheld)


def test_the_greeting_has_a_key_and_three_commands(sample: Settings) -> None:
    text = greeting(sample, {REST: "http://127.0.0.1:8321", MCP: "http://127.0.0.1:8322"})
    assert text.count("curl -s -H 'X-API-Key: sk_") == 3
    assert "http://127.0.0.1:8322/mcp" in text and "Runs" not in text and "Metrics" not in text
    dagster = greeting(sample, {REST: "http://127.0.0.1:8321", DAGSTER: "http://127.0.0.1:8323"})
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
    assets = [dg.AssetKey(f"{key}_macro_series") for key in ("ecb", "alfred")]
    with pytest.raises(
        SankofaError, match=r"the job ingest failed in ecb: .*: name the folder after the day"
    ):
        run_job(other, "ingest", assets=assets)


def decoded(rows: Any) -> list[dict[str, Any]]:
    return [json.loads(row) for row in rows]


@pytest.fixture(scope="module")
def mart(sample: Settings) -> Mart:
    return Mart(sample.marts)


@pytest.fixture(scope="module")
def ids(mart: Mart) -> dict[int, str]:
    """The canonical id of each issuer, by its serial number."""
    found = {}
    for serial in range(ISSUERS_PER_SCALE):
        (row,) = decoded(lookup(mart, "cik", cik_of(issuer(serial))).rows.rows)
        found[serial] = row["service_id"]
    return found


def test_every_source_was_fresh_on_the_day_of_the_world(settings: Settings) -> None:
    build = Mart(settings.marts).build()
    rows = decoded(row for (row,) in query(build, "SELECT row FROM quality"))
    fresh = {row["scope"]: row["status"] for row in rows if row["dimension"] == "freshness"}
    # A dataset without a source here has a row for all its sources, which is not measured.
    measured = {scope: status for scope, status in fresh.items() if scope != "sources"}
    assert measured.keys() >= set(STARTED) and set(measured.values()) == {"PASS"}, fresh


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
    # No issuer of the sample world splits its shares.
    assert set().union(*kinds.values()) >= set(get_args(RestatementKind)) - {"split"}
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


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("unpacked")
    unpack_world(folder, "fictional")
    return folder


def test_the_world_of_the_package_is_the_one_that_the_generator_makes(
    unpacked: Path, tmp_path: Path
) -> None:
    write_world(tmp_path, SampleWorld())
    assert digest(unpacked) == digest(tmp_path), "write it again: python -m tests.sample_world"


def test_a_world_that_was_unpacked_is_left_as_it_is_and_in_part_unpacked_again(
    unpacked: Path,
) -> None:
    whole, counts = digest(unpacked), unpack_world(unpacked, "fictional")
    next((unpacked / "alfred").rglob("*.json")).unlink()
    changed = digest(unpacked)
    assert unpack_world(unpacked, "fictional") == counts and digest(unpacked) == changed != whole
    (unpacked / "world.json").unlink()
    assert unpack_world(unpacked, "fictional") == counts and digest(unpacked) == whole


def test_every_portal_opens_fifty_tenders_a_month_or_more(unpacked: Path) -> None:
    for portal in ("za-etenders", "ke-ppip", "co-secop"):
        opened: dict[str, str] = {}
        for file in sorted((unpacked / portal).rglob("*.json*")):
            text = file.read_text("utf-8", "replace")
            releases = text.splitlines() if file.suffix == ".jsonl" else text.split('{"ocid": ')
            for release in releases:
                ocid = re.search(r"ocds-\w{6}-\d+", release)
                start = re.search(r'"tenderPeriod": {"startDate": "(\d{4}-\d\d)', release)
                if ocid and start:
                    opened.setdefault(ocid[0], start[1])
        months = Counter(opened.values())
        # The running month is not over.
        months.pop(f"{SampleWorld().day:%Y-%m}")
        assert len(months) >= 32 and min(months.values()) >= TENDERS_A_MONTH["full"] >= 50
