"""What is served of a release: the members of its shape, each as its kind may be shown.

Texts are cleaned, organisations are shown where they are established, unknown amounts and
impossible dates are left out, and so is an object of which nothing is left.
"""

from collections.abc import Callable
from datetime import date
from decimal import Decimal
from functools import lru_cache
from typing import Any

import msgspec
from msgspec.structs import astuple, fields

from assets.tenders.parties import Parties
from assets.tenders.portals import Portal
from assets.tenders.shapes import Body, Money, Organisation, Release, kinds, nested
from assets.tenders.values import amount, day, ident, text
from quality.free_text import clean, suspect

_ENCODER = msgspec.json.Encoder(decimal_format="number")
_SHORT = 40

Read = Callable[[Any], Any]


class Served:
    """What may be shown of the releases of one portal, read on one day."""

    def __init__(self, portal: Portal, latest: date) -> None:
        self._portal = portal
        self._latest = latest
        self._plans: dict[type, list[tuple[str, Read]]] = {}
        self._texts: list[str] = []
        self._clean = False

    def release(self, release: Release, parties: Parties) -> str:
        """Give the whitelisted members as canonical JSON, every digit as published.

        The release is cut down to them: what is left of it is what is served.
        """
        for organisation in parties.references:
            _show(organisation, parties)
        shown = Body(release.awards, release.buyer, release.contracts, release.tender)
        self._cut(shown)
        texts, self._texts = "\n".join(self._texts), []
        if suspect(texts):
            self._clean = True
            self._cut(shown)
            self._clean = False
        release.awards, release.buyer = shown.awards, shown.buyer
        release.contracts, release.tender = shown.contracts, shown.tender
        return _ENCODER.encode(shown).decode()

    def _cut(self, shape: Any) -> Any:
        """Cut an object down to what may be shown; None where nothing is left."""
        left = None
        plan = self._plans.get(type(shape)) or self._plan(type(shape))
        for (name, read), value in zip(plan, astuple(shape), strict=True):
            if value is not None:
                kept = read(value)
                if kept is not value:
                    setattr(shape, name, kept)
                if kept is not None:
                    left = shape
        return left

    def _each(self, shapes: list[Any]) -> list[Any] | None:
        return [each for each in shapes if self._cut(each) is not None] or None

    def _plan(self, shape: type) -> list[tuple[str, Read]]:
        """Say how each member of a shape is read."""
        single: dict[str, Read] = {
            "text": self._text,
            "code": shown_text,
            "id": _id,
            "day": self._day,
            "number": _number,
        }
        reads = {name: single[kind] for name, kind in kinds(shape).items()}
        reads |= {name: self._inner(*inner) for name, inner in nested(shape).items()}
        self._plans[shape] = [(each.name, reads[each.name]) for each in fields(shape)]
        return self._plans[shape]

    def _inner(self, shape: type, many: bool) -> Read:
        if shape is Organisation:
            return _named_ones if many else _named
        if shape is Money:
            return self._money
        return self._each if many else self._cut

    def _text(self, value: Any) -> str | None:
        """Give a text; the texts of a release are looked through together, then cleaned."""
        if self._clean:
            return shown_text(value)
        found = text(value)
        if found is not None:
            self._texts.append(found)
        return found

    def _day(self, value: Any) -> str | None:
        return text(value) if day(value, self._portal, self._latest) else None

    def _money(self, value: Money) -> Money | None:
        value.amount = amount(value.amount, self._portal)
        value.currency = shown_text(value.currency)
        return None if value.amount is None else value


def shown_text(value: Any) -> str | None:
    """Give a text that says something, without contacts."""
    if not isinstance(value, str):
        return None
    return _short(value) if len(value) < _SHORT else text(clean(value.strip()))


@lru_cache(maxsize=1 << 14)
def _short(value: str) -> str | None:
    return text(clean(value.strip()))


def _show(organisation: Organisation, parties: Parties) -> None:
    """Leave the id and the name; nothing where the party is withheld."""
    party = parties.of(organisation)
    shown = party is not None and party.name is not None
    organisation.id = ident(organisation.id) if shown else None
    organisation.name = party.name if party and shown else None
    organisation.address = organisation.identifier = organisation.roles = None


def _named(organisation: Organisation) -> Organisation | None:
    return None if organisation.name is None else organisation


def _named_ones(organisations: list[Organisation]) -> list[Organisation] | None:
    return [each for each in organisations if each.name is not None] or None


def _id(value: Any) -> str | int | None:
    return value if isinstance(value, int) and ident(value) else text(value)


def _number(value: Any) -> int | Decimal | None:
    number = isinstance(value, int | Decimal) and not isinstance(value, bool)
    return value if number else None
