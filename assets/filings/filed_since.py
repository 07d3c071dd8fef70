"""Which filers have filed something since a fetch, by EDGAR's daily indexes.

There is an index for each working day, complete when the day is over. On weekends there is none,
on holidays none or an empty one. Where one is missing that should be there, nothing is known.
"""

import logging
import re
from datetime import UTC, date, datetime, timedelta, timezone

from assets.entities.identifiers import cik_of
from assets.fetching.client import FetchError
from assets.fetching.fetchers import FetchTask
from assets.fetching.http_bodies import RETRYABLE_STATUSES

_RULE = re.compile(r"-{20,}\s*")
# A header has about ten lines.
_HEADER_WITHIN = 40
# The index by form has columns of fixed width, and long names push those of a line to the right: a
# line is therefore read from its end, where the number of the filer, day and file are.
_LINE = re.compile(
    r".*\S\s+(?P<cik>[0-9]{1,10})\s+(?:[0-9]{8}|[0-9]{4}-[0-9]{2}-[0-9]{2})\s+edgar/\S+\s*"
)


def filers_of(body: bytes) -> list[str]:
    """Return the CIK of each line of an index; none if it has only a header, as on holidays.

    ValueError if this is no index, or if any line cannot be read: a filer could be missing.
    """
    # Names are in Latin-1, which accepts every byte.
    lines = body.decode("latin-1").splitlines()
    rules = (number for number, line in enumerate(lines[:_HEADER_WITHIN]) if _RULE.fullmatch(line))
    rule = next(rules, None)
    if rule is None:
        raise ValueError("not an index of EDGAR: no line of dashes below a header")
    header = " ".join(lines[:rule])
    if "Form Type" not in header or "Company Name" not in header:
        raise ValueError("not an index of EDGAR: no columns Form Type and Company Name")
    ciks = []
    for number, line in enumerate(lines[rule + 1 :], rule + 2):
        if line.strip():
            match = _LINE.fullmatch(line)
            if match is None:
                raise ValueError(f"line {number}: no number of a filer, day and file at its end")
            ciks.append(cik_of(match["cik"]))
    return ciks


DAILY_INDEX = "https://www.sec.gov/Archives/edgar/daily-index"
INDEX_PATH = "{year}/QTR{quarter}/form.{day}.idx"

# What the SEC answers where there is no file.
_MISSING = frozenset({403, 404})
# A zip is made in the night before, and a day is over when it is over in New York. Four days before
# a fetch there is a working day, whatever the weekend and the holidays.
_OVERLAP = timedelta(days=4)
# Winter time all year round: in summer a day is then over an hour late.
_NEW_YORK = timezone(timedelta(hours=-5))
_SATURDAY = 5

_log = logging.getLogger(__name__)


def daily_index_url(task: FetchTask, path: str) -> str:
    """Return the address of a file beside the indexes; a mirror has it beside those of issuers."""
    return f"{task.base_url if task.client.is_mirrored else DAILY_INDEX}/{path}"


def index_path(day: date) -> str:
    """Return the path of the index of a day."""
    quarter = (day.month + 2) // 3
    return INDEX_PATH.format(year=day.year, quarter=quarter, day=f"{day:%Y%m%d}")


def index_days(since: datetime, now: datetime) -> list[date]:
    """Return the days whose indexes say what was filed since a moment; weekends have none."""
    first = (since.astimezone(_NEW_YORK) - _OVERLAP).date()
    last = now.astimezone(_NEW_YORK).date()
    days = (first + timedelta(days=number) for number in range((last - first).days + 1))
    return [day for day in days if day.weekday() < _SATURDAY]


def filed_since(task: FetchTask, since: datetime, now: datetime) -> frozenset[str] | None:
    """Return the CIKs that filed something since a moment; None if an index is missing.

    The log says which.
    """
    days = index_days(since, now)
    holidays = _holidays(days)
    filers: set[str] = set()
    for day in days:
        is_working_day = day < now.astimezone(_NEW_YORK).date() and day not in holidays
        try:
            filers.update(_filers(task, day, is_working_day))
        except (FetchError, ValueError) as error:
            _log.warning(
                "%s: the index of %s is not to be had, so every issuer is asked: %s",
                task.source,
                day,
                error,
            )
            return None
    return frozenset(filers)


def _filers(task: FetchTask, day: date, is_working_day: bool) -> list[str]:
    """Return the filers of a day; raise if its index is missing and should be there."""
    retry_on = RETRYABLE_STATUSES if is_working_day else RETRYABLE_STATUSES - _MISSING
    try:
        response = task.client.get(daily_index_url(task, index_path(day)), retry_on=retry_on)
    except FetchError as error:
        if is_working_day or error.status not in _MISSING:
            raise
        _log.info("%s: there is no index of %s, a holiday or not over", task.source, day)
        return []
    filers = filers_of(response.body)
    if is_working_day and not filers:
        raise ValueError(f"{response.url} is empty, on a working day")
    return filers


def _holidays(days: list[date]) -> frozenset[date]:
    """Return the federal holidays of the United States among some days, as they are observed."""
    # Imported here: it takes long, and every command imports the sources.
    from pandas.tseries.holiday import USFederalHolidayCalendar

    calendar = USFederalHolidayCalendar()
    found = calendar.holidays(min(days).isoformat(), max(days).isoformat())
    return frozenset(moment.date() for moment in found.to_pydatetime())


def utc_now() -> datetime:
    """Return the moment at which a fetch begins."""
    return datetime.now(UTC)
