"""The suites of all tables: those of the record here, those of the mart in ``mart_suites``.

A suite of the record looks again at what is about to be served, by the rules by which rows were
quarantined and left out before: a row that fails here was overlooked, which is our own mistake.
"""

from quality.mart_suites import MART_SUITES
from quality.personal_data_audit import PERSONAL_DATA_RULES
from quality.rules import (
    Suite,
    not_found,
    not_null,
    of_record,
    present,
    satisfies,
    unique,
    vintages_without_gaps,
)
from warehouse.record.rules import rules_of
from warehouse.record.tables import ENTITIES, IDENTIFIERS, RECORD_TABLES, RecordTable

_ROW = "concat(source_ref, ' (row ', row_id, ')')"

# Rules of what a snapshot adds to the rows of every table.
SNAPSHOT_RULES = (
    present("every row has a provenance_id", "provenance_id"),
    present("every row has a row_id", "row_id"),
    not_null("every row has an observed_at", "observed_at"),
    satisfies(
        "no vintage is superseded before it is available",
        "superseded_at",
        "superseded_at >= available_at",
    ),
    satisfies(
        "the latest vintage is not superseded",
        "superseded_at",
        "superseded_at IS NULL OR NOT latest",
    ),
)


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
