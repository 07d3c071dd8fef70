"""Macroeconomic figures: annual indicators, and series with dated vintages."""

from datetime import date
from decimal import Decimal
from typing import Literal

from warehouse.tables.sighting import Sighting, column

Frequency = Literal["daily", "monthly", "quarterly", "annual"]


class _Observation(Sighting):
    country: str | None = column("ISO 3166-1 alpha-2 code; null for an area without one.", "NG")
    country_iso3: str | None = column(
        "ISO 3166-1 alpha-3 code; null for an area without one.", "NGA"
    )
    period_start: date = column("First day of the period.", "2010-01-01")
    period_end: date = column("Last day of the period.", "2010-12-31")
    value: Decimal | None = column(
        "The value as published, digit for digit; null if not known.",
        Decimal("369062464570.386"),
    )
    unit: str | None = column("Unit as published.", "current US$")
    base_period: str | None = column("Base of an index; null if there is none.", "2010=100")
    obs_status: str | None = column("The source's own flag of the observation.", "A")


class MacroAnnual(_Observation):
    """One annual indicator value of one country, as published in one update of the source."""

    indicator: str = column("The source's indicator code.", "NY.GDP.MKTP.CD")


class MacroSeries(_Observation):
    """One observation of a series, as published in one vintage."""

    series: str = column("Series key.", "FX.EUR.ZAR")
    series_type: str = column("Family of the series.", "fx")
    frequency: Frequency = column("Frequency of the series.", "daily")
