"""The exchanges of a WARC file, as crawlers write them, and which are documents of a source."""

import io
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import IO, Any
from urllib.parse import urljoin

import zstandard
from warcio.archiveiterator import ArchiveIterator
from warcio.bufferedreaders import ChunkedDataException, ChunkedDataReader
from warcio.exceptions import ArchiveLoadFailed
from warcio.statusandheaders import StatusAndHeadersParserException

from assets.fetching.addresses import without_secrets
from assets.fetching.client import landed_headers
from assets.fetching.containers import ContainerLimits, gunzipped
from assets.source import Source
from warehouse.record.landing import FetchedResponse
from warehouse.shared.errors import LicenceError, SankofaError

# An exchange of a web archive: a recorded response with its address, moment and request.


OnProblem = Callable[[str], None]


@dataclass(frozen=True)
class Exchange:
    """A recorded response and its request; ``open`` reads its body, before the next is asked for.

    ``open`` raises SankofaError for a body that is damaged or incomplete.
    """

    url: str
    observed_at: datetime
    status: int
    headers: tuple[tuple[str, str], ...]
    open: Callable[[], AbstractContextManager[IO[bytes]]]
    method: str = "GET"
    request_body: bytes = b""
    redirects_to: str | None = None


def header_of(headers: Iterable[tuple[str, str]], name: str) -> str:
    """Return a header by its lower-case name; empty if there is none."""
    return next((value.strip() for key, value in headers if key.lower() == name), "")


# The exchanges of a WARC file, as crawlers write them.
#
# A response comes out as its server meant it, without chunks and compression. One that was recorded
# only in part, or that is damaged, is a problem and not a document.

Headers = tuple[tuple[str, str], ...]

_CHUNK = 1 << 20
_IN_MEMORY = 16 << 20
# A web archive is a container of many bodies; each of them is limited by itself.
_WHOLE = ContainerLimits(member=256 << 30)

# Method and body of the requests of a WARC, by the id of the record they belong to.
_Requests = dict[str, tuple[str, bytes]]


def warc_exchanges(body: IO[bytes], on_problem: OnProblem) -> Iterator[Exchange]:
    """Yield the responses of a WARC, compressed or not, in their order."""
    body.seek(0)
    is_packed = body.read(2) == b"\x1f\x8b"
    body.seek(0)
    # Without its compression first, so that a damaged or truncated one is noticed.
    with gunzipped(body, _WHOLE) if is_packed else nullcontext(body) as plain:
        size = plain.seek(0, io.SEEK_END)
        plain.seek(max(0, size - 4))
        # As every record ends.
        if plain.read() != b"\r\n\r\n":
            raise SankofaError("it is not a WARC, or ends in the middle of a record; get it again")
        requests = _requests(plain)
        revisits: dict[str, list[Any]] = {}
        for record in _records(plain):
            if record.rec_type == "revisit":
                digest = record.rec_headers.get_header("WARC-Payload-Digest") or ""
                revisits.setdefault(digest, []).append(record)
            elif record.rec_type in ("response", "resource"):
                yield from _exchange(record, record, requests, on_problem)
        # A revisit has the payload of an earlier response, which is read a second time for it.
        for record in _records(plain) if revisits else ():
            if record.rec_type == "response":
                digest = record.rec_headers.get_header("WARC-Payload-Digest") or ""
                for revisit in revisits.pop(digest, ()):
                    yield from _exchange(revisit, record, requests, on_problem)
        for missing in revisits.values():
            for revisit in missing:
                url = (revisit.rec_headers.get_header("WARC-Target-URI") or "").strip("<>")
                shown = without_secrets(url)
                on_problem(f"{shown}: it repeats a response that is not in this file")


def _records(plain: IO[bytes]) -> Iterator[Any]:
    plain.seek(0)
    try:
        yield from ArchiveIterator(plain, check_digests=True)
    # The last is how warcio fails at a record that ends in the middle of its own headers.
    except (ArchiveLoadFailed, StatusAndHeadersParserException, EOFError, AttributeError) as error:
        raise SankofaError(f"it is not a WARC, or damaged ({str(error).strip():.200})") from None


def _requests(plain: IO[bytes]) -> _Requests:
    requests: _Requests = {}
    # What is damaged is reported when the responses are read.
    with suppress(SankofaError):
        for record in _records(plain):
            if record.rec_type == "request" and record.http_headers is not None:
                said = record.http_headers.protocol.split(" ")[0].upper(), record.raw_stream.read()
                # Either of the two records may be the one that names the other.
                for name in ("WARC-Concurrent-To", "WARC-Record-ID"):
                    requests[record.rec_headers.get_header(name) or ""] = said
    return requests


def _exchange(
    record: Any, with_body: Any, requests: _Requests, on_problem: OnProblem
) -> Iterator[Exchange]:
    """Yield one response; ``with_body`` is the record that has its payload."""
    url = (record.rec_headers.get_header("WARC-Target-URI") or "").strip("<>")
    http = record.http_headers or with_body.http_headers
    headers = tuple(http.headers) if http is not None else ()
    ids = [record.rec_headers.get_header(n) for n in ("WARC-Concurrent-To", "WARC-Record-ID")]
    request = next((requests[i] for i in ids if i in requests), ("GET", b""))
    stated = record.rec_headers.get_header("WARC-Date")
    problem = f"{stated!r:.60} is not a moment"
    try:
        moment = datetime.fromisoformat(stated or "")
        problem = "it has no status"
        status = 200 if http is None else int(http.get_statuscode())
    except ValueError:
        on_problem(f"{without_secrets(url)}: {problem}")
        return
    # UTC unless it says otherwise.
    moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    location = header_of(headers, "location") or None if 300 <= status < 400 else None
    opened = partial(_decoded, with_body, headers)
    yield Exchange(url, moment, status, headers, opened, *request, location)


@contextmanager
def _transferred(record: Any) -> Iterator[IO[bytes]]:
    """Open a temporary file with the body as it was transferred; it must be complete."""
    stream, headers = record.raw_stream, record.rec_headers
    if headers.get_header("WARC-Truncated"):
        raise SankofaError("the recorder cut it off (WARC-Truncated)")
    if headers.get_header("Content-Length") is None:
        raise SankofaError("the file ends in the middle of it")
    with tempfile.SpooledTemporaryFile(_IN_MEMORY) as raw:
        while chunk := stream.read(_CHUNK):
            raw.write(chunk)
        if stream.limit > 0:
            raise SankofaError("the file ends in the middle of it")
        problems = getattr(record.digest_checker, "problems", ())
        # What a payload digest covers differs between recorders; a block digest covers all of it.
        if any("block digest failed" in problem for problem in problems):
            raise SankofaError("its checksum differs from the one that was recorded")
        yield raw


@contextmanager
def _decoded(record: Any, headers: Headers) -> Iterator[IO[bytes]]:
    """Open a body without its chunks and compression."""
    chunked = header_of(headers, "transfer-encoding").lower() == "chunked"
    length = header_of(headers, "content-length")
    with _transferred(record) as raw, _dechunked(raw, chunked) as body:
        if length.isdecimal() and not chunked and (size := raw.seek(0, io.SEEK_END)) != int(length):
            raise SankofaError(f"{size} of {length} bytes were recorded")
        body.seek(0)
        encoding = header_of(headers, "content-encoding").lower()
        start = body.read(4)
        body.seek(0)
        # Some recorders decompress a body and keep the header.
        if encoding in ("", "identity") or (encoding.endswith("gzip") and start[:2] != b"\x1f\x8b"):
            yield body
        elif encoding in ("gzip", "x-gzip"):
            with gunzipped(body) as content:
                yield content
        elif encoding in ("deflate", "zstd"):
            yield io.BytesIO(_inflated(body.read(), encoding))
        else:
            raise SankofaError(f"it is encoded as {encoding!r:.40}, which cannot be undone here")


@contextmanager
def _dechunked(raw: IO[bytes], chunked: bool) -> Iterator[IO[bytes]]:
    raw.seek(0)
    if not chunked:
        yield raw
        return
    with tempfile.SpooledTemporaryFile(_IN_MEMORY) as body:
        reader = ChunkedDataReader(raw, raise_exceptions=True)
        try:
            while chunk := reader.read(_CHUNK):
                body.write(chunk)
        except ChunkedDataException as error:
            # Some recorders join the chunks and keep the header: then no chunk begins the body.
            if body.tell() or "length header" not in str(error.args[0]):
                raise SankofaError("its last chunk is not complete") from None
            yield raw
            return
        yield body


def _inflated(body: bytes, encoding: str) -> bytes:
    limit = ContainerLimits().member
    try:
        if encoding == "zstd":
            with zstandard.ZstdDecompressor().stream_reader(body) as reader:
                content = reader.read(limit + 1)
        else:
            # Servers send "deflate" with and without the header of zlib.
            bits = zlib.MAX_WBITS if body[:1] == b"\x78" else -zlib.MAX_WBITS
            inflating = zlib.decompressobj(bits)
            content = inflating.decompress(body, limit + 1)
            if not inflating.eof and len(content) <= limit:
                raise SankofaError(f"its {encoding} ends in the middle")
    except (zlib.error, zstandard.ZstdError) as error:
        raise SankofaError(f"its {encoding} is damaged ({error})") from None
    if len(content) > limit:
        raise SankofaError(f"it decompresses to more than {limit:,} bytes")
    return content


# Which exchanges of a web archive are documents of a source, and what is landed of them.


# What a redirect leads to is read for it.
REDIRECT = "redirects"


@dataclass
class ChosenExchanges:
    """Chooses exchanges of one web archive, in their order.

    It remembers redirects, and what lookups say of the documents that follow them.
    """

    source: Source
    _requested: dict[str, str] = field(default_factory=dict)
    _described: dict[str, dict[str, str]] = field(default_factory=dict)
    _not_permitted: set[str] = field(default_factory=set)

    def requested_url(self, exchange: Exchange) -> str:
        """Return the address that was asked for: a document is not landed where that led."""
        return self._requested.get(exchange.url, exchange.url)

    def why_left_out(self, exchange: Exchange, url: str) -> str | None:
        """Return why an exchange is not a document of the source; None if it is."""
        if not self.source.is_published_at(url):
            return "of other hosts"
        if exchange.redirects_to is not None:
            self._requested[urljoin(exchange.url, exchange.redirects_to)] = url
            return REDIRECT
        if self.source.looks_up(exchange.method, url):
            self._describe(exchange, url)
            return "that only say what to ask for"
        if not self.source.requests_url(exchange.method, url):
            return "not documents of this source"
        # 206 is a part of a document.
        if not 200 <= exchange.status < 300 or exchange.status == 206:
            return f"with status {exchange.status}"
        if self._subject(url) in self._not_permitted:
            return "under a copyright of others"
        return None

    def response(self, exchange: Exchange, url: str, body: IO[bytes]) -> FetchedResponse:
        """Return what is landed of an exchange."""
        headers = landed_headers(exchange.headers) | self._described.get(self._subject(url), {})
        name = self.source.request_header
        if name is not None and exchange.request_body:
            headers[name] = exchange.request_body.decode("utf-8", "replace")
        return FetchedResponse(
            self.source.key,
            without_secrets(url),
            body,
            self.source.license_class,
            exchange.observed_at,
            exchange.status,
            headers,
            self.source.world,
        )

    def _describe(self, exchange: Exchange, url: str) -> None:
        descriptions, subject = self.source.descriptions, self._subject(url)
        if descriptions is None or not subject or not 200 <= exchange.status < 300:
            return
        with exchange.open() as body:
            try:
                headers = descriptions.headers(body.read())
            except LicenceError:
                self._not_permitted.add(subject)
            else:
                self._described.setdefault(subject, {}).update(headers)

    def _subject(self, url: str) -> str:
        descriptions = self.source.descriptions
        return (descriptions.subject(url) if descriptions is not None else None) or ""
