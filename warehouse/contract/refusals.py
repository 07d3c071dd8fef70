"""Problems of parameters, in the same words on both surfaces."""

from collections.abc import Iterable
from datetime import date

from warehouse.contract.problems import Problem
from warehouse.exports.published import VERSION

_SHOWN = 64


def in_order(from_: date | None, to: date | None) -> None:
    """Refuse a span that ends before it begins."""
    if from_ is not None and to is not None and from_ > to:
        raise conflict("from", "from lies after to.")


def check_pin(version: str | None) -> None:
    """Refuse what cannot be a data_version."""
    if version is not None and not VERSION.fullmatch(version):
        expected = "a data_version that an answer named, such as 20261114.3"
        raise invalid("X-Data-Version", version, expected)


def conflict(name: str, detail: str) -> Problem:
    """Make the problem of parameters that exclude each other."""
    return Problem("parameter_conflict", detail, parameter=name)


def missing(name: str, expected: str) -> Problem:
    """Make the problem of a parameter that is needed and was not sent."""
    return Problem(
        "parameter_missing",
        f"{name} is required: {expected}.",
        parameter=name,
        expected=expected,
    )


def invalid(name: str, received: str, expected: str, **members: object) -> Problem:
    """Make the problem of a malformed parameter."""
    return Problem(
        "parameter_invalid",
        f"{name} must be {expected}.",
        parameter=name,
        received=received[:_SHOWN],
        expected=expected,
        **members,
    )


def unknown(name: str, allowed: Iterable[str], where: str) -> Problem:
    """Make the problem of a parameter that nothing is known of."""
    return Problem(
        "parameter_unknown",
        f"{name[:_SHOWN]!r} is not a parameter of {where}.",
        parameter=name[:_SHOWN],
        allowed=list(allowed),
    )


def nobody(named: str) -> Problem:
    """Make the problem of an id that nobody has."""
    return Problem("not_found", f"No record has the id {named[:_SHOWN]!r}.")
