"""The columns of a rate of H.10, whatever file it came in."""

from datetime import date
from typing import Any

from assets.macro.areas import area_of_currency
from assets.macro.calendars import Span
from assets.macro.currencies import refuse_unless_money


def rate(base: str, quote: str, cadence: str, span: Span, read: date) -> dict[str, Any]:
    """Give every column but the value; it is available from the day it was read."""
    if span[0] > read:
        raise ValueError(f"the period begins after it was read, on {read}")
    refuse_unless_money(base, span[0])
    refuse_unless_money(quote, span[0])
    area = area_of_currency(base if quote == "USD" else quote)
    return {
        "country": area[0] if area else None,
        "country_iso3": area[1] if area else None,
        "series": f"FX.{base}.{quote}",
        "series_type": "fx",
        "unit": f"{quote} per {base}",
        "base_period": None,
        "available_at": read,
        "publication": read.isoformat(),
        "frequency": cadence,
        "period_start": span[0],
        "period_end": span[1],
        "obs_status": None,
    }
