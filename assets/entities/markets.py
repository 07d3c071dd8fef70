"""Markets by their MIC (ISO 10383): who operates them, and where.

``mics.csv`` has every MIC of the list of January 2026, also those that have expired. A market of
its own has an operating MIC; its segments (the boards of an exchange) have MICs of their own.
"""

import csv
from importlib.resources import files


def _read() -> dict[str, tuple[str, str]]:
    with files(__package__).joinpath("mics.csv").open(encoding="utf-8") as lines:
        return {row["mic"]: (row["operating_mic"], row["country"]) for row in csv.DictReader(lines)}


_MARKETS = _read()


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
