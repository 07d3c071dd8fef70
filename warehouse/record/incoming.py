"""Rows before they enter the record: typed as the record is, complete and plausible.

A table with other columns or types is refused as a whole. A row that cannot be true is rejected
with its column, its number and the reason; the others go on.

The texts of the reasons are part of the id of a quarantined row. With another wording, a row that
is refused again would be quarantined a second time.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from warehouse.errors import BadTable
from warehouse.record.tables import DECIMAL, RecordTable, incoming_schema
from warehouse.tables import LICENSE_CLASSES

# A date outside these is an error of the source, or of the parser.
EARLIEST, LATEST = date(1800, 1, 1), date(2199, 12, 31)

# What Arrow raises for a value that its column cannot store exactly.
MISFITS = (pa.ArrowException, TypeError, ValueError, OverflowError)

# A column, the mask of the rows in which it is wrong, and the reason in words.
Fault = tuple[str, pa.ChunkedArray, str]
# The first reason against each rejected row, by row number.
Reasons = dict[int, str]


@dataclass(frozen=True)
class RejectedRow:
    """A row that was read but not accepted: its document, its location there, the reason."""

    document: str
    source_ref: str
    reason: str
    row: int | None = None

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
        # Converting whole columns is fast but does not tell which row failed. Try each row.
        fitting: list[Mapping[str, Any]] = []
        rejected: list[RejectedRow] = []
        for number, row in enumerate(rows):
            reason = _misfit(schema, row)
            if reason is None:
                fitting.append(row)
            else:
                document, source_ref = str(row.get("document", "")), str(row.get("source_ref", ""))
                rejected.append(RejectedRow(document, source_ref, reason, number))
        return _table(schema, fitting), rejected


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


def check_rows(table: RecordTable, incoming: pa.Table) -> tuple[pa.Table, list[RejectedRow]]:
    """Return the rows that may enter, typed as the record is, and those that may not.

    The rows that may enter have their number in ``incoming`` in the column ``incoming_row``.
    """
    schema = incoming_schema(table)
    _require_columns(table, schema, incoming)
    reasons: Reasons = {}
    columns = [_typed(table, field, incoming[field.name], reasons) for field in schema]
    typed = pa.Table.from_arrays(columns, names=schema.names)
    for column, mask, words in _faults(table, schema, typed):
        for row in _row_numbers(mask):
            reasons.setdefault(row, f"{column}: {words.format(_printable(typed[column][row]))}")
    numbers = pa.array(np.arange(len(typed)))
    if not reasons:
        return typed.cast(schema).append_column("incoming_row", numbers), []
    accepted = pc.invert(pc.is_in(numbers, pa.array(sorted(reasons))))
    rows = typed.filter(accepted).cast(schema)
    return rows.append_column("incoming_row", numbers.filter(accepted)), _rejected(typed, reasons)


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


def _faults(table: RecordTable, schema: pa.Schema, typed: pa.Table) -> Iterator[Fault]:
    """Yield every rule with the rows that break it."""
    for field in schema:
        values = typed[field.name]
        if not field.nullable and values.null_count:
            yield field.name, values.is_null(), "is missing"
        if pa.types.is_string(field.type) and not field.nullable:
            yield field.name, pc.equal(values, ""), "is empty"
        if pa.types.is_date32(field.type) or pa.types.is_timestamp(field.type):
            first, last = (_bound(day, field.type) for day in (EARLIEST, LATEST))
            outside = pc.or_(pc.less(values, first), pc.greater(values, last))
            yield field.name, outside, f"{{}} is not a date between {EARLIEST} and {LATEST}"
    served = pa.array([name for name in LICENSE_CLASSES if name != "restricted"])
    licence = typed["license_class"]
    yield "license_class", pc.invert(pc.is_in(licence, served)), "{!r} may not be served"
    # Nobody can have read a document before it was published.
    read_on = typed["observed_at"].cast(pa.timestamp("us")).cast(pa.date32(), safe=False)
    early = pc.greater(typed["available_at"], read_on)
    yield "available_at", early, "{} lies after the day on which the document was read"
    for name in table.content:
        not_empty = pc.and_(typed["withdrawn"], typed[name].is_valid())
        yield name, not_empty, "{!r} stands beside a withdrawal"
    if "period_start" in schema.names:
        backwards = pc.less(typed["period_end"], typed["period_start"])
        yield "period_end", backwards, "{} lies before the start of the period"


def _bound(day: date, kind: pa.DataType) -> pa.Scalar:
    return pa.scalar(day, pa.date32()).cast(pa.timestamp("us")).cast(kind)


def _printable(value: pa.Scalar) -> object:
    """Return a value as Python has it; a date or time beyond its range as the stored number."""
    try:
        return value.as_py()
    except (OverflowError, ValueError):
        return value.cast(pa.int32() if pa.types.is_date32(value.type) else pa.int64()).as_py()


def _row_numbers(mask: pa.ChunkedArray) -> list[int]:
    if not pc.any(mask).as_py():
        return []
    # A comparison with a missing value is null; whether it may be missing is a rule of its own.
    return list(pc.indices_nonzero(pc.fill_null(mask, False)).to_pylist())
