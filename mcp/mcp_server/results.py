"""Tool results: the JSON of REST, cut to a size that a model can take in.

Bodies are bytes, written once by the encoder that REST uses. The SDK would parse and write them
again and turn decimals into floats (0.10 becomes 0.1), so it is handed a placeholder instead, which
is replaced by the body in what the SDK wrote: see ``ExactJson``.
"""

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date

from mcp_types import CallToolResult, ContentBlock, TextContent

from warehouse.contract.tier_cap import RowRule, cap_rows
from warehouse.json_encoding import encode
from warehouse.read.rows import RowPage
from warehouse.tiers import Tier

# Bytes of a whole result, its text included: more than this crowds out a model's context.
MAX_RESULT_BYTES = 50_000
# The frame of the protocol, the envelope, a resource link and a cursor take less than this.
_ENVELOPE_BYTES = 3_500


@dataclass(frozen=True)
class ToolRows:
    """Rows that a tool read, and the members of the envelope.

    ``files`` are the keys of Parquet files with all the rows, the best one first. ``cursor_after``
    returns the cursor that continues after a row, if the tool has pages.
    """

    rows: RowPage
    limit: int | None = None
    as_of: date | None = None
    files: tuple[str, ...] = ()
    cursor_after: Callable[[int], str | None] | None = None


@dataclass(frozen=True)
class Answer:
    """A result body; ``text`` is shown to the model where the body would be too large."""

    body: bytes
    truncated: bool
    text: str | None = None


def bounded(tool_rows: ToolRows, tier: Tier, rule: RowRule) -> Answer:
    """Return the rows in the envelope of REST: as many as the tier allows and as fit.

    The tier cap is applied here; see ``warehouse/contract/tier_cap.py``.
    """
    capped, limit = cap_rows(tool_rows.rows, tier, tool_rows.limit, rule)
    tool_rows = replace(tool_rows, rows=capped, limit=limit)
    rows = tool_rows.rows.rows
    # The licence notice is in the body and, escaped, in the text.
    room = MAX_RESULT_BYTES - _ENVELOPE_BYTES - 2 * len(tool_rows.rows.notice.encode())
    rows_json = b"".join(tool_rows.rows.json_chunks())
    if result_size(rows_json) <= room:
        return _answer(tool_rows, rows_json, len(rows), len(rows))
    fitting = _fitting(rows, room)
    if fitting:
        return _answer(tool_rows, b",".join(fitting), len(fitting), len(fitting))
    # The first row does not fit twice, as JSON and as text: drop the text.
    if len(rows[0]) <= room:
        text = "The row is large: it stands in structuredContent only."
        return _answer(tool_rows, rows[0], 1, 1, text)
    text = (
        f"The first row has {len(rows[0]):,} bytes, more than a result may hold, and is left out. "
        "Read it over REST or in the Parquet file; the cursor goes on after it."
    )
    return _answer(tool_rows, b"", 0, 1, text)


def _answer(
    tool_rows: ToolRows, rows: bytes, count: int, passed: int, text: str | None = None
) -> Answer:
    """Return the body with ``count`` rows; the next page starts after row ``passed``."""
    page = tool_rows.rows
    envelope = {
        "count": count,
        "_license": page.notice,
        "truncated": page.truncated or count < len(page.rows),
        "limit": tool_rows.limit,
        "as_of": tool_rows.as_of,
        "data_version": page.data_version,
    }
    if tool_rows.cursor_after is not None:
        has_more = page.truncated or passed < len(page.rows)
        envelope["next_cursor"] = tool_rows.cursor_after(passed) if has_more and passed else None
    # The rows are JSON already: splice them in front of the other members.
    body = b"".join((b'{"data":[', rows, b"],", encode(envelope)[1:]))
    return Answer(body, bool(envelope["truncated"]), text)


def _fitting(rows: Sequence[bytes], room: int) -> list[bytes]:
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
