"""Macroeconomic figures: annual indicators, and series with dated vintages."""

from datetime import date
from decimal import Decimal
from typing import Literal

from warehouse.tables.column import column
from warehouse.tables.sighting import EvidencedSighting

Frequency = Literal["daily", "monthly", "quarterly", "annual"]
SeriesType = Literal["fx", "cpi", "gdp", "macro"]


class _Observation(EvidencedSighting):
    country: str | None = column("ISO 3166-1 alpha-2 code; null for an area without one.", "NG")
    country_iso3: str | None = column(
        "ISO 3166-1 alpha-3 code; null for an area without one.", "NGA", identity=2
    )
    period_start: date = column("First day of the period.", "2010-01-01", identity=4)
    period_end: date = column("Last day of the period.", "2010-12-31", identity=5)
    value: Decimal | None = column(
        "The value as published, digit for digit; null if not known.",
        Decimal("369062464570.386"),
        content=True,
    )
    # A value in another unit or on another base is another figure, not a restatement.
    unit: str | None = column("Unit as published.", "current US$", identity=6)
    base_period: str | None = column(
        "Base of an index; null if there is none.", "2010=100", identity=7
    )
    obs_status: str | None = column("The source's own flag of the observation.", "A", content=True)


class MacroAnnual(_Observation):
    """One annual indicator value of one country, as published in one update of the source."""

    indicator: str = column(
        "The source's indicator code.", "NY.GDP.MKTP.CD", identity=3, after="country_iso3"
    )


class MacroSeries(_Observation):
    """One observation of a series, as published in one vintage."""

    series: str = column("Series key.", "FX.EUR.ZAR", identity=1, after="country_iso3")
    series_type: str = column("Family of the series.", "fx", after="series")
    frequency: Frequency = column(
        "Frequency of the series.", "daily", identity=3, after="series_type"
    )
