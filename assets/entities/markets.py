"""Markets by their MIC (ISO 10383): who operates them, and where.

``mics.csv`` has every MIC of the list of January 2026, also those that have expired. A market of
its own has an operating MIC; its segments (the boards of an exchange) have MICs of their own.

``figi_exchanges.csv`` has the exchange codes of OpenFIGI that mean one market.
"""

import csv
from importlib.resources import files


def _read(name: str) -> list[dict[str, str]]:
    with files(__package__).joinpath(name).open(encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


_MARKETS = {row["mic"]: (row["operating_mic"], row["country"]) for row in _read("mics.csv")}
_EXCHANGE_CODES = {row["exch_code"]: row["operating_mic"] for row in _read("figi_exchanges.csv")}


def operating_mic(mic: str) -> str:
    """Return the MIC under which listings are compared: of the operator, if it is a segment's.

    A MIC that is not on the list stands for itself.
    """
    mic, seen = mic.upper(), set[str]()
    # The operator of some expired segments was itself taken over.
    while mic in _MARKETS and mic not in seen:
        seen.add(mic)
        mic = _MARKETS[mic][0]
    return mic


def market_country(mic: str) -> str | None:
    """Return the country of a market, alpha-2; None if the MIC is not on the list."""
    country = _MARKETS.get(mic.upper(), ("", ""))[1]
    return country if country and country != "ZZ" else None


def comparable_listing(listing: str) -> str:
    """Return MIC:TICKER with the operating MIC; a ticker is compared without regard to case."""
    mic, _, ticker = listing.partition(":")
    return f"{operating_mic(mic)}:{ticker.strip().upper()}"


def mic_of_exchange_code(code: str) -> str | None:
    """Return the operating MIC of an exchange code of OpenFIGI; None unless it means one market.

    "SJ" is Johannesburg; "US" is a country with many markets.
    """
    return _EXCHANGE_CODES.get(code.upper())
