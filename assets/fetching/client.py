"""The HTTP client of all fetchers: rate limits, retries, timeouts, and readable errors.

Bodies are checked for completeness, not interpreted. API keys in a URL never reach an error, a
log or the record.
"""

import contextlib
import copy
import io
import logging
import ssl
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, NamedTuple, NoReturn, Self
from urllib.parse import urlsplit

import httpx2
import tenacity

from assets.fetching.addresses import (
    LOOPBACK,
    RateLimiter,
    log_without_secrets,
    refuse_other_host,
    refuse_private,
    secrets_in,
    without_secrets,
)
from assets.fetching.http_bodies import (
    LATER,
    RETRYABLE_STATUSES,
    AttemptFailed,
    BodyLimits,
    ExpectedFormat,
    receive,
    refuse_status,
)
from warehouse.shared.errors import SankofaError

Progress = Callable[[int, int | None], None]
StoredHeaders = Callable[[str], Mapping[str, str] | None]

REDIRECTS = 5
LARGE = BodyLimits(received=16 << 30, opened=16 << 30)

# Headers of the transfer rather than the document, and cookies: not landed with the body.
_UNSTORED_HEADERS = (
    *("connection", "content-encoding", "content-length", "keep-alive"),
    *("set-cookie", "transfer-encoding"),
)
_NO_CONTACT = (
    "no contact is set, and sources block clients that do not identify themselves: "
    "set SANKOFA_CONTACT to your e-mail address or web page"
)


class FetchError(SankofaError):
    """A response did not arrive, or is not what was requested.

    ``status`` is None if there was no response; ``retryable``: a later attempt may succeed.
    """

    def __init__(self, message: str, status: int | None = None, retryable: bool = False) -> None:
        super().__init__(message)
        self.status, self.retryable = status, retryable


@dataclass(frozen=True)
class SourceResponse:
    """The response of a source; ``url`` as requested, without API keys."""

    url: str
    status: int
    headers: dict[str, str]
    body: bytes
    observed_at: datetime

    @property
    def changed(self) -> bool:
        """False for 304: the body is the one that was landed last."""
        return self.status != 304


@dataclass(frozen=True)
class Mirror:
    """A mirror of a publisher: in requests ``replacement`` takes the place of ``published``.

    Documents keep the publisher's address, also where the mirror writes its own into links.
    """

    published: str
    replacement: str

    def request_url(self, url: str) -> str:
        """Return the address that a request for a published address is sent to."""
        return _rebased(url, self.published, self.replacement)

    def published_url(self, url: str) -> str:
        """Return the published address of an address of the mirror."""
        return _rebased(url, self.replacement, self.published)


def _rebased(url: str, old: str, new: str) -> str:
    rest = url.removeprefix(old)
    return new + rest if rest != url and (not rest or rest[0] in "/?#") else url


@dataclass(frozen=True)
class Timeouts:
    """Seconds to connect, between two chunks, for a whole response, for a download."""

    connect: float = 15.0
    read: float = 60.0
    whole: float = 600.0
    download: float = 4 * 3600.0


class _RequestSpec(NamedTuple):
    method: str
    url: str
    expects: ExpectedFormat
    limits: BodyLimits
    seconds: float
    retry_on: frozenset[int]
    headers: dict[str, str]
    content: bytes | None = None


class Client:
    """Fetches complete responses, or raises a FetchError that says why not.

    ``stored_headers`` looks up the headers landed for a URL, for conditional requests. All
    clients on this machine that share ``rate_folder`` share the rate limits. ``hosts`` are those
    to which redirects may lead, as well as the requested one.
    """

    def __init__(
        self,
        contact: str,
        rate_folder: Path,
        *,
        rates: Mapping[str, float] | None = None,
        limits: BodyLimits | None = None,
        timeouts: Timeouts | None = None,
        attempts: int = 5,
        longest_wait: float = 120.0,
        stored_headers: StoredHeaders | None = None,
        progress: Progress | None = None,
        hosts: Iterable[str] = (),
        verify: ssl.SSLContext | bool = True,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._contact = contact
        self._limits, self._times = limits or BodyLimits(), timeouts or Timeouts()
        self._attempts, self._longest = attempts, longest_wait
        self._backoff = tenacity.wait_exponential_jitter(initial=1, max=longest_wait, jitter=2)
        self._stored_headers, self._progress = stored_headers, progress
        self._hosts = tuple(hosts)
        self._mirror: Mirror | None = None
        self._clock, self._sleep = clock, sleep
        self._rate_limiter = RateLimiter(rates or {}, clock, sleep, rate_folder)
        logging.getLogger("httpx2").addFilter(log_without_secrets)
        self._http = httpx2.Client(
            verify=verify,
            timeout=httpx2.Timeout(self._times.read, connect=self._times.connect),
            # Gzip only: it is what http_bodies can decompress chunk by chunk.
            headers={"User-Agent": f"Sankofa {self._contact}".strip(), "Accept-Encoding": "gzip"},
            # No proxy for this machine itself.
            mounts={f"all://{host}": None for host in ("localhost", "127.0.0.1")},
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def through(self, mirror: Mirror | None) -> Self:
        """Return this client, its connections and rate limits, asking a mirror."""
        client = copy.copy(self)
        client._mirror = mirror
        return client

    @property
    def is_mirrored(self) -> bool:
        """True if requests go to a mirror in place of the publisher."""
        return self._mirror is not None

    def published_url(self, url: str) -> str:
        """Return the publisher's address of a URL, which a mirror may have written as its own."""
        return url if self._mirror is None else self._mirror.published_url(url)

    def get(
        self,
        url: str,
        expects: ExpectedFormat = "any",
        *,
        conditional: bool = False,
        retry_on: frozenset[int] = RETRYABLE_STATUSES,
    ) -> SourceResponse:
        """GET a URL; with ``conditional``, an unchanged document has no body."""
        url = self.published_url(url)
        headers = self._conditions(url) if conditional else {}
        limits, seconds = self._limits, self._times.whole
        return self._whole(_RequestSpec("GET", url, expects, limits, seconds, retry_on, headers))

    def post(
        self,
        url: str,
        content: bytes,
        headers: Mapping[str, str],
        expects: ExpectedFormat = "json",
        *,
        retry_on: frozenset[int] = RETRYABLE_STATUSES,
    ) -> SourceResponse:
        """POST a query; it must change nothing at the source, because it may be retried."""
        url, limits, seconds = self.published_url(url), self._limits, self._times.whole
        spec = _RequestSpec("POST", url, expects, limits, seconds, retry_on, dict(headers), content)
        return self._whole(spec)

    def download(
        self,
        url: str,
        target: IO[bytes],
        expects: ExpectedFormat = "any",
        *,
        retry_on: frozenset[int] = RETRYABLE_STATUSES,
    ) -> SourceResponse:
        """Write a body of any size to an empty file; the returned response carries none."""
        url, seconds = self.published_url(url), self._times.download
        headers = self._conditions(url)
        spec = _RequestSpec("GET", url, expects, LARGE, seconds, retry_on, headers)
        return self._fetch(spec, target)

    def _request_url(self, url: str) -> str:
        return url if self._mirror is None else self._mirror.request_url(url)

    def _conditions(self, url: str) -> dict[str, str]:
        lookup = self._stored_headers
        stored = (lookup(without_secrets(url)) if lookup else None) or {}
        conditions = {"etag": "If-None-Match", "last-modified": "If-Modified-Since"}
        return {conditions[name]: stored[name] for name in conditions if name in stored}

    def _whole(self, spec: _RequestSpec) -> SourceResponse:
        sink = io.BytesIO()
        response = self._fetch(spec, sink)
        return replace(response, body=sink.getvalue())

    def _fetch(self, spec: _RequestSpec, sink: IO[bytes]) -> SourceResponse:
        self._refuse_address(spec.url)
        retrying = tenacity.Retrying(
            retry=tenacity.retry_if_exception(lambda error: getattr(error, "retryable", False)),
            stop=tenacity.stop_after_attempt(self._attempts),
            wait=self._wait,
            sleep=self._sleep,
            reraise=True,
        )
        try:
            return retrying(self._once, spec, sink)
        except AttemptFailed as failed:
            attempts = retrying.statistics["attempt_number"]
            # "from None": the cause may carry the URL with its API key
            raise _error(spec.url, self._request_url(spec.url), failed, attempts) from None

    def _refuse_address(self, url: str) -> None:
        parts = urlsplit(self._request_url(url))
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise FetchError(
                f"{without_secrets(url)!r} is not a web address: use one with https://"
            )
        if not self._contact and parts.hostname not in LOOPBACK:
            raise FetchError(f"{without_secrets(url)} was not fetched: {_NO_CONTACT}")

    def _wait(self, state: tenacity.RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        if isinstance(error, AttemptFailed) and error.after is not None:
            # The source knows better than our backoff, but must not stop us for hours.
            return min(error.after, self._longest)
        return self._backoff(state)

    def _once(self, spec: _RequestSpec, sink: IO[bytes]) -> SourceResponse:
        # An attempt that failed may have left the beginning of a body.
        sink.seek(0)
        sink.truncate()
        deadline = self._clock() + spec.seconds

        def check_deadline() -> None:
            if self._clock() > deadline:
                raise AttemptFailed(
                    f"it took longer than {spec.seconds:g} s", LATER, retryable=True
                )

        def on_chunk(received: int, length: int | None) -> None:
            check_deadline()
            if self._progress is not None:
                self._progress(received, length)

        try:
            with contextlib.closing(self._send(spec)) as response:
                if response.status_code != 304:
                    refuse_status(response, check_deadline, spec.retry_on)
                    receive(response, spec.expects, spec.limits, sink, on_chunk)
                headers, now = landed_headers(response.headers.items()), datetime.now(UTC)
                url = without_secrets(spec.url)
                return SourceResponse(url, response.status_code, headers, b"", now)
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            _explain(error)

    def _send(self, spec: _RequestSpec) -> httpx2.Response:
        """Send the request and follow safe redirects; each hop counts against the rate limit."""
        request = self._http.build_request(
            spec.method, self._request_url(spec.url), headers=spec.headers, content=spec.content
        )
        for _ in range(REDIRECTS + 1):
            # Per host, as a redirect may lead to another one.
            self._rate_limiter.wait(request.url.host)
            # An address in a private network only if whoever runs this chose its host.
            requested = self._request_url(spec.url)
            host = urlsplit(requested).hostname
            is_chosen = requested != spec.url or host in LOOPBACK
            if not is_chosen or urlsplit(str(request.url)).hostname != host:
                refuse_private(str(request.url))
            response = self._http.send(request, stream=True)
            if response.next_request is None:
                return response
            # The body of a redirect is not read; closing frees the connection.
            response.close()
            following = response.next_request
            hosts = (*self._hosts, *(() if self._mirror is None else (self._mirror.published,)))
            if following.url.scheme in ("http", "https"):
                refuse_other_host(str(following.url), requested, hosts)
            request = _redirected(request, following, spec)
            # What redirects to the publisher is sent to the mirror.
            url = self._request_url(str(request.url))
            if url != str(request.url):
                headers = [each for each in request.headers.items() if each[0] != "host"]
                request = self._http.build_request(request.method, url, headers=headers)
        raise AttemptFailed(f"it redirects more than {REDIRECTS} times", "check the address")


def landed_headers(headers: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return the headers that are landed with a body: those that say something of the document."""
    lowercase = ((name.lower(), value) for name, value in headers)
    return {name: value for name, value in lowercase if name not in _UNSTORED_HEADERS}


def _error(url: str, requested: str, failed: AttemptFailed, attempts: int) -> FetchError:
    why = failed.why
    # A source may quote the URL in its answer, with the key.
    for key in secrets_in(url):
        why = why.replace(key, "…")
    times = "once" if attempts == 1 else f"{attempts} times"
    through = "" if requested == url else f", requested from {without_secrets(requested)}"
    words = f"{without_secrets(url)}{through}: {why} (tried {times}); {failed.advice}"
    return FetchError(words, failed.status, failed.retryable)


def _explain(error: Exception) -> NoReturn:
    """Raise AttemptFailed with a readable reason for an error of the HTTP library."""
    cause: BaseException | None = error
    # httpx2 wraps it in errors of its own.
    while cause is not None and not isinstance(cause, ssl.SSLCertVerificationError):
        cause = cause.__cause__ or cause.__context__
    if cause is not None:
        raise AttemptFailed(
            f"its certificate is not valid ({cause.verify_message})",
            "check this machine's clock and certificates, then tell the source",
        )
    # Timeouts and broken connections; a wrong address stays wrong.
    retryable = isinstance(error, httpx2.TransportError)
    if isinstance(error, httpx2.UnsupportedProtocol | httpx2.InvalidURL):
        raise AttemptFailed("it is not, or does not lead to, a web address", "check the address")
    if isinstance(error, httpx2.TimeoutException):
        raise AttemptFailed("it did not answer in time", LATER, retryable)
    if isinstance(error, httpx2.ConnectError):
        raise AttemptFailed(
            f"no connection ({error})", "check the network and the address", retryable
        )
    raise AttemptFailed(f"the connection broke ({error})", LATER, retryable)


def _redirected(
    request: httpx2.Request, following: httpx2.Request, spec: _RequestSpec
) -> httpx2.Request:
    """Return the redirected request; refuse a downgrade from https.

    Another host does not get our headers: they may contain an API key.
    """
    if request.url.scheme == "https" and following.url.scheme != "https":
        target = without_secrets(str(following.url))
        raise AttemptFailed(
            f"it redirects to {target}, which is not encrypted", "check the address"
        )
    if following.url.host != request.url.host:
        for name in spec.headers:
            following.headers.pop(name, None)
    return following
