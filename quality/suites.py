"""The suites of all tables: those of the record here, those of the mart in ``mart_suites``.

A suite of the record looks again at what is about to be served, by the rules by which rows were
quarantined and left out before: a row that fails here was overlooked, which is our own mistake.
"""

from quality.mart_suites import MART_SUITES
from quality.personal_data_audit import PERSONAL_DATA_RULES
from quality.rules import Rule, Suite, matches, one_of, present, satisfies, unique, within
from warehouse.record.rules import RowRule, rules_of
from warehouse.record.tables import ENTITIES, IDENTIFIERS, RECORD_TABLES, RecordTable

ROW_REFERENCE = "concat(source_ref, ' (row ', row_id, ')')"

# Rules of what a snapshot adds to the rows of every table.
_SNAPSHOT_RULES = (
    present("every row has a provenance_id", "provenance_id"),
    present("every row has a row_id", "row_id"),
    satisfies("every row has an observed_at", "observed_at", "observed_at IS NOT NULL"),
    within(
        "no vintage is superseded before it is available",
        "days_from_available_to_superseded",
        "date_diff('day', available_at, superseded_at)",
        0,
        None,
    ),
    satisfies(
        "the latest vintage is not superseded",
        "superseded_at",
        "superseded_at IS NULL OR NOT latest",
    ),
    within("vintages start at 1", "vintage", "vintage", 1, None),
)


def _audit_rule(rule: RowRule) -> Rule:
    """Return a rule of the rule book as an expectation."""
    if rule.pattern is not None:
        return matches(rule.words, rule.column, rule.pattern)
    if rule.allowed:
        return one_of(rule.words, rule.column, rule.allowed)
    return satisfies(rule.words, rule.column, rule.condition)


def _suite(table: RecordTable) -> Suite:
    vintage_ranges = (
        f"SELECT max(vintage) AS last, min(vintage) AS first, count(*) AS vintages, "
        f"min({ROW_REFERENCE}) AS row_reference FROM {table.name} GROUP BY figure, figure_check"
    )
    rules = (
        *_SNAPSHOT_RULES,
        unique(
            f"no two rows have the same {', '.join(table.identity)} and vintage",
            table.name,
            # Two registers' ids of one organisation may bear the same identifier.
            (*table.identity, *(("alias",) if table in (ENTITIES, IDENTIFIERS) else ()), "vintage"),
            ROW_REFERENCE,
        ),
        satisfies(
            "the vintages of a figure are numbered from 1 without gaps",
            "vintages",
            "first = 1 AND last = vintages",
            vintage_ranges,
        ),
        *(_audit_rule(rule) for rule in rules_of(table) if "audit" in rule.stages),
        *(
            satisfies(rule.words, rule.column, f"row_id NOT IN (SELECT row_id FROM {rule.failing})")
            for rule in PERSONAL_DATA_RULES
            if rule.table is table
        ),
    )
    return Suite(f"record.{table.name}", table.name, table.name, ROW_REFERENCE, rules)


RECORD_SUITES = tuple(_suite(table) for table in RECORD_TABLES)
SUITES = (*RECORD_SUITES, *MART_SUITES)
