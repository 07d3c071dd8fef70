"""The sample world, from its documents to a stage that can be exported."""

import hashlib
import sys
import time
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa

from assets.derive.derived_figures import TABLE, derived_figures
from assets.derive.metrics import metrics
from assets.derive.metrics_ttm import metrics_ttm
from assets.derive.sessions import sessions
from assets.derive.silent_revisions import silent_revisions
from assets.exports.export import export
from tests.helpers.organisations import derive_organisations
from warehouse.methodology.signals import PANELS
from warehouse.publish.awards import add_tender_facts
from warehouse.publish.snapshot import Snapshot
from warehouse.record.append import Load, append
from warehouse.record.incoming import to_arrow
from warehouse.record.store import Record
from warehouse.record.tables import RECORD_TABLES, RecordTable, arrow_schema
from warehouse.serve.exports import (
    MANIFEST_FILE,
    PUBLIC_KEY,
    SIGNATURE,
    decode_manifest,
    delta_name,
    file_name,
)
from warehouse.shared.file_store import FileStore
from warehouse.shared.signing import SigningKey, is_signed
from warehouse.tables.derived import DERIVED

NOW = datetime(2026, 11, 14, 2, 20, tzinfo=UTC)


def current_loads(record: Record) -> dict[str, int]:
    """Return the last load of each table."""
    return {table.name: record.load_seq(table) for table in RECORD_TABLES}


def staged(record: Record, folder: Path, data_version: str, *left_out: str) -> Snapshot:
    """Stage every vintage of a record, what is derived from it, and signals and measurements."""
    folder = folder / f"stage-{data_version}"
    snapshot = Snapshot(folder, record, current_loads(record), data_version)
    snapshot.copy_record()
    # Of the ledger, which a publication extracts: no document was read again.
    snapshot.sql.execute("CREATE TABLE readings (address VARCHAR, read_at TIMESTAMPTZ)")
    tables = {
        **derive_organisations(snapshot),
        **silent_revisions(snapshot),
        **derived_figures(snapshot),
        **metrics(snapshot),
        **sessions(snapshot),
        "signals": signals(),
        "quality": quality(data_version),
    }
    snapshot.add({name: rows for name, rows in tables.items() if name not in left_out})
    if TABLE not in left_out:
        snapshot.add(metrics_ttm(snapshot))
    if "party_matches" not in left_out:
        add_tender_facts(snapshot)
    return snapshot


def derived_rows(name: str, rows: list[dict[str, Any]]) -> pa.Table:
    """Type rows as a derived table."""
    return pa.Table.from_pylist(rows, arrow_schema(DERIVED[name]))


def signals(value: Callable[[int], Decimal | None] = lambda n: Decimal(n) / 8) -> pa.Table:
    """Return two months of each panel, the first in two vintages, one row under another licence."""
    shared = {
        "country": "ZA",
        "dimension": "all",
        "dimension_value": "all",
        "service_id": None,
        "measure": "share",
        "numerator": None,
        "denominator": None,
        "unit": "share",
        "currency": None,
        "n_eligible": 8,
        "n_observed": 4,
        "coverage": Decimal("0.5"),
        "n_withheld": 1,
        "license_class": "cc-by",
        "source_ref": "za-etenders",
        "observed_at": datetime(2026, 6, 1, 6, tzinfo=UTC),
        "method": "api",
        "extraction_confidence": None,
        "provenance_id": "9f86d081884c7d659a2feaa0c55ad015",
    }
    rows = []
    for number, panel in enumerate(PANELS):
        named = {**shared, "signal_key": panel.key, "methodology_ref": f"signals-v1/{panel.key}"}
        for month, vintage, until in ((1, 1, date(2026, 5, 5)), (1, 2, None), (2, 1, None)):
            available = date(2026, 5, 5) if vintage == 2 else date(2026, month + 1, 5)
            rows.append(
                {
                    **named,
                    "month": date(2026, month, 1),
                    "closed_at": date(2026, month + 1, 5),
                    "value": value(number + vintage),
                    "vintage": vintage,
                    "available_at": available,
                    "superseded_at": until,
                }
            )
        rows.append({**rows[-1], "measure": "count", "license_class": "licensed"})
    return derived_rows("signals", rows)


def quality(data_version: str) -> pa.Table:
    """Return one measurement with a value and one without."""
    measured = {
        "sku": "AF-FUND",
        "dimension": "completeness",
        "metric": "provenance_complete",
        "scope": "fundamentals",
        "value": Decimal(1),
        "unit": "share",
        "floor": Decimal(1),
        "status": "PASS",
        "n_checked": 10,
        "n_passed": 10,
        "measured_at": NOW,
        "data_version": data_version,
    }
    unmeasured = {
        **measured,
        "metric": "resolution_rate",
        **dict.fromkeys(("value", "n_checked", "n_passed")),
        "status": "UNMEASURED",
    }
    return derived_rows("quality", [measured, unmeasured])


def load(record: Record, table: RecordTable, *rows: dict[str, Any]) -> None:
    """Append rows that must all be accepted; missing columns are null."""
    empty = dict.fromkeys(table.row.model_fields)
    arrow, rejected = to_arrow(table, [{**empty, **SIGHTING, **row} for row in rows])
    assert not rejected
    assert append(record, table, arrow, Load("test", ("d",))).quarantined == 0


SIGHTING = {
    "available_at": date(2026, 3, 2),
    "publication": "p1",
    "observed_at": datetime(2026, 6, 1, 6, tzinfo=UTC),
    "source": "test",
    "source_ref": "d0#/1",
    "document": "d0",
    "license_class": "cc-by",
    "method": "api",
    "withdrawn": False,
}


def release_row(number: int, **others: Any) -> dict[str, Any]:
    """Return a release."""
    columns = {"ocid": f"ocds-{number}", "release_id": "r1", "country": "ZA", "parties_withheld": 0}
    return {**columns, "release": "{}", **others}


def party_row(name: str, **others: Any) -> dict[str, Any]:
    """Return a supplier of the first release."""
    columns = {"ocid": "ocds-1", "release_id": "r1", "country": "ZA", "role": "supplier"}
    return {**columns, "party_key": name, "name": name, "org_evidence": "legal_form:ltd", **others}


def fact_row(item: str, value: str, **others: Any) -> dict[str, Any]:
    """Return a figure of one issuer."""
    return {
        "service_id": "DCTEST1",
        "line_item": item,
        "statement": "income",
        "value_reported": Decimal(value),
        "currency_reported": "ZAR",
        "unit": "ZAR",
        "period_type": "FY",
        "period_start": date(2025, 1, 1),
        "period_end": date(2025, 12, 31),
        "basis": "consolidated/ifrs",
        "accounting_standard": "ifrs",
        **others,
    }


def verify_export(
    destination: str, data_version: str, public_pem: bytes | None = None
) -> list[str]:
    """Return the differences between a version and what was signed, as whoever downloads it can.

    ``public_pem`` is the trusted key, if not the one next to the manifest.
    """
    store = FileStore.of(destination)
    body, signature = store.read(data_version, MANIFEST_FILE), store.read(data_version, SIGNATURE)
    if not is_signed(body, signature, public_pem or store.read(data_version, PUBLIC_KEY)):
        return [f"{MANIFEST_FILE}: its signature is not of these bytes"]
    signed = {}
    for artifact in decode_manifest(body).artifacts:
        signed[file_name(artifact.key)] = artifact.sha256
        if artifact.delta:
            signed[delta_name(artifact.key)] = artifact.delta.sha256
    problems = []
    for name, sha256 in signed.items():
        if not store.exists(data_version, name):
            problems.append(f"{name}: is missing")
        elif (found := hashlib.sha256(store.read(data_version, name)).hexdigest()) != sha256:
            problems.append(f"{name}: its SHA-256 is {found}, and {sha256} was signed")
    return problems


class SlowKey(SigningKey):
    """A key whose signature takes ten minutes, so that a test can kill the export."""

    def sign(self, body: bytes) -> bytes:
        print("signing", flush=True)
        time.sleep(600)
        return super().sign(body)


if __name__ == "__main__":
    home = Path(sys.argv[1])
    with staged(Record(str(home / "record")), home, sys.argv[2]) as snapshot:
        export(
            snapshot,
            str(home / "out"),
            signing_key=SlowKey.at(home / "keys" / "signing.pem"),
            previous=None,
            notice="FICTIONAL",
        )
