"""Running the rules of a table with Great Expectations, and finding the rows that fail.

Great Expectations is given each distinct value of each rule once, as columns of one frame that
are filled up with nulls, which it leaves out. A million rows of twenty columns took it half a
minute for each rule; so it takes a second for all. Which rows hold a value that it found
unexpected is asked of the stage. Only who publishes loads this module: it takes seconds.
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

# So many unexpected values of a rule are kept, and so many places of rows are told.
MOST_VALUES, MOST_PLACES = 200, 5


def new_context() -> EphemeralDataContext:
    """Open Great Expectations in memory, silent: no bars, no reports to anyone."""
    return gx.get_context(
        mode="ephemeral",
        project_config=DataContextConfig(
            store_backend_defaults=InMemoryStoreBackendDefaults(),
            progress_bars=ProgressBarsConfig(globally=False, metric_calculations=False),
            analytics_enabled=False,
        ),
    )


def validate(
    context: EphemeralDataContext, snapshot: Snapshot, suite: Suite
) -> tuple[ExpectationSuiteValidationResult | None, list[Failure]]:
    """Check a table against its suite; give the result, and each failure with its rows.

    A table without rows has no result: nothing was looked at.
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
                "result_format": "BASIC",
                "partial_unexpected_count": MOST_VALUES,
            },
        )
    rules = {column(suite, rule): rule for rule in suite.rules}
    failed = [each for each in result.results if not each.success]
    return result, [_failure(snapshot, suite, rules, each) for each in failed]


def column(suite: Suite, rule: Rule) -> str:
    """Name a rule's column in the frame: its own name, numbered where others share it."""
    same = [each for each in suite.rules if each.column == rule.column]
    place = next(number for number, each in enumerate(same, 1) if each is rule)
    return rule.column if place == 1 else f"{rule.column} ({place})"


def _suite(suite: Suite) -> gx.ExpectationSuite:
    expectations = [
        getattr(gxe, rule.expectation)(
            column=column(suite, rule), description=rule.words, **rule.given
        )
        for rule in suite.rules
    ]
    return gx.ExpectationSuite(name=suite.name, expectations=expectations)


def _frame(snapshot: Snapshot, suite: Suite) -> pd.DataFrame:
    """Give each distinct value of each rule once, the columns filled up with nulls."""
    found = {column(suite, rule): _values(snapshot, suite, rule) for rule in suite.rules}
    longest = max(map(len, found.values()))
    padded = {
        name: pa.concat_arrays([values, pa.nulls(longest - len(values), values.type)])
        for name, values in found.items()
    }
    frame: pd.DataFrame = pa.table(padded).to_pandas(types_mapper=pd.ArrowDtype)
    return frame


def _values(snapshot: Snapshot, suite: Suite, rule: Rule) -> pa.Array:
    held = snapshot.read(f"SELECT DISTINCT {rule.value} AS value FROM {_relation(suite, rule)}")
    return held["value"].combine_chunks().drop_null()


def _relation(suite: Suite, rule: Rule) -> str:
    return f"({rule.relation})" if rule.relation else suite.relation


def _failure(snapshot: Snapshot, suite: Suite, rules: dict[str, Rule], result: Any) -> Failure:
    rule = rules[result.expectation_config.kwargs["column"]]
    if result.exception_info.get("raised_exception"):
        raise RuntimeError(f"{suite.name}: {rule.words}: {result.exception_info}")
    unexpected = ", ".join(_literals(result.result["partial_unexpected_list"]))
    place = "place" if rule.relation else suite.place
    found = snapshot.read(
        f"SELECT count(*) AS failing, min(place, {MOST_PLACES}) AS places FROM ("
        f"SELECT {rule.value} AS value, {place} AS place FROM {_relation(suite, rule)}"
        f") WHERE value IN ({unexpected})"
    ).to_pylist()[0]
    return Failure(
        suite.name, suite.table, rule.words, found["failing"], tuple(found["places"] or ())
    )


def _literals(values: Iterable[Any]) -> Iterator[str]:
    for value in values:
        yield f"'{value.replace(chr(39), chr(39) * 2)}'" if isinstance(value, str) else str(value)


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence what Great Expectations says of its own workings."""
    told = logging.getLogger("great_expectations")
    level = told.level
    told.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", module=r"great_expectations(\..*)?")
            yield
    finally:
        told.setLevel(level)
