"""Small records for the audit."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from quality.audit import audit
from quality.report import Report
from quality.suites import RECORD_SUITES
from warehouse.publish.snapshot import Snapshot
from warehouse.record.append import Load, append
from warehouse.record.incoming import to_arrow
from warehouse.record.store import Record
from warehouse.record.tables import RECORD_TABLES, TENDER_RELEASES, RecordTable

MOMENT = datetime(2026, 11, 15, 2, tzinfo=UTC)
FIRST = date(2026, 1, 1)


def sighting(**others: Any) -> dict[str, Any]:
    return {
        "available_at": FIRST,
        "publication": "p-1",
        "observed_at": datetime(2026, 1, 1, 6, tzinfo=UTC),
        "source": "za-etenders",
        "source_ref": "https://example.org/r.json#/0",
        "document": "d0",
        "license_class": "cc-by",
        "method": "api",
        "extraction_confidence": None,
        "withdrawn": False,
        **others,
    }


def party(**others: Any) -> dict[str, Any]:
    columns = {
        "ocid": "ocds-1",
        "release_id": "r1",
        "country": "ZA",
        "party_key": "k1",
        "role": "supplier",
        "name": "Mzansi Fictional Roads (Pty) Ltd",
        "identifier_scheme": None,
        "identifier_id": None,
        "org_evidence": "legal_form:(pty) ltd",
        "released_on": FIRST,
    }
    return sighting(**(columns | others))


def release(text: str, **others: Any) -> dict[str, Any]:
    columns = dict.fromkeys(TENDER_RELEASES.row.model_fields) | {
        "ocid": "ocds-1",
        "release_id": "r1",
        "country": "ZA",
        "released_on": FIRST,
        "tag": "tender",
        "release": f'{{"tender":{{"description":"{text}"}}}}',
        "parties_withheld": 0,
    }
    return columns | sighting() | others


def load(record: Record, table: RecordTable, *rows: dict[str, Any]) -> None:
    arrow, rejected = to_arrow(table, rows)
    assert not rejected
    append(record, table, arrow, Load("za-etenders", ()))


@contextmanager
def staged(record: Record, folder: Path, version: str = "20261115.1") -> Iterator[Snapshot]:
    loads = {table.name: record.load_seq(table) for table in RECORD_TABLES}
    with Snapshot(folder, record, loads, version) as snapshot:
        snapshot.copy_record()
        yield snapshot


def audited(record: Record, folder: Path, spoil: str = "", **how: Any) -> Report:
    """Audit a snapshot of the record; ``spoil`` first corrupts it: ``table: replacements``."""
    with staged(record, folder) as snapshot:
        if spoil:
            table, replacements = spoil.split(": ")
            snapshot.sql.execute(f"CREATE TABLE unspoiled AS FROM {table}")
            snapshot.write(table, f"SELECT * REPLACE ({replacements}) FROM unspoiled")
        return audit(snapshot, measured_at=MOMENT, **{"suites": RECORD_SUITES, **how})
