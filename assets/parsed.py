"""What a parser gives back: rows for each table, and what it could not read."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from warehouse.landing import Document
from warehouse.record.rows import Rejected
from warehouse.record.tables import RecordTable


@dataclass
class Parsed:
    """Rows and rejections of one document; every record read is in one of the two."""

    rows: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    rejected: dict[str, list[Rejected]] = field(default_factory=dict)

    def add(self, table: RecordTable, rows: Iterable[dict[str, Any]]) -> None:
        """Keep rows for a table."""
        self.rows.setdefault(table.name, []).extend(rows)

    def reject(self, table: RecordTable, document: Document, place: str, reason: str) -> None:
        """Keep what could not be read, with its place in the document and why, in words."""
        rejected = Rejected(document.sha256, source_ref(document, place), reason)
        self.rejected.setdefault(table.name, []).append(rejected)


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
