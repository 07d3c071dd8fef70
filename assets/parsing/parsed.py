"""What a parser gives back: rows for each table, and what it could not read."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from warehouse.record.incoming import MISFITS, RejectedRow, to_arrow
from warehouse.record.landing import Document
from warehouse.record.tables import RecordTable

__all__ = ["MISFITS", "Parsed", "provenance", "source_ref", "tabled"]


@dataclass
class Parsed:
    """Rows and rejections of one document; every record read is in one of the two.

    A parser that reads millions gives typed tables, the others rows as they come.
    """

    rows: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    typed: dict[str, list[pa.Table]] = field(default_factory=dict)
    rejected: dict[str, list[RejectedRow]] = field(default_factory=dict)

    def add(self, table: RecordTable, rows: Iterable[dict[str, Any]]) -> None:
        """Keep rows for a table."""
        self.rows.setdefault(table.name, []).extend(rows)

    def add_typed(self, table: RecordTable, rows: pa.Table) -> None:
        """Keep rows for a table that are typed as it is."""
        self.typed.setdefault(table.name, []).append(rows)

    def reject(self, table: RecordTable, document: Document, place: str, reason: str) -> None:
        """Keep what could not be read, with its place in the document and why, in words."""
        rejected = RejectedRow(document.sha256, source_ref(document, place), reason)
        self.rejected.setdefault(table.name, []).append(rejected)


def tabled(table: RecordTable, parsed: Iterable[Parsed]) -> tuple[pa.Table, list[RejectedRow]]:
    """Give all that was read for a table as one, and what could not be read or kept."""
    every = list(parsed)
    rows = [row for each in every for row in each.rows.get(table.name, ())]
    good, misfits = to_arrow(table, rows)
    typed = [part for each in every for part in each.typed.get(table.name, ())]
    rejected = [one for each in every for one in each.rejected.get(table.name, ())]
    return pa.concat_tables([*typed, good]), [*rejected, *misfits]


def source_ref(document: Document, place: str) -> str:
    """Name a place in a document: its address, then a JSON pointer or a line."""
    return f"{document.url}#{place}" if place else document.url


def provenance(document: Document, place: str, method: str) -> dict[str, Any]:
    """Give the columns every sighting of a document shares."""
    return {
        "observed_at": document.observed_at,
        "source": document.source,
        "source_ref": source_ref(document, place),
        "document": document.sha256,
        "license_class": document.license_class,
        "method": method,
        "extraction_confidence": None,
        "withdrawn": False,
    }


def whole(parts: Iterable[Parsed]) -> Parsed:
    """Put the parts of a document together, in their order."""
    parsed = Parsed()
    for part in parts:
        add(parsed, part)
    return parsed


def add(parsed: Parsed, part: Parsed) -> None:
    """Put a part behind what was read before it."""
    for table, rows in part.rows.items():
        parsed.rows.setdefault(table, []).extend(rows)
    for table, rejected in part.rejected.items():
        parsed.rejected.setdefault(table, []).extend(rejected)
