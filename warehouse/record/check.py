"""What may enter the record: the right columns and types, and rows one can believe.

A table of another shape is refused as a whole. A row that cannot be true is set aside with
its column, its number and the reason; the others go on.
"""

from collections.abc import Iterator
from datetime import date

import pyarrow as pa
import pyarrow.compute as pc

from warehouse.errors import BadTable
from warehouse.record.rows import Rejected
from warehouse.record.schema import DECIMAL, incoming_schema
from warehouse.record.tables import RecordTable
from warehouse.tables import LICENSE_CLASSES

EARLIEST, LATEST = date(1800, 1, 1), date(2199, 12, 31)

Doubt = tuple[str, pa.ChunkedArray, str]
Reasons = dict[int, str]


def checked(table: RecordTable, incoming: pa.Table) -> tuple[pa.Table, list[Rejected]]:
    """Give the rows that may enter, typed as the record is, and those that may not."""
    schema = incoming_schema(table)
    _same_columns(table, schema, incoming)
    reasons: Reasons = {}
    columns = [_typed(table, field, incoming[field.name], reasons) for field in schema]
    typed = pa.Table.from_arrays(columns, names=schema.names)
    for column, mask, words in _doubts(schema, typed):
        for row in _rows(mask):
            value = typed[column][row].as_py()
            reasons.setdefault(row, f"{column}: {words.format(value)}")
    if not reasons:
        return typed.cast(schema), []
    numbers = pa.array(range(len(typed)))
    good = typed.filter(pc.invert(pc.is_in(numbers, pa.array(sorted(reasons)))))
    return good.cast(schema), _rejected(typed, reasons)


def _rejected(typed: pa.Table, reasons: Reasons) -> list[Rejected]:
    rows = sorted(reasons)
    places = typed.select(["document", "source_ref"]).take(pa.array(rows)).to_pylist()
    return [
        Rejected(place["document"] or "", place["source_ref"] or "", reasons[row], row)
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
    return values.cast(field.type)


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


def _doubts(schema: pa.Schema, typed: pa.Table) -> Iterator[Doubt]:
    """Every reason not to believe a row, as the rows it holds for and its words."""
    for field in schema:
        values = typed[field.name]
        if not field.nullable and values.null_count:
            yield field.name, values.is_null(), "is missing"
        if pa.types.is_date32(field.type):
            outside = pc.or_(pc.less(values, EARLIEST), pc.greater(values, LATEST))
            yield field.name, outside, f"{{}} is not a date between {EARLIEST} and {LATEST}"
        if pa.types.is_string(field.type) and not field.nullable:
            yield field.name, pc.equal(values, ""), "is empty"
    served = pa.array([each for each in LICENSE_CLASSES if each != "restricted"])
    licence = typed["license_class"]
    yield "license_class", pc.invert(pc.is_in(licence, served)), "{!r} may not be served"
    read_on = typed["observed_at"].cast(pa.timestamp("us")).cast(pa.date32(), safe=False)
    early = pc.greater(typed["available_at"], read_on)
    yield "available_at", early, "{} lies after the day on which the document was read"


def _rows(mask: pa.ChunkedArray) -> list[int]:
    if not pc.any(mask).as_py():
        return []
    return list(pc.indices_nonzero(pc.fill_null(mask, False)).to_pylist())
