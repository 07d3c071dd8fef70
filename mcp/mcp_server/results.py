"""Results of tools: the same bytes as REST, of a bounded size, and problems in words."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date
from functools import wraps
from typing import ParamSpec

from mcp_types import CallToolResult, TextContent

from warehouse.errors import DatastoreUnavailable, NothingPublished
from warehouse.read.rows import Rows
from warehouse.wire import encode, joined

# What a model can take in at once.
LARGEST = 50_000

P = ParamSpec("P")


class Refused(Exception):
    """A call that cannot be answered: a code and a sentence that a model can act on."""

    def __init__(self, code: str, detail: str, **members: object) -> None:
        super().__init__(detail)
        self.problem = {"code": code, "detail": detail, **members}


def answering(
    tool: Callable[P, CallToolResult],
) -> Callable[P, CallToolResult]:
    """Let a tool answer a problem as a result that says so, never as a protocol error."""

    @wraps(tool)
    def answered(*args: P.args, **kwargs: P.kwargs) -> CallToolResult:
        try:
            with _datastore():
                return tool(*args, **kwargs)
        except Refused as refused:
            return _result(encode(refused.problem), is_error=True)

    return answered


def answer(rows: Rows, as_of: date | None) -> CallToolResult:
    """Give rows in the envelope of REST; rows that do not fit are left out and told."""
    fitting = list(_fitting(rows.rows))
    about = {
        "count": len(fitting),
        "_license": rows.notice,
        "truncated": rows.truncated or len(fitting) < len(rows.rows),
        "as_of": as_of,
        "data_version": rows.data_version,
    }
    members = {name: encode(value) for name, value in about.items()}
    return _result(joined({"data": b"[" + b",".join(fitting) + b"]", **members}))


def _fitting(rows: list[bytes]) -> Iterator[bytes]:
    # The envelope around the rows takes less than this.
    left = LARGEST - 2_000
    for row in rows:
        left -= len(row) + 1
        if left < 0:
            return
        yield row


def _result(text: bytes, is_error: bool = False) -> CallToolResult:
    # Text, not structured content: the SDK would write a number as a float or a string.
    return CallToolResult(content=[TextContent(type="text", text=text.decode())], is_error=is_error)


@contextmanager
def _datastore() -> Iterator[None]:
    try:
        yield
    except (NothingPublished, DatastoreUnavailable) as error:
        raise Refused(
            "datastore_unavailable", "The data cannot be read at the moment; try again later."
        ) from error
