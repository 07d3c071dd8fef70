"""Markets by their MIC (ISO 10383): who operates them, and where.

``mics.csv`` has the vintages of every MIC, also of those that have expired: a row for each list
that says something new (``mic_lists`` writes it). A market of its own has an operating MIC; its
segments (the boards of an exchange) have MICs of their own.

``figi_exchanges.csv`` has the exchange codes of OpenFIGI that mean one market.
"""

from collections import defaultdict
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path

from warehouse.shared.data_files import csv_rows

MICS = Path(__file__).with_name("mics.csv")


@dataclass(frozen=True)
class Market:
    """A market as one list has it; what the list does not state is empty.

    Lists before 2022 state months only, and neither LEIs nor markets that have expired.
    """

    mic: str
    operating_mic: str
    kind: str
    country: str
    status: str
    acronym: str
    lei: str
    created: str
    updated: str
    expired: str
    listed_on: str

    @property
    def content(self) -> "Market":
        """What makes a vintage: all but the day of the list."""
        return replace(self, listed_on="")

    def had_expired(self, day: date) -> bool:
        """Return whether the list says that the market had expired on a day."""
        return bool(self.expired) and self.expired <= str(day)


def vintages() -> tuple[Market, ...]:
    """Return every vintage of every market, by MIC, in order of the lists."""
    return tuple(Market(**row) for row in csv_rows(__name__, "mics"))


_VINTAGES: dict[str, list[Market]] = defaultdict(list)
for _vintage in vintages():
    _VINTAGES[_vintage.mic].append(_vintage)
# As the newest list has them.
_MARKETS = {mic: (known[-1].operating_mic, known[-1].country) for mic, known in _VINTAGES.items()}
_EXCHANGE_CODES = {
    row["exch_code"]: row["operating_mic"] for row in csv_rows(__name__, "figi_exchanges")
}


def market_on(mic: str, day: date) -> Market | None:
    """Return a market as the last list up to a day has it; None if none had it."""
    known = [each for each in _VINTAGES.get(mic.upper(), ()) if each.listed_on <= str(day)]
    return known[-1] if known else None


def doubt_of(mic: str, day: date) -> str | None:
    """Return why a list of a day can hardly mean the market of a MIC; None if nothing is wrong."""
    if mic.upper() not in _VINTAGES:
        return f"{mic} is on no list of ISO 10383"
    market = market_on(mic, day)
    if market is not None and market.had_expired(day):
        return f"{mic} expired on {market.expired}"
    return None


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
