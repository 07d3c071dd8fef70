"""Builds as they lie in a folder: their metadata changed, or in the form that they had before."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from zipfile import ZipFile

import msgspec
import numpy as np

from tests.helpers.paths import ROOT
from warehouse.mart.row_json import LATEST_DAY
from warehouse.mart.sqlite_builds import manifest_file, pointer_files, read_manifest, single_file
from warehouse.mart.tables import MART_TABLES, MartTable
from warehouse.mart.words import words
from warehouse.read.mart import Build, Mart
from warehouse.steps.files import BuildManifest, encode_manifest

_PACKED_BEFORE = ("fundamentals", "tender_releases", "macro_series")
_LATER_TABLES = ("screens", "party_history", "catalogue", "changes", "search", "filings")
# The world of tests/helpers/random_world.py with this seed, as it was published by commit 82a7ebb
# (version 8, one file), by commit 15e1e60 (version 9), by commit 25aed31 (version 10), by commit
# 6466f9f (version 11) and by commit d674582 (version 12).
SEED_OF_STORED = 7


def stored_build(version: int, folder: Path) -> Path:
    """Unpack a build of an older schema version; return its folder."""
    with ZipFile(ROOT / "tests" / "data" / f"build_of_version_{version}.zip") as archive:
        archive.extractall(folder)
    return folder


@contextmanager
def nothing_published(folder: Path) -> Iterator[None]:
    """Take the pointers of a folder of builds away for a while."""
    pointers = [path for path in pointer_files(folder) if path.exists()]
    for path in pointers:
        path.rename(path.with_suffix(".away"))
    yield
    for path in pointers:
        path.with_suffix(".away").rename(path)


def change_metadata(folder: Path, name: str, **values: str) -> None:
    """Change the metadata of a build of any form."""
    if single_file(folder, name).is_file():
        with closing(sqlite3.connect(single_file(folder, name))) as database:
            for key, value in values.items():
                database.execute("UPDATE about SET value = ? WHERE name = ?", (value, key))
            database.commit()
        return
    manifest = read_manifest(folder, name)
    assert manifest is not None
    changed = BuildManifest(name, {**manifest.metadata, **values}, manifest.files)
    manifest_file(folder, name).write_bytes(encode_manifest(changed))


def as_one_file(folder: Path, name: str) -> Path:
    """Write a build as version 8 had it, in one file, and return that; the manifest is deleted."""
    with closing(Mart(folder)) as mart, closing(sqlite3.connect(single_file(folder, name))) as into:
        build = mart.at(name).build()
        into.execute("CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL)")
        about = {**build.metadata, "layout": "8"}
        into.executemany("INSERT INTO about VALUES (?, ?)", about.items())
        for table in MART_TABLES:
            if table.name not in _LATER_TABLES:
                _copy(build, table, into)
        _insert(into, "names", _names(build), "folded, country, entity_row")
        _insert(into, "words", _words(build), "field, word, row_numbers")
        into.commit()
    manifest_file(folder, name).unlink()
    return single_file(folder, name)


def _copy(build: Build, table: MartTable, into: sqlite3.Connection) -> None:
    columns = [*table.keys, *(["row"] if table.members else [])]
    rows = build.query(f"SELECT {', '.join(columns)} FROM {table.name} ORDER BY row_number")
    if table.name == "metrics":
        # Version 8 had them by value, and their country as a key.
        members = [msgspec.json.decode(row[-1]) for row in rows]
        columns.insert(-1, "country")
        rows = [(*r[:-1], of["country"] or "", r[-1]) for r, of in zip(rows, members, strict=True)]
        values = {row: float(of["value"]) for row, of in zip(rows, members, strict=True)}
        at = [table.keys.index(name) for name in ("metric", "service_id")]
        rows.sort(key=lambda row: (row[at[0]], -values[row], row[at[1]]))
    numbered = [(number, *row) for number, row in enumerate(rows, 1)]
    if table.name in _PACKED_BEFORE:
        packs = _packs(table, numbered)
        names = "first_row, pack_key, has_next, all_latest, row_index, rows"
        _insert(into, table.packs, packs, names)
        columns, numbered = columns[:-1], [row[:-1] for row in numbered]
    _insert(into, table.name, numbered, ", ".join(["row_number", *columns]))


def _packs(table: MartTable, rows: Sequence[tuple[object, ...]]) -> list[tuple[object, ...]]:
    """Return a pack for each row, known for ever if it is the latest, and never if it is not."""
    assert table.packed is not None
    key, latest = (1 + table.keys.index(name) for name in (table.packed.by, "latest"))
    packs: list[tuple[object, ...]] = []
    for position, row in enumerate(rows):
        has_next = position + 1 < len(rows) and rows[position + 1][key] == row[key]
        known = (0, LATEST_DAY) if row[latest] else (LATEST_DAY, 0)
        body = bytes(row[-1]) + b","  # type: ignore[call-overload]
        index = np.array([*known, 0, len(body)], "<i4").tobytes()
        packs.append((row[0], row[key], int(has_next), row[latest], index, body))
    return packs


def _names(build: Build) -> list[tuple[str, str, int]]:
    """Return every name of every organisation, normalised, with the number of its row."""
    names = set[tuple[str, str, int]]()
    for number, country, row in build.query("SELECT row_number, country, row FROM entities"):
        members = msgspec.json.decode(row)
        for name in (members["legal_name"], *(members["other_names"] or ())):
            if name is not None:
                names.add((" ".join(words(name)), country, number))
    return sorted(names)


def _words(build: Build) -> list[tuple[str, str, bytes]]:
    """Return each word of names, buyers and tenders with the numbers of its rows."""
    texts = [("entity", name, number) for name, _, number in _names(build)]
    latest = "SELECT row_number, row FROM tender_releases WHERE latest = 1"
    for number, row in build.query(latest):
        release = msgspec.json.decode(row)
        tender = release["tender"] or {}
        buyer = (release["buyer"] or {}).get("name") or ""
        texts.append(("buyer", buyer, number))
        title, description = (tender.get(name) or "" for name in ("title", "description"))
        texts.append(("tender", f"{buyer} {title} {description[:400]}", number))
    rows: dict[tuple[str, str], set[int]] = {}
    for field, text, number in texts:
        for word in words(text):
            rows.setdefault((field, word), set()).add(number)
    return [(*key, np.array(sorted(found), "<i4").tobytes()) for key, found in rows.items()]


def _insert(
    into: sqlite3.Connection, name: str, rows: Sequence[tuple[object, ...]], columns: str
) -> None:
    places = ", ".join("?" * len(columns.split(", ")))
    into.execute(f"CREATE TABLE {name} ({columns})")
    into.executemany(f"INSERT INTO {name} VALUES ({places})", rows)
