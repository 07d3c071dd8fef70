"""ALFRED observations: each value with the interval in which it was the current one.

FRED describes a series in a separate answer; the fetcher stores it as a header of the observations.
A rebased index has another unit from a day on.
"""

import json
from datetime import date, timedelta
from decimal import Decimal

from tests.sample_world.countries import COUNTRIES, Country
from tests.sample_world.writer import Json, WorldWriter

SOURCE = "alfred"

# All but the last vintages never change, whatever the day of the world.
_FIRST_CRAWL = "2025-06-16"
_REBASED_ON = date(2025, 2, 19)
_FIRST_YEAR = 2023
_OPEN = "9999-12-31"
_BASES = ("Index 2015=100", "Index 2020=100")
_PER_SCALE = 6
_TENTH, _REBASE = Decimal("0.1"), Decimal("0.8125")

# Months that the publisher did not carry over to the new base.
_LEFT_BEHIND = 6

# The day from which a value counts; without a value, the day on which the last one ended.
Vintage = tuple[date, str | None]


def write_alfred(world: WorldWriter) -> None:
    """Write each series as it was on two crawls, with every vintage published by then."""
    for number in range(_PER_SCALE * world.scale):
        for crawl in (_FIRST_CRAWL, world.ago(0)):
            _write_series(world, number, crawl)


def series_id(number: int) -> str:
    """Return the id of a series: FIC, country, CPIM or GDPQ, and a number after the first set."""
    kind = "GDPQ" if number % 2 else "CPIM"
    return f"FIC{_country(number).iso3}{kind}{number // (2 * len(COUNTRIES)) or ''}"


def _country(number: int) -> Country:
    return COUNTRIES[number % (2 * len(COUNTRIES)) // 2]


def _descriptions(number: int) -> list[Json]:
    """Return the descriptions of a series; a rebased index has one for each base."""
    country, first = _country(number).name, f"{_FIRST_YEAR}-01-01"
    if number % 2:
        title = f"Fictional Gross Domestic Product for {country}"
        return [_version(first, _OPEN, title, "Q", "Billions of National Currency")]
    title = f"Fictional Consumer Price Index for {country}"
    last_day = (_REBASED_ON - timedelta(days=1)).isoformat()
    return [
        _version(first, last_day, title, "M", _BASES[0]),
        _version(_REBASED_ON.isoformat(), _OPEN, title, "M", _BASES[1]),
    ]


def _version(start: str, end: str, title: str, frequency: str, units: str) -> Json:
    return {
        "realtime_start": start,
        "realtime_end": end,
        "title": title,
        "frequency_short": frequency,
        "units": units,
    }


def _write_series(world: WorldWriter, number: int, crawl: str) -> None:
    name = series_id(number)
    published = [row for row in _observations(world, number) if row["realtime_start"] < crawl]
    rows = _reopened(published, crawl)
    path = f"fred/series/observations/{name}.json"
    world.write_json(SOURCE, crawl, path, _head(len(rows)) | {"observations": rows}, len(rows))
    versions = {"series-versions": json.dumps(_descriptions(number))}
    world.write_json(SOURCE, crawl, f"{path}.headers.json", versions)
    if crawl == world.ago(0):
        kind = "macro_revision" if "GDPQ" in name else "rebased_index"
        where = {"pointer": "/observations", "series": name, "on": _REBASED_ON.isoformat()}
        world.traps.note(kind, SOURCE, crawl, path, **where)


def _head(count: int) -> Json:
    return {
        "realtime_start": "1776-07-04",
        "realtime_end": _OPEN,
        "observation_start": "1600-01-01",
        "observation_end": _OPEN,
        "units": "lin",
        "output_type": 1,
        "file_type": "json",
        "order_by": "observation_date",
        "sort_order": "asc",
        "count": count,
        "offset": 0,
        "limit": 100_000,
    }


def _observations(world: WorldWriter, number: int) -> list[Json]:
    rng = world.random(SOURCE, number)
    quarterly = number % 2 == 1
    level = Decimal(rng.randrange(900, 1400)) / 10
    rows: list[Json] = []
    for step, day in enumerate(_periods(world.day, quarterly)):
        level += Decimal(rng.randrange(1, 14)) / 10
        # FRED's point: a period without a value.
        missing = step == 8
        change = rng.randrange(1, 9)
        vintages = (
            _revised(day, level, change)
            if quarterly
            else _rebased(day, level, _lag(number), is_carried_over=step >= _LEFT_BEHIND)
        )
        if missing:
            vintages = [(since, value and ".") for since, value in vintages]
        rows += _intervals(day, vintages)
    return rows


def _periods(last: date, quarterly: bool) -> list[date]:
    """Return the first days of the months or quarters up to the running one."""
    months = range(0, (last.year - _FIRST_YEAR) * 12 + last.month, 3 if quarterly else 1)
    return [date(_FIRST_YEAR + month // 12, month % 12 + 1, 1) for month in months]


def _lag(number: int) -> int:
    """Return the days from the beginning of a month to its index; each country has its own."""
    return 36 + 10 * (number // 2 % 3)


def _revised(day: date, level: Decimal, change: int) -> list[Vintage]:
    first = day + timedelta(days=120)
    return [
        (first, str(level)),
        (first + timedelta(days=30), str(level + change * _TENTH)),
        (first + timedelta(days=365), str(level + (change + 2) * _TENTH)),
    ]


def _rebased(day: date, level: Decimal, lag: int, is_carried_over: bool) -> list[Vintage]:
    first = day + timedelta(days=lag)
    after = str((level * _REBASE).quantize(_TENTH))
    if first >= _REBASED_ON:
        return [(first, after)]
    return [(first, str(level)), (_REBASED_ON, after if is_carried_over else None)]


def _intervals(day: date, vintages: list[Vintage]) -> list[Json]:
    # A vintage with an unchanged value does not begin a new interval.
    changes = [
        vintage
        for number, vintage in enumerate(vintages)
        if number == 0 or vintage[1] != vintages[number - 1][1]
    ]
    ends = [(since - timedelta(days=1)).isoformat() for since, _ in changes[1:]] + [_OPEN]
    return [
        {
            "realtime_start": since.isoformat(),
            "realtime_end": end,
            "date": day.isoformat(),
            "value": value,
        }
        for (since, value), end in zip(changes, ends, strict=True)
        if value is not None
    ]


def _reopened(rows: list[Json], crawl: str) -> list[Json]:
    """Reopen the intervals that had not ended yet on the day of the crawl."""
    return [row | {"realtime_end": _OPEN} if row["realtime_end"] >= crawl else row for row in rows]
