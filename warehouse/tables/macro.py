"""Macroeconomic figures: annual indicators, and series with dated vintages."""

from datetime import date
from decimal import Decimal
from typing import Literal

from warehouse.tables.column import column
from warehouse.tables.sighting import EvidencedSighting

Frequency = Literal["daily", "monthly", "quarterly", "annual"]
SeriesType = Literal["fx", "cpi", "gdp", "macro"]


class _Observation(EvidencedSighting):
    country: str | None = column("_Observation.country")
    country_iso3: str | None = column("_Observation.country_iso3", identity=2)
    period_start: date = column("_Observation.period_start", identity=4)
    period_end: date = column("_Observation.period_end", identity=5)
    value: Decimal | None = column("_Observation.value", content=True)
    # A value in another unit or on another base is another figure, not a restatement.
    unit: str | None = column("_Observation.unit", identity=6)
    base_period: str | None = column("_Observation.base_period", identity=7)
    obs_status: str | None = column("_Observation.obs_status", content=True)


class MacroAnnual(_Observation):
    """One annual indicator value of one country, as published in one update of the source."""

    indicator: str = column("MacroAnnual.indicator", identity=3, after="country_iso3")


class MacroSeries(_Observation):
    """One observation of a series, as published in one vintage."""

    series: str = column("MacroSeries.series", identity=1, after="country_iso3")
    series_type: str = column("MacroSeries.series_type", after="series")
    frequency: Frequency = column("MacroSeries.frequency", identity=3, after="series_type")
