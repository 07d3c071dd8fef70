"""The files of the bench: found in a folder by their SHA-256, wherever and however they are named.

Nothing is copied into the bench: ``files.csv`` says what each file is, where its publisher has it,
and which bytes are meant.
"""

import csv
import gzip
import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args
from urllib.parse import parse_qs, urlsplit

ROOT = Path(__file__).resolve().parent.parent
Kind = Literal["companyfacts", "acceptances", "alfred", "worldbank"]
_KINDS: dict[str, Kind] = {kind: kind for kind in get_args(Kind)}


class FilesMissing(Exception):
    """Some files of the table are not in the folders."""


@dataclass(frozen=True)
class BenchFile:
    """One file: what it is, when it was read at its publisher, and its bytes, unpacked."""

    kind: Kind
    path: Path
    read_on: str
    address: str

    def body(self) -> bytes:
        """Return the bytes as their publisher sent them."""
        return unpacked(self.path)

    def series(self) -> str:
        """Return the series that the address of a file names; the file itself does not."""
        return parse_qs(urlsplit(self.address).query).get("series_id", [""])[0]


def find_files(folders: list[Path], table: Path = ROOT / "files.csv") -> list[BenchFile]:
    """Return every file of the table, or say which are missing."""
    with table.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    wanted = {row["sha256"] for row in rows}
    found: dict[str, Path] = {}
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            if path.is_file() and (digest := _sha256(path)) in wanted:
                found.setdefault(digest, path)
    missing = [row["address"] for row in rows if row["sha256"] not in found]
    if missing:
        raise FilesMissing(
            f"{len(missing)} of {len(rows)} files are in none of the folders, the first of them "
            f"{missing[0]}. Files of a publisher change: you need the bytes whose SHA-256 is in "
            f"{table.name}."
        )
    return [
        BenchFile(_KINDS[row["kind"]], found[row["sha256"]], row["read_on"], row["address"])
        for row in rows
    ]


def elements() -> dict[str, str]:
    """Return the measure of each element, in the order of ``measures.csv``."""
    with (ROOT / "measures.csv").open(encoding="utf-8", newline="") as lines:
        return {row["element"]: row["measure"] for row in csv.DictReader(lines)}


def counterparts() -> dict[str, str]:
    """Return, for measures with and without minority interests, the other one."""
    with (ROOT / "measures.csv").open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    return {row["measure"]: row["counterpart"] for row in rows if row["counterpart"]}


def unpacked(path: Path) -> bytes:
    """Return the bytes of a file; those of a gzip without it."""
    body = path.read_bytes()
    return gzip.decompress(body) if path.suffix == ".gz" else body


def _sha256(path: Path) -> str:
    return hashlib.sha256(unpacked(path)).hexdigest()
