"""The values themselves: exact sums of whole numbers, one division, and what they came from."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from warehouse.json_encoding import encode_decimal
from warehouse.methodology.metrics import FORMULAS, Formula, divide
from warehouse.tables import LICENSE_CLASSES

Places = list[npt.NDArray[np.int64]]

# A number as the wire writes it, without the zeros that DECIMAL(38,18) appends.
_DIGITS = "rtrim(rtrim(CAST(value_reported AS VARCHAR), '0'), '.')"
_CLASSES = "[" + ", ".join(f"'{each}'" for each in LICENSE_CLASSES) + "]"
_DETAILS = f"""
SELECT id, value_reported, available_at, source_ref, provenance_id, method, observed_at,
    extraction_confidence, list_position({_CLASSES}, license_class) - 1 AS license,
    concat('{{"fact_id":"', row_id, '","line_item":"', line_item, '","value":', {_DIGITS},
        ',"period_end":"', period_end, '","vintage":', vintage, ',"available_at":"', available_at,
        '","source_ref":', to_json(source_ref), '}}') AS json
FROM (SELECT id, figure, figure_check, vintage FROM inputs)
JOIN facts USING (figure, figure_check, vintage)
"""
_COMPUTABLE = """
FROM outcomes WHERE metric = {} AND reason IS NULL ORDER BY service_id, period_end
"""


@dataclass(frozen=True)
class Details:
    """Every input at its place: its value as a whole number, and what is told of it."""

    place_of: npt.NDArray[np.int64]
    columns: dict[str, pa.Array]
    whole: npt.NDArray[np.object_]
    days: npt.NDArray[np.int64]
    licenses: npt.NDArray[np.int64]
    observed: npt.NDArray[np.int64]


def details(sql: duckdb.DuckDBPyConnection) -> Details:
    """Read what is told of every input."""
    rows = sql.sql(_DETAILS).to_arrow_table()
    columns = {name: rows[name].combine_chunks() for name in rows.column_names}
    place_of = np.empty(len(rows), np.int64)
    place_of[columns["id"].to_numpy()] = np.arange(len(rows))
    return Details(
        place_of,
        columns,
        _whole(columns["value_reported"]),
        columns["available_at"].cast(pa.int32()).to_numpy().astype(np.int64),
        columns["license"].to_numpy(),
        columns["observed_at"].cast(pa.int64()).to_numpy(),
    )


def _whole(held: pa.Array) -> npt.NDArray[np.object_]:
    """Give decimals as whole multiples of their last digit; one withdrawn has none to use."""
    if not len(held):
        return np.empty(0, object)
    parts = np.frombuffer(held.buffers()[1], "<i8").reshape(-1, 2)
    parts = parts[held.offset : held.offset + len(held)]
    low = parts[:, 0].view("<u8").astype(object)
    return np.asarray((parts[:, 1].astype(object) << 64) | low, object)


def valued(
    sql: duckdb.DuckDBPyConnection, told: Details
) -> Iterator[tuple[Formula, pa.Table, pa.Array]]:
    """Give, for each formula, the outcomes it can be worked out for and their values as text.

    The text is null where the condition is not met.
    """
    for metric, formula in enumerate(FORMULAS):
        rows = sql.sql(_COMPUTABLE.format(metric)).to_arrow_table()
        given = [told.whole[places] for places in places_of(rows, formula, told)]
        over = formula.total(formula.numerator, given)
        if formula.unit == "days":
            over = over * rows["days"].to_numpy().astype(object)
        under = formula.total(formula.denominator, given)
        met = np.all([formula.total(each, given) > 0 for each in formula.positive], axis=0)
        texts = [
            encode_decimal(divide(*each)).decode() if is_met else None
            for is_met, *each in zip(met.tolist(), over.tolist(), under.tolist(), strict=True)
        ]
        yield formula, rows, pa.array(texts, pa.string())


def places_of(rows: pa.Table, formula: Formula, told: Details) -> Places:
    """Give where the inputs of each row stand, one input after the other."""
    ids = [rows[f"i{place}"].to_numpy() for place in range(len(formula.inputs))]
    return [told.place_of[each] for each in ids]


def metric_rows(formula: Formula, rows: pa.Table, values: pa.Array, told: Details) -> pa.Table:
    """Write the rows of one metric as they are described."""
    places = places_of(rows, formula, told)
    last = np.choose(np.argmax([told.days[each] for each in places], axis=0), places)
    license_at = np.max([told.licenses[each] for each in places], axis=0)
    shown = [told.columns["json"].take(pa.array(each)) for each in places]
    observed_at = np.max([told.observed[each] for each in places], axis=0)
    from_last = {name: told.columns[name].take(pa.array(last)) for name in _OF_THE_LAST}
    columns: dict[str, Any] = {
        **{name: rows[name] for name in _AS_THEY_ARE},
        **from_last,
        "metric": _same(formula.slug, rows),
        "value": values,
        "unit": _same(formula.unit, rows),
        "period_type": _same("FY", rows),
        "available_at": rows["current_at"],
        "answers_from": rows["current_at"],
        "answers_until": _not_before(rows["current_at"], rows["next_at"]),
        "methodology_ref": _same(formula.methodology_ref, rows),
        "inputs": _listed(shown),
        "license_class": pa.array(LICENSE_CLASSES).take(pa.array(license_at)),
        "observed_at": pa.array(observed_at).cast(pa.timestamp("us", "UTC")),
    }
    return pa.table(columns)


_AS_THEY_ARE = ("service_id", "currency", "basis", "period_start", "period_end", "published_at")
_OF_THE_LAST = ("source_ref", "provenance_id", "method", "extraction_confidence")


def _same(text: str, rows: pa.Table) -> pa.Array:
    return pa.repeat(pa.scalar(text), len(rows))


def _listed(members: list[pa.Array]) -> pa.Array:
    inner = pc.binary_join_element_wise(*members, ",")
    return pc.binary_join_element_wise("[", inner, "]", "")


def _not_before(first: pa.ChunkedArray, until: pa.ChunkedArray) -> pa.ChunkedArray:
    """Give the day until which it holds: the first itself where that never comes."""
    return pc.if_else(pc.is_null(until), until, pc.max_element_wise(first, until))
