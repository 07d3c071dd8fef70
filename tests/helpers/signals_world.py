"""A few releases with their parties, through the real record, to the panels."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from assets.derive.signals import signals
from tests.helpers.organisations import derive_organisations
from warehouse.publish.snapshot import Snapshot
from warehouse.record.append import Load, append
from warehouse.record.incoming import to_arrow
from warehouse.record.store import Record
from warehouse.record.tables import (
    ENTITIES,
    FUNDAMENTALS,
    IDENTIFIERS,
    RECORD_TABLES,
    TENDER_PARTIES,
    TENDER_RELEASES,
    RecordTable,
)
from warehouse.shared.data_files import HOME_CURRENCY

# What panels are derived from.
SIGNAL_TABLES = (FUNDAMENTALS, TENDER_RELEASES, TENDER_PARTIES, ENTITIES, IDENTIFIERS)
FIRST, SEEN = date(2020, 1, 15), date(2024, 9, 20)
OBSERVED = datetime.combine(SEEN, time(6), UTC)
Row = dict[str, Any]
_ENCODER = msgspec.json.Encoder(decimal_format="number")


@dataclass
class TenderRows:
    """Releases and parties of a country, to load."""

    rows: dict[str, list[Row]] = field(default_factory=dict)

    def add(self, table: RecordTable, **stated: Any) -> None:
        """Add a row; columns that are not stated are null."""
        provenance = {
            "source": "test",
            "source_ref": f"d#/{stated}"[:80],
            "document": "d",
            "license_class": "cc-by",
            "method": "api",
            "withdrawn": False,
            "observed_at": OBSERVED,
            "country": "ZA",
            "parties_withheld": 0,
        }
        empty = dict.fromkeys(table.row.model_fields)
        row = {name: (empty | provenance | stated)[name] for name in empty}
        self.rows.setdefault(table.name, []).append(row)

    def release(
        self,
        ocid: str,
        day: date,
        number: str = "1",
        awards: list[Row] | None = None,
        **columns: Any,
    ) -> None:
        """Add a release, with a party for its buyer and for each supplier of its awards."""
        body: Row = {"tender": {"title": "Road works"}} if columns.pop("tender", True) else {}
        shared = {
            "ocid": ocid,
            "release_id": number,
            "publication": number,
            "available_at": day,
            "released_on": day,
        }
        suppliers = [key for award in awards or () for key in award.pop("by", ())]
        body |= {"awards": awards} if awards else {}
        named = [(key, "supplier") for key in suppliers]
        if columns.get("buyer_key"):
            named.append((columns["buyer_key"], "buyer"))
        named += [(key, "tenderer") for key in columns.pop("bidders", ())]
        self.add(TENDER_RELEASES, release=_ENCODER.encode(body).decode(), **shared | columns)
        # Of the same source and publication: parties are read with their release.
        same = {name: columns[name] for name in ("source", "publication") if name in columns}
        for key, role in dict.fromkeys(named):
            self.add(TENDER_PARTIES, **shared | same, role=role, **_party(key))


class TenderWorld(TenderRows):
    """Rows to load, and the panels derived from them."""

    def __init__(self, record: Record, folder: Path) -> None:
        super().__init__()
        self.record, self.folder = record, folder

    def load(self) -> None:
        """Append the added rows to the record."""
        for table in RECORD_TABLES:
            if table.name in self.rows:
                rows, rejected = to_arrow(table, self.rows.pop(table.name))
                assert not rejected
                entry = append(self.record, table, rows, Load("test", ("d",)))
                assert entry.quarantined == 0

    def signals(self) -> list[Row]:
        """Return every row of every panel."""
        self.load()
        loads = {table.name: self.record.load_seq(table) for table in RECORD_TABLES}
        with Snapshot(self.folder, self.record, loads, "test") as snapshot:
            snapshot.copy_record(SIGNAL_TABLES)
            snapshot.add(derive_organisations(snapshot))
            snapshot.add(signals(snapshot))
            rows: list[Row] = snapshot.read("FROM signals").to_pylist()
        return rows


def add_countries(
    world: TenderWorld, countries: list[TenderRows], codes: Sequence[str] = ()
) -> list[str]:
    """Add the rows of several countries, each under a code of its own; return the codes.

    Without ``codes``, some are chosen.
    """
    codes = codes or sorted(HOME_CURRENCY)[: len(countries)]
    for code, country in zip(codes, countries, strict=True):
        for table, rows in country.rows.items():
            world.rows.setdefault(table, []).extend(_moved(row, code) for row in rows)
    return list(codes)


def panels(countries: list[TenderRows], codes: Sequence[str] = ()) -> list[list[Row]]:
    """Derive the panels of several countries together; return the rows of each."""
    with TemporaryDirectory() as folder:
        world = TenderWorld(Record(f"{folder}/record"), Path(folder, "stage"))
        codes = add_countries(world, countries, codes)
        rows = world.signals()
    return [[row for row in rows if row["country"] == code] for code in codes]


def _moved(row: Row, country: str) -> Row:
    moved = {name: country if value == "ZA" else value for name, value in row.items()}
    return moved | ({"ocid": f"{country}-{row['ocid']}"} if "ocid" in row else {})


def _party(key: str) -> Row:
    if key.startswith("withheld:"):
        return {"party_key": key, "name": None, "org_evidence": None}
    return {"party_key": key, "name": f"{key} Ltd", "org_evidence": "legal_form:ltd"}


def award(
    number: str = "a",
    day: date | str | None = None,
    amount: str | None = None,
    by: tuple[str, ...] = (),
    currency: str = "ZAR",
    **others: Any,
) -> Row:
    """Return an award; withheld suppliers are left out."""
    row: Row = {"id": number, "by": by, **others}
    row |= {"date": f"{day}T00:00:00Z"} if day else {}
    row |= {"value": {"amount": Decimal(amount), "currency": currency}} if amount else {}
    row["suppliers"] = [{"name": f"{key} Ltd"} for key in by if not key.startswith("withheld:")]
    return row
