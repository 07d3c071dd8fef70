"""The suites of all tables: those of the record here, those of the mart in ``mart_suites``."""

from collections.abc import Iterable, Mapping
from typing import Literal, get_args, get_origin

from sqlmodel import SQLModel

from quality.mart_suites import MART_SUITES
from quality.rules import (
    COUNTRY,
    CURRENCY,
    ISO3,
    LICENSED,
    SERVICE_ID,
    Rule,
    Suite,
    matches,
    one_of,
    present,
    satisfies,
    unique,
    within,
)
from warehouse.record.tables import RECORD_TABLES, RecordTable

ROW_REFERENCE = "concat(source_ref, ' (row ', row_id, ')')"

# Rules of every table.
_COMMON_RULES = (
    present("every row has a source_ref", "source_ref"),
    present("every row has a document", "document"),
    present("every row has a provenance_id", "provenance_id"),
    present("every row has a row_id", "row_id"),
    present("every row has a source", "source"),
    satisfies("every row has an observed_at", "observed_at", "observed_at IS NOT NULL"),
    LICENSED,
    within(
        "no row is available after the day it was read",
        "days_from_available_to_read",
        "date_diff('day', available_at, CAST(observed_at AS DATE))",
        0,
        None,
    ),
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

_PERIOD = satisfies("no period ends before it starts", "period_end", "period_end >= period_start")

_RULES_OF_TABLE: Mapping[str, tuple[Rule, ...]] = {
    "fundamentals": (
        matches("organisation ids start with DC", "service_id", SERVICE_ID),
        matches("currencies are three-letter codes", "currency_reported", CURRENCY),
        satisfies(
            "only a withdrawn figure has no value",
            "value_reported",
            "withdrawn = (value_reported IS NULL)",
        ),
        _PERIOD,
        satisfies(
            "a period of known length has a start",
            "period_start",
            "period_type IN ('INSTANT', 'OTHER') OR period_start IS NOT NULL",
        ),
    ),
    "tender_releases": (
        matches("countries are two-letter codes", "country", COUNTRY),
        matches("currencies are three-letter codes", "tender_currency", CURRENCY),
        satisfies(
            "no served release contains a contact",
            "contact",
            "row_id NOT IN (SELECT row_id FROM releases_with_contact)",
        ),
        satisfies(
            "every name in a release is established as an organisation's",
            "release",
            "row_id NOT IN (SELECT row_id FROM failing_releases)",
        ),
        within("parties_withheld is not negative", "parties_withheld", "parties_withheld", 0, None),
        within(
            "number_of_tenderers is not negative",
            "number_of_tenderers",
            "number_of_tenderers",
            0,
            None,
        ),
    ),
    "tender_parties": (
        matches("countries are two-letter codes", "country", COUNTRY),
        satisfies(
            "a named party has evidence that it is an organisation",
            "org_evidence",
            "name IS NULL OR coalesce(org_evidence, '') <> ''",
        ),
        satisfies(
            "a named party is established as an organisation, not a person",
            "name",
            "name IS NULL OR row_id NOT IN (SELECT row_id FROM failing_parties)",
        ),
        satisfies(
            "a withheld party has no identifier",
            "identifier_id",
            "name IS NOT NULL OR (identifier_id IS NULL AND org_evidence IS NULL)",
        ),
    ),
    "macro_annual": (
        matches("countries are two-letter codes", "country", COUNTRY),
        matches("countries are three-letter codes", "country_iso3", ISO3),
        _PERIOD,
    ),
    "macro_series": (
        matches("countries are two-letter codes", "country", COUNTRY),
        matches("countries are three-letter codes", "country_iso3", ISO3),
        _PERIOD,
    ),
    "entities": (
        matches("organisation ids start with DC", "service_id", SERVICE_ID),
        matches(
            "an LEI has 18 letters or digits, then two digits", "lei", "^[0-9A-Z]{18}[0-9]{2}$"
        ),
        satisfies(
            "an organisation has a name unless it is withdrawn",
            "legal_name",
            "withdrawn OR coalesce(legal_name, '') <> ''",
        ),
        satisfies(
            "no organisation has a person's name",
            "legal_name",
            "row_id NOT IN (SELECT row_id FROM failing_entities)",
        ),
        satisfies(
            "no other name of an organisation is a person's",
            "other_names",
            "row_id NOT IN (SELECT row_id FROM failing_other_names)",
        ),
    ),
    "identifiers": (
        matches("organisation ids start with DC", "service_id", SERVICE_ID),
        present("every identifier has a value", "id_value"),
    ),
}


def _allowed_values(row: type[SQLModel]) -> Iterable[Rule]:
    """Yield a rule for each column whose type is a Literal."""
    for name, field in row.model_fields.items():
        # The annotation itself, or a member of ``Literal[...] | None``.
        for annotation in (field.annotation, *get_args(field.annotation)):
            # LICENSED checks that one: not every class that exists may be served.
            if get_origin(annotation) is Literal and name != "license_class":
                description = f"{name} is one of its allowed values"
                yield one_of(description, name, get_args(annotation))


def _suite(table: RecordTable) -> Suite:
    vintage_ranges = (
        f"SELECT max(vintage) AS last, min(vintage) AS first, count(*) AS vintages, "
        f"min({ROW_REFERENCE}) AS row_reference FROM {table.name} GROUP BY figure, figure_check"
    )
    rules = (
        *_COMMON_RULES,
        unique(
            f"no two rows have the same {', '.join(table.identity)} and vintage",
            table.name,
            (*table.identity, "vintage"),
            ROW_REFERENCE,
        ),
        satisfies(
            "the vintages of a figure are numbered from 1 without gaps",
            "vintages",
            "first = 1 AND last = vintages",
            vintage_ranges,
        ),
        *_allowed_values(table.row),
        *_RULES_OF_TABLE[table.name],
    )
    return Suite(f"record.{table.name}", table.name, table.name, ROW_REFERENCE, rules)


RECORD_SUITES = tuple(_suite(table) for table in RECORD_TABLES)
SUITES = (*RECORD_SUITES, *MART_SUITES)
