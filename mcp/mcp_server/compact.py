"""Rows as a model reads them: without what is unknown or repeated, and sources named once.

``verbose`` leaves rows as REST has them. No digit is touched: values are taken over as bytes.
Texts longer than a title needs to be are cut: publishers wrote them, and they would crowd out the
rest.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from warehouse.json_encoding import decode_object, encode, encode_object
from warehouse.mart.row_json import PROVENANCE

Members = dict[str, bytes]
# Members that are kept of an object; None keeps a member as it is, a number its first characters.
Nested = Mapping[str, Any]
_OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])
_LIST = msgspec.json.Decoder(list[msgspec.Raw])
_TEXT = msgspec.json.Decoder(str)
_NULL, _NOTHING = b"null", (b"null", b"[]", b"{}")
# Ids of rows and details of a register that no other tool takes.
_LEFT_OUT = {
    *PROVENANCE,
    *("fact_id", "party_id", "element", "accounting_standard", "basis", "org_evidence", "joins"),
    *("source_url", "period_start", "coverage", "n_withheld", "closed_at", "same_as", "dataset"),
}
_PERIOD = {"startDate": None, "endDate": None}
_MONEY = {"amount": None, "currency": None}
_ORGANISATION = {"id": None, "name": None}
# Portals give a number for a title, and the words in a description of any length.
_DESCRIBED = 160
_LONGEST_TEXT = 240
# Members that other tools and readers take as they are.
_EXACT = ("id", "_url", "link")
_NESTED: Mapping[str, Nested] = {
    "buyer": _ORGANISATION,
    "tender": {
        "title": None,
        "description": _DESCRIBED,
        **dict.fromkeys(("status", "procurementMethod", "mainProcurementCategory")),
        "value": _MONEY,
        "tenderPeriod": _PERIOD,
        "numberOfTenderers": None,
    },
    "awards": {
        **dict.fromkeys(("date", "status")),
        "value": _MONEY,
        "suppliers": _ORGANISATION,
    },
    "contracts": {**dict.fromkeys(("status", "dateSigned")), "value": _MONEY},
    "inputs": dict.fromkeys(("line_item", "value", "period_end", "vintage", "available_at")),
}


@dataclass
class CompactRows:
    """Rows without what all of them share; ``sources`` are the documents that they come from."""

    shared: Members
    rows: list[bytes]
    sources: list[bytes] = field(default_factory=list)


def compact(rows: Sequence[bytes]) -> CompactRows:
    """Return rows without what is unknown or shared, each with the number of its source."""
    sources: dict[bytes, int] = {}
    kept = [_kept(row, sources) for row in rows]
    shared = _shared(kept)
    return CompactRows(
        shared,
        [
            encode_object({name: value for name, value in row.items() if name not in shared})
            for row in kept
        ],
        list(sources),
    )


def _kept(row: bytes, sources: dict[bytes, int]) -> Members:
    members = decode_object(row)
    source = _source(members)
    kept = {
        name: _reduced(value, _NESTED[name]) if name in _NESTED else value
        for name, value in members.items()
        if name not in _LEFT_OUT
    }
    kept = {name: _bounded(name, each) for name, each in kept.items() if each not in _NOTHING}
    if source is not None:
        kept["source"] = encode(sources.setdefault(source, len(sources) + 1))
    return kept


def _source(members: Members) -> bytes | None:
    """Return the document that a row comes from, without the place in it, and its licence."""
    if members.get("source_ref", _NULL) == _NULL:
        return None
    document = _TEXT.decode(members["source_ref"]).partition("#")[0]
    licence = members.get("license_class", _NULL)
    return encode_object({"source_ref": encode(document), "license_class": licence})


def _shared(rows: Sequence[Members]) -> Members:
    """Return the members that all rows have in common; of a single row, none."""
    if len(rows) < 2:
        return {}
    first, *others = rows
    return {
        name: value
        for name, value in first.items()
        if all(row.get(name) == value for row in others)
    }


def _reduced(value: bytes, kept: Nested | int | None) -> bytes:
    """Return an object, or each object of a list, with the members that are kept."""
    if kept is None or value == _NULL:
        return value
    if isinstance(kept, int):
        return _shortened(value, kept)
    if value.startswith(b"["):
        items = [_reduced(bytes(item), kept) for item in _LIST.decode(value)]
        return b"[" + b",".join(items) + b"]"
    if not value.startswith(b"{"):
        return value
    members = _OBJECT.decode(value)
    if members.get("description") == members.get("title"):
        members.pop("description", None)
    reduced = {
        name: _reduced(bytes(members[name]), inner)
        for name, inner in kept.items()
        if name in members
    }
    return encode_object({name: each for name, each in reduced.items() if each not in _NOTHING})


def _bounded(name: str, value: bytes) -> bytes:
    """Return a value with every text in it cut that is too long; ids and links stay whole."""
    if len(value) <= _LONGEST_TEXT or name.endswith(_EXACT):
        return value
    if value.startswith(b'"'):
        return _shortened(value, _LONGEST_TEXT)
    if value.startswith(b"["):
        items = [_bounded(name, bytes(item)) for item in _LIST.decode(value)]
        return b"[" + b",".join(items) + b"]"
    if not value.startswith(b"{"):
        return value
    members = _OBJECT.decode(value).items()
    return encode_object({inner: _bounded(inner, bytes(member)) for inner, member in members})


def _shortened(value: bytes, longest: int) -> bytes:
    text = _TEXT.decode(value)
    return value if len(text) <= longest else encode(f"{text[:longest].rstrip()}…")
