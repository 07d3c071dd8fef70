"""A source whose documents are lines of ``item=value``, and that a test changes every month."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import IO

from assets.ingest.failures import ParserFailed
from assets.ingest.land import land_all
from assets.ingest.load import load_source
from assets.parsing.parsed import Parsed, provenance
from assets.source import Parser, Source
from warehouse.record.as_of import vintages_query
from warehouse.record.landing import Document, FetchedResponse, Landing
from warehouse.record.store import Record
from warehouse.record.tables import MACRO_SERIES

# What a load counts. Dagster's metadata has the same, and takes long to import.
COUNTED = ("read", "appended", "held", "quarantined", "withdrawn", "retracted")


def parse(document: Document, body: bytes) -> Parsed:
    """Read lines of ``item=value``; the publication is always the same one of 2019."""
    parsed = Parsed()
    for number, line in enumerate(body.decode().split()):
        item, _, value = line.partition("=")
        if not value:
            parsed.reject(MACRO_SERIES, document, f"line {number}", "no value")
            continue
        parsed.add(MACRO_SERIES, [row(document, f"line {number}", item, value)])
    return parsed


def row(document: Document, location: str, item: str, value: str) -> dict[str, object]:
    return provenance(document, location, "file") | {
        "available_at": date(2019, 3, 29),
        "publication": "the only one",
        "country": "ZA",
        "country_iso3": "ZAF",
        "series": item,
        "series_type": "cpi",
        "frequency": "monthly",
        "period_start": date(2019, 2, 1),
        "period_end": date(2019, 2, 28),
        "value": Decimal(value),
        "unit": "Index",
        "base_period": None,
        "obs_status": None,
    }


SOURCE = Source(
    "test", "macro", "Test", "cc0", "CC0", Parser(1, parse), (MACRO_SERIES,), complete=True
)


class MonthlyPortal:
    """A landing, a record, and a source whose content changes every month.

    The parser raises at documents that contain any of ``bugs``, and does not read what is
    ``unread``: an item, or one of its values. ``parsed`` are the bodies that it was given.
    """

    def __init__(self, folder: Path, *, complete: bool = True) -> None:
        self.landing = Landing(str(folder / "landing"))
        self.record = Record(str(folder / "record"))
        self.available_at: date | None = date(2019, 3, 29)
        self.corrections: dict[str, object] = {}
        self.bugs: set[str] = set()
        self.unread: set[str] = set()
        self.parsed: list[str] = []
        self.version = 1
        self.complete = complete

    @property
    def source(self) -> Source:
        """The source, with the current version of its parser."""
        parser = Parser(self.version, self.parse, self.stream)
        return replace(SOURCE, parser=parser, complete=self.complete)

    def parse(self, document: Document, body: bytes) -> Parsed:
        self.parsed.append(body.decode())
        for bug in self.bugs:
            if bug in body.decode():
                raise RuntimeError(f"a bug with {bug}")
        return self.corrected(parse(document, body))

    def stream(self, document: Document, body: IO[bytes]) -> Iterator[Parsed]:
        """Read a body line by line; a bug is met half-way."""
        self.parsed.append("streamed")
        for line in body.read().split():
            for bug in self.bugs:
                if bug in line.decode():
                    raise RuntimeError(f"a bug with {bug}")
            yield self.corrected(parse(document, line))

    def corrected(self, parsed: Parsed) -> Parsed:
        for parsed_row in parsed.rows.get("macro_series", []):
            parsed_row["available_at"] = self.available_at
            parsed_row.update(self.corrections)
        parsed.rows = {
            table: [
                row
                for row in rows
                if not {row["series"], f"{row['series']}={row['value']}"} & self.unread
            ]
            for table, rows in parsed.rows.items()
        }
        return parsed

    def publish(
        self, month: int, body: bytes, path: str = "a", day: int = 1, hour: int = 6
    ) -> None:
        observed_at = datetime(2026, month, day, hour, tzinfo=UTC)
        url = f"https://example.org/{path}"
        land_all(self.landing, [FetchedResponse("test", url, body, "cc0", observed_at)])

    def load(self) -> dict[str, int]:
        """Load, and return the counts that are not zero, with the number of failed documents."""
        self.parsed.clear()
        failed = 0
        try:
            entries = load_source(self.record, self.landing, self.source)
        except ParserFailed as failure:
            entries, failed = list(failure.entries), len(failure.failures)
        counts = {name: sum(getattr(entry, name) or 0 for entry in entries) for name in COUNTED} | {
            "failed": failed
        }
        assert counts["read"] == counts["appended"] + counts["held"] + counts["quarantined"]
        return {name: number for name, number in counts.items() if number}

    def values(self, as_of: date | None = None) -> dict[str, int]:
        relation = self.record.relation("macro_series")
        rows = self.record.query(vintages_query(MACRO_SERIES, relation, as_of=as_of)).to_pylist()
        return {row["series"]: int(row["value"]) for row in rows}

    def vintages(self) -> list[tuple[object, ...]]:
        """Return every vintage with what a reader sees of it."""
        relation = self.record.relation("macro_series")
        rows = self.record.query(vintages_query(MACRO_SERIES, relation, vintages="all")).to_pylist()
        names = ("series", "vintage", "value", "available_at", "observed_at", "source_ref")
        return sorted(tuple(row[name] for name in names) for row in rows)
