"""Rules that look at several rows, at another table, or at what a check in Python found."""

from collections.abc import Iterable

from quality.rules import ROW_REFERENCE, ROWS, Rule, finds_nothing
from warehouse.sql_files import sql_file

_SQL = sql_file(
    __name__,
    "rules",
    # By hand, of metrics.
)
_PLACES = {"rows": ROWS, "row_reference": ROW_REFERENCE}


def vintages_without_gaps(words: str, key: Iterable[str]) -> Rule:
    """Expect the vintages of each key to be numbered from 1."""
    query = _SQL.statement("vintages_with_gaps", key=", ".join(key), **_PLACES)
    return finds_nothing(words, "vintage", "quality/sql/rules.sql: vintages_with_gaps", query)


def one_answer_per_day(words: str) -> Rule:
    """Expect no two answers of a metric for one issuer and day."""
    query = _SQL.statement("overlapping_answers", rows=ROWS)
    return finds_nothing(words, "answers_from", "quality/sql/rules.sql: overlapping_answers", query)


def not_found(words: str, column: str, found: str, reads: tuple[str, ...]) -> Rule:
    """Expect that a check listed no row of the table in the table ``found``."""
    query = _SQL.statement("rows_found", found=found, **_PLACES)
    return finds_nothing(words, column, "the organisation check", query, reads)
