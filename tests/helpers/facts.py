"""Reported figures for tests: rows, and the Arrow table that ``append`` takes."""

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa

from warehouse.record.incoming import to_arrow
from warehouse.record.tables import FUNDAMENTALS


def fact(
    value: str | None = "1",
    *,
    item: str = "revenue",
    issuer: str = "DCTEST1",
    year: int = 2018,
    available_at: date | None = date(2019, 3, 29),
    publication: str = "a-1",
    observed_at: datetime = datetime(2026, 1, 1, 6, tzinfo=UTC),
    document: str = "d0",
    **others: Any,
) -> dict[str, Any]:
    return {
        "available_at": available_at,
        "publication": publication,
        "observed_at": observed_at,
        "source": "test",
        "source_ref": f"{document}#/{item}/{year}",
        "document": document,
        "license_class": "public-domain",
        "method": "xbrl",
        "extraction_confidence": None,
        "withdrawn": value is None,
        "service_id": issuer,
        "line_item": item,
        "statement": "income",
        "value_reported": None if value is None else Decimal(value),
        "currency_reported": "ZAR",
        "unit": "ZAR",
        "period_type": "FY",
        "period_start": date(year, 1, 1),
        "period_end": date(year, 12, 31),
        "fiscal_label": f"FY{year}",
        "basis": "consolidated/ifrs",
        "accounting_standard": "ifrs",
        **others,
    }


def facts(*rows: dict[str, Any]) -> pa.Table:
    table, rejected = to_arrow(FUNDAMENTALS, rows)
    assert not rejected
    return table
