"""Run the suites with Great Expectations over the tables of an audit, and render their pages.

The rules of a table are one expectation: its query returns the rules that are not met. Importing
this module takes seconds: only an audit does.
"""

import logging
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import ModuleType
from typing import Any, ClassVar

import duckdb
import great_expectations as gx
import great_expectations.expectations as gxe
from great_expectations.core import ExpectationSuiteValidationResult
from great_expectations.core.batch_definition import BatchDefinition
from great_expectations.data_context.types.base import (
    DataContextConfig,
    InMemoryStoreBackendDefaults,
    ProgressBarsConfig,
)
from great_expectations.datasource.fluent import SQLDatasource
from great_expectations.datasource.fluent.sql_datasource import TableAsset
from great_expectations.render.renderer import ValidationResultsPageRenderer
from great_expectations.render.view import DefaultJinjaPageView
from sqlalchemy import URL, Connection, types
from sqlalchemy.dialects import registry
from sqlalchemy.engine.default import DefaultDialect
from sqlalchemy.engine.interfaces import ConnectArgsType, ReflectedColumn

from quality.catalogue import Catalogue
from quality.report import Failure
from quality.rules import Suite

# Great Expectations replaces this with the table that it validates.
_BATCH = "{batch}"
_SOURCE = "candidate"
_ROWS = "unexpected_rows_query.table"


class ExpectRulesToBeMet(gxe.UnexpectedRowsExpectation):
    """Expect the query of a table to return no rule.

    The query runs once: by default Great Expectations counts its rows by a second one.
    """

    metric_dependencies: ClassVar[tuple[str, ...]] = (_ROWS,)

    def _validate(
        self,
        metrics: dict[str, Any],
        runtime_configuration: dict[str, Any] | None = None,
        execution_engine: Any = None,
    ) -> dict[str, Any]:
        failures = metrics[_ROWS]
        words = "; ".join(f"{each['rule']}: {each['row_count']:,}" for each in failures)
        result = {"observed_value": words or "no row fails", "details": {"failures": failures}}
        return {"success": not failures, "result": result}


def validate(
    catalogue: Catalogue, suites: Sequence[Suite]
) -> Iterator[tuple[Suite, ExpectationSuiteValidationResult | None, list[Failure]]]:
    """Validate tables against their suites; yield the result of each, and its failures.

    A table without rows has no result: nothing was checked.
    """
    rows = {suite.name: catalogue.prepare(suite) for suite in suites}
    context = gx.get_context(
        mode="ephemeral",
        project_config=DataContextConfig(
            store_backend_defaults=InMemoryStoreBackendDefaults(),
            progress_bars=ProgressBarsConfig(globally=False, metric_calculations=False),
            # Otherwise Great Expectations sends usage data to its makers.
            analytics_enabled=False,
        ),
    )
    _CATALOGUES[catalogue.name] = catalogue
    with _quiet():
        # With all its assets at once: the context is written anew for each that is added later.
        source = context.data_sources.add_sql(
            _SOURCE,
            connection_string=f"{_DIALECT}:///{catalogue.name}",
            assets=[_asset(name, *place) for name, place in rows.items()],  # type: ignore[call-arg]
        )
    try:
        for suite in suites:
            if not catalogue.read(f"SELECT 1 FROM {'.'.join(rows[suite.name])} LIMIT 1"):
                yield suite, None, []
                continue
            with _quiet():
                result = _validated(source, suite)
            yield suite, result, _failures(suite, result)
    finally:
        source.get_engine().dispose()
        del _CATALOGUES[catalogue.name]


def _asset(name: str, schema: str, table: str) -> TableAsset:
    """Return the table of a suite as an asset, with one batch: all of it."""
    whole = BatchDefinition[Any](name=name, partitioner=None)
    return TableAsset(name=name, table_name=table, schema_name=schema, batch_definitions=[whole])


def _validated(source: SQLDatasource, suite: Suite) -> ExpectationSuiteValidationResult:
    batch = source.get_asset(suite.name).get_batch_definition(suite.name).get_batch()
    result: ExpectationSuiteValidationResult = batch.validate(
        _expected(suite), result_format="COMPLETE"
    )
    return result


def _expected(suite: Suite) -> gx.ExpectationSuite:
    rules = [rule.words for rule in suite.rules]
    expectation = ExpectRulesToBeMet(
        unexpected_rows_query=_query(suite), description="Every row meets its rules.", notes=rules
    )
    return gx.ExpectationSuite(name=suite.name, expectations=[expectation])


def _query(suite: Suite) -> str:
    """Return the query of a suite as Great Expectations reads it."""
    place = "\0"
    query = suite.failures(place)
    # Its own placeholders are in braces, and SQLAlchemy's parameters begin with a colon.
    query = query.replace("{", "{{").replace("}", "}}")
    query = re.sub(r"(?<![:\w\\]):(?=\w)", r"\:", query)
    return query.replace(place, _BATCH)


def _failures(suite: Suite, result: ExpectationSuiteValidationResult) -> list[Failure]:
    """Return the rules that are not met, in their order."""
    [checked] = result.results
    details = checked.result.get("details")
    # An expectation that could not be checked must not pass for one that is not met.
    if details is None:
        raise RuntimeError(f"{suite.name}: {checked.exception_info}")
    failing = {each["rule"]: each for each in details["failures"]}
    return [
        Failure(
            suite.name,
            suite.table,
            rule.words,
            failing[rule.words]["row_count"],
            tuple(failing[rule.words]["examples"] or ()),
        )
        for rule in suite.rules
        if rule.words in failing
    ]


def result_page(result: ExpectationSuiteValidationResult) -> str:
    """Return the page of Data Docs of the result of a suite."""
    renderer: Any = ValidationResultsPageRenderer()
    view: Any = DefaultJinjaPageView()
    return str(view.render(renderer.render(result)))


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


# DuckDB for SQLAlchemy, as much as Great Expectations needs to query the tables of an audit.
#
# DuckDB's own Python module is a DB-API 2.0 driver; what is missing is how SQLAlchemy asks for the
# columns of a table. The package duckdb-engine asks PostgreSQL's catalogue, of which DuckDB 2.0 has
# not what SQLAlchemy 2.1 reads, and fails.

_COLUMNS = """
SELECT column_name, is_nullable FROM duckdb_columns()
WHERE table_name = ? AND schema_name = coalesce(?, current_schema()) ORDER BY column_index
"""
_DIALECT = "duckdb"
# The audits under way by name, which is the address that Great Expectations connects to.
_CATALOGUES: dict[str, Catalogue] = {}


class DuckDBDialect(DefaultDialect):
    """SQLAlchemy's standard SQL over DuckDB; for reading: every statement commits itself."""

    name = _DIALECT
    driver = "duckdb"
    supports_statement_cache = True
    supports_native_boolean = True

    @classmethod
    def import_dbapi(cls) -> ModuleType:
        """Return the driver."""
        return duckdb

    def create_connect_args(self, url: URL) -> ConnectArgsType:
        """Return the argument of ``connect``: the name of an audit."""
        return (str(url.database),), {}

    def connect(self, *args: Any, **parameters: Any) -> Any:
        """Return a connection to the tables of an audit."""
        self._catalogue = _CATALOGUES[args[0]]
        return self._catalogue.sql.cursor()

    def do_execute(self, cursor: Any, statement: str, parameters: Any, context: Any = None) -> None:
        """Execute a statement: each cursor of DuckDB is a connection of its own."""
        self._catalogue.shown_to(cursor).execute(statement, parameters)

    def do_rollback(self, dbapi_connection: Any) -> None:
        """Do nothing: no transaction was begun."""

    def do_commit(self, dbapi_connection: Any) -> None:
        """Do nothing: no transaction was begun."""

    def has_table(
        self, connection: Connection, table_name: str, schema: str | None = None, **_: Any
    ) -> bool:
        """Return whether there is such a table or view."""
        return bool(self.get_columns(connection, table_name, schema))

    def get_columns(
        self, connection: Connection, table_name: str, schema: str | None = None, **_: Any
    ) -> list[ReflectedColumn]:
        """Return the columns of a table or view. Types stay open: expectations state what holds."""
        rows = connection.exec_driver_sql(_COLUMNS, (table_name, schema))
        return [
            {"name": name, "type": types.NullType(), "nullable": nullable, "default": None}
            for name, nullable in rows
        ]


registry.register(_DIALECT, __name__, DuckDBDialect.__name__)
