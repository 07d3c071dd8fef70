"""A rule of a table as the audit checks it: words, the failing rows in SQL, and an expectation.

A rule is stated once, by one of the functions here or by a ``RowRule`` of the record; its
expectation and the query of its failing rows both follow from that. Importing rules is cheap: Great
Expectations, which takes seconds to import, only runs them in ``expectations``.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from warehouse.record.rules import RowRule
from warehouse.shared.data_files import sql_file

# Placeholders of a query: the rows of the table, and the text that identifies one of them.
ROWS, ROW_REFERENCE = "{{ rows }}", "{{ row_reference }}"
_UNEXPECTED_ROWS = "UnexpectedRowsExpectation"

# Of rules that look at several rows, or at what a check in Python found.
_SQL = sql_file(__name__, "rules")
_PLACES = {"rows": ROWS, "row_reference": ROW_REFERENCE}


@dataclass(frozen=True)
class Rule:
    """What must hold for the rows of a table.

    ``words`` name it in reports, ``condition`` says it to readers of the rule book. ``query``
    selects the ``row_reference`` of what fails. ``expectation`` is the class of Great Expectations
    that checks it, with ``arguments``; without any, it is the query that must find nothing.
    ``reads`` are tables that decide about it and that the query does not name.
    """

    words: str
    column: str
    condition: str
    query: str
    expectation: str = _UNEXPECTED_ROWS
    arguments: Mapping[str, Any] = field(default_factory=dict)
    reads: tuple[str, ...] = ()

    @property
    def is_query(self) -> bool:
        """True if the query itself is the expectation."""
        return self.expectation == _UNEXPECTED_ROWS

    def failing(self, rows: str, row_reference: str) -> str:
        """Return SQL of the references of what fails in a relation."""
        return self.query.replace(ROWS, rows).replace(ROW_REFERENCE, row_reference)


@dataclass(frozen=True)
class Suite:
    """The rules of one table: ``row_reference`` is SQL for the text that identifies a row.

    The rows are those of ``table``, or of ``relation``, a SELECT over the tables of a snapshot. If
    that is costly, its ``columns`` that the rules name are computed once. The result is kept with
    the files of ``table``, or of ``made_from`` if the table has none of its own.
    """

    name: str
    table: str
    row_reference: str
    rules: tuple[Rule, ...]
    relation: str = ""
    columns: tuple[str, ...] = ()
    made_from: str = ""

    @property
    def kept_with(self) -> str:
        """The table with whose files the result is kept."""
        return self.made_from or self.table

    @property
    def asset(self) -> str:
        """The name of the table or view that has the rows."""
        return self.name.replace(".", "_") if self.relation else self.table


def failing_where(condition: str) -> str:
    """Return the query of the rows that meet a condition."""
    return f"SELECT {ROW_REFERENCE} AS row_reference FROM {ROWS} WHERE {condition}"


def satisfies(words: str, column: str, condition: str) -> Rule:
    """Expect a condition to be true, or null where it does not apply."""
    return Rule(words, column, condition, failing_where(f"({condition}) IS FALSE"))


def present(words: str, column: str) -> Rule:
    """Expect a text that is neither null nor empty."""
    return satisfies(words, column, f"coalesce({column}, '') <> ''")


def not_null(words: str, column: str) -> Rule:
    """Expect a value."""
    condition = f"{column} IS NOT NULL"
    return Rule(
        words,
        column,
        condition,
        failing_where(f"{column} IS NULL"),
        "ExpectColumnValuesToNotBeNull",
        {"column": column},
    )


def one_of(words: str, column: str, values: Iterable[str]) -> Rule:
    """Expect one of the values, or null if the column permits it."""
    allowed = sorted(values)
    listed = ", ".join(f"'{value}'" for value in allowed)
    condition = f"{column} IN ({listed})"
    return Rule(
        words,
        column,
        condition,
        failing_where(f"({condition}) IS FALSE"),
        "ExpectColumnValuesToBeInSet",
        {"column": column, "value_set": allowed},
    )


def matches(words: str, column: str, pattern: str) -> Rule:
    """Expect text that matches a pattern, or null."""
    # Great Expectations knows no regular expressions of DuckDB: the query says it.
    return satisfies(words, column, f"regexp_matches({column}, '{pattern}')")


def unique(words: str, key: Iterable[str]) -> Rule:
    """Expect no key to occur twice; a null is a value like any other."""
    # Great Expectations joins the keys that it counted, by which one with a null gets lost.
    columns = ", ".join(key)
    return Rule(
        words,
        "rows_per_key",
        f"unique: {columns}",
        f"SELECT min({ROW_REFERENCE}) AS row_reference FROM {ROWS} GROUP BY {columns} "
        "HAVING count(*) > 1",
    )


def vintages_without_gaps(words: str, key: Iterable[str]) -> Rule:
    """Expect the vintages of each key to be numbered from 1."""
    query = _SQL.statement("vintages_with_gaps", key=", ".join(key), **_PLACES)
    return Rule(words, "vintage", "quality/sql/rules.sql: vintages_with_gaps", query)


def one_answer_per_day(words: str) -> Rule:
    """Expect no two answers of a metric for one issuer and day."""
    query = _SQL.statement("overlapping_answers", rows=ROWS)
    return Rule(words, "answers_from", "quality/sql/rules.sql: overlapping_answers", query)


def not_found(words: str, column: str, found: str, reads: tuple[str, ...]) -> Rule:
    """Expect that a check listed no row of the table in the table ``found``."""
    query = _SQL.statement("rows_found", found=found, **_PLACES)
    return Rule(words, column, "the organisation check", query, reads=reads)


def of_record(rule: RowRule) -> Rule:
    """Return a rule of the record's rows for the audit."""
    if rule.allowed:
        return one_of(rule.words, rule.column, rule.allowed)
    return satisfies(rule.words, rule.column, rule.condition)
