"""Every problem the service can answer with, as one table (RFC 9457)."""

from dataclasses import dataclass
from typing import Any

from warehouse.errors import SankofaError


@dataclass(frozen=True)
class Kind:
    """One code: its status, its title, and what to do about it."""

    status: int
    title: str
    advice: str


PROBLEMS: dict[str, Kind] = {
    "parameter_missing": Kind(
        400, "A parameter is missing", "Send it in the form that `expected` gives."
    ),
    "parameter_invalid": Kind(
        400, "A parameter is malformed", "Send it in the form that `expected` gives."
    ),
    "parameter_unknown": Kind(
        400,
        "A parameter is unknown here",
        "See `allowed`. A misspelt parameter is refused, since without it the answer is another.",
    ),
    "parameter_repeated": Kind(400, "A parameter is given twice", "Send it once."),
    "parameter_conflict": Kind(
        400, "Parameters exclude each other", "Leave one out, as `detail` says."
    ),
    "limit_above_ceiling": Kind(
        400, "The limit is above the ceiling", "Ask for at most `maximum` rows at a time."
    ),
    "cursor_invalid": Kind(
        400,
        "The cursor is not valid",
        "Pass `next_cursor` back as it came, with the same filters, or begin without one.",
    ),
    "key_missing": Kind(401, "No API key was sent", "Send it in the header X-API-Key."),
    "key_invalid": Kind(401, "The API key is not known", "Check it, or ask for a new one."),
    "row_cap_exceeded": Kind(
        402,
        "More rows than the tier serves",
        "Leave `limit` out for the free preview, or see `upgrade_url`.",
    ),
    "paid_crosswalk": Kind(
        402,
        "The paid crosswalk needs a higher tier",
        "Look up by `lei` or `ticker`, which are free, or see `upgrade_url`.",
    ),
    "licensed_export": Kind(
        402, "The file needs a higher tier", "Take the open panels, or see `upgrade_url`."
    ),
    "not_found": Kind(404, "No such record or page", "Ids come from other answers."),
    "method_not_allowed": Kind(405, "The method is not allowed", "The service is read with GET."),
    "not_acceptable": Kind(
        406, "The answer has no form that you accept", "Let Accept allow application/json."
    ),
    "body_too_large": Kind(
        413, "The body is too large", "Send less; REST is read with GET and needs no body."
    ),
    "uri_too_long": Kind(414, "The address is too long", "Ask for less at a time."),
    "range_not_satisfiable": Kind(
        416, "The file has no such part", "See Content-Range for how many bytes it has."
    ),
    "headers_too_large": Kind(431, "The headers are too large", "Send fewer, or shorter ones."),
    "rate_limited": Kind(
        429, "Too many requests", "Try again after `retry_after` seconds; see `violated_policies`."
    ),
    "request_refused": Kind(400, "The request cannot be read", "Check its form."),
    "internal_error": Kind(500, "The service failed", "Try again; report the request id."),
    "key_store_unavailable": Kind(
        503, "The key store does not answer", "Try again after `retry_after` seconds."
    ),
    "datastore_unavailable": Kind(
        503, "The datastore does not answer", "Try again after `retry_after` seconds."
    ),
}


class Problem(SankofaError):
    """A request that is refused: a code of the table, a sentence, and its own members."""

    def __init__(self, code: str, detail: str, **members: Any) -> None:
        super().__init__(detail)
        self.code, self.detail, self.members = code, detail, members

    @property
    def kind(self) -> Kind:
        """Give the row of the table."""
        return PROBLEMS[self.code]
