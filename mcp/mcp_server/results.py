"""Tool results: rows as a model reads them, or the JSON of REST, cut to a size it can take in.

Bodies are bytes, written once by the encoder that REST uses. The SDK would parse and write them
again and turn decimals into floats (0.10 becomes 0.1), so it is handed a placeholder instead, which
is replaced by the body in what the SDK wrote: see ``ExactJson``.
"""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mcp_types import CallToolResult, ContentBlock, TextContent
from msgspec import structs

from mcp_server.compact import compact
from warehouse.contract.listing import Answer
from warehouse.contract.tier_cap import cap_rows
from warehouse.json_encoding import encode, encode_object
from warehouse.tiers import Tier

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

    The tier cap is applied here; see ``warehouse/contract/tier_cap.py``.
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
