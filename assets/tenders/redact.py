"""Redaction: reduce a release to what may be published, member by member.

Contacts are removed from texts, only proven organisations are named, unknown amounts and
impossible dates are dropped, and so is an object of which nothing is left.

A release has some sixty members and there are millions of releases. A loop over the members of a
struct takes four times as long as straight-line code, so ``_build_redactor`` generates that code
from the kinds declared in ``ocds``.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from decimal import Decimal
from functools import cache, partial
from types import CodeType
from typing import Any

import msgspec
from msgspec.structs import fields

from assets.tenders.code_lists import CODES, folded, known_codes
from assets.tenders.ocds import (
    OcdsMoney,
    OcdsOrganisation,
    OcdsRelease,
    PublicRelease,
    nested_structs,
    value_kinds,
)
from assets.tenders.parties import Parties, Party
from assets.tenders.portal_files import Portal
from assets.tenders.values import Numbers, amount, calendar_day, ident, text
from quality.contacts import remove_contacts, texts_with_contact

# By default msgspec writes a Decimal as a text.
_ENCODER = msgspec.json.Encoder(decimal_format="number")
_TOKEN = re.compile(r"\S{1,40}")
# Texts shorter than this are cached, and at most so many.
_SHORT, _MOST = 40, 1 << 14

Redact = Callable[[Any], Any]

# Code templates: how a value of each kind becomes ``redacted``, the part that may be published.
# ``type(value) is int`` rather than isinstance: true and false are not numbers.

# Free text that is only collected, to be searched for contacts later.
_NOTED = """redacted = value.strip() or None if type(value) is str else None
        if redacted is not None:
            note(redacted)"""
_CLEANED = "redacted = clean(value)"
# A code is looked up in the list that its kind names; what is not on it is counted.
_LISTED = """redacted = {kind}[value] if type(value) is str else None
        if redacted is None:
            leave_out(value, '{member}')"""
_KINDS = dict.fromkeys(CODES, _LISTED) | {
    "id": "redacted = value.strip() or None if type(value) is str else integer_id(value)",
    "day": "redacted = days[value] if type(value) is str else None",
    "number": "redacted = number(value, '{member}')",
}
_STRUCT = "redacted = redact_{}(value)"
_MONEY = "redacted = redact_OcdsMoney(value, '{member}')"
# Where the structs with numbers and codes are in a release, for the reason why one was not read.
_PLACES = {
    "OcdsTender": "tender",
    "OcdsAward": "awards",
    "OcdsContract": "contracts",
    "OcdsItem": "items",
    "OcdsClassification": "items/classification",
    "OcdsUnit": "items/unit",
    "OcdsPeriod": "period",
}
_STRUCT_LIST = "redacted = [item for item in value if redact_{}(item) is not None] or None"
# Writes back only what changed; ``result`` stays None if nothing of the struct is left.
_MEMBER = """
    value = struct.{name}
    if value is not None:
        {read}
        if redacted is not value:
            struct.{name} = redacted
        if redacted is not None:
            result = struct"""
_FUNCTION = "def redact_{struct}(struct):\n    result = None{members}\n    return result\n"


def _build_redactor(
    codes: Mapping[str, Mapping[str, str | None]],
    days: Mapping[str, str | None],
    money: Callable[[Any, str], Any],
    number: Callable[[Any, str], Any],
    leave_out: Callable[[Any, str], None],
    *,
    note: Callable[[str], None] | None = None,
    clean: Callable[[str], str | None] | None = None,
) -> Redact:
    """Return a function that redacts a PublicRelease in place; it returns None if nothing is left.

    ``codes`` has a map for each code list; it and ``days`` map a code or date to its published
    form. ``money`` redacts an amount, ``number`` reads any other number, ``leave_out`` counts what
    is no code; they are given the member that they read.
    Free texts are either cleaned at once, or left as they are and passed to ``note``.
    """
    text = _NOTED if clean is None else _CLEANED
    namespace: dict[str, Any] = {
        **codes,
        "leave_out": leave_out,
        "note": note,
        "clean": clean,
        "days": days,
        # A number with a fraction is not an id.
        "integer_id": lambda value: value if type(value) is int else None,
        "number": number,
        "redact_OcdsMoney": money,
        "redact_OcdsOrganisation": lambda each: None if each.name is None else each,
    }
    exec(_compiled(text), namespace)  # noqa: S102
    return namespace["redact_PublicRelease"]  # type: ignore[no-any-return]


@cache
def _compiled(text: str) -> CodeType:
    """Return the code that redacts every struct, with free texts as in a template."""
    # The source is made of the templates and of field names in ``ocds``, never of data.
    templates = _KINDS | {"text": text}
    structs = _structs_in(PublicRelease)
    return compile("\n".join(_source(struct, templates) for struct in structs), __name__, "exec")


def _structs_in(struct: type) -> list[type]:
    """Return a struct and those inside it, except those that are redacted by hand."""
    structs = [struct]
    for inner, _ in nested_structs(struct).values():
        if inner not in (OcdsMoney, OcdsOrganisation):
            structs += _structs_in(inner)
    return structs


def _source(struct: type, templates: Mapping[str, str]) -> str:
    """Return the source of the function that redacts one struct."""
    place = _PLACES.get(struct.__name__, "release")
    reads = {
        name: templates[kind].format(kind=kind, member=f"{place}/{name}")
        for name, kind in value_kinds(struct).items()
    }
    for name, (inner, is_list) in nested_structs(struct).items():
        if inner is OcdsMoney:
            reads[name] = _MONEY.format(member=f"{place}/{name}/amount")
        else:
            reads[name] = (_STRUCT_LIST if is_list else _STRUCT).format(inner.__name__)
    members = "".join(
        _MEMBER.format(name=field.name, read=reads[field.name]) for field in fields(struct)
    )
    return _FUNCTION.format(struct=struct.__name__, members=members)


class TextCache(dict[str, str | None]):
    """Cache of redacted short texts, such as codes and dates, which repeat; long ones do not."""

    def __init__(self, redact: Callable[[str], str | None]) -> None:
        self._redact = redact

    def __missing__(self, value: str) -> str | None:
        redacted = self._redact(value)
        if len(value) < _SHORT:
            if len(self) == _MOST:
                self.clear()
            self[value] = redacted
        return redacted


class Redactor:
    """Redacts the releases of one document of a portal, in two steps.

    ``redact`` does everything but the search for contacts in texts, which is cheaper for
    many releases together: ``encode`` does that, and rarely finds any.
    """

    def __init__(self, portal: Portal, latest: date) -> None:
        self._portal = portal
        self._latest = latest
        self._texts: list[str] = []
        self._numbers = Numbers()
        # The members of the release whose value is no code of their list, once for each value.
        self.unlisted: list[str] = []
        self._codes = {name: TextCache(self._reader(name)) for name in CODES}
        # What a currency is, the rules of the record say; no code has blanks or is that long.
        self._currencies = TextCache(_token)
        days = TextCache(self._day)
        build = partial(
            _build_redactor, self._codes, days, self._money, self._number, self._leave_out
        )
        self._redact_noting = build(note=self._texts.append)
        self._redact_cleaned = build(clean=_cleaned)

    def redact(self, release: OcdsRelease, parties: Parties) -> tuple[PublicRelease, str, Numbers]:
        """Return the publishable part of a release, its free texts and the account of its numbers.

        The texts are still to be searched for contacts.
        """
        self._numbers = Numbers()
        self.unlisted = ["parties/roles"] * parties.unlisted_roles
        listed = {}
        for organisation, named in parties.references:
            _redact_organisation(organisation, named[0] if named else None)
            if len(named) > 1:
                listed[id(organisation)] = [OcdsOrganisation(name=party.name) for party in named]
        if listed:
            _replace_lists(release, listed)
        body = PublicRelease(release.awards, release.buyer, release.contracts, release.tender)
        self._texts.clear()
        self._redact_noting(body)
        return body, "\n".join(self._texts), self._numbers

    def tags(self, value: Any) -> str | None:
        """Return the tags of the release, joined by a comma."""
        tags = []
        for tag in value if isinstance(value, list) else [value]:
            code = self._codes["tag"][tag] if isinstance(tag, str) else None
            if code is None:
                self._leave_out(tag, "tag")
            else:
                tags.append(code)
        return ",".join(tags) or None

    def encode(self, bodies: Sequence[PublicRelease], texts: list[str]) -> list[bytes]:
        """Remove contacts from the texts; return canonical JSON with every digit as published."""
        for number in texts_with_contact(texts):
            self._redact_cleaned(bodies[number])
        return [_ENCODER.encode(body) for body in bodies]

    def _reader(self, name: str) -> Callable[[str], str | None]:
        """Return what reads a value of a list: a code, a word of the portal, or None."""
        known = known_codes(name, getattr(self._portal.words, name))
        if name == "scheme":
            return lambda value: known.get(folded(value)) or _token(value)
        return lambda value: known.get(folded(value))

    def _leave_out(self, value: Any, member: str) -> None:
        """Count a value that is no code; nothing, or blanks, is none either and not counted."""
        if value and (type(value) is not str or value.strip()):
            self.unlisted.append(member)

    def _day(self, value: str) -> str | None:
        return text(value) if calendar_day(value, self._portal, self._latest) else None

    def _number(self, value: Any, member: str) -> int | Decimal | None:
        return self._numbers.read(value, member)

    def _money(self, value: OcdsMoney, member: str) -> OcdsMoney | None:
        value.amount = amount(self._number(value.amount, member), self._portal)
        if value.amount is None:
            return None
        stated = value.currency
        value.currency = self._currencies[stated] if type(stated) is str else None
        if value.currency is None:
            self._leave_out(stated, member.replace("/amount", "/currency"))
        return value


def _token(value: str) -> str | None:
    """Return a code of an open list: one word, and no contact."""
    cleaned = _cleaned(value)
    return cleaned if cleaned and _TOKEN.fullmatch(cleaned) else None


def _cleaned(value: str) -> str | None:
    return text(remove_contacts(value.strip()))


def _replace_lists(release: OcdsRelease, listed: Mapping[int, list[OcdsOrganisation]]) -> None:
    """Put the firms of a list in its place; where there can be one only, the first is named."""
    for members in (
        release.tender and release.tender.tenderers,
        *(award.suppliers for award in release.awards or ()),
    ):
        if members:
            members[:] = [firm for each in members for firm in listed.get(id(each), [each])]
    procuring_entity = release.tender.procuringEntity if release.tender else None
    for organisation in (release.buyer, procuring_entity):
        firms = listed.get(id(organisation))
        if organisation is not None and firms:
            organisation.id = None
            organisation.name = next((firm.name for firm in firms if firm.name), None)


def _redact_organisation(organisation: OcdsOrganisation, party: Party | None) -> None:
    """Keep id and name; nothing if the party is withheld."""
    published = party is not None and party.name is not None
    organisation.id = ident(organisation.id) if published else None
    organisation.name = party.name if party and published else None
    organisation.address = organisation.identifier = organisation.roles = None
