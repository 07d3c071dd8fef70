"""Hostile documents, through the command: each is quarantined, and every other source is loaded."""

import gzip
import io
import zipfile
from datetime import UTC, datetime
from pathlib import Path

import pytest

from assets.ingest.land import land_all
from assets.ingest.load import load_source
from assets.ingest.sources import SOURCES
from assets.ingest.workers import end_spare
from assets.parsing.limits import DocumentLimits
from tests.helpers.hostile_documents import hostile_documents
from tests.helpers.installation import run_command, settings_of
from tests.helpers.nightly import is_nightly
from tests.helpers.paths import REAL
from warehouse.record.landing import FetchedResponse, Landing, open_landing
from warehouse.record.quarantine import quarantined_rows
from warehouse.record.store import Record, open_record

# Of the bombs that are long, so much: the machine that runs this test makes them first.
_SCALE = 0.03 if is_nightly() else 0.01
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


@pytest.mark.nightly
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


def landed_zip(folder: Path, body: bytes) -> Landing:
    """Return a landing with one zip of the BIS."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("WS_LONG_CPI_csv_col.csv", body)
    landing, day = Landing(str(folder)), datetime(2026, 11, 14, tzinfo=UTC)
    url = "https://data.bis.org/static/bulk/WS_LONG_CPI_csv_col.zip"
    land_all(landing, [FetchedResponse("bis", url, packed.getvalue(), "cc-by", day)])
    return landing


def rows_of(record: Record, table: str) -> int:
    (row,) = record.query(f"SELECT count(*) AS number FROM {record.relation(table)}").to_pylist()
    return int(row["number"])


@pytest.mark.shared
@pytest.mark.parametrize("series", [20, pytest.param(None, marks=pytest.mark.nightly)])
def test_a_packed_file_may_cost_what_it_unpacks_to_and_too_little_memory_is_one_sentence(
    series: int | None, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (source,) = (source for source in SOURCES if source.key == "bis")
    whole = gzip.decompress((REAL / "more/macro/bis/WS_LONG_CPI_csv_col.csv.gz").read_bytes())
    # The first line names the columns, of which each is a month or a year.
    part = b"".join(whole.splitlines(keepends=True)[: None if series is None else series + 1])
    loads = []
    for number, (body, limits) in enumerate(
        [(part, DocumentLimits()), (whole, DocumentLimits(memory_mb=1))]
    ):
        # The limit is on top of what a process has. One that read for another test has memory left
        # from it, and would not need more.
        end_spare()
        record = Record(str(tmp_path / str(number)))
        landing = landed_zip(tmp_path / f"landing {number}", body)
        loads.append(load_source(record, landing, source, limits=limits))
    read, refused = loads
    assert sum(entry.appended for entry in read) > (100_000 if series is None else 5_000)
    assert [(entry.appended, entry.quarantined) for entry in refused] == [(0, 1)]
    (row,) = record.query(f"FROM {record.relation('quarantine')}").to_pylist()
    # Where exactly memory ends, Python says so, or a library of C dies: both name the setting.
    assert "SANKOFA_DOCUMENT_MEMORY_MB=1" in row["reason"]
    assert "Traceback" not in capfd.readouterr().err
