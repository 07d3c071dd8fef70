"""Tool results: rows as a model reads them, or the JSON of REST, cut to a size it can take in.

Bodies are bytes, written once by the encoder that REST uses. The SDK would parse and write them
again and turn decimals into floats (0.10 becomes 0.1), so it is handed a placeholder instead, which
is replaced by the body in what the SDK wrote: see ``ExactJson``.
"""

import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Any

import msgspec
from msgspec import Raw, defstruct, structs

from warehouse.contract.limits import cap_rows
from warehouse.contract.listing import Answer
from warehouse.publish.row_json import PROVENANCE
from warehouse.serve.exports import PARQUET
from warehouse.shared.json_encoding import encode
from warehouse.shared.tiers import Tier
from warehouse.tables.column import members_of
from warehouse.tables.fundamentals import FundamentalVintage

# Rows as a model reads them: without what is unknown or repeated, and sources named once.
#
# ``verbose`` leaves rows as REST has them. No digit is touched: values are taken over as bytes.
# Texts longer than a title needs to be are cut: publishers wrote them, and they would crowd out
# the rest.

Members = dict[str, Raw]
# Members that are kept of an object; None keeps a member as it is, a number its first characters.
Nested = Mapping[str, Any]
_OBJECT = msgspec.json.Decoder(Members)
_LIST = msgspec.json.Decoder(list[Raw])
_TEXT = msgspec.json.Decoder(str)
_NULL = Raw(b"null")
_NOTHING = (_NULL, Raw(b"[]"), Raw(b"{}"))
# Ids of rows and details of a register that no other tool takes.
LEFT_OUT = {
    *PROVENANCE,
    *("fact_id", "element", "accounting_standard", "org_evidence", "joins"),
    *("source_url", "period_start", "coverage", "closed_at", "same_as", "dataset", "key", "row"),
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
    "inputs": dict.fromkeys(
        (
            *("sign", "line_item", "value", "period_start", "period_end", "vintage"),
            *("available_at", "source"),
        )
    ),
}
# Members that are figures, each with a source of its own.
_FIGURES = ("inputs", "matched", "known_then", "known_now", "candidates")
# Members of a figure that name the filing which states it.
_FILING = (*members_of(FundamentalVintage, "origin"), "tradable_from")


@dataclass(frozen=True)
class CompactRows:
    """Rows without what all of them share; ``sources`` are the filings that they come from.

    ``shared`` also has what all sources share, if there are several: addresses that differ in the
    numbers of filings alone are one, with ``{document_id}`` in their places.
    """

    shared: Members
    rows: list[bytes]
    sources: Sequence[Members]


def compact(rows: Sequence[bytes]) -> CompactRows:
    """Return rows without what is unknown or shared, each with the number of its source."""
    # A slice takes the rows out of their packs at once.
    rows = rows[:]
    columns = _columns(rows)
    if columns.get("unit") == columns.get("currency_reported"):
        # Only what is not money, or an amount of it per something else, has a unit of its own.
        columns.pop("unit", None)
    sources = _Sources()
    licences = columns.get("license_class", (_NULL,) * len(rows))
    figures = [name for name in _FIGURES if name in columns]
    for name in figures:
        cited = zip(columns[name], licences, strict=True)
        columns[name] = tuple(sources.cited(*each) for each in cited)
    if "source_ref" in columns and not figures:
        # Filings themselves have a number and a form too, and no other address.
        is_stated, unknown = "document_url" in columns, (_NULL,) * len(rows)
        filing = [columns.pop(name, unknown) for name in (_FILING if is_stated else ())]
        cited = zip(columns["source_ref"], licences, *filing, strict=True)
        columns["source"] = tuple(sources.number(*each) for each in cited)
    others: list[Members] = [{} for _ in rows]
    shared: Members = {}
    # Figures of an element that is no line have nothing else that says what they are.
    left_out = LEFT_OUT if "line_item" in columns else LEFT_OUT - {"element"}
    periods = [
        list(map(bytes, columns.get(name, ())))
        for name in ("period_type", "period_end", "period_start")
    ]
    ends, starts = zip(*periods[:2], strict=False), zip(*periods, strict=False)
    if b'"OTHER"' in periods[0] or len(set(starts)) > len(set(ends)):
        # Their kind and their end do not say when these periods began.
        left_out = left_out - {"period_start"}
    for name in [name for name in columns if name not in left_out]:
        column: Sequence[Raw] = columns[name]
        # Most members have the same value in all rows of a page: it is then read once.
        if column.count(column[0]) == len(column):
            column = column[:1]
        if name in _NESTED or max(map(len, column)) > _LONGEST_TEXT:
            column = [_reduced(name, value, _NESTED.get(name)) for value in column]
        is_shared = len(rows) > 1 and column.count(column[0]) == len(column)
        for row, value in zip((shared,) if is_shared else others, column, strict=False):
            if value not in _NOTHING:
                row[name] = value
    named = sources.named(shared)
    return CompactRows(shared, [msgspec.json.encode(row) for row in others], named)


def _columns(rows: Sequence[bytes]) -> dict[str, tuple[Raw, ...]]:
    """Return the values of each member in all rows; null where a row lacks it."""
    names: Iterable[str] = _OBJECT.decode(rows[0]) if rows else ()
    body = b"[" + b",".join(rows) + b"]"
    try:
        decoded = _rows_decoder(tuple(names)).decode(body)
    except msgspec.ValidationError:
        # Another row has other members than the first.
        names = dict.fromkeys(chain.from_iterable(_OBJECT.decode(row) for row in rows))
        decoded = _rows_decoder(tuple(names)).decode(body)
    return dict(zip(names, zip(*map(structs.astuple, decoded), strict=True), strict=True))


@lru_cache(256)
def _rows_decoder(names: tuple[str, ...]) -> msgspec.json.Decoder[list[Any]]:
    """Return a decoder of rows with certain members, which is faster than one of any rows."""
    fields = [
        (f"member_{number}", Raw, msgspec.field(default=_NULL, name=name))
        for number, name in enumerate(names)
    ]
    row = defstruct("Row", fields, forbid_unknown_fields=True, gc=False)
    return msgspec.json.Decoder(list[row])  # type: ignore[valid-type]


class _Sources:
    """The documents and filings that rows come from, numbered from 1."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[bytes, ...], Raw] = {}

    def number(self, place: Raw, *others: Raw) -> Raw:
        """Return the number of a source: its document without the place in it, then the others."""
        if place == _NULL:
            return _NULL
        document = msgspec.json.encode(_TEXT.decode(place).partition("#")[0])
        source = document, *map(bytes, others)
        number = self._numbers.get(source)
        if number is None:
            number = self._numbers[source] = Raw(b"%d" % (len(self._numbers) + 1))
        return number

    def cited(self, value: Raw, licence: Raw) -> Raw:
        """Return a figure inside a row, or several, each with the number of its source."""
        if value in _NOTHING:
            return value
        if bytes(value)[:1] == b"[":
            return _written([self.cited(each, licence) for each in _LIST.decode(value)])
        figure = _OBJECT.decode(value)
        place, own = figure.pop("source_ref", _NULL), figure.pop("license_class", licence)
        filing = [figure.pop(name, _NULL) for name in _FILING]
        return _written({**figure, "source": self.number(place, own, *filing)})

    def named(self, shared: Members) -> list[Members]:
        """Return the members of each source; those that all have join what all rows share."""
        names = ("source_ref", "license_class", *_FILING)
        sources = [dict(zip(names, source, strict=False)) for source in self._numbers]
        if len(sources) > 1:
            patterns = {_pattern(source) for source in sources}
            for name in names:
                values = (
                    patterns if name == "document_url" else {each.get(name) for each in sources}
                )
                if len(values) == 1 and (value := values.pop()) not in (None, b"null"):
                    shared[name] = Raw(value)
                    sources = [{**each, name: b"null"} for each in sources]
        return [
            {name: Raw(value) for name, value in each.items() if value != b"null"}
            for each in sources
        ]


def _pattern(source: Mapping[str, bytes]) -> bytes | None:
    """Return the address of a filing with placeholders for its number."""
    address, number = source.get("document_url"), source.get("document_id", b"null").strip(b'"')
    if address is None or number == b"null":
        return address
    address = address.replace(number, b"{document_id}")
    return address.replace(number.replace(b"-", b""), b"{document_id without hyphens}")


def _reduced(name: str, value: Raw, kept: Nested | int | None) -> Raw:
    """Return a value without members that are not kept, and every text in it cut if too long."""
    # Ids and links stay whole.
    if kept is None and (len(value) <= _LONGEST_TEXT or name.endswith(_EXACT)):
        return value
    first = bytes(value)[:1]
    if first == b'"':
        return _shortened(value, kept if isinstance(kept, int) else _LONGEST_TEXT)
    if first == b"[":
        return _written([_reduced(name, item, kept) for item in _LIST.decode(value)])
    if first != b"{":
        return value
    members = _OBJECT.decode(value)
    if not isinstance(kept, Mapping):
        return _written({inner: _reduced(inner, each, None) for inner, each in members.items()})
    if members.get("description") == members.get("title"):
        members.pop("description", None)
    reduced = {}
    for inner, inner_kept in kept.items():
        each = members.get(inner, _NULL)
        if inner_kept is not None or len(each) > _LONGEST_TEXT:
            each = _reduced(inner, each, inner_kept)
        if each not in _NOTHING:
            reduced[inner] = each
    return _written(reduced)


def _shortened(value: Raw, longest: int) -> Raw:
    text = _TEXT.decode(value)
    return value if len(text) <= longest else _written(f"{text[:longest].rstrip()}…")


def _written(value: object) -> Raw:
    return Raw(msgspec.json.encode(value))


# Bytes of a whole result, its text included: more than this crowds out a model's context.
MAX_RESULT_BYTES = 50_000
# The frame of the protocol, the envelope, a resource link and a cursor take less than this.
_ENVELOPE_BYTES = 3_500


@dataclass(frozen=True)
class ToolRows:
    """Rows that a tool read. ``files`` are keys of Parquet files with all of them, best first."""

    answer: Answer
    files: tuple[str, ...] = ()


class Link(msgspec.Struct, frozen=True):
    """A file with all rows of a list."""

    uri: str
    name: str
    title: str
    description: str
    size: int
    mime_type: str = PARQUET


class Body(msgspec.Struct, frozen=True):
    """A result body; ``text`` is shown to the model where the body would be too large."""

    body: bytes
    truncated: bool = False
    text: str | None = None
    link: Link | None = None
    is_error: bool = False
    receipt: str | None = None


def bounded(tool_rows: ToolRows, tier: Tier, verbose: bool) -> Body:
    """Return rows in the envelope of REST: as many as the tier allows and as fit.

    The tier cap is applied here; see ``warehouse/contract/limits.py``.
    """
    answer = tool_rows.answer
    page, limit = cap_rows(answer.rows, tier, answer.limit, answer.listing.row_rule)
    listed = structs.replace(answer.listed, rows=page)
    answer = structs.replace(answer, listed=listed, limit=limit)
    rows: Sequence[bytes] = page.rows
    members = dict(answer.listed.before)
    if not verbose:
        short = compact(rows)
        rows = short.rows
        if short.shared:
            members["shared"] = short.shared
        if short.sources:
            members["sources"] = short.sources
    # The licence notice is in the body and, escaped, in the text.
    room = MAX_RESULT_BYTES - _ENVELOPE_BYTES - 2 * len(page.notice.encode())
    room -= result_size(encode(members))
    fitting = _fitting(rows, room)
    if len(fitting) == len(rows):
        return _body(answer, members, rows, len(rows))
    if fitting:
        return _body(answer, members, fitting, len(fitting))
    # The first row does not fit twice, as JSON and as text: drop the text.
    if len(rows[0]) <= room:
        text = "The row is large: it is in structuredContent only."
        return _body(answer, members, rows[:1], 1, text)
    text = (
        f"The first row has {len(rows[0]):,} bytes, more than a result may hold, and is left out. "
        "Read it over REST or in the Parquet file; the cursor goes on after it."
    )
    return _body(answer, members, (), 1, text)


def _body(
    answer: Answer,
    before: Mapping[str, object],
    rows: Sequence[bytes],
    passed: int,
    text: str | None = None,
) -> Body:
    """Return the body with some rows; the next page starts after row ``passed``."""
    page = answer.rows
    has_more = page.truncated or passed < len(page.rows)
    truncated = page.truncated or len(rows) < len(page.rows)
    cursor = answer.cursor_after(passed) if has_more else None
    after = answer.envelope(len(rows), truncated, cursor)
    listed = Raw(b"[" + b",".join(rows) + b"]")
    return Body(encode({**before, answer.listing.member: listed, **after}), truncated, text)


def _fitting(rows: Sequence[bytes], room: int) -> Sequence[bytes]:
    # A comma in the body and one in the text.
    if result_size(b",".join(rows)) + 2 <= room:
        return rows
    fitting = []
    for row in rows:
        room -= result_size(row) + 2
        if room < 0:
            break
        fitting.append(row)
    return fitting


class ExactJson:
    """The exact JSON of one call, and the placeholder that the SDK handles in its place.

    The placeholder is random for each call, so no value of the data can be mistaken for it.
    """

    def __init__(self) -> None:
        self._pending: tuple[str, bytes, str | None] | None = None

    def result(self, result: Body, frame: dict[str, Any]) -> dict[str, Any]:
        """Return a framed result with a placeholder for its body, and for its text."""
        placeholder = secrets.token_hex(16)
        self._pending = placeholder, result.body, result.text
        text, *links = frame["content"]
        content = [{**text, "text": placeholder}, *links]
        if result.receipt is not None:
            content.append({**text, "text": result.receipt})
        return {**frame, "content": content, "structuredContent": {placeholder: True}}

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
