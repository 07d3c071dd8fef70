"""Derive the silent revisions of a build: every change that a publisher did not announce.

Values of figures and series are compared in SQL; releases of tenders member by member.
"""

import hashlib
import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import duckdb
import pyarrow as pa

from warehouse.publish.row_json import digits_sql
from warehouse.publish.snapshot import Snapshot
from warehouse.record.tables import RECORD_TABLES, arrow_schema
from warehouse.shared.data_files import sql_file
from warehouse.tables.column import content_of
from warehouse.tables.derived import SilentRevision
from warehouse.tables.sighting import AS_SHOWN, FIRST_READ, Sighting

# Which members of a tender release differ from those of an earlier reading.
#
# A member has a path such as ``tender.value.amount`` or ``awards[AW-1].status``: an element of a
# list is known by its ``id``, or by its position if the elements have none of their own.


def changed_members(before: str, after: str) -> Iterator[tuple[str, str | None, str | None]]:
    """Yield path, old and new text of every member that differs; None where it is absent."""
    old, new = (
        # Numbers stay text: digits are compared, and shown, as the portal wrote them.
        dict(_members("", json.loads(text, parse_float=str, parse_int=str)))
        for text in (before, after)
    )
    for path in dict.fromkeys([*old, *new]):
        if old.get(path) != new.get(path):
            yield path, old.get(path), new.get(path)


def _members(path: str, value: Any) -> Iterator[tuple[str, str | None]]:
    """Yield the path and the text of every member that holds no others."""
    if isinstance(value, dict) and value:
        for name, inner in value.items():
            yield from _members(f"{path}.{name}" if path else name, inner)
    elif isinstance(value, list) and value:
        for name, inner in _named_elements(value):
            yield from _members(f"{path}[{name}]", inner)
    elif path:
        yield path, value if value is None or isinstance(value, str) else json.dumps(value)


def _named_elements(elements: list[Any]) -> Iterator[tuple[str, Any]]:
    ids = [element.get("id") if isinstance(element, dict) else None for element in elements]
    names = [name for name in ids if isinstance(name, str)]
    if len(set(names)) < len(elements):
        names = [str(position) for position in range(len(elements))]
    return zip(names, elements, strict=True)


TABLE = "silent_revisions"
_SQL = sql_file(__name__, "silent_revisions")
# The ledger of all loads tells when a document was read again without any change.
EXTRACTS = {"readings": _SQL["readings"]}
# Changes of releases that are compared at a time.
_BATCH = 2_000


class _Compared(NamedTuple):
    """A table of vintages: ``document`` is what stays the same while its content changes.

    ``undated`` tells content of publishers that show one state only, without a day.
    """

    dataset: str
    document: str
    undated: str = "FALSE"


_COMPARED = {
    "fundamentals": _Compared(
        "AF-FUND",
        # What ends in a number of four digits is a version of a document; see ``cvm.py``.
        "regexp_replace(publication, '/[0-9]{4}$', '')",
    ),
    "macro_series": _Compared(
        "AF-MACRO", "publication", undated=f"available_at_evidence = '{FIRST_READ}'"
    ),
    "macro_annual": _Compared("AF-MACRO", "publication", undated="TRUE"),
    "tender_releases": _Compared("AF-TENDER", "publication"),
}
READS = tuple(_COMPARED)
_ROWS = {table.name: table.row for table in RECORD_TABLES}
_NUMBERS = ("value", "value_reported")
_MEMBERS = {"released_on": "date", "value_reported": "value"}
# What tells which figure it is, in one table or another.
_FIGURE = [
    name
    for name in SilentRevision.model_fields
    if name == "source"
    or (
        name not in Sighting.model_fields
        and any(name in _ROWS[each].model_fields for each in READS)
    )
]


def silent_revisions(snapshot: Snapshot) -> dict[str, pa.Table]:
    """Return every silent revision of every dataset."""
    with snapshot.cursor() as sql:
        tables = [rows for name in READS for rows in _changed(sql, name, _COMPARED[name])]
    return {TABLE: pa.concat_tables([arrow_schema(SilentRevision).empty_table(), *tables])}


def _changed(sql: duckdb.DuckDBPyConnection, name: str, compared: _Compared) -> Iterator[pa.Table]:
    schema, row = arrow_schema(SilentRevision), _ROWS[name]
    _SQL.run(
        sql,
        "changes",
        fill={"document": compared.document, "undated": compared.undated, "vintages": name},
        as_shown=AS_SHOWN,
    )
    if not sql.execute("FROM changes LIMIT 1").fetchall():
        # Usually nothing changed, and to plan a query for every column takes longer than to see it.
        return
    for position, column in enumerate(content_of(row)):
        before, after = (_text(f"{side}_change.{column}") for side in ("before", "after"))
        statement = _SQL.statement(
            "changed_values",
            dataset=compared.dataset,
            shown=", ".join(
                f"after_change.{name} AS {name}" if name in row.model_fields else f"NULL AS {name}"
                for name in _FIGURE
            ),
            member=_MEMBERS.get(column, column),
            before=before,
            after=after,
            # A removal empties every column, and is one revision.
            counted="TRUE" if position == 0 else "kind NOT IN ('removed', 'restored')",
        )
        rows = sql.sql(statement)
        if column != "release":
            yield rows.to_arrow_table().select(schema.names).cast(schema)
        else:
            for batch in rows.to_arrow_reader(_BATCH):
                yield _by_member(batch.to_pylist(), schema)


def _text(column: str) -> str:
    """Return a content column as text, numbers with their digits."""
    name = column.partition(".")[2]
    return digits_sql(column) if name in _NUMBERS else f"CAST({column} AS VARCHAR)"


def _by_member(rows: list[dict[str, Any]], schema: pa.Schema) -> pa.Table:
    """Return a row for each member of a release that differs, instead of the whole release."""
    changed = []
    for row in rows:
        for member, before, after in changed_members(row["before"] or "{}", row["after"] or "{}"):
            # No secret: an id that stays the same.
            named = f"{row['revision_id']}\x1f{member}".encode()
            own = {"revision_id": hashlib.md5(named, usedforsecurity=False).hexdigest()}
            changed.append(row | own | {"member": member, "before": before, "after": after})
    return pa.Table.from_pylist(changed, schema)
