"""Files of portals: TOML with one table per portal, read by the models here.

The built-in portals are in ``portals.toml``; ``docs/add-a-portal.md`` explains every member.
"""

import re
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Annotated, Literal, Self, cast
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, model_validator

from assets.declared_files import (
    BaseUrl,
    DeclarationError,
    DeclaredSource,
    DeclaredTable,
    DeclaredText,
    LicenseEvidence,
    WebAddress,
    read_entries,
)
from assets.tenders.code_lists import Words
from assets.tenders.requests import AnyRequest, check_pattern
from warehouse.shared.data_files import HOME_CURRENCY, csv_rows
from warehouse.tables.sighting import LicenseClass

# The tender portals as the parser knows them: country, licence, quirks.
#
# Their entries are read in ``portal_files``. How a portal is fetched does not belong here.


@dataclass(frozen=True)
class Portal:
    """One publisher of releases; its quirks are observed facts, never guesses.

    ``license_class`` applies where a package names no licence that we recognise; if it is
    None, only packages that name an open licence are accepted.

    Quirks: ``zero_is_unknown`` writes 0 for a missing amount, ``zone_label_is_wrong`` labels local
    time as another zone, ``supplier_means_bidder`` gives every bidder the role supplier.
    ``sentinel_dates`` and ``placeholder_ids`` mean nothing. ``complete_addresses``: a URL
    returns all its releases, so a missing one is withdrawn.

    ``words`` are what it writes in place of the codes of OCDS.
    """

    key: str
    country: str
    title: str
    license_class: LicenseClass | None
    method: Literal["api", "file"] = "api"
    zero_is_unknown: bool = False
    zone_label_is_wrong: bool = False
    supplier_means_bidder: bool = False
    sentinel_dates: frozenset[date] = frozenset()
    placeholder_ids: frozenset[str] = frozenset()
    complete_addresses: bool = False
    release_url: str | None = field(default=None)
    words: Words = field(default_factory=Words)


# Restrictions are looked for first: "CC BY-NC" also looks like "CC BY".
_LICENCE_WORDS = csv_rows(__name__, "licence_words")


def license_of(licence_text: str | None) -> LicenseClass | None:
    """Return the class of a licence text; ``restricted`` if it forbids redistribution.

    None if there is none, or none that we recognise.
    """
    lowered = (licence_text or "").lower()
    for row in _LICENCE_WORDS:
        if re.search(row["pattern"], lowered):
            return cast(LicenseClass, row["license_class"])
    return None


BUILT_IN = Path(__file__).with_name("portals.toml")

# The licence classes under which data is served, and two cases in which none is known:
# ``per-package`` accepts only packages that state an open licence, ``not-stated`` nothing.
PortalLicence = Literal[
    "public-domain", "cc0", "cc-by", "open-attribution", "per-package", "not-stated"
]


def _country(code: str) -> str:
    if code not in HOME_CURRENCY:
        raise ValueError(f"{code} is not the code of a country")
    return code


def _no_query(address: str) -> str:
    if urlsplit(address).query or urlsplit(address).fragment:
        raise ValueError("give scheme, host and path; the rest belongs to request")
    return address


def _release_pattern(pattern: str) -> str:
    check_pattern(pattern, {"ocid": "ocds-1"})
    return pattern


class Licence(DeclaredTable):
    """Under which licence a portal publishes, and the page where it says so."""

    license_class: PortalLicence = Field(alias="class")
    name: DeclaredText
    stated_at: WebAddress | None = None
    evidence: LicenseEvidence | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.stated_at is None and self.license_class not in ("per-package", "not-stated"):
            raise DeclarationError(
                "stated_at", "give the address of the page that states this licence"
            )
        return self


class Quirks(DeclaredTable):
    """What a portal's data means other than it says; see ``Portal``."""

    zero_is_unknown: bool = False
    zone_label_is_wrong: bool = False
    supplier_means_bidder: bool = False
    sentinel_dates: frozenset[date] = frozenset()
    placeholder_ids: frozenset[str] = frozenset()
    complete_addresses: bool = False


class PortalEntry(DeclaredSource):
    """One portal of a file."""

    page = "docs/add-a-portal.md"

    country: Annotated[str, AfterValidator(_country)]
    title: DeclaredText
    licence: Licence
    base_url: Annotated[BaseUrl, AfterValidator(_no_query)]
    hosts: tuple[DeclaredText, ...] = ()
    request: AnyRequest | None = None
    cadence: Literal["daily", "monthly"] | None = None
    since: date | None = None
    publication: DeclaredText | None = None
    release_url: Annotated[DeclaredText, AfterValidator(_release_pattern)] | None = None
    tried: date | None = None
    new_within: Annotated[int, Field(ge=1)] = 7
    quirks: Quirks = Quirks()
    words: Words = Words()
    notes: str = ""


def read_portals(file: Path) -> list[PortalEntry]:
    """Return the portals of a file; refuse a mistake."""
    return read_entries(file, PortalEntry)


def portal_of(entry: PortalEntry) -> Portal:
    """Return what the parser needs to know of a portal."""
    license_class: LicenseClass | None
    match entry.licence.license_class:
        case "per-package":
            license_class = None
        case "not-stated":
            license_class = "restricted"
        case open_class:
            license_class = open_class
    return Portal(
        entry.key,
        entry.country,
        entry.title,
        license_class,
        release_url=entry.release_url,
        words=entry.words,
        **dict(entry.quirks),
    )


ENTRIES = tuple(read_portals(BUILT_IN))
