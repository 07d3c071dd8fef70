"""What is served of a release: the members of its shape, each as its kind may be shown.

Texts are cleaned, organisations are shown where they are established, unknown amounts and
impossible dates are left out, and so is an object of which nothing is left.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import Any

import msgspec
from msgspec.structs import fields

from assets.tenders.ocds import Body, Money, Organisation, Release, kinds, nested
from assets.tenders.parties import Parties, Party
from assets.tenders.portals import Portal
from assets.tenders.values import amount, ident, parse_day, text
from quality.contact_prefilter import texts_with_contact
from quality.free_text import remove_contacts

_ENCODER = msgspec.json.Encoder(decimal_format="number")
_SHORT, _MOST = 40, 1 << 14


class Shown(dict[str, str | None]):
    """What is shown of short texts that come again and again; the others are not kept."""

    def __init__(self, read: Callable[[str], str | None]) -> None:
        self._read = read

    def __missing__(self, value: str) -> str | None:
        shown = self._read(value)
        if len(value) < _SHORT:
            if len(self) == _MOST:
                self.clear()
            self[value] = shown
        return shown


class Served:
    """What may be shown of the releases of one portal, read on one day."""

    def __init__(self, portal: Portal, latest: date) -> None:
        self._portal = portal
        self._latest = latest
        self._texts: list[str] = []
        self.codes = Shown(_cleaned)
        days = Shown(self._day)
        self._cut = cutter(self.codes, days, self._money, note=self._texts.append)
        self._cut_clean = cutter(self.codes, days, self._money, clean=_cleaned)

    def cut(self, release: Release, parties: Parties) -> tuple[Body, str]:
        """Cut a release down to what may be served but for cleaning; give it and its texts."""
        for organisation, party in parties.references:
            _show(organisation, party)
        body = Body(release.awards, release.buyer, release.contracts, release.tender)
        self._texts.clear()
        self._cut(body)
        return body, "\n".join(self._texts)

    def shown(self, bodies: Sequence[Body], texts: list[str]) -> list[bytes]:
        """Clean what was cut, and give it as canonical JSON, every digit as published.

        The texts of many releases are looked through together: in most is nothing to clean.
        """
        for number in texts_with_contact(texts):
            self._cut_clean(bodies[number])
        return [_ENCODER.encode(body) for body in bodies]

    def _day(self, value: str) -> str | None:
        return text(value) if parse_day(value, self._portal, self._latest) else None

    def _money(self, value: Money) -> Money | None:
        value.amount = amount(value.amount, self._portal)
        if value.amount is None:
            return None
        currency = value.currency
        value.currency = self.codes[currency] if type(currency) is str else None
        return value


def _cleaned(value: str) -> str | None:
    return text(remove_contacts(value.strip()))


def _show(organisation: Organisation, party: Party | None) -> None:
    """Leave the id and the name; nothing where the party is withheld."""
    shown = party is not None and party.name is not None
    organisation.id = ident(organisation.id) if shown else None
    organisation.name = party.name if party and shown else None
    organisation.address = organisation.identifier = organisation.roles = None


Cut = Callable[[Any], Any]

# How a value of each kind is read; ``kept`` is what may be shown of it.
_NOTED = """kept = value.strip() or None if type(value) is str else None
        if kept is not None:
            note(kept)"""
_CLEANED = "kept = clean(value)"
_KINDS = {
    "code": "kept = codes[value] if type(value) is str else None",
    "id": "kept = value.strip() or None if type(value) is str else whole(value)",
    "day": "kept = days[value] if type(value) is str else None",
    "number": "kept = value if type(value) is int or type(value) is Decimal else None",
}
_ONE = "kept = cut_{}(value)"
_MANY = "kept = [each for each in value if cut_{}(each) is not None] or None"
_MEMBER = """
    value = shape.{name}
    if value is not None:
        {read}
        if kept is not value:
            shape.{name} = kept
        if kept is not None:
            left = shape"""
_FUNCTION = "def cut_{shape}(shape):\n    left = None{members}\n    return left\n"


def cutter(
    codes: Mapping[str, str | None],
    days: Mapping[str, str | None],
    money: Cut,
    *,
    note: Callable[[str], None] | None = None,
    clean: Callable[[str], str | None] | None = None,
) -> Cut:
    """Give what cuts the body of a release down in place, or None where nothing is left.

    ``codes`` and ``days`` give what is shown of a text that is a code or a date, ``money``
    cuts an amount. Each free text is either cleaned, or left as it is and noted.
    """
    text = _NOTED if clean is None else _CLEANED
    known: dict[str, Any] = {
        "note": note,
        "clean": clean,
        "codes": codes,
        "days": days,
        "whole": _whole,
        "Decimal": Decimal,
        "cut_Money": money,
        "cut_Organisation": _named,
    }
    for shape in _inside(Body):
        exec(_source(shape, _KINDS | {"text": text}), known)  # noqa: S102
    return known["cut_Body"]  # type: ignore[no-any-return]


def _inside(shape: type) -> list[type]:
    """Give a shape and those inside it, but for those that are cut by hand."""
    found = [shape]
    for inner, _ in nested(shape).values():
        if inner not in (Money, Organisation):
            found += _inside(inner)
    return found


def _source(shape: type, how: Mapping[str, str]) -> str:
    reads = {name: how[kind] for name, kind in kinds(shape).items()}
    for name, (inner, many) in nested(shape).items():
        reads[name] = (_MANY if many else _ONE).format(inner.__name__)
    members = "".join(
        _MEMBER.format(name=each.name, read=reads[each.name]) for each in fields(shape)
    )
    return _FUNCTION.format(shape=shape.__name__, members=members)


def _whole(value: Any) -> int | None:
    """Give an id that is a number; one with a fraction is none."""
    return value if type(value) is int else None


def _named(organisation: Organisation) -> Organisation | None:
    return None if organisation.name is None else organisation
