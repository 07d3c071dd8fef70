"""Every problem the service answers with (RFC 9457), as one table, and how each is made.

Both surfaces use the same codes and the same words.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from warehouse.contract.parameter_types import ParameterType
from warehouse.methodology.other_names import named_here
from warehouse.shared.data_files import csv_rows
from warehouse.shared.errors import (
    ControlUnavailable,
    DatastoreUnavailable,
    NothingPublished,
    SankofaError,
    UnknownVersion,
)
from warehouse.shared.texts import DATA_VERSION, nearest, version_key


@dataclass(frozen=True)
class ProblemType:
    """A type of problem: its status, its title, and what to do about it."""

    status: int
    title: str
    advice: str


PROBLEMS: Mapping[str, ProblemType] = {
    row["code"]: ProblemType(int(row["status"]), row["title"], row["advice"])
    for row in csv_rows(__name__, "problems")
}


class Problem(SankofaError):
    """A refused request: a code of the table, a sentence, and further members."""

    def __init__(self, code: str, detail: str, **members: Any) -> None:
        super().__init__(detail)
        self.code, self.detail, self.members = code, detail, members

    @property
    def kind(self) -> ProblemType:
        """Return the type of this problem."""
        return PROBLEMS[self.code]


# Characters of a client's text that an error repeats.
_LONGEST_ECHO = 64
# Words that a sentence can state.
_MOST_STATED = 8


def shortened(text: str) -> str:
    """Return a client's text as an error repeats it; an ellipsis says that it goes on."""
    return text if len(text) <= _LONGEST_ECHO else f"{text[:_LONGEST_ECHO]}…"


def check_date_order(from_: date | None, to: date | None) -> None:
    """Refuse a date range that ends before it begins."""
    if from_ is not None and to is not None and from_ > to:
        raise conflicting_parameters("from", "from is after to.")


def check_data_version(version: str | None) -> None:
    """Refuse a header that cannot be a data_version."""
    if version is not None and not DATA_VERSION.fullmatch(version):
        expected = "a data_version from an earlier response, such as 20261114.3"
        raise invalid_parameter("X-Data-Version", version, expected)


def conflicting_parameters(name: str, detail: str) -> Problem:
    """Return the problem of parameters that exclude each other."""
    return Problem("parameter_conflict", detail, parameter=name)


def unanswerable_as_of(
    indicator: str, as_of: date, country: str | None, series: Sequence[str]
) -> Problem:
    """Return the problem of asking what an annual indicator was known to be on a day.

    ``series`` are some that have dated vintages, of the country if one is given.
    """
    where = f" of {country.upper()}" if country else ""
    instead = (
        f"Series{where} with dated vintages take as_of: {', '.join(series)}."
        if series
        else f"No series{where} with dated vintages was published by then."
    )
    return Problem(
        "parameter_conflict",
        f"What {indicator[:_LONGEST_ECHO]} was known to be on {as_of} cannot be answered: its "
        "source documents no release dates, so no value of it is known to have been public on "
        "that or any other past day. The same question without as_of is another question: its "
        f"answer is today's figure, revised since, and must not be presented as known on {as_of}. "
        f"{instead}",
        parameter="indicator",
        as_of=as_of.isoformat(),
        answerable=False,
        series_with_as_of=list(series),
    )


def missing_parameter(name: str, expected: str) -> Problem:
    """Return the problem of a required parameter that was not sent."""
    return Problem(
        "parameter_missing",
        f"{name} is required: {expected}.",
        parameter=name,
        expected=expected,
    )


def invalid_value(name: str, received: str, kind: ParameterType) -> Problem:
    """Return the problem of a value that its type refuses; of a choice, with the nearest words."""
    words = kind.words
    if not words:
        return invalid_parameter(name, received, kind.expected)
    sent = [each.strip() for each in received.split(",")] if kind.of is not None else [received]
    unknown = next((each for each in sent if each not in words), received)
    here = named_here(unknown)
    near = [here] if here is not None and here in words else nearest(unknown, words)
    expected = kind.expected
    if len(words) > _MOST_STATED:
        # A long list is not repeated: it is in `allowed`.
        number = "some" if kind.of is not None else "one"
        instead = f", such as {', '.join(near)}" if near else ""
        expected = f"{number} of the {len(words)} words in `allowed`{instead}"
    return invalid_parameter(name, received, expected, allowed=list(words), nearest=near)


def invalid_parameter(name: str, received: str, expected: str, **members: object) -> Problem:
    """Return the problem of a malformed parameter."""
    return Problem(
        "parameter_invalid",
        " ".join(filter(None, (f"{name} must be {expected}.", _hint(received)))),
        parameter=name,
        received=received[:_LONGEST_ECHO],
        expected=expected,
        **members,
    )


def unknown_parameter(name: str, allowed: Iterable[str], where: str) -> Problem:
    """Return the problem of a parameter that is not declared."""
    return Problem(
        "parameter_unknown",
        f"{name[:_LONGEST_ECHO]!r} is not a parameter of {where}.",
        parameter=name[:_LONGEST_ECHO],
        allowed=(known := list(allowed)),
        nearest=nearest(name[:_LONGEST_ECHO], known),
    )


OF_TENDERS = "Tenders are found by words with /v1/tenders or search_tenders."
# Forms of ids that are no organisation's, and where to go with one.
_HINTS = (
    (re.compile("ocds-.+"), f"{OF_TENDERS} /v1/tenders/{{ocid}} has the releases of an ocid."),
    (
        re.compile("[0-9]{10}-[0-9]{2}-[0-9]{6}"),
        "It is the number of a filing: /v1/filings or get_filings lists those of an issuer.",
    ),
)


def _hint(text: str) -> str | None:
    return next((hint for form, hint in _HINTS if form.fullmatch(text)), None)


def unknown_id(
    record_id: str, hint: str = "Search finds organisations by name or ticker."
) -> Problem:
    """Return the problem of an id that no record has; ``hint`` unless its form says more."""
    detail = f"No record has the id {record_id[:_LONGEST_ECHO]!r}. {_hint(record_id) or hint}"
    return Problem("not_found", detail)


def unknown_word(name: str, received: str, allowed: Sequence[str]) -> Problem:
    """Return the problem of a name that is none of a few; they are listed, the nearest apart."""
    near = nearest(received[:_LONGEST_ECHO], allowed)
    instead = f" Nearest: {', '.join(near)}." if near else ""
    return Problem(
        "not_found",
        f"There is no {name} {received[:_LONGEST_ECHO]!r}.{instead} See `allowed`.",
        parameter=name,
        received=received[:_LONGEST_ECHO],
        allowed=list(allowed),
        nearest=near,
    )


# RFC 9110 requires a challenge with 401. Not ``Bearer``: clients of MCP would look for OAuth.
CHALLENGE = 'ApiKey realm="sankofa", header="X-API-Key"'
# Where clients look for OAuth once they were refused: metadata, registration, authorization.
_OAUTH_PATHS = ("/.well-known/oauth-", "/.well-known/openid-configuration")
_OAUTH_ENDPOINTS = ("/register", "/authorize", "/token")


def no_oauth(path: str) -> Problem | None:
    """Return the problem of looking for OAuth here; None for any other path."""
    if not path.startswith(_OAUTH_PATHS) and path not in _OAUTH_ENDPOINTS:
        return None
    detail = (
        "There is no OAuth here. Send your API key in the header X-API-Key, or as Authorization: "
        "Bearer KEY; /docs of the REST service shows a sandbox key."
    )
    # In the members of OAuth as well (RFC 6749): clients show their user these.
    return Problem("not_found", detail, error="access_denied", error_description=detail)


# The page of the REST service that says which tiers there are and how to get a key.
PRICING = "/pricing"
RETRY_AFTER_SECONDS = 5
# How many versions a refused pin is told of.
_MOST_VERSIONS = 30
# Requests with these statuses are not charged to the monthly quota.
UNCHARGED_STATUSES = frozenset({304, 401, 403, 429, 500, 503})


def problem_for_error(error: Exception) -> Problem | None:
    """Return the problem for an expected error; None for any other."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, ControlUnavailable):
        # The text of the error is for our log: it may name hosts and paths.
        return _retry_later("key_store_unavailable", "The key store is temporarily unavailable.")
    if isinstance(error, NothingPublished | DatastoreUnavailable):
        return _retry_later("datastore_unavailable", "The data is temporarily unavailable.")
    if isinstance(error, UnknownVersion):
        # Only the header X-Data-Version can name a version, unless who reads it says otherwise.
        return unknown_version(error, "parameter_invalid", "X-Data-Version")
    return None


def unknown_version(error: UnknownVersion, code: str, parameter: str) -> Problem:
    """Return the problem of a version that cannot be answered, with what can be sent instead."""
    problem = Problem(code, f"{error}.", parameter=parameter)
    if error.held:
        newest_first = sorted(error.held, key=version_key, reverse=True)
        pinned = version_key(error.version)
        earlier = [version for version in newest_first if version_key(version) < pinned]
        later = [version for version in newest_first if version_key(version) > pinned]
        problem.members["held"] = newest_first[:_MOST_VERSIONS]
        # The last one before it, and the first one after it.
        problem.members["nearest"] = [*earlier[:1], *later[-1:]]
    return problem


def internal_error() -> Problem:
    """Return the problem for an unexpected error, which is logged and not shown."""
    return Problem(
        "internal_error", "An unexpected error occurred; it has been logged under the request id."
    )


def is_solved_by_upgrade(problem: Problem) -> bool:
    """Return whether a higher tier would allow the request: its rows or files, or its month."""
    return problem.kind.status == 402 or "monthly" in problem.members.get("violated_policies", ())


def problem_members(problem: Problem, instance: str, upgrade_url: str) -> dict[str, object]:
    """Return the JSON members of a problem (RFC 9457)."""
    paid = {"upgrade_url": upgrade_url} if is_solved_by_upgrade(problem) else {}
    return {
        "type": f"/problems/{problem.code}",
        "title": problem.kind.title,
        "status": problem.kind.status,
        "code": problem.code,
        "detail": problem.detail,
        "instance": instance,
        **problem.members,
        **paid,
    }


def _retry_later(code: str, detail: str) -> Problem:
    return Problem(code, detail, retry_after=RETRY_AFTER_SECONDS, retryable=True)
