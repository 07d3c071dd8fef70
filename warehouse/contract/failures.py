"""Errors as problems, and problems as they are written; the same on both surfaces."""

from warehouse.contract.problems import Problem
from warehouse.errors import DatastoreUnavailable, NothingPublished, UnknownVersion
from warehouse.keys import KeyStoreUnavailable

UPGRADE_URL = "https://sankofa.example/upgrade"
_RETRY_AFTER = 5
# Of what a call of these statuses asked, nothing counts against the month.
NOT_CHARGED = frozenset({304, 401, 429, 500, 503})


def foreseen(error: Exception) -> Problem | None:
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


def unforeseen() -> Problem:
    """Make the problem of what we did not foresee; what it was is logged and not shown."""
    return Problem("internal_error", "Something failed that we did not foresee.")


def written(problem: Problem, instance: str, upgrade_url: str) -> dict[str, object]:
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
