"""For each rule of the rule book a row that fails it, along with a good row of each table."""

from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime
from typing import Any

from tests.helpers.facts import fact
from tests.helpers.record_rows import (
    element_of,
    entity_row,
    filing_row,
    party_row,
    release_row,
    series_row,
    sighting,
)
from warehouse.record.rules import RowRule, rules_of
from warehouse.record.tables import (
    ELEMENTS,
    ENTITIES,
    FILINGS,
    FUNDAMENTALS,
    IDENTIFIERS,
    MACRO_ANNUAL,
    MACRO_SERIES,
    TENDER_PARTIES,
    TENDER_RELEASES,
    RecordTable,
)

Row = dict[str, Any]

_SERIES = series_row("1.50", date(2018, 1, 1))
_ANNUAL = {
    name: value
    for name, value in _SERIES.items()
    if name not in ("series", "series_type", "frequency")
} | {"indicator": "NY.GDP", "source": "test-annual"}
GOOD: Mapping[RecordTable, Row] = {
    FUNDAMENTALS: fact(),
    FILINGS: filing_row(),
    ELEMENTS: element_of(fact()),
    TENDER_RELEASES: release_row(1),
    TENDER_PARTIES: party_row(),
    MACRO_ANNUAL: _ANNUAL,
    MACRO_SERIES: _SERIES,
    ENTITIES: entity_row(),
    IDENTIFIERS: sighting(
        service_id="DCTEST1", id_type="isin", id_value="ZAE000000001", issuer=None, status=None
    ),
}
# What changes in a good row so that it fails a rule, by the words of the rule.
_CHANGES: Mapping[str, Row] = {
    "every row has a licence that permits serving it": {"license_class": "restricted"},
    "no row is available after the day it was read": {"available_at": date(2026, 1, 2)},
    "no period ends before it starts": {"period_start": date(2019, 6, 1)},
    "organisation ids start with DC": {"service_id": "X-1"},
    "countries are two-letter codes": {"country": "za"},
    "countries are three-letter codes": {"country_iso3": "ZA"},
    "currencies are three-letter codes": {
        "tender_currency": "Rand",
        "currency_reported": "kes",
        "currency": "Rand",
    },
    "an LEI has 18 letters or digits, then two digits": {"lei": "2138"},
    "only a withdrawn figure has no value": {"value_reported": None},
    "a period of known length has a start": {"period_start": None},
    "a filing has a form unless it is withdrawn": {"form": None},
    "versions are counted from 1": {"version": 0},
    "no filing is available before it was received": {"received_on": date(2019, 3, 30)},
    "links are addresses of the web": {"link": "the document itself"},
    "parties_withheld is not negative": {"parties_withheld": -1},
    "number_of_tenderers is not negative": {"number_of_tenderers": -3},
    "a release has only members that may be served": {"release": '{"tender":{},"parties":[]}'},
    "the name of a party is not empty": {"name": ""},
    "a named party has evidence that it is an organisation": {"org_evidence": None},
    "a withheld party has no identifier": {
        "name": None,
        "org_evidence": None,
        "identifier_id": "2001/123456/07",
    },
    "an organisation has a name unless it is withdrawn": {"legal_name": ""},
    "other names are a JSON array": {"other_names": "UFM"},
    "former names are some of the other names": {"former_names": '["Fictional Shafts Ltd"]'},
    "trading names are some of the other names": {"trading_names": '["Fictional Shafts"]'},
    "only a FIGI has a level": {"figi_level": "share_class"},
    "a listing does not end before it begins": {
        "valid_from": date(2020, 1, 2),
        "valid_to": date(2020, 1, 1),
    },
    "only of a day that is known is it said how": {
        "available_at": None,
        "available_at_evidence": "published",
    },
}

# Values of columns that are no text.
_SOMETHING: Row = {"valid_from": date(2020, 1, 2), "valid_to": date(2020, 1, 2)}


def failing_rows(table: RecordTable) -> Iterator[tuple[RowRule, Row]]:
    """Yield every rule of a table with a row that fails it, in a publication of its own."""
    for number, rule in enumerate(rules_of(table)):
        row = GOOD[table] | {"source_ref": f"d0#/{table.name}/{number}"}
        if rule.column != "publication":
            row["publication"] = f"failing-{number:03}"
        yield rule, row | _change(table, rule)


def _change(table: RecordTable, rule: RowRule) -> Row:
    if rule.kind == "present":
        return {rule.column: None}
    if rule.kind == "not empty":
        return {rule.column: ""}
    if rule.allowed:
        return {rule.column: "nonsense"}
    if "BETWEEN" in rule.condition:
        is_time = isinstance(GOOD[table].get(rule.column), datetime)
        return {rule.column: datetime(1700, 1, 1, tzinfo=UTC) if is_time else date(1700, 1, 1)}
    if rule.words.startswith("a withdrawal has no "):
        # Everything else of the content is gone, as it must be.
        return dict.fromkeys(table.content) | {
            "withdrawn": True,
            rule.column: GOOD[table].get(rule.column) or _SOMETHING.get(rule.column, "something"),
        }
    change = _CHANGES[rule.words]
    return {name: value for name, value in change.items() if name in table.row.model_fields}
