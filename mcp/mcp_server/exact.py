"""Answers that reach the wire as the bytes we wrote.

The SDK writes JSON numbers through floats, or decimals as strings. So a result carries a mark
instead, and what the SDK has written is filled in where it leaves the process.
"""

import secrets

from mcp_types import CallToolResult, ContentBlock, TextContent

from warehouse.json_encoding import encode


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
    before, found, after = written.partition(mark)
    return b"".join((before, body, after)) if found else written


def shown_size(body: bytes) -> int:
    """Give the size of an object that is given as it is and as a JSON text beside it."""
    return 2 * len(body) + body.count(b'"') + body.count(b"\\")
