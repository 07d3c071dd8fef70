"""Procurement signals: what public tenders show of a country, month by month."""

from datetime import date, datetime
from decimal import Decimal

from sqlmodel import SQLModel

from warehouse.tables.column import column
from warehouse.tables.sighting import LicenseClass, Method


class Signal(SQLModel):
    """One measure of one panel, for one country, month and dimension, in one vintage.

    ``superseded_at`` stays inside: it would tell the future.
    """

    signal_key: str = column("Key of the panel.", "single-bid-rate")
    country: str = column("ISO 3166-1 alpha-2 code.", "ZA")
    month: date = column("First day of the month.", "2026-03-01")
    closed_at: date = column("Day on which the month was closed.", "2026-04-05")
    dimension: str = column("What the measure is broken down by; all where it is not.", "category")
    dimension_value: str = column("Value of the dimension; all where it is not one.", "works")
    service_id: str | None = column(
        "Organisation that the dimension names, where it is resolved.", None
    )
    measure: str = column("What is measured.", "single_bid_rate")
    value: Decimal | None = column(
        "Ten significant digits, at most 18 behind the point; null where nothing was observed.",
        Decimal("0.25"),
    )
    unit: str = column("share, ratio, days, tenderers, index …", "share")
    currency: str | None = column("ISO 4217 code of amounts; null where there are none.", "ZAR")
    n_eligible: int = column("Processes in scope.", 120)
    n_observed: int = column("Those that state what the measure needs.", 30)
    coverage: Decimal | None = column(
        "n_observed / n_eligible; null where nothing is in scope.", Decimal("0.25")
    )
    n_withheld: int = column("Parties in scope that are withheld; they count, unnamed.", 2)
    vintage: int = column("1 for the month as it was first closed.", 1)
    available_at: date = column("Day from which this vintage was known.", "2026-04-05")
    superseded_at: date | None = column("Day from which another was; null for the last.", None)
    methodology_ref: str = column("Names the documented measure.", "signals-v1/single-bid-rate")
    license_class: LicenseClass = column(
        "The most restrictive licence class among the releases it is made from.", "cc-by"
    )
    source_ref: str = column(
        "The portals whose releases it is made from, by their keys; the dataset of the export "
        "manifest that holds the releases; and the closing by which they were known.",
        "za-etenders (AF-TENDER releases known on 2026-04-05)",
    )
    observed_at: datetime = column(
        "When we read the last of the country's releases known at that closing, in UTC.",
        "2026-11-14T02:10:00Z",
    )
    method: Method = column("How the releases were read; file where not all alike.", "api")
    extraction_confidence: Decimal | None = column(
        "The lowest score among the releases; null where none is scored.", None
    )
    provenance_id: str = column(
        "Identifies the panel, country and month in this vintage, and what it is made from.",
        "9f86d081884c7d659a2feaa0c55ad015",
    )
