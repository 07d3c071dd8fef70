"""OCDS structs: the members of a release that are read, a whitelist.

Members are in alphabetical order, so that encoding a struct gives canonical JSON. Each is
annotated with its kind; ``redact`` decides by kind what is published. Contact members are absent
and therefore never even decoded.
"""

from decimal import Decimal
from functools import cache
from types import NoneType
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import msgspec

Text = Annotated[Any, "text"]
Id = Annotated[Any, "id"]
Day = Annotated[Any, "day"]
Number = Annotated[Any, "number"]
# Members with a code list: their kind is the name of the list in ``code_lists``.
TenderStatus = Annotated[Any, "tender_status"]
AwardStatus = Annotated[Any, "award_status"]
ContractStatus = Annotated[Any, "contract_status"]
Method = Annotated[Any, "procurement_method"]
Category = Annotated[Any, "category"]
Scheme = Annotated[Any, "scheme"]


class _OcdsStruct(msgspec.Struct, omit_defaults=True, gc=False):
    """Base of all structs: absent members are None.

    ``gc=False`` because there are millions and none is part of a reference cycle.
    """


class OcdsMoney(_OcdsStruct):
    """An amount as it is written, and its currency."""

    amount: Any = None
    currency: Any = None


class OcdsPeriod(_OcdsStruct):
    """A period of which each end may be absent."""

    durationInDays: Number = None  # noqa: N815
    endDate: Day = None  # noqa: N815
    maxExtentDate: Day = None  # noqa: N815
    startDate: Day = None  # noqa: N815


class OcdsIdentifier(_OcdsStruct):
    """A number in a register, and the name there."""

    id: Any = None
    legalName: Any = None  # noqa: N815
    scheme: Any = None


class OcdsAddress(_OcdsStruct):
    """The country of an address, nothing else."""

    country: Any = None
    countryName: Any = None  # noqa: N815


class OcdsOrganisation(_OcdsStruct):
    """A party, or a reference to one; id and name are published."""

    address: OcdsAddress | None = None
    id: Any = None
    identifier: OcdsIdentifier | None = None
    name: Any = None
    roles: Any = None


class OcdsClassification(_OcdsStruct):
    """A code of a classification."""

    description: Text = None
    id: Id = None
    scheme: Scheme = None


class OcdsUnit(_OcdsStruct):
    """A unit of measure and its price."""

    id: Id = None
    name: Text = None
    scheme: Scheme = None
    value: OcdsMoney | None = None


class OcdsItem(_OcdsStruct):
    """Goods, works or services bought."""

    classification: OcdsClassification | None = None
    description: Text = None
    id: Id = None
    quantity: Number = None
    unit: OcdsUnit | None = None


class OcdsTender(_OcdsStruct):
    """The invitation to tender."""

    awardCriteria: Text = None  # noqa: N815
    awardPeriod: OcdsPeriod | None = None  # noqa: N815
    contractPeriod: OcdsPeriod | None = None  # noqa: N815
    description: Text = None
    enquiryPeriod: OcdsPeriod | None = None  # noqa: N815
    id: Id = None
    items: list[OcdsItem] | None = None
    mainProcurementCategory: Category = None  # noqa: N815
    minValue: OcdsMoney | None = None  # noqa: N815
    numberOfTenderers: Number = None  # noqa: N815
    procurementMethod: Method = None  # noqa: N815
    procurementMethodDetails: Text = None  # noqa: N815
    procuringEntity: OcdsOrganisation | None = None  # noqa: N815
    status: TenderStatus = None
    tenderPeriod: OcdsPeriod | None = None  # noqa: N815
    tenderers: list[OcdsOrganisation] | None = None
    title: Text = None
    value: OcdsMoney | None = None


class OcdsAward(_OcdsStruct):
    """An award."""

    contractPeriod: OcdsPeriod | None = None  # noqa: N815
    date: Day = None
    description: Text = None
    id: Id = None
    items: list[OcdsItem] | None = None
    status: AwardStatus = None
    suppliers: list[OcdsOrganisation] | None = None
    title: Text = None
    value: OcdsMoney | None = None


class OcdsContract(_OcdsStruct):
    """A signed contract."""

    awardID: Id = None  # noqa: N815
    dateSigned: Day = None  # noqa: N815
    description: Text = None
    id: Id = None
    items: list[OcdsItem] | None = None
    period: OcdsPeriod | None = None
    status: ContractStatus = None
    title: Text = None
    value: OcdsMoney | None = None


class PublicRelease(_OcdsStruct):
    """The part of a release that is published."""

    awards: list[OcdsAward] | None = None
    buyer: OcdsOrganisation | None = None
    contracts: list[OcdsContract] | None = None
    tender: OcdsTender | None = None


class OcdsRelease(PublicRelease):
    """A release: the published part, and what identifies it."""

    date: Any = None
    id: Any = None
    ocid: Any = None
    parties: list[OcdsOrganisation] | None = None
    tag: Any = None


class BareRelease(OcdsRelease):
    """Decoding target: a release if it has none of the members of a package or record."""

    compiledRelease: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET  # noqa: N815
    records: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    releases: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    versionedRelease: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET  # noqa: N815


_BARE_RELEASE = msgspec.json.Decoder(BareRelease, float_hook=Decimal)
_PACKAGE_MEMBERS = ("releases", "records", "compiledRelease", "versionedRelease")


def decode_release(text: str | bytes) -> OcdsRelease | None:
    """Decode a text that is one bare release; None where it is anything else."""
    try:
        # Decimal for floats: an amount must keep every digit.
        release = _BARE_RELEASE.decode(text)
    except (ValueError, ArithmeticError, RecursionError):
        return None
    is_package = any(getattr(release, name) is not msgspec.UNSET for name in _PACKAGE_MEMBERS)
    return None if is_package or release.ocid is None else release


def convert_release(value: dict[str, Any]) -> tuple[OcdsRelease, list[str]]:
    """Convert a decoded object to a release; a member of the wrong type counts as absent.

    The second part says which members those are.
    """
    try:
        return msgspec.convert(value, OcdsRelease), []
    except (msgspec.ValidationError, RecursionError):
        misplaced: list[str] = []
        pruned = _pruned(value, OcdsRelease, "", misplaced)
        return msgspec.convert(pruned, OcdsRelease), misplaced


def _pruned(
    value: dict[str, Any], struct: type, place: str, misplaced: list[str]
) -> dict[str, Any]:
    pruned = dict(value)
    for name, (inner, is_list) in nested_structs(struct).items():
        member, here = value.get(name), f"{place}{name}"
        members = member if is_list and isinstance(member, list) else [member]
        fitting = [item for item in members if isinstance(item, dict)]
        if is_list and not isinstance(member, list):
            fitting = []
        lost = len([item for item in members if item not in (None, "", [])]) - len(fitting)
        expected = "an array of objects" if is_list else "an object"
        misplaced += [f"{here}: not {expected}; it is left out"] * lost
        inside = [_pruned(item, inner, f"{here}/", misplaced) for item in fitting]
        if is_list:
            pruned[name] = inside if isinstance(member, list) else None
        else:
            pruned[name] = inside[0] if inside else None
    return pruned


@cache
def nested_structs(struct: type) -> dict[str, tuple[type, bool]]:
    """Return the members that are structs or lists of them: the struct, and whether a list."""
    members = {}
    for name, hint in get_type_hints(struct).items():
        inner = [argument for argument in get_args(hint) if argument is not NoneType]
        is_list = bool(inner) and get_origin(inner[0]) is list
        kind = get_args(inner[0])[0] if is_list else inner[0] if inner else None
        if isinstance(kind, type) and issubclass(kind, _OcdsStruct):
            members[name] = (kind, is_list)
    return members


@cache
def value_kinds(struct: type) -> dict[str, str]:
    """Return the kind of each member that is a single value."""
    hints = get_type_hints(struct, include_extras=True).items()
    return {name: hint.__metadata__[0] for name, hint in hints if get_origin(hint) is Annotated}
