"""Tool results: rows as a model reads them, or the JSON of REST, cut to a size it can take in.

Bodies are bytes, written once by the encoder that REST uses. The SDK would parse and write them
again and turn decimals into floats (0.10 becomes 0.1), so it is handed a placeholder instead, which
is replaced by the body in what the SDK wrote: see ``ExactJson``.
"""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
from mcp_types import CallToolResult, ContentBlock, TextContent
from msgspec import structs

from warehouse.contract.limits import cap_rows
from warehouse.contract.listing import Answer
from warehouse.publish.row_json import PROVENANCE
from warehouse.shared.json_encoding import decode_object, encode, encode_object
from warehouse.shared.tiers import Tier

# Rows as a model reads them: without what is unknown or repeated, and sources named once.
#
# ``verbose`` leaves rows as REST has them. No digit is touched: values are taken over as bytes.
# Texts longer than a title needs to be are cut: publishers wrote them, and they would crowd out
# the rest.

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


# Bytes of a whole result, its text included: more than this crowds out a model's context.
MAX_RESULT_BYTES = 50_000
# The frame of the protocol, the envelope, a resource link and a cursor take less than this.
_ENVELOPE_BYTES = 3_500


@dataclass(frozen=True)
class ToolRows:
    """Rows that a tool read. ``files`` are keys of Parquet files with all of them, best first."""

    answer: Answer
    files: tuple[str, ...] = ()


@dataclass(frozen=True)
class Body:
    """A result body; ``text`` is shown to the model where the body would be too large."""

    body: bytes
    truncated: bool = False
    text: str | None = None


def bounded(tool_rows: ToolRows, tier: Tier, verbose: bool) -> Body:
    """Return rows in the envelope of REST: as many as the tier allows and as fit.

    The tier cap is applied here; see ``warehouse/contract/limits.py``.
    """
    answer = tool_rows.answer
    page, limit = cap_rows(answer.rows, tier, answer.limit, answer.listing.row_rule)
    listed = structs.replace(answer.listed, rows=page)
    answer = structs.replace(answer, listed=listed, limit=limit)
    rows: Sequence[bytes] = page.rows
    members = {name: encode(value) for name, value in answer.listed.before.items()}
    if not verbose:
        short = compact(rows)
        rows = short.rows
        if short.shared:
            members["shared"] = encode_object(short.shared)
        if short.sources:
            members["sources"] = b"[" + b",".join(short.sources) + b"]"
    # The licence notice is in the body and, escaped, in the text.
    room = MAX_RESULT_BYTES - _ENVELOPE_BYTES - 2 * len(page.notice.encode())
    room -= result_size(encode_object(members))
    fitting = _fitting(rows, room)
    if len(fitting) == len(rows):
        return _body(answer, members, rows, len(rows))
    if fitting:
        return _body(answer, members, fitting, len(fitting))
    # The first row does not fit twice, as JSON and as text: drop the text.
    if len(rows[0]) <= room:
        text = "The row is large: it stands in structuredContent only."
        return _body(answer, members, rows[:1], 1, text)
    text = (
        f"The first row has {len(rows[0]):,} bytes, more than a result may hold, and is left out. "
        "Read it over REST or in the Parquet file; the cursor goes on after it."
    )
    return _body(answer, members, (), 1, text)


def _body(
    answer: Answer,
    before: Mapping[str, bytes],
    rows: Sequence[bytes],
    passed: int,
    text: str | None = None,
) -> Body:
    """Return the body with some rows; the next page starts after row ``passed``."""
    page = answer.rows
    has_more = page.truncated or passed < len(page.rows)
    truncated = page.truncated or len(rows) < len(page.rows)
    cursor = answer.cursor_after(passed) if has_more and passed else None
    after = answer.envelope(len(rows), truncated, cursor)
    members = {
        **before,
        answer.listing.member: b"[" + b",".join(rows) + b"]",
        **{name: encode(value) for name, value in after.items()},
    }
    return Body(encode_object(members), truncated, text)


def _fitting(rows: Sequence[bytes], room: int) -> Sequence[bytes]:
    fitting = []
    for row in rows:
        # A comma in the body and one in the text.
        room -= result_size(row) + 2
        if room < 0:
            break
        fitting.append(row)
    return fitting


class ExactJson:
    """The exact JSON of one call, and the placeholder that stands for it in the SDK's hands.

    The placeholder is random for each call, so no value of the data can be mistaken for it.
    """

    def __init__(self) -> None:
        self._pending: tuple[str, bytes, str | None] | None = None

    def result(
        self, body: bytes, text: str | None, links: list[ContentBlock], is_error: bool
    ) -> CallToolResult:
        """Return a result with a placeholder for ``body``, and for ``text`` or the body as text."""
        placeholder = secrets.token_hex(16)
        self._pending = placeholder, body, text
        return CallToolResult(
            content=[TextContent(type="text", text=placeholder), *links],
            structured_content={placeholder: True},
            is_error=is_error,
        )

    def is_in(self, written: str) -> bool:
        """Return whether the placeholder stands in what the SDK wrote."""
        return self._pending is not None and self._pending[0] in written

    def insert(self, written: bytes) -> bytes:
        """Return the SDK's JSON with the placeholder replaced by the body."""
        if self._pending is None:
            return written
        placeholder, body, text = self._pending
        text_json = encode(body.decode() if text is None else text)
        written = _replace_once(written, f'{{"{placeholder}":true}}'.encode(), body)
        return _replace_once(written, f'"{placeholder}"'.encode(), text_json)


def _replace_once(written: bytes, placeholder: bytes, body: bytes) -> bytes:
    before, separator, after = written.partition(placeholder)
    return b"".join((before, body, after)) if separator else written


def result_size(body: bytes) -> int:
    """Return the size of a JSON value that is sent as it is and again as an escaped string."""
    return 2 * len(body) + body.count(b'"') + body.count(b"\\")
