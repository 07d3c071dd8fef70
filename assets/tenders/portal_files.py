"""Files of portals: TOML with one table per portal, checked member by member when it is read.

The built-in portals are in ``portals.toml``; ``docs/add-a-portal.md`` explains every member.
"""

import difflib
import re
import tomllib
from collections.abc import Iterable, Mapping
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal, get_args
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta

from assets.tenders.portals import Portal
from assets.tenders.requests.declared import (
    AnyRequest,
    DeclarationError,
    DocumentFormat,
    Files,
    Index,
    Links,
    Text,
)
from assets.tenders.requests.patterns import PatternError, check_pattern
from assets.tenders.requests.periods import PeriodKind
from warehouse.currencies import HOME_CURRENCY
from warehouse.errors import SankofaError
from warehouse.tables import LicenseClass

BUILT_IN = Path(__file__).with_name("portals.toml")

# The licence classes under which data is served, and two cases in which none is known:
# ``per-package`` accepts only packages that state an open licence, ``not-stated`` nothing.
PortalLicence = Literal[
    "public-domain", "cc0", "cc-by", "open-attribution", "per-package", "not-stated"
]

Cadence = Literal["daily", "monthly"]
_CHOICES = {
    "class": get_args(PortalLicence),
    "cadence": get_args(Cadence),
    "shape": ("links", "index", "files"),
    "period": get_args(PeriodKind),
    "format": get_args(DocumentFormat),
}
_KEY = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_PROBLEM = re.compile(r"(?P<what>.*?)(?: - at `\$\.?(?P<member>.*)`)?")
_UNKNOWN = re.compile(r"Object contains unknown field `(.*)`")
_MISSING = re.compile(r"Object missing required field `(.*)`")


class PortalFileError(SankofaError):
    """A file of portals has a mistake; the message names the file, the portal and the member."""

    def __init__(self, file: Path, key: str, member: str, problem: str) -> None:
        where = ": ".join(part for part in (str(file), key, member) if part)
        super().__init__(f"{where}: {problem}. See docs/add-a-portal.md")


class _Table(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of the file: members that it does not define are refused."""


class Licence(_Table, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Under which licence a portal publishes, and the page where it says so."""

    license_class: PortalLicence = msgspec.field(name="class")
    name: Text
    stated_at: Text | None = None


class Quirks(_Table, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a portal's data means other than it says; see ``Portal``."""

    zero_is_unknown: bool = False
    amounts_as_text: bool = False
    zone_label_is_wrong: bool = False
    supplier_means_bidder: bool = False
    sentinel_dates: frozenset[date] = frozenset()
    placeholder_ids: frozenset[str] = frozenset()
    complete_addresses: bool = False


class PortalEntry(_Table, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One portal of a file."""

    key: str = ""
    country: Annotated[str, Meta(pattern="^[A-Z]{2}$")]
    title: Text
    licence: Licence
    base_url: Text
    hosts: tuple[Text, ...] = ()
    request: AnyRequest | None = None
    cadence: Cadence | None = None
    since: date | None = None
    publication: Text | None = None
    release_url: Text | None = None
    tried: date | None = None
    quirks: Quirks = Quirks()
    notes: str = ""


def read_portals(file: Path, taken: Iterable[str] = ()) -> list[PortalEntry]:
    """Return the portals of a file; refuse a mistake, and a key that is already taken."""
    try:
        tables = tomllib.loads(file.read_text("utf-8"))
    except OSError as error:
        raise PortalFileError(file, "", "", f"cannot be read ({error.strerror})") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise PortalFileError(file, "", "", f"not TOML: {error}") from None
    keys = frozenset(taken)
    return [_entry(file, key, table, keys) for key, table in tables.items()]


def own_portals(files: Iterable[Path], taken: Iterable[str]) -> list[PortalEntry]:
    """Return the portals of a user's own files; refuse a key that is taken."""
    entries: list[PortalEntry] = []
    for file in files:
        entries += read_portals(file, {*taken, *(entry.key for entry in entries)})
    return entries


def _entry(file: Path, key: str, table: Any, taken: frozenset[str]) -> PortalEntry:
    if not _KEY.fullmatch(key):
        raise PortalFileError(
            file, key, "", "a key is lower-case letters, digits and hyphens, such as ug-ppda"
        )
    if key in taken:
        raise PortalFileError(
            file, key, "", "there is already a source of this key; choose another"
        )
    if not isinstance(table, Mapping):
        raise PortalFileError(file, key, "", f"begin a table for each portal: [{key}]")
    if "key" in table:
        raise PortalFileError(file, key, "key", "the key is the name of the table; remove it")
    try:
        entry = msgspec.convert({**table, "key": key}, PortalEntry)
        _check(entry)
    except msgspec.ValidationError as error:
        raise PortalFileError(file, key, *_explained(str(error))) from None
    except DeclarationError as error:
        raise PortalFileError(file, key, error.member, str(error)) from None
    return entry


def _check(entry: PortalEntry) -> None:
    """Raise DeclarationError if members do not fit each other."""
    if entry.country not in HOME_CURRENCY:
        raise DeclarationError("country", f"{entry.country} is not the code of a country")
    _check_address("licence.stated_at", entry.licence.stated_at)
    known = entry.licence.license_class not in ("per-package", "not-stated")
    if known and entry.licence.stated_at is None:
        raise DeclarationError(
            "licence.stated_at", "give the address of the page that states this licence"
        )
    _check_address("base_url", entry.base_url)
    if entry.base_url.endswith("/"):
        raise DeclarationError("base_url", "leave out the slash at the end")
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


def _check_address(member: str, address: str | None) -> None:
    if address is None:
        return
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise DeclarationError(member, f"{address!r} is not a web address: begin with https://")
    if member == "base_url" and (parts.query or parts.fragment):
        raise DeclarationError(member, "give scheme, host and path; the rest belongs to request")


def _explained(problem: str) -> tuple[str, str]:
    """Return the member that a message of msgspec is about, and the message in our words."""
    match = _PROBLEM.fullmatch(problem)
    assert match is not None
    what, member = match["what"], match["member"] or ""
    if unknown := _UNKNOWN.fullmatch(what):
        name = unknown[1]
        near = difflib.get_close_matches(name, _members(), 1)
        hint = f"; did you mean {near[0]}?" if near and near[0] != name else ""
        return _joined(member, name), f"there is no such member here{hint}"
    if missing := _MISSING.fullmatch(what):
        return _joined(member, missing[1]), "is missing"
    name = member.rpartition(".")[2]
    choices = f"; one of {', '.join(_CHOICES[name])}" if name in _CHOICES else ""
    return member, what[:1].lower() + what[1:].replace(" | null", "") + choices


def _joined(table: str, member: str) -> str:
    return f"{table}.{member}" if table else member


def _members() -> list[str]:
    structs = (PortalEntry, Licence, Quirks, Links, Index, Files)
    return sorted({name for struct in structs for name in struct.__struct_encode_fields__})


def portal_of(entry: PortalEntry) -> Portal:
    """Return what the parser needs to know of a portal."""
    return Portal(
        entry.key,
        entry.country,
        entry.title,
        licence_class_of(entry),
        release_url=entry.release_url,
        **{name: getattr(entry.quirks, name) for name in entry.quirks.__struct_fields__},
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
