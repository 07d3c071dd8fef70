"""Checks of HTTP bodies: complete, of the expected format, and within size limits.

Bodies are decompressed and checked chunk by chunk, so memory stays small.
"""

import contextlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from itertools import chain
from typing import IO, Literal

import httpx2

from assets.parsing.unpacking import TruncatedBody, gunzip_chunks

ExpectedFormat = Literal["json", "csv", "zip", "gzip", "any"]

# 403 is how the SEC and some portals answer a client that sends too many requests.
RETRYABLE_STATUSES = frozenset({403, 408, 413, 429, *range(500, 600)})
LATER = "try again later"

_ADVICE = {
    400: "check the request",
    401: "check the API key of this source",
    403: "check SANKOFA_CONTACT, and that the source still permits this; then try again later",
    404: "check the address and the request",
    429: "send fewer requests, or try again later",
}
_CHUNK = 1 << 20
_STARTS: dict[str, tuple[bytes, ...]] = {
    "zip": (b"PK\x03\x04", b"PK\x05\x06"),
    # A server may decompress on the way what it calls jsonl.gz.
    "gzip": (b"\x1f\x8b", b"{", b"["),
    "json": (b"{", b"["),
}
# What a complete body ends with; a zip with its central directory.
_ENDS = {"json": re.compile(rb"[}\]]\s*\Z"), "zip": re.compile(rb"PK\x05\x06")}
# A zip may end with a comment of up to 64 KiB after its directory.
_TAIL = 1 << 17
_MARKUP = re.compile(rb"<(!doctype\s+html|html|head|body)\b", re.IGNORECASE)
_TAGS = re.compile(r"<(script|style)\b.*?</\1\s*>|<[^>]*>", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True)
class BodyLimits:
    """Most bytes to accept: as received, and as decompressed."""

    received: int = 512 << 20
    opened: int = 2 << 30


class AttemptFailed(Exception):
    """One attempt failed: why, what to do, and whether and when to retry."""

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
    on_chunk: Callable[[int, int | None], None],
) -> None:
    """Write the decompressed body to ``sink``.

    ``on_chunk`` is called with bytes received and expected after each chunk; it may raise.
    """
    header = response.headers.get("content-length", "")
    length = int(header) if header.isdecimal() else None
    if length is not None and length > limits.received:
        raise _too_large("it announces", length, limits.received)
    received = written = 0

    def chunks() -> Iterator[bytes]:
        nonlocal received
        for chunk in response.iter_raw():
            received += len(chunk)
            if received > limits.received:
                raise _too_large("it sends at least", received, limits.received)
            yield chunk
            on_chunk(received, length)

    for part in _decompressed(response, chunks()):
        if not written:
            _refuse_wrong_format(response, expects, part)
        written += sink.write(part)
        if written > limits.opened:
            raise _too_large("it decompresses to at least", written, limits.opened)
    if length is not None and received != length:
        raise AttemptFailed(f"{received} of {length} bytes arrived", LATER, retryable=True)
    if not written and expects != "any":
        raise AttemptFailed("the body is empty", LATER, retryable=True)
    if end := _ENDS.get(expects):
        sink.seek(max(0, written - _TAIL))
        if not end.search(sink.read()):
            raise AttemptFailed(f"its {expects} ends in the middle", LATER, retryable=True)


def refuse_status(
    response: httpx2.Response,
    check_deadline: Callable[[], None],
    retry_on: frozenset[int] = RETRYABLE_STATUSES,
) -> None:
    """Raise AttemptFailed unless the status is a success; ``retry_on`` may pass with time."""
    status = response.status_code
    # 206 is a part of a document, and none was requested.
    if 200 <= status < 300 and status != 206:
        return
    words = first_words(_beginning(response, check_deadline))
    raise AttemptFailed(
        f"it answers {status}{f', saying {words!r}' if words else ''}",
        _ADVICE.get(status, LATER if status >= 500 else "check the address"),
        retryable=status in retry_on,
        status=status,
        after=retry_after(response.headers.get("retry-after"), datetime.now(UTC)),
    )


def retry_after(value: str | None, now: datetime) -> float | None:
    """Return the seconds of a Retry-After header, which is a number or a date."""
    if value is None:
        return None
    if value.strip().isdecimal():
        return float(value)
    try:
        retry_at = parsedate_to_datetime(value)
    except ValueError:
        return None
    return max(0.0, (retry_at.replace(tzinfo=retry_at.tzinfo or UTC) - now).total_seconds())


def first_words(body: bytes) -> str:
    """Return the beginning of a page as text, without markup."""
    text = _TAGS.sub(" ", body.decode("utf-8", "replace"))
    return " ".join(text.split())[:120]


def _beginning(response: httpx2.Response, check_deadline: Callable[[], None]) -> bytes:
    """Return the beginning of a body, as far as it can be read before the deadline."""
    body = b""

    def chunks() -> Iterator[bytes]:
        for chunk in response.iter_raw():
            yield chunk
            check_deadline()

    with contextlib.suppress(httpx2.HTTPError, AttemptFailed):
        for part in _decompressed(response, chunks()):
            body += part
            if len(body) > _CHUNK:
                break
    return body


def _decompressed(response: httpx2.Response, chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the chunks of a body without their compression."""
    encoding = response.headers.get("content-encoding", "").strip().lower()
    if encoding in ("", "identity"):
        yield from chunks
        return
    if encoding not in ("gzip", "x-gzip"):
        raise AttemptFailed(f"it is encoded as {encoding!r:.40}, which was not requested", LATER)
    if first := next(chunks, b""):
        try:
            yield from gunzip_chunks(chain([first], chunks))
        except TruncatedBody as error:
            raise AttemptFailed(f"its gzip is damaged ({error})", LATER, retryable=True) from None


def _too_large(what: str, size: int, limit: int) -> AttemptFailed:
    advice = "if a body of this size is right, raise the limit"
    return AttemptFailed(f"{what} {size} bytes, and at most {limit} are accepted", advice)


def _refuse_wrong_format(response: httpx2.Response, expects: ExpectedFormat, part: bytes) -> None:
    """Refuse an HTML page where data was expected."""
    if expects == "any":
        return
    start = part.lstrip(b"\xef\xbb\xbf \t\r\n")
    starts = _STARTS.get(expects)
    fits = start.startswith(starts) if starts else not start.startswith(b"<")
    # Error and maintenance pages often come with status 200.
    is_page = "text/html" in response.headers.get("content-type", "").lower() and not fits
    if is_page or _MARKUP.match(start):
        what = f"it answers with a web page where {expects} was expected"
    elif start and not fits:
        what = f"it answers with something that is not {expects}"
    else:
        return
    raise AttemptFailed(f"{what}: {first_words(part[:8192])!r}", "open the address in a browser")
