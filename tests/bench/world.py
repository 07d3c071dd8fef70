"""Facts by the million for the benchmarks, made column by column."""

from datetime import UTC, date, datetime

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from warehouse.record.tables import (
    DECIMAL,
    FUNDAMENTALS,
    RECORD_TABLES,
    incoming_schema,
    record_schema,
)

ITEMS, YEARS = 40, 10
# What a snapshot adds to the columns of a table of the record.
_ADDED = (
    *(("vintage", pa.int64()), ("superseded_at", pa.date32()), ("latest", pa.bool_())),
    *(("row_id", pa.string()), ("provenance_id", pa.string())),
)
_ADDED_TO = {
    "fundamentals": (("restatement_kind", pa.string()),),
    "tender_releases": (("implausible", pa.list_(pa.string())),),
}


def staged_schema(name: str) -> pa.Schema:
    """Return the columns of a table of the record in a snapshot."""
    (table,) = (table for table in RECORD_TABLES if table.name == name)
    return pa.schema([*record_schema(table), *_ADDED, *_ADDED_TO.get(name, ())])


def with_every_column(sql: duckdb.DuckDBPyConnection, name: str, rows: str) -> str:
    """Return the query of invented rows of a table; what they do not state is null."""
    sql.register(f"columns_of_{name}", staged_schema(name).empty_table())
    return f"SELECT * FROM columns_of_{name} UNION ALL BY NAME ({rows})"


Numbers = npt.NDArray[np.int64]


def facts(
    rows: Numbers, vintage: int = 1, changed: npt.NDArray[np.bool_] | None = None
) -> pa.Table:
    """Return the facts numbered ``rows``: issuer, then item, then year; each has its own value.

    A later vintage has another value, but of one figure in five every second repeats.
    ``changed`` marks rows with another value than the first reading had, in a publication
    of their own.
    """
    issuer, rest = np.divmod(rows, ITEMS * YEARS)
    item, year = np.divmod(rest, YEARS)
    moved = np.zeros(len(rows), bool) if changed is None else changed
    edition = np.where(rows % 5 == 0, (vintage - 1) // 2 * 2, vintage - 1)
    cents = rows * 7919 % 10**12 + np.where(moved, 1, 0) + edition * 13
    step = np.where(moved, vintage + 1, vintage)
    columns = {
        "available_at": _days(2006 + year + step, 3, 29),
        "publication": _texts("0001193125-{:02d}-{:06d}", step * 20 + year, issuer),
        "observed_at": pa.repeat(pa.scalar(datetime(2046, 6, 1, tzinfo=UTC), _UTC), len(rows)),
        "source": _same("bench", rows),
        "source_ref": _texts("https://bench.example/{:010d}.json#/{}", issuer, item),
        "document": _texts("{:064x}", issuer),
        "license_class": _same("public-domain", rows),
        "method": _same("xbrl", rows),
        "extraction_confidence": pa.nulls(len(rows), DECIMAL),
        "withdrawn": pa.repeat(pa.scalar(False), len(rows)),
        "service_id": _texts("DC{:08d}", issuer),
        "line_item": _texts("line_item_{}", item),
        "statement": _same("income", rows),
        "value_reported": pa.array(cents).cast(pa.decimal128(38, 0)).cast(DECIMAL),
        "currency_reported": _same("ZAR", rows),
        "unit": _same("ZAR", rows),
        "period_type": _same("FY", rows),
        "period_start": _days(2010 + year, 1, 1),
        "period_end": _days(2010 + year, 12, 31),
        "fiscal_label": _texts("FY{}", 2010 + year),
        "basis": _same("consolidated/ifrs", rows),
        "accounting_standard": _same("ifrs", rows),
        "element": _texts("Element{}", item),
    }
    schema = incoming_schema(FUNDAMENTALS)
    for field in schema:
        # columns that most facts leave empty
        columns.setdefault(field.name, pa.nulls(len(rows), field.type))
    return pa.table(columns).select(schema.names).cast(schema)


_UTC = pa.timestamp("us", "UTC")


def _same(text: str, rows: Numbers) -> pa.Array:
    return pa.repeat(pa.scalar(text), len(rows))


def _texts(form: str, *numbers: Numbers) -> pa.Array:
    """Format distinct combinations once."""
    key = numbers[0].astype(np.int64)
    for more in numbers[1:]:
        greatest = int(np.max(more, initial=0))
        key = key * (greatest + 1) + more
    _, first, codes = np.unique(key, return_index=True, return_inverse=True)
    parts = zip(*(number[first].tolist() for number in numbers), strict=True)
    return pa.array([form.format(*part) for part in parts]).take(pa.array(codes))


def _days(year: Numbers, month: int, day: int) -> pa.Array:
    distinct, codes = np.unique(year, return_inverse=True)
    days = pa.array([date(int(item), month, day) for item in distinct])
    return days.take(pa.array(codes))
