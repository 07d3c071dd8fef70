"""The values of metrics: exact sums of whole numbers, one division, and what they came from."""

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
from warehouse.sql_files import sql_file
from warehouse.tables import LICENSE_CLASSES

RowNumbers = npt.NDArray[np.int64]

_SQL = sql_file(
    __name__,
    "values",
    parameters={"licences": list(LICENSE_CLASSES)},
)
# Columns of a metric that its outcome has, and those that are taken from its newest input.
_OUTCOME_COLUMNS = ("service_id", "currency", "basis", "period_start", "period_end", "published_at")
_NEWEST_INPUT_COLUMNS = ("source_ref", "provenance_id", "method", "extraction_confidence")


@dataclass(frozen=True)
class InputFacts:
    """The facts behind all inputs, as columns; ``row_of`` maps a statement's number to its row.

    Columns that are computed with are NumPy arrays: ``whole_values`` are Python integers, since
    sums of values do not fit into 64 bits.
    """

    row_of: RowNumbers
    columns: dict[str, pa.Array]
    whole_values: npt.NDArray[np.object_]
    stated_days: npt.NDArray[np.int64]
    license_ranks: npt.NDArray[np.int64]
    observed_at: npt.NDArray[np.int64]

    def rows_of(self, outcomes: pa.Table, formula: Formula) -> list[RowNumbers]:
        """Return, for each input of a formula, the row numbers of the facts of all outcomes."""
        return [
            self.row_of[outcomes[f"input_{position}"].to_numpy()]
            for position in range(len(formula.inputs))
        ]


def read_inputs(sql: duckdb.DuckDBPyConnection) -> InputFacts:
    """Read the facts behind all inputs."""
    rows = _SQL.query(sql, "input_facts").to_arrow_table()
    columns = {name: rows[name].combine_chunks() for name in rows.column_names}
    # The join returns statements in any order, and only those that are cited.
    numbers = columns["statement_no"].to_numpy()
    row_of = np.zeros(np.max(numbers, initial=-1) + 1, np.int64)
    row_of[numbers] = np.arange(len(rows))
    return InputFacts(
        row_of,
        columns,
        _whole_values(columns["value_reported"]),
        columns["stated_at"].cast(pa.int32()).to_numpy().astype(np.int64),
        columns["license_rank"].to_numpy(),
        columns["observed_at"].cast(pa.int64()).to_numpy(),
    )


def _whole_values(decimals: pa.Array) -> npt.NDArray[np.object_]:
    """Return decimals as integer multiples of their last digit.

    The 128-bit integers of Arrow's buffer are read directly: going through Decimal objects is many
    times slower. A withdrawn fact has no value, and none is used.
    """
    if not len(decimals):
        return np.empty(0, object)
    # Little-endian two's complement: the low half is unsigned, the high half has the sign.
    halves = np.frombuffer(decimals.buffers()[1], "<i8").reshape(-1, 2)
    halves = halves[decimals.offset : decimals.offset + len(decimals)]
    low = halves[:, 0].view("<u8").astype(object)
    return np.asarray((halves[:, 1].astype(object) << 64) | low, object)


def compute_values(
    sql: duckdb.DuckDBPyConnection, inputs: InputFacts
) -> Iterator[tuple[Formula, pa.Table, pa.Array]]:
    """Yield, for each formula, the outcomes it can be computed for and their values as text.

    The text is null where the condition of the formula is not met.
    """
    # One query for all: thirty cost more than their rows.
    computable = _SQL.query(sql, "computable").to_arrow_table()
    numbers = computable["metric_no"].to_numpy()
    for metric_no, formula in enumerate(FORMULAS):
        first, end = np.searchsorted(numbers, (metric_no, metric_no + 1)).tolist()
        outcomes = computable.slice(first, end - first)
        terms = [inputs.whole_values[rows] for rows in inputs.rows_of(outcomes, formula)]
        numerators = formula.total(formula.numerator, terms)
        if formula.unit == "days":
            # receivable_days and inventory_days: the ratio times the days of that very year.
            numerators = numerators * outcomes["days"].to_numpy().astype(object)
        denominators = formula.total(formula.denominator, terms)
        conditions = np.all([formula.total(total, terms) > 0 for total in formula.positive], axis=0)
        texts = [
            # The common scale of the integers cancels out in the division.
            encode_decimal(divide(numerator, denominator)).decode() if is_met else None
            for is_met, numerator, denominator in zip(
                conditions.tolist(), numerators.tolist(), denominators.tolist(), strict=True
            )
        ]
        yield formula, outcomes, pa.array(texts, pa.string())


def metric_rows(
    formula: Formula, outcomes: pa.Table, values: pa.Array, inputs: InputFacts
) -> pa.Table:
    """Return the rows of one metric with all columns of ``Metric``.

    The licence is the most restrictive of all inputs; source and provenance are those of the input
    that was published last.
    """
    input_rows = inputs.rows_of(outcomes, formula)
    # argmax takes the first of equal days: the order of a formula's inputs breaks ties.
    newest = np.choose(
        np.argmax([inputs.stated_days[rows] for rows in input_rows], axis=0), input_rows
    )
    license_rank = np.max([inputs.license_ranks[rows] for rows in input_rows], axis=0)
    input_json = [inputs.columns["json"].take(pa.array(rows)) for rows in input_rows]
    observed_at = np.max([inputs.observed_at[rows] for rows in input_rows], axis=0)
    columns: dict[str, Any] = {
        **{name: outcomes[name] for name in _OUTCOME_COLUMNS},
        **{name: inputs.columns[name].take(pa.array(newest)) for name in _NEWEST_INPUT_COLUMNS},
        "metric": _repeat(formula.slug, outcomes),
        "value": values,
        "unit": _repeat(formula.unit, outcomes),
        "period_type": _repeat("FY", outcomes),
        "available_at": outcomes["current_at"],
        "answers_from": outcomes["current_at"],
        # A year that was never the latest gets an empty interval instead of one that ends before it
        # starts.
        "answers_until": _not_before(outcomes["current_at"], outcomes["next_at"]),
        "methodology_ref": _repeat(formula.methodology_ref, outcomes),
        "inputs": _json_list(input_json),
        "license_class": pa.array(LICENSE_CLASSES).take(pa.array(license_rank)),
        "observed_at": pa.array(observed_at).cast(pa.timestamp("us", "UTC")),
    }
    return pa.table(columns)


def _repeat(text: str, outcomes: pa.Table) -> pa.Array:
    return pa.repeat(pa.scalar(text), len(outcomes))


def _json_list(members: list[pa.Array]) -> pa.Array:
    inner = pc.binary_join_element_wise(*members, ",")
    return pc.binary_join_element_wise("[", inner, "]", "")


def _not_before(first: pa.ChunkedArray, until: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the end of an interval, or its start if the end is earlier; null stays null."""
    return pc.if_else(pc.is_null(until), until, pc.max_element_wise(first, until))
