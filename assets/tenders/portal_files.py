"""Files of portals: TOML with one table per portal, checked member by member when it is read.

The built-in portals are in ``portals.toml``; ``docs/add-a-portal.md`` explains every member.
"""

from collections.abc import Iterable
from datetime import date
from pathlib import Path
from typing import Annotated, Literal, get_args
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta

from assets.declared_files import (
    DeclarationError,
    DeclaredSource,
    DeclaredTable,
    DeclaredText,
    LicenseEvidence,
    check_address,
    read_entries,
)
from assets.tenders.code_lists import CODES, Words, folded
from assets.tenders.portals import Portal
from assets.tenders.requests.declared import (
    AnyRequest,
    DocumentFormat,
)
from assets.tenders.requests.patterns import PatternError, check_pattern
from assets.tenders.requests.periods import PeriodKind
from warehouse.currencies import HOME_CURRENCY
from warehouse.tables import LicenseClass

BUILT_IN = Path(__file__).with_name("portals.toml")
_PAGE = "docs/add-a-portal.md"

# The licence classes under which data is served, and two cases in which none is known:
# ``per-package`` accepts only packages that state an open licence, ``not-stated`` nothing.
PortalLicence = Literal[
    "public-domain", "cc0", "cc-by", "open-attribution", "per-package", "not-stated"
]

Cadence = Literal["daily", "monthly"]
_CHOICES = {
    "class": get_args(PortalLicence),
    "evidence": get_args(LicenseEvidence),
    "cadence": get_args(Cadence),
    "shape": ("links", "index", "files"),
    "period": get_args(PeriodKind),
    "format": get_args(DocumentFormat),
}


class Licence(DeclaredTable, frozen=True, kw_only=True):
    """Under which licence a portal publishes, and the page where it says so."""

    license_class: PortalLicence = msgspec.field(name="class")
    name: DeclaredText
    stated_at: DeclaredText | None = None
    evidence: LicenseEvidence | None = None


class Quirks(DeclaredTable, frozen=True, kw_only=True):
    """What a portal's data means other than it says; see ``Portal``."""

    zero_is_unknown: bool = False
    # Means nothing any more: amounts written as text are read at every portal. Files have it.
    amounts_as_text: bool = False
    zone_label_is_wrong: bool = False
    supplier_means_bidder: bool = False
    sentinel_dates: frozenset[date] = frozenset()
    placeholder_ids: frozenset[str] = frozenset()
    complete_addresses: bool = False


class PortalEntry(DeclaredSource, frozen=True, kw_only=True):
    """One portal of a file."""

    country: Annotated[str, Meta(pattern="^[A-Z]{2}$")]
    title: DeclaredText
    licence: Licence
    base_url: DeclaredText
    hosts: tuple[DeclaredText, ...] = ()
    request: AnyRequest | None = None
    cadence: Cadence | None = None
    since: date | None = None
    publication: DeclaredText | None = None
    release_url: DeclaredText | None = None
    tried: date | None = None
    new_within: Annotated[int, Meta(ge=1)] = 7
    quirks: Quirks = Quirks()
    words: Words = Words()
    notes: str = ""


def read_portals(file: Path, taken: Iterable[str] = ()) -> list[PortalEntry]:
    """Return the portals of a file; refuse a mistake, and a key that is already taken."""
    return read_entries(file, PortalEntry, _check, _PAGE, taken=taken, choices=_CHOICES)


def own_portals(files: Iterable[Path], taken: Iterable[str]) -> list[PortalEntry]:
    """Return the portals of a user's own files; refuse a key that is taken."""
    entries: list[PortalEntry] = []
    for file in files:
        entries += read_portals(file, {*taken, *(entry.key for entry in entries)})
    return entries


def _check(entry: PortalEntry) -> None:
    """Raise DeclarationError if members do not fit each other."""
    if entry.country not in HOME_CURRENCY:
        raise DeclarationError("country", f"{entry.country} is not the code of a country")
    check_address("licence.stated_at", entry.licence.stated_at)
    known = entry.licence.license_class not in ("per-package", "not-stated")
    if known and entry.licence.stated_at is None:
        raise DeclarationError(
            "licence.stated_at", "give the address of the page that states this licence"
        )
    check_address("base_url", entry.base_url)
    if urlsplit(entry.base_url).query or urlsplit(entry.base_url).fragment:
        raise DeclarationError(
            "base_url", "give scheme, host and path; the rest belongs to request"
        )
    if entry.base_url.endswith("/"):
        raise DeclarationError("base_url", "leave out the slash at the end")
    _check_words(entry.words)
    if entry.release_url is not None:
        try:
            check_pattern(entry.release_url, {"ocid": "ocds-1"})
        except PatternError as error:
            raise DeclarationError("release_url", str(error)) from None
    if entry.request is not None:
        try:
            entry.request.check()
        except DeclarationError as error:
            raise DeclarationError(f"request.{error.member}", str(error)) from None


def _check_words(words: Words) -> None:
    for name, codes in CODES.items():
        known = {folded(code): code for code in codes}
        for word in sorted(getattr(words, name)):
            if same := known.get(folded(word)):
                raise DeclarationError(
                    f"words.{name}", f"{word!r} is read as {same!r} already; leave it out"
                )
            known[folded(word)] = word


def portal_of(entry: PortalEntry) -> Portal:
    """Return what the parser needs to know of a portal."""
    return Portal(
        entry.key,
        entry.country,
        entry.title,
        licence_class_of(entry),
        release_url=entry.release_url,
        words=entry.words,
        **{
            name: getattr(entry.quirks, name)
            for name in entry.quirks.__struct_fields__
            if name != "amounts_as_text"
        },
    )


def licence_class_of(entry: PortalEntry) -> LicenseClass | None:
    """Return the licence class of a portal; None if each package states its own."""
    match entry.licence.license_class:
        case "per-package":
            return None
        case "not-stated":
            return "restricted"
        case open_class:
            return open_class


ENTRIES = tuple(read_portals(BUILT_IN))
# The built-in portals by key.
PORTALS = {entry.key: portal_of(entry) for entry in ENTRIES}


def portals_of(files: Iterable[Path]) -> tuple[Portal, ...]:
    """Return the built-in portals and those of a user's own files."""
    return (*PORTALS.values(), *map(portal_of, own_portals(files, PORTALS)))
