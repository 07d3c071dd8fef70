"""Series of Brazil's central bank (SGS) as CSV: no dates of release, and no versions.

Each series is read twice. In between a month that was out for long has got another value, and
nothing says so.
"""

from collections.abc import Iterator
from datetime import date, timedelta
from decimal import Decimal

from tests.sample_world.writer import WorldWriter

SOURCE = "br-bcb-sgs"

# The number of a series, its first value, the largest change within a month, and its digits.
_SERIES = (
    ("24363", Decimal("101.40"), Decimal("2.20"), Decimal("0.01")),
    ("433", Decimal("0.42"), Decimal("0.09"), Decimal("0.01")),
    ("3698", Decimal("4.9120"), Decimal("0.0900"), Decimal("0.0001")),
    ("4390", Decimal("0.97"), Decimal("0.04"), Decimal("0.01")),
)
_FIRST_MONTH = date(2023, 1, 1)
_MORE_MONTHS = 36
_FIRST_READ, _LAST_READ = "2026-02-12", 1
# Until a month is out.
_DELAY = timedelta(days=45)
_OVERWRITTEN = "2025-10"


def write_bcb(world: WorldWriter) -> None:
    """Write each series as it was on both days, the last one yesterday."""
    for position, (series, *_) in enumerate(_SERIES[: world.scale]):
        # A larger world has more series; beyond those there are, longer ones.
        rounds = len(range(position, world.scale, len(_SERIES)))
        path = f"dados/serie/bcdata.sgs.{series}/dados.csv"
        days = (_FIRST_READ, world.ago(_LAST_READ))
        for day in days:
            values = dict(_values(world, position, rounds, date.fromisoformat(day)))
            if day == days[-1]:
                values[_OVERWRITTEN] += _SERIES[position][2]
            world.write(SOURCE, day, path, _text(values), len(values))
        where = {"period": _OVERWRITTEN, "before": days[0]}
        world.traps.note("month_overwritten", SOURCE, days[-1], path, **where)


def _values(
    world: WorldWriter, position: int, rounds: int, day: date
) -> Iterator[tuple[str, Decimal]]:
    series, level, step, digits = _SERIES[position]
    rng = world.random(SOURCE, series)
    for month in _months((rounds - 1) * _MORE_MONTHS, day - _DELAY):
        # What would fall below zero rises instead.
        level = abs(level + step * rng.randrange(-100, 101) / 100).quantize(digits)
        yield f"{month:%Y-%m}", level


def _months(more: int, until: date) -> Iterator[date]:
    """Iterate over the months that are over by a day, with some more before the first one."""
    first = _FIRST_MONTH.year * 12 - more
    for number in range(first, until.year * 12 + until.month - 1):
        yield date(number // 12, number % 12 + 1, 1)


def _text(values: dict[str, Decimal]) -> bytes:
    lines = ['"data";"valor"']
    for month, value in values.items():
        day = f"01/{month[5:]}/{month[:4]}"
        lines.append(f'"{day}";"{value:f}"'.replace(".", ","))
    return "".join(f"{line}\r\n" for line in lines).encode()
