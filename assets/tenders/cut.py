"""Cutting an object down to what may be shown, as code written from its shape.

A release has some sixty members and there are millions of releases: a loop over the members
of a shape takes four times as long as the same steps written out, so they are written out,
by ``cutters``, from the kinds that ``shapes`` states. What each kind means is here.
"""

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from msgspec.structs import fields

from assets.tenders.shapes import Body, Money, Organisation, kinds, nested

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
