"""ECB exchange rates in SDMX-CSV: daily, monthly averages, and a history of versions."""

from collections.abc import Iterator
from datetime import date, timedelta
from decimal import Decimal

from tests.sample_world.writer import WorldWriter

SOURCE = "ecb"


def _split(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_CURRENCIES = _split(
    "ZAR USD EGP NGN KES GHS MAD MUR NAD XOF COP BWP TND DZD ETB TZS UGX RWF ZMW MZN AOA XAF GNF "
    "SLE LRD GMD CVE SCR MGA MWK LSL SZL BIF DJF SOS SDG LYD MRU GBP JPY"
)
# The first rates and the first two crawls never change: the documentation cites them.
_FIRST_DAY = date(2026, 1, 2)
_CRAWLS = ("2026-02-10", "2026-02-20")
_PER_SCALE = 8
_DAYS_PER_BLOCK = 115
_HEADER = _split(
    "KEY FREQ CURRENCY CURRENCY_DENOM EXR_TYPE EXR_SUFFIX TIME_PERIOD OBS_VALUE OBS_STATUS "
    "OBS_CONF OBS_PRE_BREAK OBS_COM TIME_FORMAT BREAKS COLLECTION COMPILING_ORG DISS_ORG "
    "DOM_SER_IDS PUBL_ECB PUBL_MU PUBL_PUBLIC UNIT_INDEX_BASE COMPILATION COVERAGE DECIMALS "
    "NAT_TITLE SOURCE_AGENCY SOURCE_PUB TITLE TITLE_COMPL UNIT UNIT_MULT"
)
_HISTORY_HEADER = (*_HEADER[:8], "ACTION", "VALID_FROM", "VALID_TO")
_HOLIDAYS = ("01-01", "05-01", "12-25", "12-26")
_QUANTUM = Decimal("0.0001")

Rate = tuple[date, Decimal | None]


def write_ecb(world: WorldWriter) -> None:
    """Write the series of each currency as they were on three crawls, the last one today."""
    blocks = _PER_SCALE * world.scale
    for position, currency in enumerate(_CURRENCIES[:blocks]):
        # More blocks than currencies make the series longer.
        blocks_of_days = len(range(position, blocks, len(_CURRENCIES)))
        rates = list(_rates(world, currency, (blocks_of_days - 1) * _DAYS_PER_BLOCK))
        _write_daily(world, currency, rates)
        _write_monthly(world, currency, rates)
        if position == 0:
            _write_history(world, currency, rates[-40:])


def _rates(world: WorldWriter, currency: str, more_days: int) -> Iterator[Rate]:
    rng = world.random(SOURCE, currency)
    level = Decimal(rng.randrange(11_000, 900_000)) / 10_000
    for day in _working_days(world.day - timedelta(days=1), more_days):
        level = (level * (10_000 + rng.randrange(-60, 61)) / 10_000).quantize(_QUANTUM)
        # On TARGET holidays the ECB publishes no rate.
        yield day, None if f"{day:%m-%d}" in _HOLIDAYS else level


def _working_days(last: date, more: int) -> list[date]:
    """Return the working days from the first one to the last one, and some more before them."""
    every = (
        _FIRST_DAY + timedelta(days=number)
        for number in range(-more * 7 // 5, (last - _FIRST_DAY).days + 1)
    )
    return [day for day in every if day.weekday() < 5]


def _write_daily(world: WorldWriter, currency: str, rates: list[Rate]) -> None:
    key, path = f"D.{currency}.EUR.SP00.A", f"service/data/EXR/D.{currency}.EUR.SP00.A.csv"
    for crawl in (_CRAWLS[0], world.ago(0)):
        rows = (
            _row(key, day.isoformat(), value) for day, value in rates if day.isoformat() < crawl
        )
        world.write_csv(SOURCE, crawl, path, (_HEADER, *rows))


def _write_monthly(world: WorldWriter, currency: str, rates: list[Rate]) -> None:
    key, path = f"M.{currency}.EUR.SP00.A", f"service/data/EXR/M.{currency}.EUR.SP00.A.csv"
    first, second = _CRAWLS
    for crawl in (*_CRAWLS, world.ago(0)):
        published = [rate for rate in rates if rate[0].isoformat() < crawl]
        rows = [_row(key, month, value) for month, value in _averages(published).items()]
        world.write_csv(SOURCE, crawl, path, (_HEADER, *rows))
    where = {"period": first[:7], "before": first}
    world.traps.note("running_month_changes", SOURCE, second, path, **where)


def _averages(rates: list[Rate]) -> dict[str, Decimal]:
    sums: dict[str, tuple[Decimal, int]] = {}
    for day, value in rates:
        if value is not None:
            total, count = sums.get(f"{day:%Y-%m}", (Decimal(0), 0))
            sums[f"{day:%Y-%m}"] = (total + value, count + 1)
    return {month: (total / count).quantize(_QUANTUM) for month, (total, count) in sums.items()}


def _write_history(world: WorldWriter, currency: str, rates: list[Rate]) -> None:
    key, path = f"D.{currency}.EUR.SP00.A", f"service/data/EXR/D.{currency}.EUR.SP00.A.history.csv"
    rows = [row for day, value in rates if value for row in _versions(key, day, value)]
    world.write_csv(SOURCE, world.ago(0), path, (_HISTORY_HEADER, *rows))
    where = {"period": rates[-1][0].isoformat()}
    world.traps.note("history_of_versions", SOURCE, world.ago(0), path, **where)


def _versions(key: str, day: date, value: Decimal) -> list[tuple[object, ...]]:
    first, second = f"{day}T15:57:01.000+02:00", f"{day}T17:20:44.000+02:00"
    head = (f"EXR.{key}", *key.split("."), day.isoformat())
    if day.weekday() != 4:
        return [(*head, value, "Replace", first, "")]
    # On Fridays a wrong rate is published first, deleted, and replaced.
    wrong = value + Decimal("0.0100")
    return [
        (*head, wrong, "Replace", first, second),
        (*head, "", "Delete", "", second),
        (*head, value, "Replace", second, ""),
    ]


def _row(key: str, period: str, value: Decimal | None) -> tuple[object, ...]:
    freq, currency, *_ = key.split(".")
    status = "A" if value is not None else "H"
    title = f"{currency}/Euro ECB reference exchange rate"
    return (
        *(f"EXR.{key}", *key.split("."), period, "" if value is None else value, status, "F"),
        *("", "", f"P1{freq}", "", "A", *[""] * 6, "99Q1=100", "", "", 4, "", "4F0", "", title),
        *(f"ECB reference exchange rate, {currency}/Euro, 2.15 pm (C.E.T.)", currency, 0),
    )
