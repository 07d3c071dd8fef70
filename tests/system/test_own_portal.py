"""A portal that is only in a user's own file: ingested, scheduled and derived like the others."""

import json
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from assets.ingest.sources import sources_of
from pipelines.definitions import definitions
from tests.helpers.installation import run_command
from tests.helpers.replay_server import Replay, Reply
from warehouse.record.store import Record
from warehouse.record.tables import TENDER_PARTIES, TENDER_RELEASES
from warehouse.shared.settings import read_settings

ENTRY = """[na-epc]
country = "NA"
title = "Namibia, fictional e-procurement"
base_url = "https://eprocurement.example.na"
licence.class = "cc-by"
licence.name = "Creative Commons Attribution 4.0"
licence.stated_at = "https://eprocurement.example.na/licence"
cadence = "monthly"

[na-epc.request]
shape = "index"
address = "/list?page={page}"
items = "tenders"
name = "ref"
document = "/tenders/{name}.json"

[na-epc.quirks]
zero_is_unknown = true
sentinel_dates = [1900-01-01]
"""


@pytest.fixture
def entry(tmp_path: Path) -> Path:
    file = tmp_path / "my portals.toml"
    file.write_text(ENTRY)
    return file


def package(number: int) -> bytes:
    release = {
        "ocid": f"ocds-namibi-{number}",
        "id": f"{number}-tender",
        "date": "2026-03-19T08:00:00Z",
        "tag": ["tender"],
        "buyer": {"id": "1", "name": "Ministry of Fictional Works"},
        "tender": {"id": "1", "value": {"amount": 0, "currency": "NAD"}},
    }
    return json.dumps({"releases": [release]}).encode()


def rows(home: Path, table: Any) -> list[dict[str, Any]]:
    record = Record(str(home / "record"))
    found = record.table(table.name).to_pyarrow_table().to_pylist()
    return [row for row in found if row["source"] == "na-epc"]


def test_a_portal_of_an_own_file_is_ingested_live_and_from_a_recording(
    tmp_path: Path, entry: Path
) -> None:
    home = tmp_path / "home"
    with Replay() as server:
        server.answer(
            "/list",
            lambda request: Reply(
                json.dumps(
                    {"tenders": [{"ref": 1}, {"ref": 2}] if request.query["page"] == "1" else []}
                ).encode()
            ),
        )
        for number in (1, 2):
            server.on(f"/tenders/{number}.json", Reply(package(number)))
        settings = {"SANKOFA_PORTALS": str(entry), "SANKOFA_CONTACT": "test@example.org"}
        mirror = {"SANKOFA_BASE_NA_EPC": server.base}
        status, out, err = run_command(home, "ingest", "na-epc", "--live", **settings, **mirror)
    assert status == 0, err
    assert "2 documents, 2 new" in out
    recorded = tmp_path / "3.json"
    recorded.write_bytes(package(3))
    status, out, err = run_command(
        home,
        "ingest",
        "na-epc",
        str(recorded),
        "--origin",
        "https://eprocurement.example.na/tenders/3.json",
        "--observed-at",
        "2026-04-01",
        **settings,
    )
    assert status == 0, err
    releases = {row["ocid"]: row for row in rows(home, TENDER_RELEASES)}
    assert releases.keys() == {f"ocds-namibi-{number}" for number in (1, 2, 3)}
    for row in releases.values():
        assert (row["country"], row["license_class"], row["tender_value"]) == ("NA", "cc-by", None)
    assert releases["ocds-namibi-3"]["source_ref"].startswith(
        "https://eprocurement.example.na/tenders/3.json#"
    )
    assert {row["name"] for row in rows(home, TENDER_PARTIES)} == {"Ministry of Fictional Works"}


def test_a_portal_of_an_own_file_has_assets_that_are_fetched(tmp_path: Path, entry: Path) -> None:
    settings = read_settings({"SANKOFA_HOME": str(tmp_path), "SANKOFA_PORTALS": str(entry)})
    repository = definitions(settings).get_repository_def()
    keys = {key.to_user_string() for key in repository.assets_defs_by_key}
    assert {"na_epc_landed", "na_epc_tender_releases", "na_epc_tender_parties"} <= keys
    landed, snapshot = (
        repository.assets_defs_by_key[dg.AssetKey(name)] for name in ("na_epc_landed", "snapshot")
    )
    assert all(spec.automation_condition is not None for spec in landed.specs)
    assert "na_epc_tender_releases" in {key.to_user_string() for key in snapshot.dependency_keys}


def test_a_mistake_in_an_own_file_is_one_sentence_in_the_terminal(
    tmp_path: Path, entry: Path
) -> None:
    entry.write_text(ENTRY.replace('shape = "index"', 'shape = "list"'))
    status, _, err = run_command(tmp_path / "home", "ingest", SANKOFA_PORTALS=str(entry))
    assert status == 1
    assert err.strip() == (
        f"sankofa: {entry}: na-epc: request.shape: invalid value 'list'; one of 'links', "
        "'index', 'files'. See docs/add-a-portal.md"
    )


def test_without_the_setting_there_is_no_such_source() -> None:
    assert "na-epc" not in {source.key for source in sources_of(read_settings({}))}


def test_doctor_names_a_mistake_in_an_own_file_and_examines_the_rest(
    tmp_path: Path, entry: Path
) -> None:
    entry.write_text(ENTRY.replace('country = "NA"', 'country = "Namibia"'))
    status, out, _ = run_command(tmp_path / "home", "doctor", "--json", SANKOFA_PORTALS=str(entry))
    says = {finding["subject"]: finding["says"] for finding in json.loads(out)}
    assert status == 1
    assert says["SANKOFA_PORTALS"].startswith(f"{entry}: na-epc: country: ")
    assert "ke-ppip" in says
