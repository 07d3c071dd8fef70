"""Rows before they enter the record: typed as the record is, complete, plausible and visible.

A table with other columns or types is refused as a whole. A row that fails a rule of the rule book
is rejected with its column, its number and the reason; the others go on.

The texts of the reasons are part of the id of a quarantined row. With another wording, a row that
is refused again would be quarantined a second time.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from warehouse.record.rules import RowRule, rules_of
from warehouse.record.store import local_reader
from warehouse.record.tables import DECIMAL, RecordTable, incoming_schema
from warehouse.shared.errors import BadTable
from warehouse.tables.entities import NAME_LISTS

# What Arrow raises for a value that its column cannot store exactly.
MISFITS = (pa.ArrowException, TypeError, ValueError, OverflowError)

# The first reason against each rejected row, by row number.
Reasons = dict[int, str]


@dataclass(frozen=True)
class RejectedRow:
    """A row that was read but not accepted: its document, its location there, the reason.

    ``partial``: only a part of a record, or what is none of ours; so it hides no figure that seems
    to be missing.
    """

    document: str
    source_ref: str
    reason: str
    row: int | None = None
    partial: bool = False

    @property
    def reason_with_row(self) -> str:
        """The reason, with the row number where the location alone is not enough."""
        return self.reason if self.row is None else f"row {self.row}, {self.reason}"


def to_arrow(
    table: RecordTable, rows: Sequence[Mapping[str, Any]]
) -> tuple[pa.Table, list[RejectedRow]]:
    """Return the table that ``append`` takes, and the rows that do not fit its types."""
    schema = incoming_schema(table)
    columns = set(schema.names)
    try:
        if all(row.keys() <= columns for row in rows):
            return _table(schema, rows), []
        raise ValueError("a row has a column that the table has not")
    except MISFITS:
        if len(rows) == 1:
            (row,) = rows
            document, source_ref = str(row.get("document", "")), str(row.get("source_ref", ""))
            reason = _misfit(schema, row) or "its values do not fit their columns"
            return schema.empty_table(), [RejectedRow(document, source_ref, reason, 0)]
    # Converting whole columns is fast but does not tell which row failed: each half is tried.
    half = len(rows) // 2
    (first, misfits), (second, others) = to_arrow(table, rows[:half]), to_arrow(table, rows[half:])
    later = [replace(row, row=(row.row or 0) + half) for row in others]
    return pa.concat_tables([first, second]), [*misfits, *later]


def _table(schema: pa.Schema, rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    columns = [pa.array([row.get(field.name) for row in rows], field.type) for field in schema]
    return pa.Table.from_arrays(columns, schema=schema)


def _misfit(schema: pa.Schema, row: Mapping[str, Any]) -> str | None:
    unknown = set(row) - set(schema.names)
    if unknown:
        return f"{sorted(unknown)[0]}: no such column"
    for field in schema:
        value = row.get(field.name)
        try:
            pa.array([value], field.type)
        except MISFITS as error:
            return f"{field.name}: {value!r:.80} does not fit {field.type} ({error})"
    return None


@dataclass(frozen=True)
class CheckedRows:
    """The rows that may enter, typed as the record is, and those that may not.

    ``accepted`` have their number in the load in the column ``incoming_row``. ``shown`` are the
    rejected rows of which it is known which figure they are about: the publisher shows it, though
    not in a form that may be stored.
    """

    accepted: pa.Table
    rejected: list[RejectedRow]
    shown: pa.Table


def check_rows(table: RecordTable, incoming: pa.Table) -> CheckedRows:
    """Check every row of a load by the rules of its table."""
    schema = incoming_schema(table)
    _require_columns(table, schema, incoming)
    reasons: Reasons = {}
    columns = [_typed(table, field, incoming[field.name], reasons) for field in schema]
    typed = pa.Table.from_arrays(columns, names=schema.names)
    numbers = pa.array(np.arange(len(typed)))
    numbered = typed.append_column("incoming_row", numbers)
    for rule, row in _faults(rules_of(table), numbered):
        value = _printable(typed[rule.column][row])
        reasons.setdefault(row, f"{rule.column}: {rule.reason.format(value)}")
    if not reasons:
        accepted = typed.cast(schema).append_column("incoming_row", numbers)
        return CheckedRows(accepted, [], schema.empty_table())
    is_rejected = pc.is_in(numbers, pa.array(sorted(reasons)))
    rows = typed.filter(pc.invert(is_rejected)).cast(schema)
    accepted = rows.append_column("incoming_row", numbers.filter(pc.invert(is_rejected)))
    shown = _with_identity(table, numbered.filter(is_rejected)).select(schema.names)
    return CheckedRows(accepted, _rejected(typed, reasons), shown)


def _with_identity(table: RecordTable, rejected: pa.Table) -> pa.Table:
    """Return the rejected rows whose identity columns fail no rule."""
    rules = [rule for rule in rules_of(table) if rule.column in table.identity]
    unknown = pa.array([row for _, row in _faults(rules, rejected)], pa.int64())
    return rejected.filter(pc.invert(pc.is_in(rejected["incoming_row"], unknown)))


def _rejected(typed: pa.Table, reasons: Reasons) -> list[RejectedRow]:
    numbers = sorted(reasons)
    rows = typed.select(["document", "source_ref"]).take(pa.array(numbers)).to_pylist()
    return [
        RejectedRow(row["document"] or "", row["source_ref"] or "", reasons[number], number)
        for number, row in zip(numbers, rows, strict=True)
    ]


def _require_columns(table: RecordTable, schema: pa.Schema, incoming: pa.Table) -> None:
    names, required = incoming.column_names, schema.names
    faults = (
        ([name for name in required if name not in names], "is missing"),
        ([name for name in names if name not in required], "is unknown"),
        ([name for name in required if names.count(name) > 1], "is there twice"),
    )
    for faulty, fault in faults:
        for name in faulty:
            raise BadTable(f"{table.name}: column {name!r} {fault}; nothing was written")


def _typed(
    table: RecordTable, field: pa.Field, values: pa.ChunkedArray, reasons: Reasons
) -> pa.ChunkedArray:
    if values.type.equals(field.type):
        return values
    if field.type.equals(DECIMAL) and (
        pa.types.is_decimal(values.type) or pa.types.is_integer(values.type)
    ):
        return _decimals(field.name, values, reasons)
    if not _same_kind(values.type, field.type):
        raise BadTable(
            f"{table.name}: column {field.name!r} is {values.type}, the record keeps "
            f"{field.type}; nothing was written"
        )
    try:
        return values.cast(field.type)
    except pa.ArrowInvalid as error:
        raise BadTable(
            f"{table.name}: column {field.name!r} of {values.type} does not fit {field.type} "
            f"({error}); nothing was written"
        ) from error


def _same_kind(kind: pa.DataType, wanted: pa.DataType) -> bool:
    """Return whether a cast changes the encoding only: text to text, UTC to UTC, int to int."""
    types = pa.types
    if types.is_dictionary(kind):
        kind = kind.value_type
    if types.is_string(wanted):
        text = types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)
        return bool(text or types.is_null(kind))
    if types.is_timestamp(wanted):
        return bool(types.is_timestamp(kind) and kind.tz in ("UTC", "+00:00", "Etc/UTC"))
    return bool(types.is_null(kind) or (types.is_int64(wanted) and types.is_integer(kind)))


def _decimals(name: str, values: pa.ChunkedArray, reasons: Reasons) -> pa.ChunkedArray:
    """Cast decimals and integers of any width; reject those that cannot be stored exactly."""
    try:
        return values.cast(DECIMAL)
    except pa.ArrowInvalid:
        # Arrow does not tell which value failed: cast them one by one.
        single = [_decimal(name, row, value, reasons) for row, value in enumerate(values)]
        return pa.chunked_array([pa.concat_arrays(single)])


def _decimal(name: str, row: int, value: pa.Scalar, reasons: Reasons) -> pa.Array:
    try:
        return pa.array([value.as_py()], DECIMAL)
    except pa.ArrowInvalid:
        reasons[row] = (
            f"{name}: {value.as_py()!s:.80} has no exact place; the record keeps 20 digits "
            "before the point and 18 behind it"
        )
        return pa.nulls(1, DECIMAL)


def _faults(all_rules: Sequence[RowRule], numbered: pa.Table) -> Iterator[tuple[RowRule, int]]:
    """Yield every row that fails a rule, with the first rule it fails."""
    # A null, or an empty text, is rare, and Arrow tells at once that a column has none.
    rules = [rule for rule in all_rules if _may_fail(rule, numbered[rule.column])]
    if not rules:
        return
    cases = " ".join(f"WHEN {rule.fails} THEN {number}" for number, rule in enumerate(rules))
    cursor = local_reader().cursor()
    try:
        cursor.register("incoming", numbered)
        found = cursor.sql(
            f"SELECT * FROM (SELECT incoming_row, CASE {cases} END AS rule FROM incoming) "
            "WHERE rule IS NOT NULL ORDER BY incoming_row"
        ).fetchall()
    finally:
        cursor.close()
    for row, number in found:
        yield rules[number], row


def _may_fail(rule: RowRule, values: pa.ChunkedArray) -> bool:
    if rule.kind == "present":
        return bool(values.null_count)
    return rule.kind != "not empty" or bool(pc.any(pc.equal(values, "")).as_py())


def _printable(value: pa.Scalar) -> object:
    """Return a value as Python has it; a date or time beyond its range as the stored number."""
    try:
        return value.as_py()
    except (OverflowError, ValueError):
        return value.cast(pa.int32() if pa.types.is_date32(value.type) else pa.int64()).as_py()


# Remove what nobody sees from text: control characters, and formatting that reorders or hides.
#
# Line breaks and tabs stay. A terminal obeys an escape character, and a right-to-left mark shows a
# name as another one. It happens where the rows of every source pass: when a document is read
# (``assets/parsing/parsed.py``), and when a snapshot reads rows that were stored before.

# C0 and C1 without tab and line breaks; soft hyphen, Arabic letter mark, zero-width characters,
# bidirectional marks, embeddings and isolates, byte order mark, annotations, tags.
HIDDEN = (
    r"[\x00-\x08\x0B\x0C\x0E-\x1F\x7F-\x9F\x{AD}\x{61C}\x{180E}\x{200B}-\x{200F}\x{202A}-\x{202E}"
    r"\x{2060}-\x{206F}\x{FEFF}\x{FFF9}-\x{FFFB}\x{E0000}-\x{E007F}]"
)
# JSON writes control characters as escapes; an even number of backslashes before one is text.
_ESCAPES = r"(?:\\u00(?:0[0-8bBeEfF]|1[0-9a-fA-F]|7[fF]|[89][0-9a-fA-F])|\\[bf])+"
_ESCAPED = rf"((?:^|[^\\])(?:\\\\)*){_ESCAPES}"
# Columns that are JSON, as texts.
_JSON = ("release", *NAME_LISTS)
# Columns that we write ourselves.
_OURS = frozenset({"document", "source", "license_class", "method"})


def visible_columns(table: RecordTable) -> tuple[str, ...]:
    """Return the columns of a table that can have text of a source."""
    return tuple(
        field.name
        for field in incoming_schema(table)
        if pa.types.is_string(field.type) and field.name not in _OURS
    )


def with_visible_text(table: RecordTable, rows: pa.Table) -> pa.Table:
    """Return rows without hidden characters in their texts."""
    for name in visible_columns(table):
        values = rows[name]
        if name not in _JSON and _is_plain(values):
            continue
        for pattern, replacement in _patterns(name):
            if pc.any(pc.match_substring_regex(values, pattern)).as_py():
                values = pc.replace_substring_regex(values, pattern, replacement)
        if values is not rows[name]:
            rows = rows.set_column(rows.column_names.index(name), rows.field(name), values)
    return rows


def _is_plain(values: pa.ChunkedArray) -> bool:
    """Return whether texts have only printable ASCII, which a look at their bytes tells.

    That is the case for most columns, and costs a twentieth of a search in each text.
    """
    for chunk in values.chunks:
        offsets, data = chunk.buffers()[1:]
        if data is None:
            continue
        first, last = np.frombuffer(offsets, np.int32)[[chunk.offset, chunk.offset + len(chunk)]]
        # Below a blank it wraps around.
        if np.any(np.frombuffer(data, np.uint8)[first:last] - np.uint8(0x20) > 0x7E - 0x20):
            return False
    return True


def visible_rows(table: RecordTable, rows: str) -> str:
    """Return the SQL relation of rows without hidden characters in their texts."""
    columns = visible_columns(table)
    has_hidden = " OR ".join(
        f"regexp_matches(concat_ws(' ', {', '.join(names)}), '{pattern}')"
        for names, pattern in (
            (columns, HIDDEN),
            ([name for name in columns if name in _JSON], _ESCAPES),
        )
        if names
    )
    replaced = []
    for name in columns:
        value = name
        for pattern, replacement in _patterns(name):
            value = f"regexp_replace({value}, '{pattern}', '{replacement}', 'g')"
        replaced.append(f"CASE WHEN has_hidden_text THEN {value} ELSE {name} END AS {name}")
    return (
        f"(SELECT * EXCLUDE (has_hidden_text) REPLACE ({', '.join(replaced)}) "
        f"FROM (SELECT *, coalesce({has_hidden}, FALSE) AS has_hidden_text FROM {rows}))"
    )


def _patterns(column: str) -> tuple[tuple[str, str], ...]:
    return ((HIDDEN, ""), (_ESCAPED, r"\1")) if column in _JSON else ((HIDDEN, ""),)
