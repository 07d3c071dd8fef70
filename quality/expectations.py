"""Run the suites with Great Expectations, and find the rows that fail.

Great Expectations gets each distinct value of each rule once, as columns of one frame padded with
nulls, which it ignores: on a million rows of twenty columns it took half a minute per rule, and
this way it takes a second for all. Which rows have an unexpected value is then queried from the
snapshot. Importing this module takes seconds: only an audit does.
"""

import logging
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import great_expectations as gx
import great_expectations.expectations as gxe
import pandas as pd
import pyarrow as pa
from great_expectations.core import ExpectationSuiteValidationResult
from great_expectations.data_context import EphemeralDataContext
from great_expectations.data_context.types.base import (
    DataContextConfig,
    InMemoryStoreBackendDefaults,
    ProgressBarsConfig,
)

from quality.report import Failure
from quality.rules import Rule, Suite
from warehouse.mart.snapshot import Snapshot

MAX_UNEXPECTED_VALUES, MAX_EXAMPLES = 200, 5


def new_context() -> EphemeralDataContext:
    """Return an in-memory context without progress bars and analytics."""
    return gx.get_context(
        mode="ephemeral",
        project_config=DataContextConfig(
            store_backend_defaults=InMemoryStoreBackendDefaults(),
            progress_bars=ProgressBarsConfig(globally=False, metric_calculations=False),
            # Otherwise Great Expectations sends usage data to its makers.
            analytics_enabled=False,
        ),
    )


def validate(
    context: EphemeralDataContext, snapshot: Snapshot, suite: Suite
) -> tuple[ExpectationSuiteValidationResult | None, list[Failure]]:
    """Validate a table against its suite; return the result, and each failure with its rows.

    A table without rows has no result: nothing was checked.
    """
    frame = _frame(snapshot, suite)
    with _quiet():
        expected = context.suites.add(_suite(suite))
        if frame.empty:
            return None, []
        source = context.data_sources.add_or_update_pandas(suite.name)
        whole = source.add_dataframe_asset(suite.table).add_batch_definition_whole_dataframe("all")
        definition = context.validation_definitions.add(
            gx.ValidationDefinition(name=suite.name, data=whole, suite=expected)
        )
        result = definition.run(
            batch_parameters={"dataframe": frame},
            result_format={
                # BASIC lists unexpected values. COMPLETE would list the index of every row, too.
                "result_format": "BASIC",
                "partial_unexpected_count": MAX_UNEXPECTED_VALUES,
            },
        )
    rules = {column_name(suite, rule): rule for rule in suite.rules}
    failed = [expectation for expectation in result.results if not expectation.success]
    return result, [_failure(snapshot, suite, rules, expectation) for expectation in failed]


def column_name(suite: Suite, rule: Rule) -> str:
    """Return the name of a rule's column in the frame, numbered if several rules share it."""
    sharing = [other for other in suite.rules if other.column == rule.column]
    number = next(number for number, other in enumerate(sharing, 1) if other is rule)
    return rule.column if number == 1 else f"{rule.column} ({number})"


def _suite(suite: Suite) -> gx.ExpectationSuite:
    expectations = [
        getattr(gxe, rule.expectation)(
            column=column_name(suite, rule), description=rule.description, **rule.arguments
        )
        for rule in suite.rules
    ]
    return gx.ExpectationSuite(name=suite.name, expectations=expectations)


def _frame(snapshot: Snapshot, suite: Suite) -> pd.DataFrame:
    """Return each distinct value of each rule once, as columns padded with nulls."""
    columns = {
        column_name(suite, rule): _distinct_values(snapshot, suite, rule) for rule in suite.rules
    }
    longest = max(map(len, columns.values()))
    padded = {
        name: pa.concat_arrays([values, pa.nulls(longest - len(values), values.type)])
        for name, values in columns.items()
    }
    # Arrow types, since pandas' own would turn integers with nulls into floats and decimals into
    # objects.
    frame: pd.DataFrame = pa.table(padded).to_pandas(types_mapper=pd.ArrowDtype)
    return frame


def _distinct_values(snapshot: Snapshot, suite: Suite, rule: Rule) -> pa.Array:
    rows = snapshot.read(f"SELECT DISTINCT {rule.value} AS value FROM {_relation(suite, rule)}")
    return rows["value"].combine_chunks().drop_null()


def _relation(suite: Suite, rule: Rule) -> str:
    return f"({rule.relation})" if rule.relation else suite.relation


def _failure(snapshot: Snapshot, suite: Suite, rules: dict[str, Rule], result: Any) -> Failure:
    rule = rules[result.expectation_config.kwargs["column"]]
    # An expectation that could not be checked must not pass for one that is not met.
    if result.exception_info.get("raised_exception"):
        raise RuntimeError(f"{suite.name}: {rule.description}: {result.exception_info}")
    unexpected = ", ".join(_literals(result.result["partial_unexpected_list"]))
    reference = "row_reference" if rule.relation else suite.row_reference
    failing = snapshot.read(
        f"SELECT count(*) AS row_count, min(row_reference, {MAX_EXAMPLES}) AS examples FROM ("
        f"SELECT {rule.value} AS value, {reference} AS row_reference FROM {_relation(suite, rule)}"
        f") WHERE value IN ({unexpected})"
    ).to_pylist()[0]
    return Failure(
        suite.name,
        suite.table,
        rule.description,
        failing["row_count"],
        tuple(failing["examples"] or ()),
    )


def _literals(values: Iterable[Any]) -> Iterator[str]:
    for value in values:
        # Values come from documents: a quote in one must not end the literal.
        yield f"'{value.replace(chr(39), chr(39) * 2)}'" if isinstance(value, str) else str(value)


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence the logging and the warnings of Great Expectations."""
    logger = logging.getLogger("great_expectations")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", module=r"great_expectations(\..*)?")
            yield
    finally:
        logger.setLevel(level)
