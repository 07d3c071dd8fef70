"""The files of an export, as data: ``files.csv``, and one for each panel.

The SQL of rows that are more than those of a table is in ``sql/exports.sql``. ``file_columns.csv``
has the columns of each file, and ``columns.csv`` those that no table has.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, cast, get_args

import pyarrow as pa
from sqlmodel import SQLModel

from warehouse.methodology.signals import PANEL_BY_KEY, PANELS, SIGNAL_SET
from warehouse.publish.served_rows import (
    CURRENT_ENTITIES,
    CURRENT_IDENTIFIERS,
    NAMED_AWARDS,
    PARTY_ID,
    SAME_PARTY,
    UNIVERSE,
)
from warehouse.publish.snapshot import ORDERS
from warehouse.publish.tables import MART_TABLES
from warehouse.record.tables import DECIMAL, arrow_schema
from warehouse.serve.exports import ArtifactKind
from warehouse.shared.data_files import csv_rows, sql_file
from warehouse.shared.tiers import TierName
from warehouse.tables import ROWS
from warehouse.tables.column import Part, identity_of, shown_columns
from warehouse.tables.sighting import OPEN_CLASSES

# The columns of each file: name, type, meaning, and the SQL that computes it.
#
# Types and meanings are those of the row class a column comes from; the few columns that only bulk
# files have are described here. Names are those of the records that the API serves. Columns of
# hashes come last: they are for joins and deltas, and of no interest to most readers.


@dataclass(frozen=True)
class FileColumn:
    """One column of a bulk file; ``sql`` computes it from a row of the snapshot."""

    field: pa.Field
    meaning: str
    example: Any
    sql: str

    @property
    def name(self) -> str:
        """The name in the file."""
        return str(self.field.name)


Columns = tuple[FileColumn, ...]


_ARROW = {
    "text": pa.string(),
    "texts": pa.list_(pa.string()),
    "integer": pa.int64(),
    "boolean": pa.bool_(),
    "date": pa.date32(),
    "amount": DECIMAL,
}
# Columns that only bulk files have, and those that the snapshot adds to a row.
_OWN = {
    row["name"]: FileColumn(
        pa.field(row["name"], _ARROW[row["type"]], row["nullable"] == "yes"),
        row["meaning"],
        json.loads(row["example"]),
        row["name"],
    )
    for row in csv_rows(__name__, "columns")
}


def columns(row: type[SQLModel], names: Iterable[str]) -> Columns:
    """Return columns of a row class under the names that they have in files."""
    schema, shown = arrow_schema(row), shown_columns(row, "file")
    selected = []
    for name in names:
        info = row.model_fields[name]
        selected.append(
            FileColumn(
                schema.field(name).with_name(shown.get(name, name)),
                str(info.description),
                info.examples[0] if info.examples else None,
                name,
            )
        )
    return tuple(selected)


# The columns of each file, and lists of columns that several have.
_LINES = {row["name"]: row for row in csv_rows(__name__, "file_columns")}


def _columns(line: str) -> Columns:
    """Return the columns of a line of ``file_columns.csv``: each once, where it comes first.

    With a minus before its name, a column is left out.
    """
    found: dict[str, FileColumn] = {}
    for word in _LINES[line]["columns"].split():
        if word.startswith("-"):
            del found[word.removeprefix("-")]
            continue
        for column in _named(word):
            found.setdefault(column.name, column)
    return tuple(found.values())


def _named(word: str) -> Columns:
    """Return the columns that a word names: one of ``columns.csv``, or those of another line.

    Of a row class: a column, such as ``MacroSeries.available_at``; what files show of it,
    ``Signal.file``, or of a part of it, ``Filing.own``; ``Metric.all``.
    """
    if word in _LINES:
        return _columns(word)
    row_class, _, name = word.rpartition(".")
    if not row_class:
        return (_OWN[name],)
    row = ROWS[row_class]
    if name == "all":
        return columns(row, row.model_fields)
    if name == "file":
        return columns(row, shown_columns(row, "file"))
    if name in get_args(Part):
        return columns(row, shown_columns(row, "file", cast(Part, name)))
    return columns(row, (name,))


# Ids that are hashes, in the order in which they end a row, before its primary key.
_HASHES = ("party_id", "fact_id", "provenance_id")
# Parts of an id are separated by a control character that no published text contains.
_HASHED_ID = "md5(concat_ws(chr(31), {}))"


def _keyed(line: str) -> Columns:
    """Return the columns of a file: those to read, the hashes, and as the last the primary key.

    That is a column of the row, or the hash of several; ``*`` means the identity of its class.
    """
    row = _LINES[line]
    hashed = row["id_hash_of"]
    if "*" in hashed:
        row_class = ROWS[row["columns"].partition(".")[0]]
        hashed = hashed.replace("*", ", ".join(identity_of(row_class)))
    key = replace(_OWN[row["id"]], sql=row["id_sql"] or _HASHED_ID.format(hashed))
    by_name = {column.name: column for column in _columns(line)}
    hashes = [by_name.pop(name) for name in _HASHES if name in by_name]
    return (*by_name.values(), *hashes, key)


SQL = sql_file(
    __name__,
    "exports",
    fragments={
        "id_of_party": PARTY_ID,
        "same_party": SAME_PARTY,
        "named_awards": NAMED_AWARDS,
        "of_release": ", ".join(f"released.{column.sql}" for column in _columns("OF_RELEASE")),
    },
)
_STATEMENTS = {
    "parties": SQL["parties"],
    "awards": SQL.statement("awards", parties=SQL["parties"]),
    "tender_facts": SQL["tender_facts"],
    "organisations": SQL.statement("organisations", organisations=CURRENT_ENTITIES),
    "identifiers": CURRENT_IDENTIFIERS,
    "universe": UNIVERSE,
    # With the session from which each can be traded.
    **{
        table.name: table.rows for table in MART_TABLES if table.name in ("fundamentals", "filings")
    },
}
_OPEN = f"license_class IN ({', '.join(repr(name) for name in OPEN_CLASSES)})"
_AS_OF = (
    # The last day is left out of the answer: it tells what happened after as_of.
    "SELECT * EXCLUDE ({until}{other_columns}) FROM '{{url}}' "
    "WHERE {since} <= DATE '{{as_of}}' "
    "AND ({until} IS NULL OR {until} > DATE '{{as_of}}'){not_withdrawn}"
)
# The days from which and until which a row is the answer.
_DAYS = (("available_at", "superseded_at"), ("answers_from", "answers_until"))
LICENCES: dict[ArtifactKind, str] = {
    "open-panel": "CC-BY-4.0",
    # SPDX's form for a licence that is not on its list.
    "licensed": "LicenseRef-Sankofa-Licensed",
}
TIERS: dict[ArtifactKind, TierName | None] = {"open-panel": None, "licensed": "starter"}


@dataclass(frozen=True)
class ExportFile:
    """One file: ``relation`` is a SELECT over the snapshot tables it ``needs``.

    The last column is the primary key; ``sort`` ends with it. ``period`` are the date columns
    whose least and greatest day the manifest states.
    """

    key: str
    title: str
    kind: ArtifactKind
    sku: str | None
    columns: tuple[FileColumn, ...]
    relation: str
    sort: tuple[str, ...]
    period: tuple[str, ...]
    needs: tuple[str, ...]

    @property
    def id(self) -> str:
        """The name of the primary key column."""
        return self.columns[-1].name

    @property
    def signal_key(self) -> str | None:
        """The key of its panel, if it is the file of one."""
        return self.key if self.key in PANEL_BY_KEY else None

    @property
    def methodology_ref(self) -> str | None:
        """The reference of the methodology page of its panel, if it is the file of one."""
        return f"{SIGNAL_SET}/{self.key}" if self.signal_key else None

    @property
    def statement(self) -> str:
        """The query for its rows, in their order."""
        selected = ", ".join(f"{column.sql} AS {column.name}" for column in self.columns)
        return f"SELECT {selected} FROM ({self.relation}) ORDER BY {', '.join(self.sort)}"

    @property
    def sql_as_of(self) -> str | None:
        """The query for any as_of; None if the file has no history or no publication dates."""
        names = {column.name for column in self.columns}
        days = next((days for days in _DAYS if days[1] in names), None)
        if days is None or self.key in _UNDATED:
            return None
        return _AS_OF.format(
            since=days[0],
            until=days[1],
            other_columns=", latest" if "latest" in names else "",
            not_withdrawn=" AND NOT withdrawn" if "withdrawn" in names else "",
        )


# Files without as_of: their sources do not say when a value became public.
_UNDATED = ("af-macro-annual",)


def _export_file(row: Mapping[str, str]) -> ExportFile:
    """Return the file of a line of ``files.csv``.

    Its rows are those of a statement, or of the table it needs, in the order of the snapshot. An
    open file has open rows only, whatever else the table has.
    """
    columns = _keyed(row["columns"])
    needs = tuple(row["needs"].split())
    relation = f"SELECT * FROM {needs[0]} WHERE {row['where'].format(OPEN=_OPEN) or 'TRUE'}"
    names = {column.sql: column.name for column in columns}
    return ExportFile(
        row["key"],
        row["title"],
        cast(ArtifactKind, row["kind"]),
        row["sku"] or None,
        columns,
        _STATEMENTS[row["statement"]] if row["statement"] else relation,
        tuple(row["sort"].split()) or tuple(names[name] for name in ORDERS[needs[0]]),
        (row["period"],),
        needs,
    )


# Files by the first hexadecimal digit of the MD5 of the service_id: all would be one of gigabytes.
# A bucket without elements has no file.
BUCKETED = "elements"


def _files(row: Mapping[str, str]) -> Iterator[ExportFile]:
    """Yield the files of a line of ``files.csv``: one, or one for each bucket of organisations."""
    file = _export_file(row)
    if file.needs != (BUCKETED,):
        yield file
        return
    for bucket in "0123456789abcdef":
        of_bucket = f"SELECT * FROM {BUCKETED} WHERE left(md5(service_id), 1) = '{bucket}'"
        yield replace(file, key=f"{file.key}-{bucket}", relation=of_bucket)


EXPORT_FILES: tuple[ExportFile, ...] = (
    *(file for row in csv_rows(__name__, "files") for file in _files(row)),
    *(
        ExportFile(
            panel.key,
            panel.title,
            "open-panel",
            "AF-TENDER",
            _keyed("SIGNAL"),
            f"SELECT * FROM signals WHERE signal_key = '{panel.key}' AND {_OPEN}",
            ("country", "month", "dimension", "dimension_value", "measure", "vintage", "record_id"),
            ("month",),
            ("signals",),
        )
        for panel in PANELS
    ),
)
