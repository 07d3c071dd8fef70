"""Which filers have filed something since a fetch, by EDGAR's daily indexes.

There is an index for each working day, complete when the day is over. On weekends there is none,
on holidays none or an empty one. Where one is missing that should be there, nothing is known.
"""

import logging
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta, timezone

from assets.fetching.client import FetchError
from assets.fetching.fetchers import FetchTask
from assets.fetching.http_bodies import RETRYABLE_STATUSES
from assets.filings.daily_index import filings_of

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


def _filers(task: FetchTask, day: date, is_working_day: bool) -> Iterator[str]:
    """Yield the filers of a day; raise if its index is missing and should be there."""
    retry_on = RETRYABLE_STATUSES if is_working_day else RETRYABLE_STATUSES - _MISSING
    try:
        response = task.client.get(daily_index_url(task, index_path(day)), retry_on=retry_on)
    except FetchError as error:
        if is_working_day or error.status not in _MISSING:
            raise
        _log.info("%s: there is no index of %s, a holiday or not over", task.source, day)
        return
    filings = filings_of(response.body)
    if is_working_day and not filings:
        raise ValueError(f"{response.url} is empty, on a working day")
    yield from (filing.cik for filing in filings)


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
