"""Titles of macro series and indicators, whose sources are asked for figures only."""

from collections.abc import Mapping
from typing import Any

from warehouse.site.formats import country_name

SERIES_TYPES = {
    "fx": "Exchange rate",
    "cpi": "Consumer prices",
    "gdp": "Gross domestic product",
}
# As the World Bank has them, without the unit.
_INDICATORS = {
    "BN.CAB.XOKA.CD": "Current account balance",
    "DT.DOD.DECT.CD": "External debt stocks, total",
    "FI.RES.TOTL.CD": "Total reserves, including gold",
    "FP.CPI.TOTL": "Consumer price index",
    "FP.CPI.TOTL.ZG": "Inflation, consumer prices",
    "NE.EXP.GNFS.CD": "Exports of goods and services",
    "NE.IMP.GNFS.CD": "Imports of goods and services",
    "NY.GDP.MKTP.CD": "GDP",
    "NY.GDP.MKTP.KD.ZG": "GDP growth",
    "NY.GDP.PCAP.CD": "GDP per capita",
    "PA.NUS.FCRF": "Official exchange rate",
    "SP.POP.TOTL": "Population, total",
}


def series_title(entry: Mapping[str, Any]) -> str:
    """Return what a series of the catalogue is; its key if no more is known."""
    if entry["type"] == "fx":
        return f"{SERIES_TYPES['fx']}, {entry['unit']}"
    if entry["type"] not in SERIES_TYPES:
        return str(entry["name"])
    return f"{SERIES_TYPES[entry['type']]}, {country_name(entry['country'])}"


def indicator_title(code: str) -> str:
    """Return what an indicator is; its code if no more is known."""
    return _INDICATORS.get(code, code)
