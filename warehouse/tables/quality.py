"""What was measured of each dataset's quality, against its floor."""

from datetime import datetime
from decimal import Decimal
from typing import Literal

from sqlmodel import SQLModel

from warehouse.tables.column import column

QualityStatus = Literal["PASS", "FAIL", "UNMEASURED"]


class QualityMetric(SQLModel):
    """One measurement of one dataset in one publication; what was not measured says so."""

    sku: str = column("Dataset: AF-FUND, AF-TENDER or AF-MACRO.", "AF-FUND")
    dimension: str = column("completeness, uniqueness, freshness, coverage …", "completeness")
    metric: str = column("What is measured.", "provenance_complete")
    scope: str = column("Of what: a table, a source, a country.", "fundamentals")
    value: Decimal | None = column(
        "What was measured; null where nothing was, served as UNMEASURED.", Decimal(1)
    )
    unit: str = column("share, days, rows …", "share")
    floor: Decimal | None = column("The least (or most) that passes; null where none is set.", 1)
    status: QualityStatus = column("PASS, FAIL, or UNMEASURED, which is never a pass.", "PASS")
    n_checked: int | None = column("Rows looked at.", 1000)
    n_passed: int | None = column("Rows that passed.", 1000)
    measured_at: datetime = column("When, in UTC.", "2026-11-14T02:20:00Z")
    data_version: str = column("Publication it was measured for.", "20261114.3")
