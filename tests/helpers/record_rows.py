"""Rows of every table of the record, and a short way to load them."""

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from tests.helpers.facts import fact, facts
from warehouse.record.append import Load, append
from warehouse.record.incoming import to_arrow
from warehouse.record.store import Record
from warehouse.record.tables import ELEMENTS, FUNDAMENTALS, RecordTable

FIRST, SECOND = date(2019, 3, 29), date(2020, 3, 30)


def load(record: Record, table: RecordTable, *rows: dict[str, Any]) -> None:
    arrow, rejected = to_arrow(table, rows)
    assert not rejected
    entry = append(record, table, arrow, Load("test", ("d",)))
    assert entry.quarantined == 0


def sighting(available_at: date | None = FIRST, **others: Any) -> dict[str, Any]:
    return {
        "available_at": available_at,
        "publication": str(available_at),
        "observed_at": datetime(2026, 1, 1, 6, tzinfo=UTC),
        "source": "test",
        "source_ref": f"d0#/{others}"[:80],
        "document": "d0",
        "license_class": "cc-by",
        "method": "api",
        "extraction_confidence": None,
        "withdrawn": False,
        **others,
    }


def observation(value: str | None, day: date, **others: Any) -> dict[str, Any]:
    shared = {"country": "ZA", "country_iso3": "ZAF", "period_start": day, "period_end": day}
    empty = {"unit": None, "base_period": None, "obs_status": None}
    number = None if value is None else Decimal(value)
    return sighting(**{**shared, **empty, "value": number, **others})


def series_row(value: str, day: date, **others: Any) -> dict[str, Any]:
    series = {"series": "FX.EUR.ZAR", "series_type": "fx", "frequency": "daily"}
    return observation(value, day, **{**series, **others})


def release_row(number: int, **others: Any) -> dict[str, Any]:
    empty = dict.fromkeys(
        (
            "category",
            "tender_status",
            "procurement_method",
            "buyer_key",
            "tender_value",
            "tender_currency",
            "tender_start",
            "tender_end",
            "number_of_tenderers",
            "source_url",
        )
    )
    defaults = {
        "ocid": f"ocds-{number:04}",
        "release_id": "r1",
        "country": "ZA",
        "released_on": date(2026, 1, 1 + number % 5),
        "tag": "tender,planning",
        "release": '{"tender":{"value":{"amount":1500000.10,"currency":"ZAR"}},"buyer":null}',
        "parties_withheld": 1,
    }
    return sighting(**{**empty, **defaults, **others})


def party_row(**others: Any) -> dict[str, Any]:
    defaults = {
        "ocid": "ocds-0001",
        "release_id": "r1",
        "country": "ZA",
        "party_key": "k1",
        "role": "buyer",
        "name": "Mzansi Fictional Roads (Pty) Ltd",
        "identifier_scheme": None,
        "identifier_id": None,
        "org_evidence": "legal_form:(pty) ltd",
        "released_on": date(2026, 1, 1),
    }
    return sighting(**{**defaults, **others})


def entity_row(**others: Any) -> dict[str, Any]:
    defaults = {
        "service_id": "DCTEST1",
        "legal_name": "Ubuntu Fictional Mining Ltd",
        "other_names": '["UFM"]',
        "jurisdiction": "ZA",
        "country": "ZA",
        "entity_type": "company",
        "status": "ACTIVE",
        "lei": None,
        "lei_status": None,
        "same_as": None,
    }
    return sighting(**{**defaults, **others})


def filing_row(**others: Any) -> dict[str, Any]:
    defaults = {
        "service_id": "DCTEST1",
        "form": "20-F",
        "period_end": date(2018, 12, 31),
        "document_id": "0001193125-19-090263",
        "version": None,
        "received_on": FIRST,
        "received_at": "2019-03-29T16:31:22.000Z",
        "link": "https://www.sec.gov/Archives/edgar/data/1/000119312519090263/",
    }
    return sighting(**{**defaults, **others})


def element_of(figure: dict[str, Any]) -> dict[str, Any]:
    """Return the figure of a line as one of an element of the same name."""
    columns = ELEMENTS.row.model_fields
    shared = {name: value for name, value in figure.items() if name in columns}
    return {**shared, "element": f"test:{figure['line_item']}", "label": figure["line_item"]}


def restated(record: Record) -> None:
    """One figure: 10 in 2019, 12.50 from 2020 on."""
    append(
        record,
        FUNDAMENTALS,
        facts(
            fact("10", available_at=FIRST, publication="a-1"),
            fact("12.50", available_at=SECOND, publication="a-2", document="d1"),
        ),
        Load("test", ("d",)),
    )
