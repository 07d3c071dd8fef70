"""Requests to one service: the key, problems as exceptions, and repeated attempts.

Requests that may succeed later are repeated: those that got no answer, 429, and 502 to 504. The
client waits as long as ``Retry-After`` says, and gives up rather than wait longer than its bound.
Without a key, what needs one is sent with the public sandbox key that the service offers.
"""

import logging
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from random import uniform
from time import sleep
from typing import Any

import httpx

from sankofa_client.errors import (
    STATUS_ERRORS,
    KeyRefused,
    NotReached,
    ProblemError,
    SankofaError,
)

_LOG = logging.getLogger("sankofa_client")
_RETRIED_STATUSES = (429, 502, 503, 504)
# Without Retry-After: half a second, then twice as long each time.
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 8.0
# The text for programs names the key, if there is one.
_SANDBOX_TEXT, _SANDBOX_KEY = "/llms.txt", re.compile(r"sk_live_[A-Za-z0-9_-]+")


class Connection:
    """A pool of HTTP connections to one service."""

    def __init__(
        self,
        base_url: str,
        key: str | None,
        timeout: float,
        retries: int,
        longest_wait: float,
        user_agent: str,
    ) -> None:
        headers = {"User-Agent": user_agent, "Accept": "application/json, */*;q=0.5"}
        if key is not None:
            headers["X-API-Key"] = key
        # Redirects are not followed: the key must not go to another address.
        self._http = httpx.Client(base_url=base_url, headers=headers, timeout=timeout)
        self._retries, self._longest_wait = retries, longest_wait
        self._may_use_sandbox = key is None

    def close(self) -> None:
        """Close all connections."""
        self._http.close()

    def get(
        self,
        path: str,
        parameters: Mapping[str, str] | None = None,
        data_version: str | None = None,
    ) -> httpx.Response:
        """Return the answer to a GET, read whole."""
        headers = {} if data_version is None else {"X-Data-Version": data_version}
        with self.stream(path, parameters, headers) as response:
            return response

    def post(self, path: str, body: str, data_version: str | None = None) -> httpx.Response:
        """Return the answer to a POST of JSON, which changes nothing and may be repeated."""
        headers = {"Content-Type": "application/json"}
        if data_version is not None:
            headers["X-Data-Version"] = data_version
        request = self._http.build_request("POST", path, content=body, headers=headers)
        return self._repeated(request, True)

    @contextmanager
    def stream(
        self,
        path: str,
        parameters: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        whole: bool = True,
    ) -> Iterator[httpx.Response]:
        """Open the answer to a GET; unless it is ``whole``, its body is still to be read."""
        request = self._http.build_request("GET", path, params=parameters, headers=headers)
        response = self._repeated(request, whole)
        try:
            yield response
        finally:
            response.close()

    def pause_before(self, attempt: int, error: SankofaError, waited: float) -> float:
        """Wait before the next attempt; return the time waited for this request so far.

        Raises the error if it will not go away, the attempts are used up, or the wait is too long.
        """
        if attempt >= self._retries or not _may_go_away(error):
            raise error
        retry_after = error.retry_after if isinstance(error, ProblemError) else None
        pause = retry_after if retry_after is not None else _backoff(attempt)
        if waited + pause > self._longest_wait:
            error.add_note(
                f"The next attempt would have to wait {pause:.0f} s; in all, one request waits "
                f"{self._longest_wait:.0f} s at most (longest_wait)."
            )
            raise error
        _LOG.warning("waiting %.1f s before the next attempt: %s", pause, error)
        sleep(pause)
        return waited + pause

    def _repeated(self, request: httpx.Request, whole: bool) -> httpx.Response:
        waited, attempt = 0.0, 0
        while True:
            try:
                return self._sent(request, whole)
            except KeyRefused as error:
                if not self._has_sandbox_key(error):
                    raise
                request.headers["X-API-Key"] = self._http.headers["X-API-Key"]
            except SankofaError as error:
                waited = self.pause_before(attempt, error, waited)
                attempt += 1

    def _has_sandbox_key(self, error: KeyRefused) -> bool:
        """Return whether a request that was refused for want of a key has one now."""
        if error.code != "key_missing" or not self._may_use_sandbox:
            return False
        self._may_use_sandbox = False
        try:
            offered = _SANDBOX_KEY.search(self.get(_SANDBOX_TEXT).text)
        except SankofaError:
            offered = None
        if offered is None:
            return False
        self._http.headers["X-API-Key"] = offered[0]
        _LOG.warning(
            "no API key was given: the public sandbox key of %s is used, which has the fewest rows "
            "and requests. Pass key=…, or set SANKOFA_API_KEY.",
            self._http.base_url,
        )
        return True

    def _sent(self, request: httpx.Request, whole: bool) -> httpx.Response:
        """Send a request once; raise unless it succeeded."""
        try:
            response = self._http.send(request, stream=True)
            if whole or not response.is_success:
                response.read()
        except httpx.TransportError as error:
            raise no_answer(request.url, error) from error
        if response.is_success:
            return response
        response.close()
        raise _problem(response)


def no_answer(url: httpx.URL | str, error: httpx.TransportError) -> NotReached:
    """Return the error of a request that got no answer, or only a part of one."""
    reason = str(error).rstrip(".") or type(error).__name__
    return NotReached(f"No answer from {url}: {reason}. Check the address of the service.")


def _may_go_away(error: SankofaError) -> bool:
    if isinstance(error, ProblemError):
        return error.status in _RETRIED_STATUSES
    # An address that is none stays so.
    return not isinstance(error.__cause__, httpx.UnsupportedProtocol)


def _backoff(attempt: int) -> float:
    # At random: clients that failed together must not come back together.
    longest = min(_FIRST_PAUSE * 2**attempt, _LONGEST_PAUSE)
    return uniform(longest / 2, longest)  # noqa: S311


def _problem(response: httpx.Response) -> ProblemError:
    """Return the exception of an answer that is not a success."""
    kind = STATUS_ERRORS.get(response.status_code, ProblemError)
    request_id = response.headers.get("X-Request-Id")
    error = kind(response.status_code, _members(response), request_id, _retry_after(response))
    if error.code == "key_missing":
        error.add_note("Pass it as Sankofa(key=…), or set SANKOFA_API_KEY.")
    return error


def _members(response: httpx.Response) -> dict[str, Any]:
    if response.is_redirect:
        location = response.headers.get("Location", "another address")
        detail = f"The service redirects to {location}; use that as base_url."
        return {"title": "Redirects are not followed", "detail": detail}
    try:
        members = response.json()
    except ValueError:
        members = None
    # What is between us and the service answers in other forms.
    if isinstance(members, dict):
        return members
    return {"title": response.reason_phrase or "The request failed"}


def _retry_after(response: httpx.Response) -> float | None:
    """Return the seconds that ``Retry-After`` states, as a number or as a date."""
    stated = response.headers.get("Retry-After", "")
    if stated.strip().isdecimal():
        return float(stated)
    try:
        return max(0.0, (parsedate_to_datetime(stated) - datetime.now(UTC)).total_seconds())
    except (TypeError, ValueError):
        return None
