"""The suites of all tables: of the record, of what is derived, and of the mart.

A suite of the record looks again at what is about to be served, by the rules by which rows were
quarantined and left out before: a row that fails here was overlooked, which is our own mistake.
"""

from collections.abc import Iterable
from typing import get_args

from quality.personal_data_audit import PERSONAL_DATA_RULES
from quality.rules import (
    Rule,
    Suite,
    matches,
    not_found,
    not_negative,
    not_null,
    of_record,
    one_answer_per_day,
    one_of,
    present,
    satisfies,
    unique,
    vintages_without_gaps,
)
from warehouse.methodology.metrics import AbsentReason
from warehouse.publish.served_rows import TENDER_VINTAGES_TABLE, VINTAGES
from warehouse.publish.tables import MART_TABLES
from warehouse.record.rules import COUNTRY, CURRENCY, ISO3, LICENSED, SERVICE_ID, rules_of
from warehouse.record.tables import ENTITIES, IDENTIFIERS, RECORD_TABLES, RecordTable
from warehouse.tables import (
    LeftOut,
    Metric,
    MetricAbsent,
    PartyMatch,
    QualityMetric,
    Signal,
    SilentRevision,
)
from warehouse.tables.column import identity_of
from warehouse.tables.derived import JoinMethod, RevisionKind

# The suites of the mart: rules of the tables that a build serves or derives.
#
# A table that is served as it is in the record has the rules of the record too; here are only
# those that it needs for being served.

_MART_ROWS = {table.name: table.rows for table in MART_TABLES}
_ABSENT_REASONS = get_args(AbsentReason)
# What holds for every derived row that is served under the licence of its source.
_SOURCE_RULES = (present("every row has a source_ref", "source_ref"), of_record(LICENSED))
_SERVICE_ID_RULE = matches("organisation ids start with DC", "service_id", SERVICE_ID)
_COUNTRY_RULE = matches("countries are two-letter codes", "country", COUNTRY)
_SIGNAL_KEY = identity_of(Signal)


def _mart_suite(
    name: str,
    key: Iterable[str],
    row_reference: str,
    *rules: Rule,
    relation: str | None = None,
    computed_with: tuple[str, ...] = (),
    made_from: str = "",
) -> Suite:
    """Return the suite of a table: of its served rows, or of ``relation``.

    Rows that are costly are computed once, with the columns that rules name and those given here.
    """
    key = tuple(key)
    named = (*filter(str.isidentifier, key), *(rule.column for rule in rules), *computed_with)
    columns = tuple(dict.fromkeys(named)) if computed_with else ()
    rules = (unique(f"no two rows have the same {', '.join(key)}", key), *rules)
    served = _MART_ROWS.get(name, "") if relation is None else relation
    return Suite(f"served.{name}", name, row_reference, rules, served, columns, made_from)


_SIGNAL_REFERENCE = (
    "concat_ws(' ', signal_key, country, month, dimension, dimension_value, measure, currency, "
    "'vintage', vintage)"
)
# The rows are those of the table itself: what its served rows have besides is not audited here.
_AS_IT_IS = ""

MART_SUITES = (
    _mart_suite(
        "fundamentals",
        ("row_id",),
        "concat(source_ref, ' (fact ', row_id, ')')",
        relation=_AS_IT_IS,
    ),
    _mart_suite("filings", ("row_id",), "source_ref", relation=_AS_IT_IS),
    _mart_suite("macro_annual", ("row_id",), "source_ref", relation=_AS_IT_IS),
    _mart_suite("macro_series", ("row_id",), "source_ref", relation=_AS_IT_IS),
    _mart_suite("tender_releases", ("row_id",), "source_ref", computed_with=("source_ref",)),
    _mart_suite(
        "tender_parties",
        ("party_id",),
        "concat(source_ref, ' (party ', party_key, ')')",
        present("every served party has a name", "name"),
        computed_with=("source_ref", "party_key"),
    ),
    _mart_suite(
        "award_facts",
        ("fact_id", "vintage"),
        "concat(source_ref, ' (fact ', fact_id, ')')",
        *_SOURCE_RULES,
        _SERVICE_ID_RULE,
        matches("currencies are three-letter codes", "unit", CURRENCY),
        computed_with=("source_ref",),
        made_from=VINTAGES,
    ),
    _mart_suite(
        "tender_facts",
        ("source", "ocid", "vintage"),
        "concat(source_ref, ' (fact ', fact_id, ')')",
        *_SOURCE_RULES,
        _COUNTRY_RULE,
        present("every tender fact names its process", "ocid"),
        computed_with=("source_ref", "fact_id"),
        made_from=TENDER_VINTAGES_TABLE,
    ),
    _mart_suite(
        "entities",
        ("service_id",),
        "concat(source_ref, ' (', service_id, ')')",
        present("every served organisation has a name", "legal_name"),
        computed_with=("source_ref",),
    ),
    _mart_suite(
        "identifiers",
        # An LEI is the same LEI whoever reports it; other numbers are unique only within their
        # issuer.
        ("organisation", "id_type", "id_match", "CASE WHEN id_type <> 'lei' THEN issuer END"),
        "concat(source_ref, ' (', organisation, ' ', id_type, ')')",
        computed_with=("source_ref", "issuer"),
    ),
    _mart_suite(
        "same_as",
        ("service_id",),
        "service_id",
        _SERVICE_ID_RULE,
        satisfies("no id points to itself", "same_as", "same_as <> service_id"),
        satisfies(
            "no id points to one that points elsewhere",
            "same_as",
            "same_as NOT IN (SELECT service_id FROM same_as)",
        ),
        one_of(
            "match_method is one of its allowed values",
            "match_method",
            get_args(JoinMethod),
        ),
    ),
    _mart_suite(
        "countries",
        ("country",),
        "country",
        _COUNTRY_RULE,
        matches("countries are three-letter codes", "country_iso3", ISO3),
    ),
    _mart_suite(
        "party_matches",
        identity_of(PartyMatch),
        "concat(source, ' ', party_key)",
        _SERVICE_ID_RULE,
        one_of(
            "match_method is one of its allowed values",
            "match_method",
            ("registry_id", "lei", "exact_name"),
        ),
        satisfies(
            "a resolved party has a match_method, any other a reason",
            "service_id",
            "(service_id IS NULL) = (match_method IS NULL) "
            "AND (service_id IS NULL) = (reason IS NOT NULL)",
        ),
    ),
    _mart_suite(
        "metrics",
        identity_of(Metric),
        "concat(service_id, ' ', metric, ' ', period_end, ' from ', source_ref)",
        *_SOURCE_RULES,
        _SERVICE_ID_RULE,
        matches("currencies are three-letter codes", "currency", CURRENCY),
        not_null("every row has a value", "value"),
        satisfies(
            "every value names its formula",
            "methodology_ref",
            "methodology_ref = 'metrics-v1/' || metric",
        ),
        satisfies("every value names its inputs", "inputs", "json_array_length(inputs) > 0"),
        satisfies(
            "no value answers before it was available",
            "answers_from",
            "answers_from >= available_at AND available_at >= published_at",
        ),
        satisfies(
            "no interval ends before it starts", "answers_until", "answers_until >= answers_from"
        ),
        one_answer_per_day("an issuer has one answer per metric and day"),
        relation=_AS_IT_IS,
    ),
    _mart_suite(
        "metrics_absent",
        identity_of(MetricAbsent),
        "concat(service_id, ' ', metric, ' ', period_end)",
        one_of("reason is one of its allowed values", "reason", _ABSENT_REASONS),
        satisfies("no interval ends before it starts", "holds_until", "holds_until >= holds_from"),
        relation=_AS_IT_IS,
    ),
    _mart_suite(
        "signals",
        (*_SIGNAL_KEY, "vintage"),
        _SIGNAL_REFERENCE,
        *_SOURCE_RULES,
        _COUNTRY_RULE,
        not_negative("n_eligible is not negative", "n_eligible"),
        not_negative("n_withheld is not negative", "n_withheld"),
        satisfies(
            "n_observed is not greater than n_eligible",
            "n_observed",
            "n_observed BETWEEN 0 AND n_eligible",
        ),
        satisfies(
            "coverage is n_observed / n_eligible, null if nothing is in scope",
            "coverage",
            "CASE WHEN n_eligible = 0 THEN coverage IS NULL ELSE coalesce("
            "abs(coverage - CAST(n_observed AS DOUBLE) / n_eligible) < 1e-9, FALSE) END",
        ),
        satisfies(
            "a row that observed nothing has no value", "value", "n_observed > 0 OR value IS NULL"
        ),
        satisfies(
            "a month is given by its first day", "month", "month = date_trunc('month', month)"
        ),
        satisfies("a month closes after its end", "closed_at", "closed_at > last_day(month)"),
        satisfies(
            "no row is available before its month closes",
            "available_at",
            "available_at >= closed_at",
        ),
        satisfies(
            "no vintage is superseded before it is available",
            "superseded_at",
            "superseded_at >= available_at",
        ),
        vintages_without_gaps(
            "the vintages of a measure are numbered from 1 without gaps", _SIGNAL_KEY
        ),
        satisfies(
            "every row names its methodology",
            "methodology_ref",
            "methodology_ref = 'signals-v1/' || signal_key",
        ),
        relation=_AS_IT_IS,
    ),
    _mart_suite(
        "silent_revisions",
        identity_of(SilentRevision),
        "concat(source_ref, ' (', member, ')')",
        *_SOURCE_RULES,
        one_of("kind is one of its allowed values", "kind", get_args(RevisionKind)),
        satisfies(
            "what is there differs from what was there", "after", "before IS DISTINCT FROM after"
        ),
        satisfies(
            "the new content is seen after the old",
            "after_first_seen_at",
            "after_first_seen_at > before_last_seen_at",
        ),
    ),
    _mart_suite(
        "quality",
        identity_of(QualityMetric),
        "concat_ws(' ', data_version, sku, metric, scope)",
        one_of("status is one of its allowed values", "status", ("PASS", "FAIL", "UNMEASURED")),
        satisfies(
            "a row without a measurement is UNMEASURED",
            "measured",
            "(measured IS NULL) = (status = 'UNMEASURED')",
        ),
        satisfies("n_passed is not greater than n_checked", "n_passed", "n_passed <= n_checked"),
    ),
    _mart_suite(
        "left_out",
        identity_of(LeftOut),
        "concat_ws(' ', table_name, source, rule)",
        satisfies(
            "no more rows are left out than are stored",
            "rows_left_out",
            "rows_left_out BETWEEN 1 AND rows_stored",
        ),
    ),
)


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
