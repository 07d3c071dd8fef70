"""What may enter the record: the right columns and types, and rows one can believe.

A table of another shape is refused as a whole. A row that cannot be true is set aside with
its column, its number and the reason; the others go on.
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

EARLIEST, LATEST = date(1800, 1, 1), date(2199, 12, 31)

Doubt = tuple[str, pa.ChunkedArray, str]
Reasons = dict[int, str]


# What Arrow raises for a value that has no exact place in its column.
MISFITS = (pa.ArrowException, TypeError, ValueError, OverflowError)


@dataclass(frozen=True)
class RejectedRow:
    """A record that was read and not understood: its document, its place, the reason."""

    document: str
    source_ref: str
    reason: str
    row: int | None = None

    @property
    def words(self) -> str:
        """Say why, with the number of the row where the place alone does not tell."""
        return self.reason if self.row is None else f"row {self.row}, {self.reason}"


def to_arrow(
    table: RecordTable, rows: Sequence[Mapping[str, Any]]
) -> tuple[pa.Table, list[RejectedRow]]:
    """Make the table that ``append`` takes; a row that has no exact place in it is rejected."""
    schema = incoming_schema(table)
    known = set(schema.names)
    try:
        if all(row.keys() <= known for row in rows):
            return _table(schema, rows), []
        raise ValueError("a row has a column that the table has not")
    except MISFITS:
        good: list[Mapping[str, Any]] = []
        rejected: list[RejectedRow] = []
        for position, row in enumerate(rows):
            reason = _misfit(schema, row)
            if reason is None:
                good.append(row)
            else:
                rejected.append(_rejected_row(row, reason, position))
        return _table(schema, good), rejected


def _table(schema: pa.Schema, rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    columns = [pa.array([row.get(name) for row in rows], kind) for name, kind in _fields(schema)]
    return pa.Table.from_arrays(columns, schema=schema)


def _misfit(schema: pa.Schema, row: Mapping[str, Any]) -> str | None:
    unknown = set(row) - set(schema.names)
    if unknown:
        return f"{sorted(unknown)[0]}: no such column"
    for name, kind in _fields(schema):
        try:
            pa.array([row.get(name)], kind)
        except MISFITS as error:
            return f"{name}: {row.get(name)!r:.80} does not fit {kind} ({error})"
    return None


def _fields(schema: pa.Schema) -> list[tuple[str, pa.DataType]]:
    return [(field.name, field.type) for field in schema]


def _rejected_row(row: Mapping[str, Any], reason: str, position: int) -> RejectedRow:
    return RejectedRow(
        str(row.get("document", "")), str(row.get("source_ref", "")), reason, position
    )


def check_rows(table: RecordTable, incoming: pa.Table) -> tuple[pa.Table, list[RejectedRow]]:
    """Give the rows that may enter, typed as the record is, and those that may not.

    The rows that may enter keep the number they came with in ``came_as``.
    """
    schema = incoming_schema(table)
    _same_columns(table, schema, incoming)
    reasons: Reasons = {}
    columns = [_typed(table, field, incoming[field.name], reasons) for field in schema]
    typed = pa.Table.from_arrays(columns, names=schema.names)
    for column, mask, words in _doubts(table, schema, typed):
        for row in _rows(mask):
            reasons.setdefault(row, f"{column}: {words.format(_shown(typed[column][row]))}")
    numbers = pa.array(np.arange(len(typed)))
    if not reasons:
        return typed.cast(schema).append_column("came_as", numbers), []
    keep = pc.invert(pc.is_in(numbers, pa.array(sorted(reasons))))
    good = typed.filter(keep).cast(schema).append_column("came_as", numbers.filter(keep))
    return good, _rejected(typed, reasons)


def _rejected(typed: pa.Table, reasons: Reasons) -> list[RejectedRow]:
    rows = sorted(reasons)
    places = typed.select(["document", "source_ref"]).take(pa.array(rows)).to_pylist()
    return [
        RejectedRow(place["document"] or "", place["source_ref"] or "", reasons[row], row)
        for row, place in zip(rows, places, strict=True)
    ]


def _same_columns(table: RecordTable, schema: pa.Schema, incoming: pa.Table) -> None:
    here, wanted = incoming.column_names, schema.names
    faults = (
        ([name for name in wanted if name not in here], "is missing"),
        ([name for name in here if name not in wanted], "is unknown"),
        ([name for name in wanted if here.count(name) > 1], "is there twice"),
    )
    for names, what in faults:
        for name in names:
            raise BadTable(f"{table.name}: column {name!r} {what}; nothing was written")


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
    """Tell whether a cast changes the form only: text to text, UTC to UTC, int to int."""
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
    """Take decimals and integers of any width; one without an exact place is set aside."""
    try:
        return values.cast(DECIMAL)
    except pa.ArrowInvalid:
        fitting = [_fitting(name, row, value, reasons) for row, value in enumerate(values)]
        return pa.chunked_array([pa.concat_arrays(fitting)])


def _fitting(name: str, row: int, value: pa.Scalar, reasons: Reasons) -> pa.Array:
    try:
        return pa.array([value.as_py()], DECIMAL)
    except pa.ArrowInvalid:
        reasons[row] = (
            f"{name}: {value.as_py()!s:.80} has no exact place; the record keeps 20 digits "
            "before the point and 18 behind it"
        )
        return pa.nulls(1, DECIMAL)


def _doubts(table: RecordTable, schema: pa.Schema, typed: pa.Table) -> Iterator[Doubt]:
    """Every reason not to believe a row, as the rows it holds for and its words."""
    for field in schema:
        values = typed[field.name]
        if not field.nullable and values.null_count:
            yield field.name, values.is_null(), "is missing"
        if pa.types.is_string(field.type) and not field.nullable:
            yield field.name, pc.equal(values, ""), "is empty"
        if pa.types.is_date32(field.type) or pa.types.is_timestamp(field.type):
            least, most = (_bound(day, field.type) for day in (EARLIEST, LATEST))
            outside = pc.or_(pc.less(values, least), pc.greater(values, most))
            yield field.name, outside, f"{{}} is not a date between {EARLIEST} and {LATEST}"
    served = pa.array([each for each in LICENSE_CLASSES if each != "restricted"])
    licence = typed["license_class"]
    yield "license_class", pc.invert(pc.is_in(licence, served)), "{!r} may not be served"
    read_on = typed["observed_at"].cast(pa.timestamp("us")).cast(pa.date32(), safe=False)
    early = pc.greater(typed["available_at"], read_on)
    yield "available_at", early, "{} lies after the day on which the document was read"
    for name in table.content:
        left = pc.and_(typed["withdrawn"], typed[name].is_valid())
        yield name, left, "{!r} stands beside a withdrawal"
    if "period_start" in schema.names:
        backwards = pc.less(typed["period_end"], typed["period_start"])
        yield "period_end", backwards, "{} lies before the start of the period"


def _bound(day: date, kind: pa.DataType) -> pa.Scalar:
    return pa.scalar(day, pa.date32()).cast(pa.timestamp("us")).cast(kind)


def _shown(value: pa.Scalar) -> object:
    """Give a value for words; a moment or a day that Python cannot hold as its number."""
    try:
        return value.as_py()
    except (OverflowError, ValueError):
        return value.cast(pa.int32() if pa.types.is_date32(value.type) else pa.int64()).as_py()


def _rows(mask: pa.ChunkedArray) -> list[int]:
    if not pc.any(mask).as_py():
        return []
    return list(pc.indices_nonzero(pc.fill_null(mask, False)).to_pylist())
