"""EDGAR's codes of states and countries, and which countries count as our markets.

``edgar_places.csv`` has every code of EDGAR's list with its ISO 3166 code: of a country, or of a
state, territory or province. A code that names no present country has none.

``markets.csv`` has the African and emerging markets, each with the reason why it is one.
"""

from warehouse.csv_files import csv_rows

# EDGAR's code -> ISO 3166-1 alpha-2 or, for a state or province, 3166-2; empty if it has none.
ISO_OF_PLACE: dict[str, str] = {
    row["code"]: row["iso"] for row in csv_rows(__name__, "edgar_places")
}
MARKET_MEANINGS = {
    "africa": "in Africa, region 002 of the United Nations' M49",
    "imf": "else an emerging market or developing economy in the IMF's World Economic Outlook of "
    "April 2025",
    "msci": "else in the MSCI Emerging Markets Index of 2025",
    "china": "a special administrative region, counted with China",
}
# ISO 3166-1 alpha-2 -> why the country is an African or emerging market.
MARKETS: dict[str, str] = {row["iso"]: row["because"] for row in csv_rows(__name__, "markets")}


def jurisdiction_of(code: object) -> str | None:
    """Return the ISO 3166-1 code of a country, or 3166-2 of a state or province; else None."""
    return (ISO_OF_PLACE.get(code) or None) if isinstance(code, str) else None


def country_of(code: object) -> str | None:
    """Return the alpha-2 code of the country of an EDGAR code; else None."""
    jurisdiction = jurisdiction_of(code)
    return jurisdiction[:2] if jurisdiction else None


# EDGAR's codes of all places in our markets.
MARKET_PLACES: frozenset[str] = frozenset(
    code for code in ISO_OF_PLACE if country_of(code) in MARKETS
)
