"""A rule of a table as the audit checks it: words, and what fails in SQL.

A rule is stated once, by one of the functions here or by a ``RowRule`` of the record. All rules of
a table are one query, which Great Expectations runs in ``expectations``.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from warehouse.record.relations import sql_text
from warehouse.record.rules import RowRule
from warehouse.shared.data_files import sql_file

# Placeholders of a query: the rows of the table, and the text that identifies one of them.
ROWS, ROW_REFERENCE = "{{ rows }}", "{{ row_reference }}"
MAX_EXAMPLES = 5

_SQL = sql_file(__name__, "rules")
_PLACES = {"rows": ROWS, "row_reference": ROW_REFERENCE}


@dataclass(frozen=True)
class Rule:
    """What must hold for the rows of a table.

    ``words`` name it in reports, ``condition`` is what must not be false of a row. A rule that
    looks at several rows, or at what a check in Python found, has a ``query`` of the
    ``row_reference`` of what fails; its condition only says it to readers of the rule book.
    ``reads`` are tables that decide about it and that the query does not name.
    """

    words: str
    column: str
    condition: str
    query: str = ""
    reads: tuple[str, ...] = ()

    def failing(self, rows: str, row_reference: str) -> str:
        """Return SQL of the references of what fails in a relation."""
        fails = f"FROM {ROWS} WHERE ({self.condition}) IS FALSE"
        query = self.query or f"SELECT {ROW_REFERENCE} AS row_reference {fails}"
        return query.replace(ROWS, rows).replace(ROW_REFERENCE, row_reference)


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

    def failures(self, rows: str) -> str:
        """Return SQL of the rules that fail in a relation: words, ``row_count`` and ``examples``.

        Rules about single rows are decided in one pass over them.
        """
        of_rows = [rule for rule in self.rules if not rule.query]
        failing = [
            _SQL.statement(
                "failing_rule",
                rule=sql_text(rule.words),
                failing=rule.failing(rows, self.row_reference),
            )
            for rule in self.rules
            if rule.query
        ]
        if of_rows:
            failing.append(
                _SQL.statement(
                    "failing_rules_of_rows",
                    rules=", ".join(
                        f"CASE WHEN ({rule.condition}) IS FALSE THEN {sql_text(rule.words)} END"
                        for rule in of_rows
                    ),
                    conditions=" AND ".join(f"({rule.condition})" for rule in of_rows),
                    rows=rows,
                    row_reference=self.row_reference,
                )
            )
        return _SQL.statement(
            "failures", failing=" UNION ALL ".join(failing), most_examples=str(MAX_EXAMPLES)
        )


def one_of(words: str, column: str, values: Iterable[str]) -> Rule:
    """Expect one of the values, or null if the column permits it."""
    return Rule(words, column, f"{column} IN ({', '.join(map(sql_text, sorted(values)))})")


def unique(words: str, key: Iterable[str]) -> Rule:
    """Expect no key to occur twice; a null is a value like any other."""
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


def one_answer_per_day(words: str, absent: str) -> Rule:
    """Expect no two answers of a metric for one issuer and day; ``absent`` are reasons for none."""
    query = _SQL.statement("overlapping_answers", rows=ROWS, absent=absent)
    return Rule(words, "answers_from", "quality/sql/rules.sql: overlapping_answers", query)


def not_found(words: str, column: str, found: str, reads: tuple[str, ...]) -> Rule:
    """Expect that a check listed no row of the table in the table ``found``."""
    query = _SQL.statement("rows_found", found=found, **_PLACES)
    return Rule(words, column, "the organisation check", query, reads=reads)


def of_record(rule: RowRule) -> Rule:
    """Return a rule of the record's rows for the audit."""
    return Rule(rule.words, rule.column, rule.condition)
