"""Run the suites with Great Expectations over the DuckDB file of an audit.

Each suite is validated on the table that it speaks of, through a data source of SQL: Great
Expectations sends queries and gets counts, never rows. For what fails, the first rows are then
queried. Importing this module takes seconds: only an audit does.
"""

import logging
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import duckdb
import great_expectations as gx
import great_expectations.expectations as gxe
from great_expectations.core import ExpectationSuiteValidationResult
from great_expectations.core.batch_definition import BatchDefinition
from great_expectations.data_context import EphemeralDataContext
from great_expectations.data_context.types.base import (
    DataContextConfig,
    FilesystemStoreBackendDefaults,
    InMemoryStoreBackendDefaults,
    ProgressBarsConfig,
)
from great_expectations.datasource.fluent import SQLDatasource
from great_expectations.datasource.fluent.sql_datasource import TableAsset
from sqlalchemy import URL, Connection, types
from sqlalchemy.dialects import registry
from sqlalchemy.engine.default import DefaultDialect
from sqlalchemy.engine.interfaces import ConnectArgsType, ReflectedColumn

from quality.catalogue import Catalogue
from quality.report import Failure
from quality.rules import Rule, Suite

MAX_EXAMPLES = 5
# Great Expectations replaces this with the table that it validates.
_BATCH = "{batch}"
# Part of the addresses of pages of Data Docs.
_SOURCE = "candidate"
_RULE = "rule"


def open_context(results: Path | None = None) -> EphemeralDataContext:
    """Return a context without progress bars and analytics.

    Suites and their results are kept in a folder, if there is one: Data Docs are written from it.
    """
    stores = InMemoryStoreBackendDefaults()
    if results is not None:
        kept = FilesystemStoreBackendDefaults(results).stores
        for name in (stores.expectations_store_name, stores.validation_results_store_name):
            stores.stores[name] = kept[name]
    return gx.get_context(
        mode="ephemeral",
        project_config=DataContextConfig(
            store_backend_defaults=stores,
            progress_bars=ProgressBarsConfig(globally=False, metric_calculations=False),
            # Otherwise Great Expectations sends usage data to its makers.
            analytics_enabled=False,
        ),
    )


def validate(
    context: EphemeralDataContext, catalogue: Catalogue, suites: Sequence[Suite]
) -> Iterator[tuple[Suite, ExpectationSuiteValidationResult | None, list[Failure]]]:
    """Validate tables against their suites; yield the result of each, and its failures.

    A table without rows has no result: nothing was checked.
    """
    rows = {suite.name: catalogue.prepare(suite) for suite in suites}
    with _quiet():
        # With all its assets at once: the context is written anew for each that is added later.
        source = context.data_sources.add_sql(
            _SOURCE,
            connection_string=f"{_DIALECT}:///{catalogue.path}",
            assets=[_asset(name, *place) for name, place in rows.items()],  # type: ignore[call-arg]
        )
    try:
        for suite in suites:
            with _quiet():
                result, failures = _validated(context, source, catalogue, suite)
            yield suite, result, failures
    finally:
        source.get_engine().dispose()


def _asset(name: str, schema: str, table: str) -> TableAsset:
    """Return the table of a suite as an asset, with one batch: all of it."""
    whole = BatchDefinition[Any](name=name, partitioner=None)
    return TableAsset(name=name, table_name=table, schema_name=schema, batch_definitions=[whole])


def _validated(
    context: EphemeralDataContext, source: SQLDatasource, catalogue: Catalogue, suite: Suite
) -> tuple[ExpectationSuiteValidationResult | None, list[Failure]]:
    expected = context.suites.add_or_update(_suite(suite))
    schema, table = catalogue.prepare(suite)
    rows = f"{schema}.{table}"
    if not catalogue.read(f"SELECT 1 FROM {rows} LIMIT 1"):
        return None, []
    definition = context.validation_definitions.add(
        gx.ValidationDefinition(
            name=suite.name,
            data=source.get_asset(suite.name).get_batch_definition(suite.name),
            suite=expected,
        )
    )
    # Whether each expectation is met, by as few queries as that needs; details of what is not.
    result = definition.run(result_format="BOOLEAN_ONLY")
    if not result.success:
        result = definition.run(result_format="BASIC")
    failed = [each for each in result.results if not each.success]
    return result, [_failure(catalogue, suite, rows, each) for each in failed]


def _suite(suite: Suite) -> gx.ExpectationSuite:
    return gx.ExpectationSuite(
        name=suite.name,
        expectations=[_expectation(suite, rule, number) for number, rule in enumerate(suite.rules)],
    )


def _expectation(suite: Suite, rule: Rule, number: int) -> Any:
    arguments = dict(rule.arguments)
    if rule.is_query:
        arguments["unexpected_rows_query"] = _query(rule, suite.row_reference)
    return getattr(gxe, rule.expectation)(description=rule.words, meta={_RULE: number}, **arguments)


def _query(rule: Rule, row_reference: str) -> str:
    """Return the query of a rule as Great Expectations reads it."""
    place = "\0"
    query = rule.failing(place, row_reference)
    # Its own placeholders are in braces, and SQLAlchemy's parameters begin with a colon.
    query = query.replace("{", "{{").replace("}", "}}")
    query = re.sub(r"(?<![:\w\\]):(?=\w)", r"\:", query)
    return query.replace(place, _BATCH)


def _failure(catalogue: Catalogue, suite: Suite, rows: str, result: Any) -> Failure:
    rule = suite.rules[result.expectation_config.meta[_RULE]]
    # An expectation that could not be checked must not pass for one that is not met.
    if result.exception_info.get("raised_exception") or not _was_checked(result.exception_info):
        raise RuntimeError(f"{suite.name}: {rule.words}: {result.exception_info}")
    failing = catalogue.read(
        f"SELECT count(*) AS row_count, min(row_reference, {MAX_EXAMPLES}) AS examples "
        f"FROM ({rule.failing(rows, suite.row_reference)})"
    ).to_pylist()[0]
    return Failure(
        suite.name,
        suite.table,
        rule.words,
        failing["row_count"],
        tuple(failing["examples"] or ()),
    )


def _was_checked(exceptions: Any) -> bool:
    """Return whether no metric of an expectation raised: they are listed by their ids."""
    return not any(
        isinstance(each, dict) and each.get("raised_exception") for each in exceptions.values()
    )


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


# DuckDB for SQLAlchemy, as much as Great Expectations needs to query a file of DuckDB.
#
# DuckDB's own Python module is a DB-API 2.0 driver; what is missing is how SQLAlchemy asks for the
# columns of a table. The package duckdb-engine asks PostgreSQL's catalogue, of which DuckDB 2.0 has
# not what SQLAlchemy 2.1 reads, and fails.

_COLUMNS = """
SELECT column_name, is_nullable FROM duckdb_columns()
WHERE table_name = ? AND schema_name = coalesce(?, current_schema()) ORDER BY column_index
"""
_DIALECT = "duckdb"


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
        """Return the arguments of ``duckdb.connect``."""
        return (), {"database": url.database or ":memory:"}

    def connect(self, *args: Any, **parameters: Any) -> Any:
        """Return a connection whose days are those of UTC, as in a snapshot."""
        connection = duckdb.connect(*args, **parameters)
        connection.execute("SET TimeZone = 'UTC'")
        return connection

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
