"""The members of a release that are read, and which of them may be served: a whitelist.

Members stand in the order of the alphabet, so that what is left of a release is canonical
JSON as it is. Each says what it is; of what kinds are served, and how, is in ``served``.
Contact members are not here: they are never even decoded.
"""

from decimal import Decimal
from functools import cache
from types import NoneType
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import msgspec

Text = Annotated[Any, "text"]
Code = Annotated[Any, "code"]
Id = Annotated[Any, "id"]
Day = Annotated[Any, "day"]
Number = Annotated[Any, "number"]


class _Shape(msgspec.Struct, omit_defaults=True, gc=False):
    """An object whose absent members are None."""


class Money(_Shape):
    """An amount as it is written, and its currency."""

    amount: Any = None
    currency: Any = None


class Period(_Shape):
    """A period of which each end may be absent."""

    durationInDays: Number = None  # noqa: N815
    endDate: Day = None  # noqa: N815
    maxExtentDate: Day = None  # noqa: N815
    startDate: Day = None  # noqa: N815


class Identifier(_Shape):
    """A number in a register, and the name there."""

    id: Any = None
    legalName: Any = None  # noqa: N815
    scheme: Any = None


class Address(_Shape):
    """Of an address the country only."""

    country: Any = None
    countryName: Any = None  # noqa: N815


class Organisation(_Shape):
    """A party, or a reference to one; served are its id and its name."""

    address: Address | None = None
    id: Any = None
    identifier: Identifier | None = None
    name: Any = None
    roles: Any = None


class Coded(_Shape):
    """A code of a classification."""

    description: Text = None
    id: Id = None
    scheme: Code = None


class Unit(_Shape):
    """What is counted, and what one of it costs."""

    id: Id = None
    name: Code = None
    scheme: Code = None
    value: Money | None = None


class Item(_Shape):
    """What is bought."""

    classification: Coded | None = None
    description: Text = None
    id: Id = None
    quantity: Number = None
    unit: Unit | None = None


class Tender(_Shape):
    """What is asked for."""

    awardCriteria: Code = None  # noqa: N815
    awardPeriod: Period | None = None  # noqa: N815
    contractPeriod: Period | None = None  # noqa: N815
    description: Text = None
    enquiryPeriod: Period | None = None  # noqa: N815
    id: Id = None
    items: list[Item] | None = None
    mainProcurementCategory: Code = None  # noqa: N815
    minValue: Money | None = None  # noqa: N815
    numberOfTenderers: Number = None  # noqa: N815
    procurementMethod: Code = None  # noqa: N815
    procurementMethodDetails: Text = None  # noqa: N815
    procuringEntity: Organisation | None = None  # noqa: N815
    status: Code = None
    tenderPeriod: Period | None = None  # noqa: N815
    tenderers: list[Organisation] | None = None
    title: Text = None
    value: Money | None = None


class Award(_Shape):
    """Who gets what."""

    contractPeriod: Period | None = None  # noqa: N815
    date: Day = None
    description: Text = None
    id: Id = None
    items: list[Item] | None = None
    status: Code = None
    suppliers: list[Organisation] | None = None
    title: Text = None
    value: Money | None = None


class Contract(_Shape):
    """What was signed."""

    awardID: Id = None  # noqa: N815
    dateSigned: Day = None  # noqa: N815
    description: Text = None
    id: Id = None
    items: list[Item] | None = None
    period: Period | None = None
    status: Code = None
    title: Text = None
    value: Money | None = None


class Body(_Shape):
    """What is served of a release."""

    awards: list[Award] | None = None
    buyer: Organisation | None = None
    contracts: list[Contract] | None = None
    tender: Tender | None = None


class Release(Body):
    """One release, with what tells it from others."""

    date: Any = None
    id: Any = None
    ocid: Any = None
    parties: list[Organisation] | None = None
    tag: Any = None


class Alone(Release):
    """A value that is a release, if it has none of the members of a package or a record."""

    compiledRelease: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET  # noqa: N815
    records: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    releases: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    versionedRelease: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET  # noqa: N815


_ALONE = msgspec.json.Decoder(Alone, float_hook=Decimal)
_PACKED = ("releases", "records", "compiledRelease", "versionedRelease")


def alone(text: str | bytes) -> Release | None:
    """Read a text that is one release and nothing else; None where it is something else."""
    try:
        found = _ALONE.decode(text)
    except (ValueError, ArithmeticError, RecursionError):
        return None
    packed = any(getattr(found, name) is not msgspec.UNSET for name in _PACKED)
    return None if packed or found.ocid is None else found


def typed(value: dict[str, Any]) -> Release:
    """Read a release; a member that is not of its shape counts as absent."""
    try:
        return msgspec.convert(value, Release)
    except (msgspec.ValidationError, RecursionError):
        return msgspec.convert(_pruned(value, Release), Release)


def _pruned(value: dict[str, Any], shape: type) -> dict[str, Any]:
    kept = dict(value)
    for name, (inner, many) in nested(shape).items():
        found = value.get(name)
        if many and isinstance(found, list):
            kept[name] = [_pruned(each, inner) for each in found if isinstance(each, dict)]
        else:
            fits = isinstance(found, dict) and not many
            kept[name] = _pruned(found, inner) if fits else None  # type: ignore[arg-type]
    return kept


@cache
def nested(shape: type) -> dict[str, tuple[type, bool]]:
    """Give the members that are objects or arrays of them, with the shape of those."""
    found = {}
    for name, hint in get_type_hints(shape).items():
        inner = [each for each in get_args(hint) if each is not NoneType]
        many = bool(inner) and get_origin(inner[0]) is list
        kind = get_args(inner[0])[0] if many else inner[0] if inner else None
        if isinstance(kind, type) and issubclass(kind, _Shape):
            found[name] = (kind, many)
    return found


@cache
def kinds(shape: type) -> dict[str, str]:
    """Give the members that are single values, with what each is."""
    hints = get_type_hints(shape, include_extras=True).items()
    return {name: hint.__metadata__[0] for name, hint in hints if get_origin(hint) is Annotated}
