"""Derive every metric of every full year of every issuer, with the days for which it answers.

A metric takes its inputs from one issuer. The partitions of figures have about as many rows each
(``warehouse.publish.partitions``), so that memory does not grow with the record.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from assets.derive.division import whole_numbers
from warehouse.methodology.metrics import (
    BALANCES,
    FORMULAS,
    LONGEST_YEAR,
    METRIC_SET,
    SHORTEST_YEAR,
    STRAY_YEAR,
    Formula,
    Input,
    divide,
)
from warehouse.publish.snapshot import Snapshot
from warehouse.record.relations import create_table
from warehouse.record.tables import arrow_schema
from warehouse.shared.data_files import SqlFile, sql_file
from warehouse.shared.json_encoding import encode_decimal
from warehouse.tables.derived import Metric
from warehouse.tables.sighting import LICENSE_CLASSES

# The formulas as numbered rows for the statements: numbers are joined faster than texts.

_LINE_ITEMS = sorted({needed.line_item for formula in FORMULAS for needed in formula.inputs})
_ITEM_NUMBERS = {line_item: number for number, line_item in enumerate(_LINE_ITEMS)}
# Each figure that any formula needs, of this year or the one before, has a bit: whether all
# inputs of a formula are there is one comparison of two whole numbers.
_BITS: dict[Input, int] = {
    needed: number
    for number, needed in enumerate(
        dict.fromkeys(needed for formula in FORMULAS for needed in formula.inputs)
    )
}

# What each metric needs: an item, of which year, at which input position.
FORMULA_INPUTS: list[dict[str, Any]] = [
    {
        "metric_no": metric_no,
        "input_position": position,
        "item_no": _ITEM_NUMBERS[needed.line_item],
        "is_prior_year": needed.last_year,
        "bit": _BITS[needed],
    }
    for metric_no, formula in enumerate(FORMULAS)
    for position, needed in enumerate(formula.inputs)
]
ITEMS: list[dict[str, Any]] = [
    {"item_no": number, "line_item": line_item, "is_balance": line_item in BALANCES}
    for line_item, number in _ITEM_NUMBERS.items()
]
MOST_INPUTS = max(len(formula.inputs) for formula in FORMULAS)
# The statement of each input of an outcome: input_0, input_1 and so on.
INPUT_COLUMNS = ", ".join(
    f"max(statement_no) FILTER (input_position = {position}) AS input_{position}"
    for position in range(MOST_INPUTS)
)


# The values of metrics: exact sums of whole numbers, one division, and what they came from.

RowNumbers = npt.NDArray[np.int64]

_SQL = sql_file(__name__, "values", parameters={"licences": list(LICENSE_CLASSES)})
# Columns of a metric that its outcome has, and those that are taken from its newest input.
_OUTCOME_COLUMNS = (
    *("service_id", "currency", "basis", "period_type", "period_start", "period_end"),
    "published_at",
)
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


def read_inputs(rows: pa.Table) -> InputFacts:
    """Return the facts behind all inputs."""
    columns = {name: rows[name].combine_chunks() for name in rows.column_names}
    # The join returns statements in any order, and only those that are cited.
    numbers = columns["statement_no"].to_numpy()
    row_of = np.zeros(np.max(numbers, initial=-1) + 1, np.int64)
    row_of[numbers] = np.arange(len(rows))
    return InputFacts(
        row_of,
        columns,
        # A withdrawn fact has no value, and none is used.
        whole_numbers(columns["value_reported"]),
        columns["stated_at"].cast(pa.int32()).to_numpy().astype(np.int64),
        columns["license_rank"].to_numpy(),
        columns["observed_at"].cast(pa.int64()).to_numpy(),
    )


def compute_values(
    computable: pa.Table, inputs: InputFacts
) -> Iterator[tuple[Formula, pa.Table, pa.Array]]:
    """Yield, for each formula, the outcomes it can be computed for and their values as text.

    The text is null where the condition of the formula is not met.
    """
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
    metric_set: str, formula: Formula, outcomes: pa.Table, values: pa.Array, inputs: InputFacts
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
    listed = pc.binary_join_element_wise(*input_json, ",")
    begins, until = outcomes["current_at"], outcomes["next_at"]
    columns: dict[str, Any] = {
        **{name: outcomes[name] for name in _OUTCOME_COLUMNS},
        **{name: inputs.columns[name].take(pa.array(newest)) for name in _NEWEST_INPUT_COLUMNS},
        "metric": _repeat(formula.slug, outcomes),
        "value": values,
        "unit": _repeat(formula.unit, outcomes),
        "available_at": begins,
        "answers_from": begins,
        # A year that was never the latest gets an empty interval instead of one that ends before it
        # starts.
        "answers_until": pc.if_else(pc.is_null(until), until, pc.max_element_wise(begins, until)),
        "methodology_ref": _repeat(f"{metric_set}/{formula.slug}", outcomes),
        "inputs": pc.binary_join_element_wise("[", listed, "]", ""),
        "license_class": pa.array(LICENSE_CLASSES).take(pa.array(license_rank)),
        "observed_at": pa.array(observed_at).cast(pa.timestamp("us", "UTC")),
    }
    return pa.table(columns)


def _repeat(text: str, outcomes: pa.Table) -> pa.Array:
    return pa.repeat(pa.scalar(text), len(outcomes))


_YEARLY_INPUTS = sql_file(
    __name__,
    "yearly_inputs",
    parameters={
        "formula_inputs": FORMULA_INPUTS,
        "items": ITEMS,
        "shortest_year": SHORTEST_YEAR,
        "longest_year": LONGEST_YEAR,
        "stray_year": STRAY_YEAR,
    },
)
_PUBLICATIONS = sql_file(__name__, "publications")
_CHOICES = sql_file(__name__, "choices", fragments={"input_columns": INPUT_COLUMNS})
_ABSENCES = sql_file(
    __name__, "absences", parameters={"slugs": [formula.slug for formula in FORMULAS]}
)

_VALUED = pa.schema(
    [("year_end_no", pa.int64()), ("metric_no", pa.int32()), ("condition_met", pa.bool_())]
)


def metrics(snapshot: Snapshot) -> dict[str, pa.Table]:
    """Derive ``metrics`` and ``metrics_absent`` from fundamentals and statements of a snapshot.

    A row of either holds for a half-open interval of ``as_of`` days. For a metric and a day,
    each issuer with a figure published by then has exactly one row in one of them. A year that
    never was the latest one has a row with an empty interval.
    """
    with snapshot.cursor() as sql:
        for statements in (_YEARLY_INPUTS, _PUBLICATIONS, _CHOICES):
            statements.run_all(sql)
        values = values_of(METRIC_SET, sql, _SQL)
        absences = _ABSENCES.query(sql, "absences").to_arrow_table()
    return {"metrics": values, "metrics_absent": absences}


def values_of(metric_set: str, sql: duckdb.DuckDBPyConnection, queries: SqlFile) -> pa.Table:
    """Return the rows of all metrics of a set, and create ``valued`` with the conditions met.

    ``input_facts`` and ``computable`` of the queries are what they are computed from.
    """
    inputs = read_inputs(queries.query(sql, "input_facts").to_arrow_table())
    # One query for all: thirty cost more than their rows.
    computable = queries.query(sql, "computable").to_arrow_table()
    schema, rows, conditions = arrow_schema(Metric), [], []
    for formula, outcomes, values in compute_values(computable, inputs):
        condition_met = values.is_valid()
        columns = [outcomes["year_end_no"], outcomes["metric_no"], condition_met]
        conditions.append(pa.table(columns, _VALUED.names).cast(_VALUED))
        met, valued = outcomes.filter(condition_met), values.drop_null()
        made = metric_rows(metric_set, formula, met, valued, inputs)
        rows.append(made.select(schema.names).cast(schema))
    # The absences need to know which outcomes met the condition of their formula.
    create_table(sql, "valued", pa.concat_tables(conditions), "TEMP TABLE")
    return pa.concat_tables(rows)
