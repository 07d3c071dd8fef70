"""What texts say: dates and versions; API keys out of them; the nearest words of a vocabulary."""

import re
from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from difflib import get_close_matches
from functools import lru_cache

from warehouse.shared.errors import UnknownVersion

_MOST = 5
# Of two words, this share of their letters must agree.
_ALIKE = 0.6
# Comparing takes a while: of a larger vocabulary only words that begin alike are compared.
_MOST_COMPARED = 2_000


def nearest(word: str, vocabulary: Iterable[str]) -> list[str]:
    """Return the nearest words, best first: spelt alike, or one a part of the other."""
    wanted = word.casefold()[:64]
    by_folded = {known.casefold(): known for known in vocabulary}
    compared = list(by_folded)
    if len(compared) > _MOST_COMPARED:
        compared = [known for known in compared if known[:2] == wanted[:2]][:_MOST_COMPARED]
    alike = get_close_matches(wanted, compared, _MOST, _ALIKE)
    if len(wanted) > 1:
        alike += sorted(known for known in compared if wanted in known or known in wanted)
    return [by_folded[known] for known in dict.fromkeys(alike)][:_MOST]


# What every API key begins with.
KEY_START = "sk_live_"
_KEY_PATTERN = re.compile(rf"({KEY_START}[A-Za-z0-9_-]{{4}})[A-Za-z0-9_-]+")


def redact_keys(text: str) -> str:
    """Replace every API key in a text with its public prefix."""
    return _KEY_PATTERN.sub(r"\1…", text) if KEY_START in text else text


# Dates as documents write them: the stated day, and the moment in UTC.

# Minutes decide on which UTC day a local time falls; seconds cannot. ISO 8601 allows a comma.
_DATE = re.compile(
    r"(\d{4})-(\d{2})-(\d{2})"
    r"(?:[T ](\d{2}):(\d{2})(?::\d{2}(?:[.,]\d*)?)?\s?(Z|z|[+-]\d{2}:?\d{2})?)?"
)


# Documents repeat few dates many times: the cache makes reading a release much cheaper.
@lru_cache(maxsize=1 << 14)
def stated_day_and_moment(value: str) -> tuple[date, datetime] | None:
    """Return the day as a text writes it, and the minute in UTC; None if it is no date.

    A date without a time has its first minute. No day but the stated one is a calendar day, such
    as that of an award: a local midnight may lie on the day before in UTC.
    """
    match = _DATE.fullmatch(value.strip())
    if match is None:
        return None
    year, month, day, hour, minute, zone = match.groups()
    try:
        stated = datetime(int(year), int(month), int(day), int(hour or 0), int(minute or 0))
        return stated.date(), (stated - _utc_offset(zone)).replace(tzinfo=UTC)
    # OverflowError: the offset moves the first or last day of the calendar out of range.
    except (ValueError, OverflowError):
        return None


def _utc_offset(zone: str | None) -> timedelta:
    # A time without a zone is taken as UTC.
    if zone is None or zone in "Zz":
        return timedelta()
    offset = timedelta(hours=int(zone[1:3]), minutes=int(zone[-2:]))
    return -offset if zone[0] == "-" else offset


# Names of published versions such as ``20260514.2``. [0-9] and not \d, which also matches the
# digits of other scripts.
DATA_VERSION = re.compile(r"[0-9]{8}\.[0-9]{1,9}")


def check_data_version(name: str) -> str:
    """Return the name if it has the form of a data_version; it becomes part of a path or SQL."""
    if not DATA_VERSION.fullmatch(name):
        raise UnknownVersion(f"{name!r} is not a data_version")
    return name


def version_key(name: str) -> tuple[int, ...]:
    """Sort key: ``20260514.10`` comes after ``20260514.9``."""
    return tuple(map(int, name.split(".")))
