"""One polite client: limits, retries, time-outs and words for whatever goes wrong.

What a source answers is not read here. Keys in an address never reach an error, a log or a
record.
"""

import contextlib
import io
import logging
import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, NoReturn, Self
from urllib.parse import urlsplit

import httpx2
import tenacity

from assets.fetching.http_bodies import (
    LATER,
    AttemptFailed,
    BodyLimits,
    ExpectedFormat,
    receive,
    refuse_status,
)
from assets.fetching.rate_limit import LOOPBACK, RATES, RateLimiter
from assets.fetching.url_secrets import log_without_secrets, secrets_in, without_secrets
from warehouse.errors import SankofaError

Progress = Callable[[int, int | None], None]
StoredHeaders = Callable[[str], Mapping[str, str] | None]

REDIRECTS = 5
LARGE = BodyLimits(received=16 << 30, opened=16 << 30)

# Headers of the transfer, not of the document, and what is meant for this client alone.
_NOT_KEPT = (
    "connection",
    "content-encoding",
    "content-length",
    "keep-alive",
    "set-cookie",
    "transfer-encoding",
)
_NO_CONTACT = (
    "no contact is set, and sources refuse or block whoever does not say who asks: "
    "set SANKOFA_CONTACT to an e-mail address or a web page of yours"
)


class FetchError(SankofaError):
    """An answer did not arrive, or is not what was asked for.

    ``status`` where one came; ``retryable`` says whether asking again later may help.
    """

    def __init__(self, message: str, status: int | None = None, retryable: bool = False) -> None:
        super().__init__(message)
        self.status, self.retryable = status, retryable


@dataclass(frozen=True)
class SourceResponse:
    """What a source answered; ``url`` as asked, without keys."""

    url: str
    status: int
    headers: dict[str, str]
    body: bytes
    observed_at: datetime

    @property
    def changed(self) -> bool:
        """Say whether there is a body; False means: as it was when last kept."""
        return self.status != 304


@dataclass(frozen=True)
class Timeouts:
    """Seconds to connect, between two pieces of an answer, and for the whole of it."""

    connect: float = 15.0
    read: float = 60.0
    whole: float = 600.0
    download: float = 4 * 3600.0


@dataclass(frozen=True)
class _Ask:
    method: str
    url: str
    expects: ExpectedFormat
    limits: BodyLimits
    seconds: float
    headers: dict[str, str] = field(default_factory=dict)
    content: bytes | None = None


class Client:
    """Asks politely and gives whole answers, or a FetchError that says why not.

    ``kept`` gives the headers kept of the last answer of an address, for requests that ask
    only for what changed. How often a host is asked holds for all clients of this machine that
    share the folder ``turns``.
    """

    def __init__(
        self,
        contact: str,
        turns: Path,
        *,
        rates: Mapping[str, float] = RATES,
        limits: BodyLimits | None = None,
        timeouts: Timeouts | None = None,
        attempts: int = 5,
        longest_wait: float = 120.0,
        kept: StoredHeaders | None = None,
        progress: Progress | None = None,
        verify: ssl.SSLContext | bool = True,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._contact = contact
        self._limits, self._times = limits or BodyLimits(), timeouts or Timeouts()
        self._attempts, self._longest = attempts, longest_wait
        self._backoff = tenacity.wait_exponential_jitter(initial=1, max=longest_wait, jitter=2)
        self._kept, self._progress = kept, progress
        self._clock, self._sleep = clock, sleep
        self._turns = RateLimiter(rates, clock, sleep, turns)
        logging.getLogger("httpx2").addFilter(log_without_secrets)
        self._http = httpx2.Client(
            verify=verify,
            timeout=httpx2.Timeout(self._times.read, connect=self._times.connect),
            headers={"User-Agent": f"Sankofa {self._contact}".strip(), "Accept-Encoding": "gzip"},
            mounts={f"all://{host}": None for host in ("localhost", "127.0.0.1")},
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def get(
        self, url: str, expects: ExpectedFormat = "any", *, conditional: bool = False
    ) -> SourceResponse:
        """Get an address; with ``conditional`` an unchanged one has no body."""
        headers = self._conditions(url) if conditional else {}
        return self._whole(_Ask("GET", url, expects, self._limits, self._times.whole, headers))

    def post(
        self, url: str, content: bytes, headers: Mapping[str, str], expects: ExpectedFormat = "json"
    ) -> SourceResponse:
        """Post a question that changes nothing at the source, so that it may be repeated."""
        seconds, given = self._times.whole, dict(headers)
        return self._whole(_Ask("POST", url, expects, self._limits, seconds, given, content))

    def download(
        self,
        url: str,
        target: IO[bytes],
        expects: ExpectedFormat = "any",
        limits: BodyLimits = LARGE,
    ) -> SourceResponse:
        """Write a body of any size to an empty file; the answer itself carries none."""
        headers = self._conditions(url)
        return self._fetch(_Ask("GET", url, expects, limits, self._times.download, headers), target)

    def _conditions(self, url: str) -> dict[str, str]:
        kept = (self._kept(without_secrets(url)) if self._kept else None) or {}
        asked = {"etag": "If-None-Match", "last-modified": "If-Modified-Since"}
        return {asked[name]: kept[name] for name in asked if name in kept}

    def _whole(self, ask: _Ask) -> SourceResponse:
        sink = io.BytesIO()
        answer = self._fetch(ask, sink)
        return replace(answer, body=sink.getvalue())

    def _fetch(self, ask: _Ask, sink: IO[bytes]) -> SourceResponse:
        self._refuse_address(ask.url)
        retrying = tenacity.Retrying(
            retry=tenacity.retry_if_exception(lambda error: getattr(error, "retryable", False)),
            stop=tenacity.stop_after_attempt(self._attempts),
            wait=self._wait,
            sleep=self._sleep,
            reraise=True,
        )
        try:
            return retrying(self._once, ask, sink)
        except AttemptFailed as failed:
            tried = retrying.statistics["attempt_number"]
            # the cause may carry the address with its key
            raise _error(ask.url, failed, tried) from None

    def _refuse_address(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise FetchError(f"{without_secrets(url)!r} is no web address: give one with https://")
        if not self._contact and parts.hostname not in LOOPBACK:
            raise FetchError(f"{without_secrets(url)} was not asked: {_NO_CONTACT}")

    def _wait(self, state: tenacity.RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        if isinstance(error, AttemptFailed) and error.after is not None:
            return min(error.after, self._longest)
        return self._backoff(state)

    def _once(self, ask: _Ask, sink: IO[bytes]) -> SourceResponse:
        sink.seek(0)
        sink.truncate()
        deadline = self._clock() + ask.seconds

        def in_time() -> None:
            if self._clock() > deadline:
                raise AttemptFailed(f"it took longer than {ask.seconds:g} s", LATER, retryable=True)

        def heard(received: int, length: int | None) -> None:
            in_time()
            if self._progress is not None:
                self._progress(received, length)

        try:
            with contextlib.closing(self._send(ask)) as response:
                if response.status_code != 304:
                    refuse_status(response, in_time)
                    receive(response, ask.expects, ask.limits, sink, heard)
                return _answer(ask, response)
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            _explain(error)

    def _send(self, ask: _Ask) -> httpx2.Response:
        """Send, and follow redirects as far as they are safe."""
        request = self._http.build_request(
            ask.method, ask.url, headers=ask.headers, content=ask.content
        )
        for _ in range(REDIRECTS + 1):
            self._turns.take(request.url.host)
            response = self._http.send(request, stream=True)
            if response.next_request is None:
                return response
            response.close()
            request = _redirected(request, response.next_request, ask)
        raise AttemptFailed(f"it redirects more than {REDIRECTS} times", "check the address")


def _answer(ask: _Ask, response: httpx2.Response) -> SourceResponse:
    named = ((name.lower(), value) for name, value in response.headers.items())
    headers = {name: value for name, value in named if name not in _NOT_KEPT}
    return SourceResponse(
        without_secrets(ask.url), response.status_code, headers, b"", datetime.now(UTC)
    )


def _error(url: str, failed: AttemptFailed, tried: int) -> FetchError:
    why = failed.why
    for key in secrets_in(url):
        why = why.replace(key, "…")
    times = "once" if tried == 1 else f"{tried} times"
    words = f"{without_secrets(url)}: {why} (tried {times}); {failed.advice}"
    return FetchError(words, failed.status, failed.retryable)


def _explain(error: Exception) -> NoReturn:
    """Say in our words what a failure of the connection was."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, ssl.SSLCertVerificationError):
        cause = cause.__cause__ or cause.__context__
    if cause is not None:
        raise AttemptFailed(
            f"its certificate is not valid ({cause.verify_message})",
            "check this machine's clock and certificates, then tell the source",
        )
    retryable = isinstance(error, httpx2.TransportError)
    if isinstance(error, httpx2.UnsupportedProtocol | httpx2.InvalidURL):
        raise AttemptFailed("it is, or leads to, no web address", "check the address")
    if isinstance(error, httpx2.TimeoutException):
        raise AttemptFailed("it did not answer in time", LATER, retryable)
    if isinstance(error, httpx2.ConnectError):
        raise AttemptFailed(
            f"no connection ({error})", "check the network and the address", retryable
        )
    raise AttemptFailed(f"the connection broke ({error})", LATER, retryable)


def _redirected(request: httpx2.Request, following: httpx2.Request, ask: _Ask) -> httpx2.Request:
    """Refuse a step down from https; what was told one host is not told another."""
    if request.url.scheme == "https" and following.url.scheme != "https":
        target = without_secrets(str(following.url))
        raise AttemptFailed(
            f"it redirects to {target}, which is not encrypted", "check the address"
        )
    if following.url.host != request.url.host:
        for name in ask.headers:
            following.headers.pop(name, None)
    return following
