"""Every exception that the client raises; all of them are a ``SankofaError``."""

from collections.abc import Mapping, Sequence
from typing import Any


class SankofaError(Exception):
    """Anything that went wrong between this client and the service."""


class NotReached(SankofaError):
    """No answer came: no connection, a connection that broke, or a timeout."""


class ProblemError(SankofaError):
    """The service answered with a problem (RFC 9457).

    Branch on the class or on ``code``, never on ``detail``, which is for people. ``problem`` has
    all members of the answer, such as ``parameter``, ``expected``, ``allowed`` and ``nearest``.
    """

    def __init__(
        self,
        status: int,
        problem: Mapping[str, Any],
        request_id: str | None = None,
        retry_after: float | None = None,
    ) -> None:
        self.status = status
        self.problem = dict(problem)
        self.code: str | None = problem.get("code")
        self.title = str(problem.get("title", "The request failed"))
        self.detail = str(problem.get("detail", ""))
        self.request_id = request_id
        self.retry_after = retry_after
        super().__init__(self._sentence())

    def _sentence(self) -> str:
        about = [str(self.status), self.code, self.request_id and f"request {self.request_id}"]
        sentence = f"{self.title}: {self.detail}" if self.detail else self.title
        return f"{sentence} ({', '.join(part for part in about if part)})"


class BadRequest(ProblemError):
    """400: a parameter is missing, malformed, unknown, or excludes another."""


class KeyRefused(ProblemError):
    """401: no API key was sent, or it is not valid. 403: it is for other networks or datasets."""


class HigherTierNeeded(ProblemError):
    """402: the tier of the key does not include this; ``upgrade_url`` leads further."""

    @property
    def upgrade_url(self) -> str | None:
        """Return the page that says how to get a key of a higher tier."""
        return self.problem.get("upgrade_url")


class NotFound(ProblemError):
    """404: no record, file or page has this id or name."""


class RateLimited(ProblemError):
    """429: the limit of the minute or of the month is reached, and waiting did not help."""


class Unavailable(ProblemError):
    """502, 503 or 504: the service cannot answer for now, and waiting did not help."""


class UnknownIdentifier(SankofaError, LookupError):
    """No organisation has this identifier, or it is of no form that can be looked up."""


class AmbiguousIdentifier(SankofaError, LookupError):
    """Several organisations have this identifier; ``service_ids`` are theirs."""

    def __init__(self, message: str, service_ids: Sequence[str]) -> None:
        super().__init__(message)
        self.service_ids = list(service_ids)


class SignatureInvalid(SankofaError):
    """A manifest of bulk files was not signed with the expected key."""


class OutdatedVersion(SankofaError):
    """A service offers as its latest version one that is older than the one it offered before."""


class FileDamaged(SankofaError):
    """A downloaded file is not the one that the signed manifest describes."""


class PackageMissing(SankofaError, ImportError):
    """A package that this call needs is not installed; the message says which."""


STATUS_ERRORS: Mapping[int, type[ProblemError]] = {
    400: BadRequest,
    401: KeyRefused,
    403: KeyRefused,
    402: HigherTierNeeded,
    404: NotFound,
    429: RateLimited,
    502: Unavailable,
    503: Unavailable,
    504: Unavailable,
}
