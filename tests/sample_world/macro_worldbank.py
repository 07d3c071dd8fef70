"""World Bank indicator pages after three updates of the database."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from tests.sample_world.countries import COUNTRIES
from tests.sample_world.writer import Json, WorldWriter

SOURCE = "worldbank"

_YEARS = 12
_PAGE_SIZE = 100
_INDICATORS = (
    ("NY.GDP.MKTP.CD", "GDP (current US$)", 100_000_000_000),
    ("FP.CPI.TOTL", "Consumer price index (2010 = 100)", 100),
    ("SP.POP.TOTL", "Population, total", 30_000_000),
    ("FP.CPI.TOTL.ZG", "Inflation, consumer prices (annual %)", 6),
    ("NE.EXP.GNFS.CD", "Exports of goods and services (current US$)", 25_000_000_000),
)
_AREAS = (
    *((country.code, country.iso3, country.name) for country in COUNTRIES),
    ("ZH", "AFE", "Africa Eastern and Southern"),
    ("ZI", "AFW", "Africa Western and Central"),
    ("XF", "", "Fictional area without a code"),
)
# How many years before the newest one the revised years are.
_REVISED, _DIGIT_REVISED = 1, 4
_COUNTED = "SP.POP.TOTL"
_NINE = Decimal("1e-9")


@dataclass(frozen=True)
class DatabaseUpdate:
    """One update of the database and the day on which it was read."""

    number: int
    lastupdated: str
    day: str


# Days before that of the world on which the database was updated and read.
_UPDATES = ((350, 348), (252, 250), (24, 20))


def write_worldbank(world: WorldWriter) -> None:
    """Write each indicator after two updates; one in five after a third as well."""
    for number in range(len(_INDICATORS) * world.scale):
        for update in updates(world):
            if update.number < 2 or number % len(_INDICATORS) == 1:
                _write_indicator(world, number, update)
    path = "v2/country/all/indicator/NO.SUCH.CODE/page-1.json"
    message = {"id": "120", "key": "Invalid value", "value": "The provided parameter is invalid"}
    day = updates(world)[0].day
    world.write_json(SOURCE, day, path, [{"message": [message]}])
    world.traps.note("error_with_status_200", SOURCE, day, path, pointer="/0/message")


def updates(world: WorldWriter) -> tuple[DatabaseUpdate, ...]:
    """Return the updates of the database, oldest first."""
    return tuple(
        DatabaseUpdate(number, world.ago(updated), world.ago(read))
        for number, (updated, read) in enumerate(_UPDATES)
    )


def years(world: WorldWriter) -> range:
    """Return the years of an indicator, newest first: up to the last but one."""
    return range(world.day.year - 2, world.day.year - 2 - _YEARS, -1)


def _indicator(number: int) -> tuple[str, str, int]:
    block, position = divmod(number, len(_INDICATORS))
    code, title, size = _INDICATORS[position]
    return (
        (f"{code}.F{block}", f"{title}, fictional set {block}", size)
        if block
        else (code, title, size)
    )


def _write_indicator(world: WorldWriter, number: int, update: DatabaseUpdate) -> None:
    code, title, size = _indicator(number)
    rebased = update.number == 2
    named = {"id": code, "value": title.replace("2010 =", "2019 =") if rebased else title}
    rows = [
        _row(world, named, area, year, size, update) for area in _AREAS for year in years(world)
    ]
    pages = -(-len(rows) // _PAGE_SIZE)
    for page in range(pages):
        path = f"v2/country/all/indicator/{code}/page-{page + 1}.json"
        part = rows[page * _PAGE_SIZE : (page + 1) * _PAGE_SIZE]
        meta = _meta(page + 1, pages, len(rows), update)
        world.write_json(SOURCE, update.day, path, [meta, part], len(part))
    if number == 0 or rebased:
        _note(world, code, update)


def _note(world: WorldWriter, code: str, update: DatabaseUpdate) -> None:
    path = f"v2/country/all/indicator/{code}/page-1.json"
    if update.number == 2:
        where = {"pointer": "/1/0/indicator/value", "before": updates(world)[1].day}
        world.traps.note("rebased_index", SOURCE, update.day, path, **where)
    if update.number == 1:
        revised, twelfth = _REVISED, _DIGIT_REVISED
        where = {"before": updates(world)[0].day}
        pointer = f"/1/{revised}/value"
        world.traps.note("macro_revision", SOURCE, update.day, path, pointer=pointer, **where)
        pointer = f"/1/{twelfth}/value"
        world.traps.note(
            "revised_in_12th_digit", SOURCE, update.day, path, pointer=pointer, **where
        )
        namibia = f"/1/{6 * _YEARS}/country/id"
        world.traps.note("country_na", SOURCE, update.day, path, pointer=namibia)


def _meta(page: int, pages: int, total: int, update: DatabaseUpdate) -> Json:
    # The real API has answered with either type.
    per_page: int | str = str(_PAGE_SIZE) if update.number else _PAGE_SIZE
    return {
        "page": page,
        "pages": pages,
        "per_page": per_page,
        "total": total,
        "sourceid": "2",
        "lastupdated": update.lastupdated,
    }


def _row(
    world: WorldWriter,
    named: Json,
    area: tuple[str, str, str],
    year: int,
    size: int,
    update: DatabaseUpdate,
) -> Json:
    code, iso3, name = area
    value = _value(world, named["id"], code, year, size, update)
    return {
        "indicator": named,
        "country": {"id": code, "value": name},
        "countryiso3code": iso3,
        "date": str(year),
        "value": value,
        "unit": "",
        "obs_status": "",
        "decimal": 0,
    }


def _value(
    world: WorldWriter, code: str, area: str, year: int, size: int, update: DatabaseUpdate
) -> Any:
    rng = world.random(SOURCE, code, area, year)
    age = years(world)[0] - year
    if rng.randrange(20) == 0 and age not in (_REVISED, _DIGIT_REVISED):
        return None
    # The newest year is empty until the next update.
    if age == 0 and update.number == 0:
        return None
    grown = rng.randrange(985, 1016) + 35 * (_YEARS - 1 - age)
    value = _level(world, code, area, size) * grown / 1000
    value = _digits(value + Decimal(rng.randrange(10**9)) * _NINE * size / 1000, 15)
    if code.startswith(_COUNTED):
        return int(value) + 1000 * update.number
    if update.number and age == _REVISED:
        value = _digits(value * Decimal("1.0137"), 15)
    elif update.number and age in (_DIGIT_REVISED, _DIGIT_REVISED + 5):
        # The trap revised_in_12th_digit: the smallest change is a vintage, too.
        value += _unit(value, 12)
    return _digits(value * Decimal("0.73"), 15) if update.number == 2 else value


def _level(world: WorldWriter, code: str, area: str, size: int) -> Decimal:
    return Decimal(size) * world.random(SOURCE, code, area).randrange(700, 1900) / 1000


def _digits(value: Decimal, digits: int) -> Decimal:
    return value.quantize(_unit(value, digits)).normalize()


def _unit(value: Decimal, digits: int) -> Decimal:
    return Decimal(1).scaleb(value.adjusted() - digits + 1)
