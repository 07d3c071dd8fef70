"""What differs between two builds: rows that came, changed or went.

Files are immutable and named by what they were made from: only those are read that one build has
and the other has not.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import msgspec

from warehouse.serve.build import Build
from warehouse.serve.engines import FileReader
from warehouse.serve.packs import rows_by_number
from warehouse.shared.json_encoding import decode_object, encode, encode_object
from warehouse.shared.tiers import Dataset
from warehouse.tables.column import identity_of
from warehouse.tables.fundamentals import FundamentalVintage
from warehouse.tables.macro import MacroAnnual, MacroSeries
from warehouse.tables.tenders import TenderRelease

ChangeKind = Literal["added", "restated", "withdrawn", "changed", "removed"]
# A row as it is served, and whether it withdraws its figure.
_Row = tuple[bytes, bool]
_NULL = b"null"
_TEXT = msgspec.json.Decoder(str | None)
# Parts of which what differs is remembered: pages of one follow each other.
_MOST_PARTS = 4


@dataclass(frozen=True)
class ChangedTable:
    """A table whose rows are compared.

    ``owner`` is the member that says what a row is about, ``row`` the class whose identity names
    its figure; ``measure`` names it to readers, and ``value`` is what a restatement changes.
    """

    name: str
    dataset: Dataset
    owner: str
    row: type
    measure: str
    value: str = ""

    def key(self, members: Mapping[str, bytes], vintage: int) -> str:
        """Return the key of a vintage of a figure."""
        # Rows do not name their source.
        names = (name for name in identity_of(self.row) if name != "source")
        return "/".join([*(_TEXT.decode(members[name]) or "" for name in names), str(vintage)])


TABLES = (
    ChangedTable(
        *("fundamentals", "AF-FUND", "service_id"),
        *(FundamentalVintage, "line_item", "value_reported"),
    ),
    ChangedTable("tender_releases", "AF-TENDER", "country", TenderRelease, "ocid"),
    ChangedTable("macro_series", "AF-MACRO", "series", MacroSeries, "series", "value"),
    ChangedTable("macro_annual", "AF-MACRO", "indicator", MacroAnnual, "indicator", "value"),
)


@dataclass(frozen=True)
class ChangedRow:
    """One row that differs; ``body`` is as it is served, or as it was if it is gone."""

    table: ChangedTable
    kind: ChangeKind
    owner: str
    country: str | None
    key: str
    body: bytes
    value_before: bytes = _NULL

    def encoded(self, country: str | None) -> bytes:
        """Return it as it is served, with the country of its owner."""
        members, is_gone = decode_object(self.body), self.kind == "removed"
        value = members.get(self.table.value, _NULL)
        return encode_object(
            {
                "change": encode(self.kind),
                "dataset": encode(self.table.dataset),
                "id": encode(self.owner),
                "country": encode(country),
                "key": encode(self.key),
                "figure": members[self.table.measure],
                "period_end": members.get("period_end", _NULL),
                # A figure in two currencies is two figures.
                "unit": members.get("unit", _NULL),
                "value": _NULL if is_gone else value,
                "value_before": value if is_gone else self.value_before,
                "row": _NULL if is_gone else self.body,
            }
        )


@dataclass(frozen=True)
class Part:
    """Files of a table that only one of two builds has, and whose rows are in no other part."""

    table: ChangedTable
    name: str
    newer: tuple[FileReader, ...]
    older: tuple[FileReader, ...]


def parts(
    build: Build, before: Build | None, table: ChangedTable, owner: str | None = None
) -> list[Part]:
    """Return the parts of a table that differ and can have rows of an owner, in a fixed order.

    A part is one file, unless a build spreads the rows of its value over other files.
    """
    split, both = build.split(table.name), (build, before)
    by_value = split is not None and split.how == "value"
    files = [() if one is None else one.files(table.name) for one in both]
    labels: list[dict[str, set[str]]] = [{}, {}]
    for place, of_build in enumerate(files):
        for file in of_build:
            labels[place].setdefault(_value_of(file, by_value), set()).add(file.label)
    found: dict[str, tuple[list[FileReader], list[FileReader]]] = {}
    for place, of_build in enumerate(files):
        for file in of_build:
            value = _value_of(file, by_value)
            newer, older = labels[0].get(value), labels[1].get(value)
            is_alike = newer is None or older is None or newer == older
            name = file.label if is_alike else f"{value}/*"
            found.setdefault(name, ([], []))[place].append(file)
    wanted = None
    if owner is not None and split is not None and split.by != "source":
        wanted = {
            file.path
            for one in both
            if one is not None
            for file in one.files_with(table.name, split.by, owner)
        }
    differing = []
    for name, (newer_files, older_files) in found.items():
        same = {file.path for file in newer_files} & {file.path for file in older_files}
        part = Part(
            table,
            name,
            *(
                tuple(file for file in each if file.path not in same)
                for each in (newer_files, older_files)
            ),
        )
        paths = {file.path for file in (*part.newer, *part.older)}
        if paths and (wanted is None or paths & wanted):
            differing.append(part)
    return differing


def _value_of(file: FileReader, by_value: bool) -> str:
    return file.label.partition("/")[0] if by_value else ""


@lru_cache(_MOST_PARTS)
def changed_rows(part: Part) -> Sequence[ChangedRow]:
    """Return what differs in a part, by owner and key."""
    table = part.table
    now, then = (
        [row for file in files for row in _rows_of(file, table.name)]
        for files in (part.newer, part.older)
    )
    known, stays = set(then), set(now)
    came = _keyed(table, [row for row in now if row not in known])
    went = _keyed(table, [row for row in then if row not in stays])
    values: dict[str, bytes] = {}
    if table.value and came:
        # What a restated figure was before may be in a row that stays.
        for row in map(decode_object, (body for body, _ in (*then, *now))):
            values[table.key(row, int(row["vintage"]))] = row[table.value]
    rows = []
    for name, ((body, is_withdrawn), members) in came.items():
        vintage, old = int(members["vintage"]), went.pop(name, None)
        earlier = values.get(table.key(members, vintage - 1), _NULL)
        kind: ChangeKind = "added" if vintage == 1 else "restated"
        if old is not None:
            kind, earlier = "changed", old[1].get(table.value, _NULL)
        elif is_withdrawn:
            kind = "withdrawn"
        rows.append(ChangedRow(table, kind, *_about(table, members), name, body, earlier))
    for name, ((body, _), members) in went.items():
        rows.append(ChangedRow(table, "removed", *_about(table, members), name, body))
    return sorted(rows, key=lambda row: (row.owner, row.key))


def _about(table: ChangedTable, members: Mapping[str, bytes]) -> tuple[str, str | None]:
    """Return what a row is about, and its country, where the row has one."""
    owner, country = (_TEXT.decode(members.get(name, _NULL)) for name in (table.owner, "country"))
    return owner or "", country


def _rows_of(file: FileReader, table: str) -> list[_Row]:
    flags = [flag for (flag,) in file.query(f"SELECT withdrawn FROM {table} ORDER BY row_number")]
    rows = rows_by_number(file, range(1, len(flags) + 1))
    return [(row, bool(flag)) for row, flag in zip(rows, flags, strict=True)]


def _keyed(
    table: ChangedTable, rows: Sequence[_Row]
) -> dict[str, tuple[_Row, Mapping[str, bytes]]]:
    """Return rows by their keys; where sources state the same figure, they are numbered."""
    keyed: dict[str, tuple[_Row, Mapping[str, bytes]]] = {}
    for row in sorted(rows):
        members = decode_object(row[0])
        name = key = table.key(members, int(members["vintage"]))
        number = 1
        while key in keyed:
            number += 1
            key = f"{name}#{number}"
        keyed[key] = row, members
    return keyed
