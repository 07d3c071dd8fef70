"""The folder of a world: where its documents go, and how many there are."""

import csv
import json
import random
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any, TextIO

Json = dict[str, Any]

_MARKED = re.compile(r'"\\u0000([^"\\]*)\\u0000"')


KEPT = 40


class Traps:
    """The places of each trap, by its name; the first 40 of a source are kept."""

    def __init__(self) -> None:
        self.places: dict[str, list[dict[str, Any]]] = {}

    def note(self, name: str, source: str, day: str, path: str, **where: Any) -> None:
        """Keep one place: a document, and the pointer or ids of the trap in it."""
        places = self.places.setdefault(name, [])
        if sum(place["source"] == source for place in places) < KEPT:
            places.append({"source": source, "day": day, "path": path, **where})


@dataclass
class WorldWriter:
    """A folder being filled, with its scale, its seed, its counts and its traps."""

    folder: Path
    scale: int
    seed: int
    counts: dict[str, int] = field(default_factory=dict)
    traps: Traps = field(default_factory=Traps)

    def random(self, *names: object) -> random.Random:
        """Give the generator of one name; its numbers depend on the seed and the name alone."""
        return generator(self.seed, *names)

    def write(self, source: str, day: str, path: str, body: bytes, records: int = 0) -> None:
        """Write one document whole."""
        place = self._place(source, day, path)
        place.write_bytes(body)
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
        with self._place(source, day, path).open("w", encoding="utf-8", newline="") as text:
            yield text
        self._count(source, 0)

    def copy(self, source: str, first: tuple[str, str], second: tuple[str, str]) -> None:
        """Write the bytes of one (day, path) again at another."""
        body = (self.folder / source / first[0] / first[1]).read_bytes()
        self.write(source, *second, body)

    def _place(self, source: str, day: str, path: str) -> Path:
        place = self.folder / source / day / path
        place.parent.mkdir(parents=True, exist_ok=True)
        return place

    def _count(self, source: str, records: int) -> None:
        for what, more in (("files", 1), ("records", records)):
            self.counts[f"{source}.{what}"] = self.counts.get(f"{source}.{what}", 0) + more


def generator(seed: int, *names: object) -> random.Random:
    """Give a generator whose numbers follow from the seed and the names alone."""
    return random.Random(":".join(map(str, (seed, *names))))  # noqa: S311 - nothing here is secret


def exact_json(value: Any, indent: int | None = None) -> str:
    """Render JSON; a Decimal becomes a number with exactly its own digits."""
    text = json.dumps(value, ensure_ascii=False, indent=indent, default=_marked)
    return _MARKED.sub(r"\1", text)


def _marked(value: object) -> str:
    if not isinstance(value, Decimal):
        raise TypeError(f"{type(value).__name__} has no JSON form here")
    return f"\0{value:f}\0"
