"""Write the documents of a world into its folder, count them, and note its traps."""

import csv
import json
import random
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, TextIO

Json = dict[str, Any]

_MARKED_NUMBER = re.compile(r'"\\u0000([^"\\]*)\\u0000"')


# Per trap and source: traps.json stays readable at any scale.
MAX_NOTES = 40


class Traps:
    """Where the difficult cases are, by name; tests and demonstrations look them up."""

    def __init__(self) -> None:
        self.notes: dict[str, list[dict[str, Any]]] = {}

    def note(self, name: str, source: str, day: str, path: str, **where: Any) -> None:
        """Note one occurrence: a document, and the pointer or ids of the trap in it."""
        notes = self.notes.setdefault(name, [])
        if sum(note["source"] == source for note in notes) < MAX_NOTES:
            notes.append({"source": source, "day": day, "path": path, **where})


@dataclass
class WorldWriter:
    """A folder being filled: of which world, and the counts and traps so far.

    ``day`` is the day on which the world is read for the last time: nothing in it is newer.
    ``tenders_a_month`` is how many procurements each portal opens in a month, at least.
    """

    folder: Path
    scale: int
    seed: int
    day: date
    tenders_a_month: int
    counts: dict[str, int] = field(default_factory=dict)
    traps: Traps = field(default_factory=Traps)

    def ago(self, days: int) -> str:
        """Return the day that was some days before the day of the world."""
        return (self.day - timedelta(days=days)).isoformat()

    def random(self, *names: object) -> random.Random:
        """Return the generator of some names; its numbers depend on them and the seed alone."""
        return generator(self.seed, *names)

    def write(self, source: str, day: str, path: str, body: bytes, records: int = 0) -> None:
        """Write one document at once."""
        self._file(source, day, path).write_bytes(body)
        self._count(source, records)

    def write_json(self, source: str, day: str, path: str, value: Any, records: int = 0) -> None:
        """Write one JSON document; a Decimal keeps every digit it has."""
        self.write(source, day, path, exact_json(value).encode(), records)

    def write_csv(self, source: str, day: str, path: str, rows: Iterable[Iterable[object]]) -> None:
        """Write a CSV document row by row, its header first."""
        with self.stream(source, day, path) as text:
            lines = csv.writer(text)
            written = -1
            for row in rows:
                lines.writerow(row)
                written += 1
        self.counts[f"{source}.records"] += written

    @contextmanager
    def stream(self, source: str, day: str, path: str) -> Iterator[TextIO]:
        """Open a document to be written piece by piece; the caller counts its records."""
        with self._file(source, day, path).open("w", encoding="utf-8", newline="") as text:
            yield text
        self._count(source, 0)

    def copy(self, source: str, first: tuple[str, str], second: tuple[str, str]) -> None:
        """Write the bytes of one (day, path) to another."""
        body = (self.folder / source / first[0] / first[1]).read_bytes()
        self.write(source, *second, body)

    def _file(self, source: str, day: str, path: str) -> Path:
        file = self.folder / source / day / path
        file.parent.mkdir(parents=True, exist_ok=True)
        return file

    def _count(self, source: str, records: int) -> None:
        for unit, number in (("files", 1), ("records", records)):
            self.counts[f"{source}.{unit}"] = self.counts.get(f"{source}.{unit}", 0) + number


def generator(seed: int, *names: object) -> random.Random:
    """Return a generator whose numbers follow from the seed and the names alone.

    Each figure has a generator of its own, so that a new one does not change the others.
    """
    # Seeded by a text, which Python hashes with SHA-512: the same on every machine and version.
    return random.Random(":".join(map(str, (seed, *names))))


def exact_json(value: Any, indent: int | None = None) -> str:
    """Render JSON; a Decimal becomes a number with exactly its own digits.

    ``json`` cannot write a Decimal: it is written as text between NULs, which are then removed
    together with the quotes.
    """
    text = json.dumps(value, ensure_ascii=False, indent=indent, default=_mark_number)
    return _MARKED_NUMBER.sub(r"\1", text)


def _mark_number(value: object) -> str:
    if not isinstance(value, Decimal):
        raise TypeError(f"{type(value).__name__} has no JSON form here")
    return f"\0{value:f}\0"
