"""Results: the body of REST, of a bounded size, with a way on where there is more."""

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date

from mcp_types import CallToolResult, ContentBlock, TextContent

from warehouse.contract.tier_cap import RowRule, cap_rows
from warehouse.json_encoding import encode
from warehouse.read.rows import RowPage
from warehouse.tiers import Tier

# What a model can take in at once: the whole result, its text included.
LARGEST = 50_000
# The frame of the protocol, the envelope, a resource link and a cursor take less than this.
_AROUND = 3_500


@dataclass(frozen=True)
class ToolRows:
    """Rows and what is said around them; ``cursor_after`` a row, where rows can be walked.

    ``files`` names the Parquet files that hold all of it, the first one the best.
    """

    rows: RowPage
    limit: int | None = None
    as_of: date | None = None
    files: tuple[str, ...] = ()
    cursor_after: Callable[[int], str | None] | None = None


@dataclass(frozen=True)
class Answer:
    """An answer as it is written; ``text`` where the body itself is not shown as one."""

    body: bytes
    truncated: bool
    text: str | None = None


def bounded(tool_rows: ToolRows, tier: Tier, rule: RowRule) -> Answer:
    """Write rows in the envelope of REST, as many as the tier may get and a result can hold.

    The tier cap is applied here; see ``warehouse/contract/tier_cap.py``.
    """
    capped, limit = cap_rows(tool_rows.rows, tier, tool_rows.limit, rule)
    tool_rows = replace(tool_rows, rows=capped, limit=limit)
    rows = tool_rows.rows.rows
    room = LARGEST - _AROUND - 2 * len(tool_rows.rows.notice.encode())
    whole = b"".join(tool_rows.rows.json_chunks())
    if shown_size(whole) <= room:
        return _answer(tool_rows, whole, len(rows), len(rows))
    fitting = _fitting(rows, room)
    if fitting:
        return _answer(tool_rows, b",".join(fitting), len(fitting), len(fitting))
    # The first row alone is too large to be shown twice.
    if len(rows[0]) <= room:
        words = "The row is large: it stands in structuredContent only."
        return _answer(tool_rows, rows[0], 1, 1, words)
    words = (
        f"The first row has {len(rows[0]):,} bytes, more than a result may hold, and is left out. "
        "Read it over REST or in the Parquet file; the cursor goes on after it."
    )
    return _answer(tool_rows, b"", 0, 1, words)


def _answer(
    tool_rows: ToolRows, rows: bytes, count: int, passed: int, text: str | None = None
) -> Answer:
    """Write so many rows; ``passed`` says behind which one a walk goes on."""
    row_set = tool_rows.rows
    about = {
        "count": count,
        "_license": row_set.notice,
        "truncated": row_set.truncated or count < len(row_set.rows),
        "limit": tool_rows.limit,
        "as_of": tool_rows.as_of,
        "data_version": row_set.data_version,
    }
    if tool_rows.cursor_after is not None:
        more = row_set.truncated or passed < len(row_set.rows)
        about["next_cursor"] = tool_rows.cursor_after(passed) if more and passed else None
    body = b"".join((b'{"data":[', rows, b"],", encode(about)[1:]))
    return Answer(body, bool(about["truncated"]), text)


def _fitting(rows: Sequence[bytes], room: int) -> list[bytes]:
    fitting = []
    for row in rows:
        room -= shown_size(row) + 2
        if room < 0:
            break
        fitting.append(row)
    return fitting


class Exact:
    """The answer to one call, which waits to be filled in under a mark that nobody can guess."""

    def __init__(self) -> None:
        self._waiting: tuple[str, bytes, str | None] | None = None

    def result(
        self, body: bytes, text: str | None, more: list[ContentBlock], is_error: bool
    ) -> CallToolResult:
        """Give a result that stands for a JSON object, beside its own text or ``text``."""
        mark = secrets.token_hex(16)
        self._waiting = mark, body, text
        return CallToolResult(
            content=[TextContent(type="text", text=mark), *more],
            structured_content={mark: True},
            is_error=is_error,
        )

    def filled(self, written: bytes) -> bytes:
        """Put the answer in the place of its mark."""
        if self._waiting is None:
            return written
        mark, body, text = self._waiting
        shown = encode(body.decode() if text is None else text)
        written = _instead(written, f'{{"{mark}":true}}'.encode(), body)
        return _instead(written, f'"{mark}"'.encode(), shown)


def _instead(written: bytes, mark: bytes, body: bytes) -> bytes:
    before, separator, after = written.partition(mark)
    return b"".join((before, body, after)) if separator else written


def shown_size(body: bytes) -> int:
    """Give the size of an object that is given as it is and as a JSON text beside it."""
    return 2 * len(body) + body.count(b'"') + body.count(b"\\")
