"""Hostile documents, through the command: each is quarantined, and every other source is loaded."""

from datetime import UTC, datetime
from pathlib import Path

from assets.ingest.sources import SOURCES
from tests.helpers.hostile_documents import hostile_documents
from tests.helpers.installation import run_command, settings_of
from warehouse.record.landing import FetchedResponse, Landing, open_landing
from warehouse.record.quarantine import quarantined_rows
from warehouse.record.store import Record, open_record

# Of the bombs that are long, so much: the machine that runs this test makes them first.
_SCALE = 0.03
_HONEST = b'[{"page":1,"pages":1,"per_page":50,"total":1,"lastupdated":"2026-01-01"},[%s]]'
_ROW = (
    b'{"indicator":{"id":"A.B","value":"A"},"country":{"id":"KE","value":"Kenya"},'
    b'"countryiso3code":"KEN","date":"2001","value":1,"unit":"","obs_status":"","decimal":0}'
)


def land_honest(landing: Landing) -> None:
    """Land a document of a source of which another one is hostile."""
    source = next(source for source in SOURCES if source.key == "worldbank")
    body = _HONEST % _ROW
    url = f"{source.base_url}/country/all/indicator/A.B"
    moment = datetime(2026, 2, 1, tzinfo=UTC)
    landing.land(FetchedResponse(source.key, url, body, source.license_class, moment))


def test_hostile_documents_are_quarantined_and_every_other_source_is_loaded(
    tmp_path: Path,
) -> None:
    settings = settings_of(tmp_path)
    landing = open_landing(settings)
    documents = list(hostile_documents(_SCALE))
    for hostile in documents:
        hostile.land(landing)
    land_honest(landing)

    status, out, err = run_command(tmp_path, "ingest")

    assert status == 0, f"{out}\n{err}"
    record = open_record(settings)
    quarantined = {row.source_ref.partition("#")[0] for row in quarantined_rows(record)}
    assert len(quarantined) == len(documents)
    assert rows_of(record, "macro_annual") >= 1
    # Nothing of it is tried again.
    assert "quarantined" not in run_command(tmp_path, "ingest")[1]


def rows_of(record: Record, table: str) -> int:
    (row,) = record.query(f"SELECT count(*) AS number FROM {record.relation(table)}").to_pylist()
    return int(row["number"])
