"""``sankofa quarantine``: rejected rows can be listed, inspected and retried; none is lost."""

import json
import os
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from assets.ingest.load import load_source
from assets.ingest.quarantine import retry
from assets.ingest.sources import SOURCES
from assets.parsing.parsed import Parsed
from assets.source import Parser, Source
from pipelines.commands.main import sankofa
from tests.helpers.installation import copy_of, run_command
from warehouse.record.landing import Document, FetchedResponse, Landing
from warehouse.record.quarantine import quarantined_rows
from warehouse.record.store import Record
from warehouse.shared.settings import read_settings

pytestmark = pytest.mark.usefixtures("in_this_process")

HEADER = "KEY,FREQ,CURRENCY,CURRENCY_DENOM,EXR_TYPE,EXR_SUFFIX,TIME_PERIOD,OBS_VALUE,OBS_STATUS"
RATE = "EXR.D.ZAR.EUR.SP00.A,D,ZAR,EUR,SP00,A,2024-01-0{},{},A"
TENDER = json.dumps({"releases": [{"ocid": 7, "buyer": {"name": "A. Person"}}]})
KNOWN = {source.key: source for source in SOURCES}
H10 = KNOWN["h10"]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with a rate and a release that cannot be read."""
    home = tmp_path_factory.mktemp("made")
    rates = "\n".join((HEADER, RATE.format(2, "20.4"), RATE.format(3, "oops"))) + "\n"
    for key, name, text in (("ecb", "zar.csv", rates), ("ke-ppip", "package.json", TENDER)):
        file = home / "sample" / key / "2024-01-05" / name
        file.parent.mkdir(parents=True)
        file.write_text(text)
    assert run_command(home, "ingest", "ecb", "ke-ppip")[0] == 0
    return home


@pytest.fixture
def home(
    made: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """A copy of it, in which commands run."""
    home = copy_of(made, "quarantine", tmp_path_factory)
    monkeypatch.setenv("SANKOFA_HOME", str(home))
    return home


def run(*words: str) -> Result:
    return CliRunner().invoke(sankofa, words)


def reasons_listed(*words: str) -> list[dict[str, Any]]:
    reasons: list[dict[str, Any]] = json.loads(run("quarantine", "list", "--json", *words).stdout)
    return reasons


def test_the_list_counts_by_source_and_reason(home: Path) -> None:
    assert {(item["source"], item["records"], item["open"]) for item in reasons_listed()} == {
        ("ecb", 1, 1),
        ("ke-ppip", 1, 1),
    }
    (rate,) = reasons_listed("--source", "ecb")
    assert reasons_listed("--reason", rate["reason"].upper()) == [rate]
    assert reasons_listed("--reason", "it's ' never so") == []
    assert "2 records, 2 reasons" in run("quarantine", "list").output


def test_an_entry_shows_its_location_its_bytes_and_the_text_there(home: Path) -> None:
    (rate,) = reasons_listed("--source", "ecb")
    entry = json.loads(run("quarantine", "show", rate["example"][:10], "--json").stdout)
    (document,) = Landing(read_settings(os.environ).landing).documents("ecb")
    assert entry["sha256"] == document.sha256 and entry["address"] == document.url
    assert entry["location"] == f"{document.url}#line 3"
    assert entry["reason"] == rate["reason"]
    assert entry["excerpt"] == RATE.format(3, "oops")


def test_of_a_document_that_can_name_people_only_the_location_is_shown(home: Path) -> None:
    (tender,) = reasons_listed("--source", "ke-ppip")
    entry = run("quarantine", "show", tender["example"], "--json").stdout
    assert "can hold personal data" in entry and "/releases/0" in entry
    assert "A. Person" not in entry + run("quarantine", "show", tender["example"]).output


def test_a_row_refused_again_stays_open_and_is_stored_once(home: Path) -> None:
    (rate,) = reasons_listed("--source", "ecb")
    retried = json.loads(run("quarantine", "retry", rate["example"], "--json").stdout)
    assert retried == {"chosen": 1, "became": {"ecb": {"refused again": 1}}}
    assert reasons_listed("--source", "ecb") == [rate]
    entry = json.loads(run("quarantine", "show", rate["example"], "--json").stdout)
    assert entry["became"] == "refused again"


def test_a_document_that_is_no_longer_landed_is_reported(home: Path) -> None:
    (rate,) = reasons_listed("--source", "ecb")
    (note,) = (home / "landing" / "documents" / "ecb").rglob("*.json")
    note.unlink()
    assert "1 not landed" in run("quarantine", "retry", "--source", "ecb").output
    assert "is not landed; fetch it again" in run("quarantine", "show", rate["example"]).output


def older(source: Source) -> Source:
    """Return a source whose parser, like an older version, rejects values above 18."""

    def parse(document: Document, body: bytes) -> Parsed:
        parsed = source.parser.parse(document, body)
        rows = parsed.rows.pop(source.tables[0].name, [])
        for row in rows:
            if row["value"] > 18:
                parsed.reject(source.tables[0], document, "line 2", "above 18")
            else:
                parsed.add(source.tables[0], [row])
        return parsed

    return replace(source, parser=Parser(1, parse))


def land_days(landing: Landing) -> None:
    """Land what one URL returned on three days: a value, another, and the first again."""
    for day, value in enumerate(("17.5", "18.8", "17.5"), start=1):
        landing.land(
            FetchedResponse(
                "h10",
                "https://example.org/monthly.csv",
                f"Date,Country,Exchange rate\n2024-01-01,South Africa,{value}\n".encode(),
                "public-domain",
                datetime(2024, 2, day, tzinfo=UTC),
                headers={"frequency": "monthly"},
            )
        )


def stored_rows(record: Record) -> list[dict[str, Any]]:
    """Return the stored rows in the order in which they were observed."""
    rows: list[dict[str, Any]] = record.query(
        "SELECT value, available_at, observed_at "
        f"FROM {record.relation(H10.tables[0].name)} ORDER BY observed_at, value"
    ).to_pylist()
    return rows


def test_fixed_code_reads_quarantined_rows_as_if_it_always_had(tmp_path: Path) -> None:
    landing, record = Landing(str(tmp_path / "landed")), Record(str(tmp_path / "fixed"))
    land_days(landing)
    load_source(record, landing, older(H10))
    (refused,) = quarantined_rows(record, "h10")
    assert refused.reason == "above 18"

    (became,) = retry(record, landing, H10, [refused])

    fresh = Record(str(tmp_path / "fresh"))
    load_source(fresh, landing, H10)
    assert became.became == "read"
    assert stored_rows(record) == stored_rows(fresh)
    assert [str(row["value"])[:4] for row in stored_rows(record)] == ["17.5", "18.8", "17.5"]
    (resolved,) = quarantined_rows(record, "h10")
    assert resolved.quarantine_id == refused.quarantine_id and resolved.became == "read"
    wrong = record.query(
        f"SELECT * FROM {record.relation('loads')} WHERE read <> appended + held + quarantined"
    )
    assert len(wrong) == 0


def test_a_row_refused_for_another_reason_is_reported_as_such(tmp_path: Path) -> None:
    landing, record = Landing(str(tmp_path / "landed")), Record(str(tmp_path / "other"))
    land_days(landing)
    load_source(record, landing, older(H10))

    def stricter(document: Document, body: bytes) -> Parsed:
        parsed = Parsed()
        parsed.reject(H10.tables[0], document, "", "not read at all")
        return parsed

    (became,) = retry(
        record, landing, replace(H10, parser=Parser(1, stricter)), quarantined_rows(record, "h10")
    )

    assert became.became == "refused otherwise"


def test_a_parser_that_fails_at_a_retry_is_named_and_its_document_read_later(
    tmp_path: Path,
) -> None:
    landing, record = Landing(str(tmp_path / "landed")), Record(str(tmp_path / "failed"))
    land_days(landing)
    load_source(record, landing, older(H10))

    def broken(document: Document, body: bytes) -> Parsed:
        raise ValueError("a fault of today")

    (became,) = retry(
        record, landing, replace(H10, parser=Parser(1, broken)), quarantined_rows(record, "h10")
    )

    assert became.became == "failed"
    load_source(record, landing, H10)
    fresh = Record(str(tmp_path / "fresh"))
    load_source(fresh, landing, H10)
    assert stored_rows(record) == stored_rows(fresh)
