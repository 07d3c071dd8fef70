"""Every problem the service answers with (RFC 9457), as one table, and how each is made.

Both surfaces use the same codes and the same words.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from typing import Any

from warehouse.data_version import DATA_VERSION
from warehouse.errors import DatastoreUnavailable, NothingPublished, SankofaError, UnknownVersion
from warehouse.keys.backends import KeyStoreUnavailable


@dataclass(frozen=True)
class ProblemType:
    """One code: its status, its title, and what to do about it."""

    status: int
    title: str
    advice: str


PROBLEMS: dict[str, ProblemType] = {
    "parameter_missing": ProblemType(
        400, "A parameter is missing", "Send it in the form that `expected` gives."
    ),
    "parameter_invalid": ProblemType(
        400, "A parameter is malformed", "Send it in the form that `expected` gives."
    ),
    "parameter_unknown": ProblemType(
        400,
        "A parameter is unknown here",
        "See `allowed`. A misspelt parameter is refused, since without it the answer is another.",
    ),
    "parameter_repeated": ProblemType(400, "A parameter is given twice", "Send it once."),
    "parameter_conflict": ProblemType(
        400, "Parameters exclude each other", "Leave one out, as `detail` says."
    ),
    "limit_above_ceiling": ProblemType(
        400, "The limit is above the ceiling", "Ask for at most `maximum` rows at a time."
    ),
    "cursor_invalid": ProblemType(
        400,
        "The cursor is not valid",
        "Pass `next_cursor` back as it came, with the same filters, or begin without one.",
    ),
    "key_missing": ProblemType(401, "No API key was sent", "Send it in the header X-API-Key."),
    "key_invalid": ProblemType(401, "The API key is not known", "Check it, or ask for a new one."),
    "row_cap_exceeded": ProblemType(
        402,
        "More rows than the tier serves",
        "Leave `limit` out for the free preview, or see `upgrade_url`.",
    ),
    "paid_crosswalk": ProblemType(
        402,
        "The paid crosswalk needs a higher tier",
        "Look up by `lei` or `ticker`, which are free, or see `upgrade_url`.",
    ),
    "licensed_export": ProblemType(
        402, "The file needs a higher tier", "Take the open panels, or see `upgrade_url`."
    ),
    "not_found": ProblemType(404, "No such record or page", "Ids come from other answers."),
    "method_not_allowed": ProblemType(
        405, "The method is not allowed", "The service is read with GET."
    ),
    "not_acceptable": ProblemType(
        406, "The answer has no form that you accept", "Let Accept allow application/json."
    ),
    "body_too_large": ProblemType(
        413, "The body is too large", "Send less; REST is read with GET and needs no body."
    ),
    "uri_too_long": ProblemType(414, "The address is too long", "Ask for less at a time."),
    "range_not_satisfiable": ProblemType(
        416, "The file has no such part", "See Content-Range for how many bytes it has."
    ),
    "headers_too_large": ProblemType(
        431, "The headers are too large", "Send fewer, or shorter ones."
    ),
    "rate_limited": ProblemType(
        429, "Too many requests", "Try again after `retry_after` seconds; see `violated_policies`."
    ),
    "request_refused": ProblemType(400, "The request cannot be read", "Check its form."),
    "internal_error": ProblemType(500, "The service failed", "Try again; report the request id."),
    "key_store_unavailable": ProblemType(
        503, "The key store does not answer", "Try again after `retry_after` seconds."
    ),
    "datastore_unavailable": ProblemType(
        503, "The datastore does not answer", "Try again after `retry_after` seconds."
    ),
}


class Problem(SankofaError):
    """A request that is refused: a code of the table, a sentence, and its own members."""

    def __init__(self, code: str, detail: str, **members: Any) -> None:
        super().__init__(detail)
        self.code, self.detail, self.members = code, detail, members

    @property
    def kind(self) -> ProblemType:
        """Give the row of the table."""
        return PROBLEMS[self.code]


_SHOWN = 64


def check_date_order(from_: date | None, to: date | None) -> None:
    """Refuse a span that ends before it begins."""
    if from_ is not None and to is not None and from_ > to:
        raise conflicting_parameters("from", "from lies after to.")


def check_data_version(version: str | None) -> None:
    """Refuse what cannot be a data_version."""
    if version is not None and not DATA_VERSION.fullmatch(version):
        expected = "a data_version that an answer named, such as 20261114.3"
        raise invalid_parameter("X-Data-Version", version, expected)


def conflicting_parameters(name: str, detail: str) -> Problem:
    """Make the problem of parameters that exclude each other."""
    return Problem("parameter_conflict", detail, parameter=name)


def missing_parameter(name: str, expected: str) -> Problem:
    """Make the problem of a parameter that is needed and was not sent."""
    return Problem(
        "parameter_missing",
        f"{name} is required: {expected}.",
        parameter=name,
        expected=expected,
    )


def invalid_parameter(name: str, received: str, expected: str, **members: object) -> Problem:
    """Make the problem of a malformed parameter."""
    return Problem(
        "parameter_invalid",
        f"{name} must be {expected}.",
        parameter=name,
        received=received[:_SHOWN],
        expected=expected,
        **members,
    )


def unknown_parameter(name: str, allowed: Iterable[str], where: str) -> Problem:
    """Make the problem of a parameter that nothing is known of."""
    return Problem(
        "parameter_unknown",
        f"{name[:_SHOWN]!r} is not a parameter of {where}.",
        parameter=name[:_SHOWN],
        allowed=list(allowed),
    )


def unknown_id(named: str) -> Problem:
    """Make the problem of an id that nobody has."""
    return Problem("not_found", f"No record has the id {named[:_SHOWN]!r}.")


UPGRADE_URL = "https://sankofa.example/upgrade"
_RETRY_AFTER = 5
# Of what a call of these statuses asked, nothing counts against the month.
UNCHARGED_STATUSES = frozenset({304, 401, 429, 500, 503})


def problem_for_error(error: Exception) -> Problem | None:
    """Say in our words what went wrong; None of what we did not foresee."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, KeyStoreUnavailable):
        return _later("key_store_unavailable", "The key store is temporarily unavailable.")
    if isinstance(error, NothingPublished | DatastoreUnavailable):
        return _later("datastore_unavailable", "The data cannot be read at the moment.")
    if isinstance(error, UnknownVersion):
        return Problem("parameter_invalid", str(error), parameter="X-Data-Version")
    return None


def internal_error() -> Problem:
    """Make the problem of what we did not foresee; what it was is logged and not shown."""
    return Problem("internal_error", "Something failed that we did not foresee.")


def problem_members(problem: Problem, instance: str, upgrade_url: str) -> dict[str, object]:
    """Give the members of a problem (RFC 9457)."""
    paid = {"upgrade_url": upgrade_url} if problem.kind.status == 402 else {}
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


def _later(code: str, detail: str) -> Problem:
    return Problem(code, detail, retry_after=_RETRY_AFTER, retryable=True)
