"""Filers of the SEC: their ids and names, and which of them are followed.

Those of a rule are, unless ``SANKOFA_CIKS`` says otherwise.

The rule takes every filer whose business address or incorporation lies in an African or emerging
market (``places``) and who filed a 10-K, 20-F, 40-F or 6-K with XBRL. Its list of submissions
shows both.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

import msgspec

from assets.entities.identifiers import cik_of, mint
from assets.parsing.strict import printable_text
from warehouse.record.landing import Document
from warehouse.shared.data_files import csv_rows

# Including transition periods (10-KT) and discontinued forms (10-K405, 10-KSB).
_FORMS = ("10-K", "10-KT", "10-K405", "10-KT405", "10-KSB", "10-KSB40", "20-F", "20-FT", "40-F")
ANNUAL_REPORTS = frozenset(form + amendment for form in _FORMS for amendment in ("", "/A"))
EDGAR_CLOCK = ZoneInfo("America/New_York")
_ARCHIVE = "https://www.sec.gov/Archives/edgar/data"
_ACCESSION = re.compile(r"[0-9]{10}-[0-9]{2}-[0-9]{6}")


def service_id_of(cik: object) -> str:
    """Return the service_id of a CIK: 1 and 0000000001 are one filer."""
    return mint("cik", cik_of(cik))


def folded_name(value: object) -> str:
    """Return a name with white space of any kind, such as no-break spaces, as single spaces."""
    return printable_text(" ".join(value.split()) if isinstance(value, str) else value)


def accession_number(value: object) -> str:
    """Return the number of a filing; raise if it is none."""
    if not isinstance(value, str) or not _ACCESSION.fullmatch(value):
        raise ValueError(f"{value!r:.60} is not an accession number")
    return value


def filing_page(document: Document, cik: str, accession: str) -> str | None:
    """Return the address of the page of a filing; None if a document is not the SEC's own."""
    host = urlsplit(document.url).hostname or ""
    if not f".{host}".endswith(".sec.gov"):
        return None
    return f"{_ARCHIVE}/{int(cik)}/{accession.replace('-', '')}/{accession}-index.htm"


# EDGAR's codes of states and countries, and which countries count as our markets.
#
# ``edgar_places.csv`` has every code of EDGAR's list with its ISO 3166 code: of a country, or of a
# state, territory or province. A code that names no present country has none.
#
# ``markets.csv`` has the African and emerging markets, each with the reason why it is one.

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


# With their amendments and, for annual reports, transition periods.
REPORTS = ANNUAL_REPORTS | {"6-K", "6-K/A"}

_PLACE_CODE = re.compile(
    rb'"(?:stateOfIncorporation|stateOrCountry|countryCode)"\s*:\s*"([0-9A-Z]{2})"'
)
_MARKET_PLACES = frozenset(code.encode() for code in MARKET_PLACES)


@dataclass(frozen=True)
class ChosenIssuers:
    """The issuers of a setting, as CIKs of ten digits: only these, or the rule's with changes."""

    only: tuple[str, ...] = ()
    added: frozenset[str] = frozenset()
    left_out: frozenset[str] = frozenset()

    @classmethod
    def from_words(cls, words: Iterable[str]) -> Self:
        """Return what a setting chooses: ``CIK`` only, ``+CIK`` also, ``-CIK`` not."""
        by_sign: dict[str, dict[str, None]] = {"": {}, "+": {}, "-": {}}
        for word in words:
            sign = word[0] if word[0] in "+-" else ""
            by_sign[sign][word.lstrip("+-").zfill(10)] = None
        return cls(tuple(by_sign[""]), frozenset(by_sign["+"]), frozenset(by_sign["-"]))

    @property
    def by_rule(self) -> bool:
        """True unless the setting names the only issuers to follow."""
        return not self.only

    @property
    def named(self) -> frozenset[str]:
        """The issuers that the setting requests by their number."""
        return frozenset(self.only) | self.added

    def applied_to(self, by_rule: Iterable[str]) -> frozenset[str]:
        """Return the issuers to follow, given those of the rule."""
        return frozenset(self.only) or (frozenset(by_rule) | self.added) - self.left_out


class _Address(msgspec.Struct):
    stateOrCountry: Any = None  # noqa: N815
    countryCode: Any = None  # noqa: N815


class _Addresses(msgspec.Struct):
    business: _Address | None = None


class _Filings(msgspec.Struct):
    form: list[Any]
    isXBRL: list[Any]  # noqa: N815
    isInlineXBRL: list[Any]  # noqa: N815


class _Pages(msgspec.Struct):
    recent: _Filings


class _Filer(msgspec.Struct):
    filings: _Pages
    stateOfIncorporation: Any = None  # noqa: N815
    addresses: _Addresses | None = None


def may_follow(head: bytes) -> bool:
    """Return False if the rule cannot take a filer: no place in the text is in our markets.

    ``head`` is the list of submissions up to its filings, undecoded: of a million filers most are
    persons, and companies elsewhere, and decoding their lists takes twice as long.
    """
    return not _MARKET_PLACES.isdisjoint(_PLACE_CODE.findall(head))


def follows_rule(body: bytes) -> bool:
    """Return whether the rule takes the filer of a list of submissions; ValueError if it is none.

    Only the newest filings are looked at: a year of them, or the last thousand if those are more.
    """
    try:
        filer = msgspec.json.decode(body, type=_Filer)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"not a list of submissions: {error}") from None
    business = (filer.addresses and filer.addresses.business) or _Address()
    countries = {
        country_of(business.countryCode or business.stateOrCountry),
        country_of(filer.stateOfIncorporation),
    }
    if countries.isdisjoint(MARKETS):
        return False
    recent = filer.filings.recent
    return any(
        form in REPORTS and (xbrl or inline)
        for form, xbrl, inline in zip(recent.form, recent.isXBRL, recent.isInlineXBRL, strict=False)
    )
