"""The suites of all tables: of the record, of derived tables, and of the mart.

A suite of the record looks again at what is about to be served, by the rules by which rows were
quarantined and left out before: a row that fails here was overlooked, which is our own mistake.

A table that is served as it is in the record has the rules of the record too. What it needs for
being served is in ``served_tables.csv`` and ``served_rules.csv``, and so is, under ``*``, what must
hold of what a snapshot adds to the rows of every table of the record.
"""

from collections.abc import Mapping
from typing import Literal, get_args, get_origin

from quality.personal_data_audit import PERSONAL_DATA_RULES
from quality.rules import (
    Rule,
    Suite,
    not_found,
    of_record,
    one_answer_per_day,
    one_of,
    unique,
    vintages_without_gaps,
)
from warehouse.publish.tables import MART_TABLES
from warehouse.record.rules import COUNTRY, CURRENCY, ISO3, LICENSED, SERVICE_ID, rules_of
from warehouse.record.tables import ENTITIES, IDENTIFIERS, RECORD_TABLES, RecordTable
from warehouse.shared.data_files import csv_rows
from warehouse.tables.column import identity_of
from warehouse.tables.derived import DERIVED

_MART_ROWS = {table.name: table.rows for table in MART_TABLES}
_PATTERNS = {"COUNTRY": COUNTRY, "CURRENCY": CURRENCY, "ISO3": ISO3, "SERVICE_ID": SERVICE_ID}


def _served_rule(row: Mapping[str, str]) -> Rule:
    """Return the rule of a line of ``served_rules.csv``."""
    words, column, condition = row["words"], row["column"], row["condition"].format_map(_PATTERNS)
    match row["check"]:
        case "licensed":
            return of_record(LICENSED)
        case "one_of":
            return one_of(words, column, _allowed(row["table"], column))
        case "one_answer_per_day":
            return one_answer_per_day(words, f"{row['table']}_absent")
        case "vintages_without_gaps":
            return vintages_without_gaps(words, identity_of(DERIVED[row["table"]]))
        case _:
            return Rule(words, column, condition)


def _allowed(table: str, column: str) -> tuple[str, ...]:
    """Return the values that the class of a row permits for a column."""
    annotation = DERIVED[table].model_fields[column].annotation
    kinds = (annotation, *get_args(annotation))
    return next(get_args(kind) for kind in kinds if get_origin(kind) is Literal)


_SERVED_RULES = csv_rows(__name__, "served_rules")


def _served_suite(row: Mapping[str, str]) -> Suite:
    """Return the suite of a line of ``served_tables.csv``.

    Without a key, the identity of the row; ``*`` means it. The rows are those that are served,
    or those of the table as it is. Rows that are costly are computed once, with the columns that
    rules name and those of ``computed_with``.
    """
    table, computed_with = row["table"], row["computed_with"].split()
    key: list[str] = []
    for part in (row["key"] or "*").split("; "):
        key += identity_of(DERIVED[table]) if part == "*" else [part]
    rules = [_served_rule(rule) for rule in _SERVED_RULES if rule["table"] == table]
    named = (*filter(str.isidentifier, key), *(rule.column for rule in rules), *computed_with)
    return Suite(
        f"served.{table}",
        table,
        row["row_reference"],
        (unique(f"no two rows have the same {', '.join(key)}", key), *rules),
        "" if row["relation"] == "as it is" else _MART_ROWS.get(table, ""),
        tuple(dict.fromkeys(named)) if computed_with else (),
        row["made_from"],
    )


MART_SUITES = tuple(map(_served_suite, csv_rows(__name__, "served_tables")))
_ROW = "concat(source_ref, ' (row ', row_id, ')')"

SNAPSHOT_RULES = tuple(_served_rule(rule) for rule in _SERVED_RULES if rule["table"] == "*")


def key_of(table: RecordTable) -> tuple[str, ...]:
    """Return the columns that identify a row of a table in a snapshot."""
    # Two registers' ids of one organisation may bear the same identifier.
    alias = ("alias",) if table in (ENTITIES, IDENTIFIERS) else ()
    return (*table.identity, *alias, "vintage")


def _suite(table: RecordTable) -> Suite:
    rules = (
        *SNAPSHOT_RULES,
        unique(f"no two rows have the same {', '.join(table.identity)} and vintage", key_of(table)),
        vintages_without_gaps(
            "the vintages of a figure are numbered from 1 without gaps", ("figure", "figure_check")
        ),
        *(of_record(rule) for rule in rules_of(table) if "audit" in rule.stages),
        *(
            not_found(rule.words, rule.column, rule.failing, rule.reads)
            for rule in PERSONAL_DATA_RULES
            if rule.table is table
        ),
    )
    return Suite(f"record.{table.name}", table.name, _ROW, rules)


RECORD_SUITES = tuple(_suite(table) for table in RECORD_TABLES)
SUITES = (*RECORD_SUITES, *MART_SUITES)
