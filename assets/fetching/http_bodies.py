"""Whether an answer arrived whole and is of the kind that was asked for.

Bodies are unpacked and checked piece by piece: never more of one is held than a limit says.
"""

import contextlib
import re
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import IO, Literal

import httpx2

from assets.fetching.rate_limit import retry_after

ExpectedFormat = Literal["json", "csv", "zip", "gzip", "any"]
Unpack = Callable[[bytes], Iterator[bytes]]

AGAIN = frozenset({403, 408, 413, 429, *range(500, 600)})
LATER = "try again later"

_ADVICE = {
    400: "check what was asked for",
    401: "check the key of this source",
    403: "check SANKOFA_CONTACT, and that the source still permits this; then try again later",
    404: "check the address and what was asked for",
    429: "ask less often, or try again later",
}
_PIECE = 1 << 20
_STARTS: dict[str, tuple[bytes, ...]] = {
    "zip": (b"PK\x03\x04", b"PK\x05\x06"),
    # a server may unpack on the way what it calls jsonl.gz
    "gzip": (b"\x1f\x8b", b"{", b"["),
    "json": (b"{", b"["),
}
# What the end of a whole body holds: of a zip, its table of contents.
_ENDS = {"json": re.compile(rb"[}\]]\s*\Z"), "zip": re.compile(rb"PK\x05\x06")}
_TAIL = 1 << 17
_MARKUP = re.compile(rb"<(!doctype\s+html|html|head|body)\b", re.IGNORECASE)
_TAGS = re.compile(r"<(script|style)\b.*?</\1\s*>|<[^>]*>", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True)
class BodyLimits:
    """How much is taken at most, in bytes: as received, and as unpacked."""

    received: int = 512 << 20
    opened: int = 2 << 30


class AttemptFailed(Exception):
    """One attempt failed: why, whether another may help, and after how long."""

    def __init__(
        self,
        why: str,
        advice: str,
        retryable: bool = False,
        status: int | None = None,
        after: float | None = None,
    ) -> None:
        super().__init__(why)
        self.why, self.advice, self.retryable = why, advice, retryable
        self.status, self.after = status, after


def receive(
    response: httpx2.Response,
    expects: ExpectedFormat,
    limits: BodyLimits,
    sink: IO[bytes],
    heard: Callable[[int, int | None], None],
) -> None:
    """Write a body, unpacked; ``heard`` is told of each piece that comes, and may object."""
    length = _length(response)
    if length is not None and length > limits.received:
        raise _too_large("it announces", length, limits.received)
    received = written = 0
    unpack = _unpacking(response)
    for piece in response.iter_raw():
        received += len(piece)
        if received > limits.received:
            raise _too_large("it sends at least", received, limits.received)
        for part in unpack(piece):
            if not written:
                _refuse_kind(response, expects, part)
            written += sink.write(part)
            if written > limits.opened:
                raise _too_large("it unpacks to at least", written, limits.opened)
        heard(received, length)
    list(unpack(b""))
    if length is not None and received != length:
        raise AttemptFailed(f"{received} of {length} bytes arrived", LATER, retryable=True)
    _refuse_half(expects, sink, written)


def refuse_status(response: httpx2.Response, in_time: Callable[[], None]) -> None:
    """Raise unless the status says that here is what was asked for."""
    status = response.status_code
    if 200 <= status < 300 and status != 206:
        return
    words = first_words(_beginning(response, in_time))
    raise AttemptFailed(
        f"it answers {status}{f', saying {words!r}' if words else ''}",
        _ADVICE.get(status, LATER if status >= 500 else "check the address"),
        retryable=status in AGAIN,
        status=status,
        after=retry_after(response.headers.get("retry-after"), datetime.now(UTC)),
    )


def first_words(body: bytes) -> str:
    """Give how a page begins, without its markup."""
    text = _TAGS.sub(" ", body.decode("utf-8", "replace"))
    return " ".join(text.split())[:120]


def _beginning(response: httpx2.Response, in_time: Callable[[], None]) -> bytes:
    """Read how an answer begins; what cannot be read in time is left."""
    body = b""
    with contextlib.suppress(httpx2.HTTPError, AttemptFailed):
        unpack = _unpacking(response)
        for piece in response.iter_raw():
            for part in unpack(piece):
                body += part
                if len(body) > _PIECE:
                    return body
            in_time()
    return body


def _length(response: httpx2.Response) -> int | None:
    given = response.headers.get("content-length", "")
    return int(given) if given.isdecimal() else None


def _unpacking(response: httpx2.Response) -> Unpack:
    """Give what unpacks a body piece by piece; an empty piece says that it has ended."""
    encoding = response.headers.get("content-encoding", "").strip().lower()
    if encoding in ("", "identity"):
        return lambda piece: iter([piece] if piece else [])
    if encoding not in ("gzip", "x-gzip"):
        raise AttemptFailed(f"it is packed as {encoding!r:.40}, which was not asked for", LATER)
    return _Gunzip().unpack


class _Gunzip:
    """Unpacks gzip, also of several members, never more than a piece at a time."""

    def __init__(self) -> None:
        self._open = zlib.decompressobj(zlib.MAX_WBITS | 16)
        self._begun = False

    def unpack(self, piece: bytes) -> Iterator[bytes]:
        if not piece and self._begun and not self._open.eof:
            raise AttemptFailed("its gzip ends in the middle", LATER, retryable=True)
        while piece:
            if self._open.eof:
                self._open = zlib.decompressobj(zlib.MAX_WBITS | 16)
            self._begun = True
            try:
                part = self._open.decompress(piece, _PIECE)
            except zlib.error as error:
                raise AttemptFailed(
                    f"its gzip is damaged ({error})", LATER, retryable=True
                ) from None
            if part:
                yield part
            piece = self._open.unused_data if self._open.eof else self._open.unconsumed_tail


def _too_large(what: str, size: int, limit: int) -> AttemptFailed:
    advice = "if a body of this size is meant, raise the limit"
    return AttemptFailed(f"{what} {size} bytes, and at most {limit} are taken", advice)


def _refuse_kind(response: httpx2.Response, expects: ExpectedFormat, part: bytes) -> None:
    """Refuse a page for people where data was asked for."""
    if expects == "any":
        return
    start = part.lstrip(b"\xef\xbb\xbf \t\r\n")
    starts = _STARTS.get(expects)
    fits = start.startswith(starts) if starts else not start.startswith(b"<")
    is_page = "text/html" in response.headers.get("content-type", "").lower() and not fits
    if is_page or _MARKUP.match(start):
        what = f"it answers with a web page where {expects} was expected"
    elif start and not fits:
        what = f"it answers with something that is not {expects}"
    else:
        return
    raise AttemptFailed(f"{what}: {first_words(part[:8192])!r}", "open the address in a browser")


def _refuse_half(expects: ExpectedFormat, sink: IO[bytes], size: int) -> None:
    """Refuse an empty body, and one that ends before what it holds does."""
    if not size and expects != "any":
        raise AttemptFailed("the body is empty", LATER, retryable=True)
    end = _ENDS.get(expects)
    if end is not None:
        sink.seek(max(0, size - _TAIL))
        if not end.search(sink.read()):
            raise AttemptFailed(f"its {expects} ends in the middle", LATER, retryable=True)
