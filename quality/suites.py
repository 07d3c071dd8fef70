"""The rules of every table: of the record as it is staged, and of what a build serves."""

from collections.abc import Iterable, Mapping
from typing import Literal, get_args, get_origin

from sqlmodel import SQLModel

from quality.mart_suites import SERVED
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
from warehouse.record.tables import RECORD_TABLES, RecordTable

PLACE = "concat(source_ref, ' (row ', row_id, ')')"

_SOURCED = (
    given("every row names the place it was read from", "source_ref"),
    given("every row names the document it was read from", "document"),
    given("every row has the id of its provenance", "provenance_id"),
    given("every row has an id", "row_id"),
    given("every row names its source", "source"),
    holds("every row says when it was read", "observed_at", "observed_at IS NOT NULL"),
    LICENSED,
    within(
        "nothing was available after the day on which it was read",
        "days_from_available_to_read",
        "date_diff('day', available_at, CAST(observed_at AS DATE))",
        0,
        None,
    ),
    within(
        "no vintage is superseded before it was available",
        "days_from_available_to_superseded",
        "date_diff('day', available_at, superseded_at)",
        0,
        None,
    ),
    holds(
        "the latest vintage is superseded by none",
        "superseded_at",
        "superseded_at IS NULL OR NOT latest",
    ),
    within("vintages are counted from 1", "vintage", "vintage", 1, None),
)

_PERIOD = holds(
    "a period ends on or after the day it starts", "period_end", "period_end >= period_start"
)

_OWN: Mapping[str, tuple[Rule, ...]] = {
    "fundamentals": (
        matches("ids of organisations start with DC", "service_id", SERVICE_ID),
        matches("currencies are codes of three letters", "currency_reported", CURRENCY),
        holds(
            "only a withdrawn figure has no value",
            "value_reported",
            "withdrawn = (value_reported IS NULL)",
        ),
        _PERIOD,
        holds(
            "a period of a known length has a first day",
            "period_start",
            "period_type IN ('INSTANT', 'OTHER') OR period_start IS NOT NULL",
        ),
    ),
    "tender_releases": (
        matches("countries are codes of two letters", "country", COUNTRY),
        matches("currencies are codes of three letters", "tender_currency", CURRENCY),
        holds(
            "no contact stands in what is served of a release",
            "contact",
            "row_id NOT IN (SELECT row_id FROM releases_with_contact)",
        ),
        holds(
            "whoever a release names is established to be an organisation, not a person",
            "release",
            "row_id NOT IN (SELECT row_id FROM failing_releases)",
        ),
        within("withheld parties are counted", "parties_withheld", "parties_withheld", 0, None),
        within("tenderers are counted", "number_of_tenderers", "number_of_tenderers", 0, None),
    ),
    "tender_parties": (
        matches("countries are codes of two letters", "country", COUNTRY),
        holds(
            "a party with a name has evidence that it is an organisation",
            "org_evidence",
            "name IS NULL OR coalesce(org_evidence, '') <> ''",
        ),
        holds(
            "a party with a name is established to be an organisation, not a person",
            "name",
            "name IS NULL OR row_id NOT IN (SELECT row_id FROM failing_parties)",
        ),
        holds(
            "a withheld party shows no identifier",
            "identifier_id",
            "name IS NOT NULL OR (identifier_id IS NULL AND org_evidence IS NULL)",
        ),
    ),
    "macro_annual": (
        matches("countries are codes of two letters", "country", COUNTRY),
        matches("countries are codes of three letters", "country_iso3", ISO3),
        _PERIOD,
    ),
    "macro_series": (
        matches("countries are codes of two letters", "country", COUNTRY),
        matches("countries are codes of three letters", "country_iso3", ISO3),
        _PERIOD,
    ),
    "entities": (
        matches("ids of organisations start with DC", "service_id", SERVICE_ID),
        matches("an LEI has 18 letters or digits and two digits", "lei", "^[0-9A-Z]{18}[0-9]{2}$"),
        holds(
            "an organisation has a name unless it is withdrawn",
            "legal_name",
            "withdrawn OR coalesce(legal_name, '') <> ''",
        ),
        holds(
            "no organisation bears a name that only a person bears",
            "legal_name",
            "row_id NOT IN (SELECT row_id FROM failing_entities)",
        ),
        holds(
            "no other name of an organisation speaks of a person",
            "other_names",
            "row_id NOT IN (SELECT row_id FROM failing_other_names)",
        ),
    ),
    "identifiers": (
        matches("ids of organisations start with DC", "service_id", SERVICE_ID),
        given("every identifier has a value", "id_value"),
    ),
}


def _codes(row: type[SQLModel]) -> Iterable[Rule]:
    """Write a rule for each column that has a set of codes."""
    for name, field in row.model_fields.items():
        options = (field.annotation, *get_args(field.annotation))
        for kind in options:
            if get_origin(kind) is Literal and name != "license_class":
                codes = get_args(kind)
                yield one_of(f"{name} is one of its codes", name, codes)


def _suite(table: RecordTable) -> Suite:
    gaps = (
        f"SELECT max(vintage) AS last, min(vintage) AS first, count(*) AS vintages, "
        f"min({PLACE}) AS place FROM {table.name} GROUP BY figure, figure_check"
    )
    rules = (
        *_SOURCED,
        unique(
            f"no two rows have the same {', '.join(table.identity)} and vintage",
            table.name,
            (*table.identity, "vintage"),
            PLACE,
        ),
        holds(
            "the vintages of a figure are numbered from 1 without gaps",
            "vintages",
            "first = 1 AND last = vintages",
            gaps,
        ),
        *_codes(table.row),
        *_OWN[table.name],
    )
    return Suite(f"record.{table.name}", table.name, table.name, PLACE, rules)


RECORD_SUITES = tuple(_suite(table) for table in RECORD_TABLES)
SUITES = (*RECORD_SUITES, *SERVED)
