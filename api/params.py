"""Reading of parameters: each is right, or the problem names it."""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime

import falcon

from api.problems import Problem

SERVICE_ID = re.compile(r"[A-Za-z0-9]+")
_COUNTRY = re.compile(r"[A-Za-z]{2}")
_COUNTRY_ANY = re.compile(r"[A-Za-z]{2,3}")
_CODE = re.compile(r"[A-Za-z0-9_.:/-]{1,64}")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_YEAR = re.compile(r"[0-9]{4}")
_LIMIT = re.compile(r"[0-9]{1,9}")

Params = Mapping[str, str]


def read(req: falcon.Request, *allowed: str) -> dict[str, str]:
    """Give the query's parameters; one that is unknown, repeated or empty is refused."""
    found: dict[str, str] = {}
    for name, value in req.params.items():
        if name not in allowed:
            raise Problem(
                "parameter_unknown",
                f"{name[:64]!r} is not a parameter of this endpoint.",
                parameter=name[:64],
                allowed=list(allowed),
            )
        if isinstance(value, list):
            raise Problem("parameter_repeated", f"{name} is given twice.", parameter=name)
        if not value:
            raise invalid(name, value, "a value; leave the parameter out for none")
        found[name] = value
    return found


def day(params: Params, name: str) -> date | None:
    """Read a date, YYYY-MM-DD, that exists in the calendar."""
    text = params.get(name)
    return None if text is None else _day(name, text, "a date of the calendar, YYYY-MM-DD")


def as_of(params: Params) -> date | None:
    """Read ``as_of``; one that lies in the future is read as today, in UTC."""
    asked = day(params, "as_of")
    return None if asked is None else min(asked, datetime.now(UTC).date())


def year_or_day(params: Params, name: str, month_day: str) -> date | None:
    """Read a date, or a year as its day ``month_day``."""
    text = params.get(name)
    if text is not None and _YEAR.fullmatch(text):
        text = f"{text}-{month_day}"
    return None if text is None else _day(name, text, "a year, or a date YYYY-MM-DD")


def in_order(from_: date | None, to: date | None) -> None:
    """Refuse a span that ends before it begins."""
    if from_ is not None and to is not None and from_ > to:
        raise Problem("parameter_conflict", "from lies after to.", parameter="from")


def choice(params: Params, name: str, allowed: Sequence[str]) -> str | None:
    """Read one of a few words."""
    text = params.get(name)
    if text is not None and text not in allowed:
        raise invalid(name, text, f"one of {', '.join(allowed)}", allowed=list(allowed))
    return text


def code(params: Params, name: str) -> str | None:
    """Read a code: a series, an indicator, a family."""
    return _matching(params, name, _CODE, "a code of letters, digits and . _ : / -")


def country(params: Params, default: str) -> str:
    """Read an alpha-2 country."""
    text = _matching(params, "country", _COUNTRY, "two letters, ISO 3166-1 alpha-2")
    return (text or default).upper()


def any_country(params: Params) -> str | None:
    """Read an alpha-2 or alpha-3 country."""
    text = _matching(params, "country", _COUNTRY_ANY, "two or three letters, ISO 3166-1")
    return None if text is None else text.upper()


def limit(params: Params) -> int | None:
    """Read ``limit``, at least 1; what a tier allows is asked later."""
    text = _matching(params, "limit", _LIMIT, "an integer of at least 1")
    if text is None:
        return None
    if int(text) < 1:
        raise invalid("limit", text, "an integer of at least 1")
    return int(text)


def invalid(name: str, received: str, expected: str, **members: object) -> Problem:
    """Make the problem of a malformed parameter."""
    return Problem(
        "parameter_invalid",
        f"{name} must be {expected}.",
        parameter=name,
        received=received[:64],
        expected=expected,
        **members,
    )


def _matching(params: Params, name: str, pattern: re.Pattern[str], expected: str) -> str | None:
    text = params.get(name)
    if text is not None and not pattern.fullmatch(text):
        raise invalid(name, text, expected)
    return text


def _day(name: str, text: str, expected: str) -> date:
    try:
        if _DATE.fullmatch(text):
            return date.fromisoformat(text)
    except ValueError:
        pass
    raise invalid(name, text, expected)
