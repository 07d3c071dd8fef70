"""The rules of what a build serves, and of what is derived for it.

A table that the mart serves as it is staged has the rules of the record; here are those that
it gets by being served.
"""

from collections.abc import Iterable
from typing import get_args

from quality.rules import (
    COUNTRY,
    CURRENCY,
    ISO3,
    LICENSED,
    SERVICE_ID,
    Rule,
    Suite,
    given,
    holds,
    matches,
    one_of,
    unique,
    within,
)
from warehouse.mart.tables import MART_TABLES
from warehouse.methodology.metrics import AbsentReason

_ROWS = {table.name: table.rows for table in MART_TABLES}
_REASONS = get_args(AbsentReason)
_SOURCED = (given("every row names the place it was read from", "source_ref"), LICENSED)
_ORGANISATION = matches("ids of organisations start with DC", "service_id", SERVICE_ID)
_COUNTRY = matches("countries are codes of two letters", "country", COUNTRY)

# For an issuer and a metric, each as_of day has one answer: a value, or why there is none.
_ANSWERS = """
SELECT answers_until <= lead(answers_from) OVER (
    PARTITION BY service_id, metric ORDER BY answers_from, answers_until
) AS apart, concat(service_id, ' ', metric, ' ', period_end) AS place
FROM (
    SELECT service_id, metric, period_end, answers_from,
        coalesce(answers_until, DATE '9999-12-31') AS answers_until FROM metrics
    UNION ALL
    SELECT service_id, metric, period_end, holds_from,
        coalesce(holds_until, DATE '9999-12-31') FROM metrics_absent
) WHERE answers_from < answers_until
"""
_SIGNAL = (
    *("signal_key", "country", "month", "dimension", "dimension_value", "measure", "currency"),
    "service_id",
)
_NUMBERED = (
    "SELECT min(vintage) AS first, max(vintage) AS last, count(*) AS vintages, "
    f"min({{place}}) AS place FROM signals GROUP BY {', '.join(_SIGNAL)}"
)


def _once(name: str, key: Iterable[str], place: str) -> Rule:
    key = tuple(key)
    words = f"no two rows have the same {', '.join(key)}"
    return unique(words, f"({_ROWS.get(name, name)})", key, place)


def _suite(name: str, key: Iterable[str], place: str, *rules: Rule) -> Suite:
    relation = f"({_ROWS[name]})" if name in _ROWS else name
    return Suite(f"served.{name}", name, relation, place, (_once(name, key, place), *rules))


_MATCH = ("source", "country", "party_key", "name", "identifier_scheme", "identifier_id")
_SIGNAL_PLACE = (
    "concat_ws(' ', signal_key, country, month, dimension, dimension_value, measure, currency, "
    "'vintage', vintage)"
)

SERVED = (
    _suite(
        "fundamentals",
        ("fact_id",),
        "concat(source_ref, ' (fact ', fact_id, ')')",
        given("every fact has its id", "fact_id"),
    ),
    _suite("macro_annual", ("row_id",), "source_ref"),
    _suite("macro_series", ("row_id",), "source_ref"),
    _suite("tender_releases", ("row_id",), "source_ref"),
    _suite(
        "tender_parties",
        ("party_id",),
        "concat(source_ref, ' (party ', party_key, ')')",
        *_SOURCED,
        _COUNTRY,
        given("every party that is served has a name", "name"),
        given("every party that is served has evidence", "org_evidence"),
        matches("ids of organisations start with DC", "service_id", SERVICE_ID),
    ),
    _suite(
        "award_facts",
        ("fact_id", "vintage"),
        "concat(source_ref, ' (fact ', fact_id, ')')",
        *_SOURCED,
        _ORGANISATION,
        matches("currencies are codes of three letters", "unit", CURRENCY),
    ),
    _suite(
        "entities",
        ("service_id",),
        "concat(source_ref, ' (', service_id, ')')",
        *_SOURCED,
        _ORGANISATION,
        given("every organisation that is served has a name", "legal_name"),
    ),
    _suite(
        "identifiers",
        ("organisation", "id_type", "id_match", "CASE WHEN id_type <> 'lei' THEN issuer END"),
        "concat(source_ref, ' (', organisation, ' ', id_type, ')')",
        *_SOURCED,
        matches("ids of organisations start with DC", "organisation", SERVICE_ID),
    ),
    _suite(
        "same_as",
        ("service_id",),
        "service_id",
        _ORGANISATION,
        holds("no id points to itself", "same_as", "same_as <> service_id"),
        holds(
            "no id points to one that points on",
            "same_as",
            "same_as NOT IN (SELECT service_id FROM same_as)",
        ),
        one_of("evidence is one of its codes", "evidence", ("lei", "registry", "isin", "declared")),
    ),
    _suite(
        "countries",
        ("country",),
        "country",
        _COUNTRY,
        matches("countries are codes of three letters", "country_iso3", ISO3),
    ),
    _suite(
        "party_matches",
        _MATCH,
        "concat(source, ' ', party_key)",
        _ORGANISATION,
        one_of(
            "match_method is one of its codes",
            "match_method",
            ("registry_id", "lei", "exact_name"),
        ),
        holds(
            "a party that is resolved says by what, another one why not",
            "service_id",
            "(service_id IS NULL) = (match_method IS NULL) "
            "AND (service_id IS NULL) = (reason IS NOT NULL)",
        ),
    ),
    _suite(
        "metrics",
        ("service_id", "metric", "basis", "currency", "period_start", "period_end"),
        "concat(service_id, ' ', metric, ' ', period_end, ' from ', source_ref)",
        *_SOURCED,
        _ORGANISATION,
        matches("currencies are codes of three letters", "currency", CURRENCY),
        holds("no value is absent", "value", "value IS NOT NULL"),
        holds(
            "every value names its formula",
            "methodology_ref",
            "methodology_ref = 'metrics-v1/' || metric",
        ),
        holds("every value names its inputs", "inputs", "json_array_length(inputs) > 0"),
        holds(
            "no value answers before it was available",
            "answers_from",
            "answers_from >= available_at AND available_at >= published_at",
        ),
        holds(
            "no interval ends before it starts", "answers_until", "answers_until >= answers_from"
        ),
        holds("an issuer has one answer for a metric and a day", "answers", "apart", _ANSWERS),
    ),
    _suite(
        "metrics_absent",
        ("service_id", "metric", "period_end", "reason", "holds_from"),
        "concat(service_id, ' ', metric, ' ', period_end)",
        one_of("reason is one of its codes", "reason", _REASONS),
        holds("no interval ends before it starts", "holds_until", "holds_until >= holds_from"),
    ),
    _suite(
        "signals",
        (*_SIGNAL, "vintage"),
        _SIGNAL_PLACE,
        *_SOURCED,
        _COUNTRY,
        within("processes are counted", "n_eligible", "n_eligible", 0, None),
        within("withheld parties are counted", "n_withheld", "n_withheld", 0, None),
        holds(
            "no more processes are observed than are in scope",
            "n_observed",
            "n_observed BETWEEN 0 AND n_eligible",
        ),
        holds(
            "coverage is n_observed / n_eligible, null where nothing is in scope",
            "coverage",
            "CASE WHEN n_eligible = 0 THEN coverage IS NULL ELSE coalesce("
            "abs(coverage - CAST(n_observed AS DOUBLE) / n_eligible) < 1e-9, FALSE) END",
        ),
        holds("nothing observed is no value", "value", "n_observed > 0 OR value IS NULL"),
        holds("a month is its first day", "month", "month = date_trunc('month', month)"),
        holds("a month closes after its end", "closed_at", "closed_at > last_day(month)"),
        holds("nothing is known before it closes", "available_at", "available_at >= closed_at"),
        holds(
            "no vintage is superseded before it was available",
            "superseded_at",
            "superseded_at >= available_at",
        ),
        holds(
            "the vintages of a measure are numbered from 1 without gaps",
            "vintages",
            "first = 1 AND last = vintages",
            _NUMBERED.format(place=_SIGNAL_PLACE),
        ),
        holds(
            "every value names its method",
            "methodology_ref",
            "methodology_ref = 'signals-v1/' || signal_key",
        ),
    ),
    _suite(
        "quality",
        ("data_version", "sku", "dimension", "metric", "scope"),
        "concat_ws(' ', data_version, sku, metric, scope)",
        one_of("status is one of its codes", "status", ("PASS", "FAIL", "UNMEASURED")),
        holds(
            "what was not measured is UNMEASURED",
            "measured",
            "(measured IS NULL) = (status = 'UNMEASURED')",
        ),
        holds("no more pass than are looked at", "n_passed", "n_passed <= n_checked"),
    ),
)
