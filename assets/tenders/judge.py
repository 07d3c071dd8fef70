"""One party as it is written, and the verdict on it; the same party is judged once.

What was read is kept as long as one document is read, and let go of between two releases
when it grows too much: within a release, one that was written alike is the same object.
"""

import hmac
import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import pycountry

from assets.tenders.portals import Portal
from assets.tenders.shapes import Organisation
from assets.tenders.values import ident, text
from quality.persons import Evidence, judge_name

_KEPT = 1 << 17
# Ids that are told apart by a cache: 1, 1.0 and true are one key, and only one of them an id.
_KEYS = (str, int, type(None))

# A party's name, id, register number with its scheme and name, and country, as they stand.
Written = tuple[Any, Any, tuple[Any, Any, Any] | None, tuple[Any, Any] | None]


class Party(NamedTuple):
    """One party; a withheld one has no name, no identifier and no evidence."""

    key: str
    name: str | None
    scheme: str | None
    identifier: str | None
    evidence: str | None


@dataclass(eq=False, slots=True)
class Named:
    """A party as it is written; the name is empty where none is given."""

    name: str
    plain: str
    id: str | None
    scheme: str | None
    identifier: str | None
    country: str
    verdict: Party | None = None


class Judge:
    """Judge the parties of one portal; withheld ones are hashed under a secret key."""

    def __init__(self, portal: Portal, key: bytes) -> None:
        self.portal = portal
        self._key = key
        self._read: dict[Written, Named | None] = {}

    def begin(self) -> None:
        """Begin a release; let go of what was read when it is too much."""
        if len(self._read) > _KEPT:
            self._read.clear()

    def named(self, organisation: Organisation) -> Named | None:
        """Read an organisation; one that was written alike is not read again."""
        number = country = None
        if stated := organisation.identifier:
            number = (stated.scheme, stated.id, stated.legalName)
        if address := organisation.address:
            country = (address.countryName, address.country)
        written = (organisation.name, organisation.id, number, country)
        if type(organisation.id) not in _KEYS or (number and type(number[1]) not in _KEYS):
            return self._named(written)
        try:
            return self._read[written]
        except KeyError:
            named = self._read[written] = self._named(written)
            return named
        except TypeError:
            # a member that is an array or an object is no name and no number
            return self._named(written)

    def party(self, named: Named, shared: bool, other: bool) -> Party:
        """Judge a party; ``other`` says that its id is that of a party of another name.

        A number that is shared with another proves nothing.
        """
        if shared or other:
            return self._judged(named, shared, other)
        if named.verdict is None:
            named.verdict = self._judged(named, shared, other)
        return named.verdict

    def _named(self, written: Written) -> Named | None:
        """Read one; an organisation of OCDS 1.0 has no id and takes that of its identifier."""
        stated, own_id, register, address = written
        name, scheme, number = text(stated), None, None
        if register:
            name = name or text(register[2])
            scheme, number = text(register[0]), self._own_id(register[1])
            scheme, number = (scheme, number) if scheme and number else (None, None)
        own = self._own_id(own_id) or (scheme and f"{scheme}-{number}")
        if not name and not own:
            return None
        country = _country(*address) if address else None
        return Named(
            name or "", plain(name or ""), own, scheme, number, country or self.portal.country
        )

    def _own_id(self, value: Any) -> str | None:
        found = ident(value)
        return None if found in self.portal.placeholder_ids else found

    def _judged(self, named: Named, shared: bool, other: bool) -> Party:
        verdict = judge_name(
            named.name,
            country=named.country,
            scheme=None if shared else named.scheme,
            identifier=None if shared else named.identifier,
        )
        base = _base(named, other)
        if isinstance(verdict, Evidence):
            return Party(base, named.name, named.scheme, named.identifier, str(verdict))
        digest = hmac.digest(self._key, f"{self.portal.key}|{base}".encode(), "sha256")
        return Party(f"withheld:{digest.hex()[:32]}", None, None, None, None)


def _base(named: Named, other: bool) -> str:
    """Give what tells the party from others: its identifier, its id if its own, its name."""
    if other:
        return f"name:{named.plain}"
    if named.scheme and named.identifier:
        return f"{named.scheme}:{named.identifier}"
    return named.id or f"name:{named.plain}"


def _country(name: Any, code: Any) -> str | None:
    """Give the country of a party's own address; None where it states none that we know."""
    stated = text(name) or text(code)
    return _code(stated) if stated else None


@lru_cache(maxsize=1 << 10)
def _code(stated: str) -> str | None:
    try:
        return str(pycountry.countries.lookup(stated).alpha_2)
    except LookupError:
        return None


@lru_cache(maxsize=1 << 16)
def plain(name: str) -> str:
    """Give a name without accents, signs and capitals."""
    if not name.isascii():
        name = unicodedata.normalize("NFKD", name)
        name = "".join(each for each in name if not unicodedata.combining(each))
    return re.sub(r"[\W_]+", " ", name).strip().casefold()
