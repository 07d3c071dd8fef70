"""Procurement processes, their dates and parties, shared by the portals of the sample world."""

import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import groupby

from assets.sample.countries import COUNTRIES_BY_CODE
from assets.sample.organisations import (
    ISSUERS_PER_SCALE,
    SampleOrganisation,
    body,
    issuer,
    person_name,
    supplier,
)
from assets.sample.writer import WorldWriter

FIRST_DAY, LAST_DAY = date(2022, 1, 10), date(2026, 6, 10)
LAST_CRAWL = date(2026, 6, 15)

CATEGORIES = ("goods", "works", "services")

_SUBJECTS = {
    "goods": ("Supply of laboratory reagents", "Supply of stationery", "Delivery of dry maize"),
    "works": ("Construction of a water pipeline", "Road rehabilitation", "Repair of classrooms"),
    "services": ("Cleaning services", "Security services", "Catering for a school"),
}
_CONTACTS = (
    "Contact person: {name}, tel. +27 11 555 {n:04d}",
    "Enquiries to {email} before closing",
    "Contact person: {name} ({email})",
    "Call 0800 555 {n:04d} for documents",
)


@dataclass(frozen=True)
class SampleProcess:
    """One procurement, from which the releases of its stages are made."""

    number: int
    buyer: SampleOrganisation
    opened: date
    category: str
    title: str
    amount: int
    rng: random.Random

    def day(self, days: int) -> date:
        """Return the date some days after the tender opened."""
        return self.opened + timedelta(days=days)


def processes(
    world: WorldWriter, portal: str, code: str, per_scale: int
) -> Iterator[SampleProcess]:
    """Iterate over the processes of a portal by opening date, spread over the years."""
    total = per_scale * world.scale
    for number in range(total):
        rng = world.random(portal, number)
        category = CATEGORIES[rng.randrange(3)]
        yield SampleProcess(
            number,
            _buyer(world, code, number, total, rng),
            FIRST_DAY + (LAST_DAY - FIRST_DAY) * number // total,
            category,
            rng.choice(_SUBJECTS[category]),
            rng.randrange(50_000, 90_000_000),
            rng,
        )


def _buyer(
    world: WorldWriter, code: str, number: int, total: int, rng: random.Random
) -> SampleOrganisation:
    if is_bought_by_issuer(code, number):
        return home_issuer(world, code, rng)
    return body(code, rng.randrange(6 + total // 20))


def is_bought_by_issuer(code: str, number: int) -> bool:
    """Return whether a listed company, not a public body, is the buyer."""
    return code == "CO" and number % 24 == 7


def contact_text(process: SampleProcess) -> str:
    """Return a sentence with a person, a telephone number or an e-mail address in it."""
    name = person_name(process.number)
    email = name.lower().replace(" ", ".") + "@fictional.example"
    shape = _CONTACTS[process.number % len(_CONTACTS)]
    return shape.format(name=name, email=email, n=process.number % 10_000)


def company_supplier(world: WorldWriter, process: SampleProcess, code: str) -> SampleOrganisation:
    """Return the supplier: of five, one any issuer, one an issuer at home, three local firms."""
    if process.number % 5 == 0:
        return issuer(process.rng.randrange(ISSUERS_PER_SCALE * world.scale))
    if process.number % 5 == 1:
        return home_issuer(world, code, process.rng)
    return supplier(code, process.rng.randrange(20 * world.scale))


def home_issuer(world: WorldWriter, code: str, rng: random.Random) -> SampleOrganisation:
    """Return an issuer of the portal's own country."""
    at_home = [
        role for role in range(ISSUERS_PER_SCALE) if issuer(role).country == COUNTRIES_BY_CODE[code]
    ]
    return issuer(rng.choice(at_home) + ISSUERS_PER_SCALE * rng.randrange(world.scale))


def monthly(
    published: Iterable[SampleProcess], days: int = 0
) -> Iterator[tuple[str, list[SampleProcess]]]:
    """Group processes by the month of the date some days after opening."""
    # groupby needs its input in order: a fixed number of days keeps that of the opening dates.
    up_to_last_day = (process for process in published if process.day(days) <= LAST_DAY)
    for month, group in groupby(up_to_last_day, lambda process: f"{process.day(days):%Y-%m}"):
        yield month, list(group)


def read_on(month: str) -> str:
    """Return the day on which the crawler reads the documents of a month."""
    after = date.fromisoformat(f"{month}-01") + timedelta(days=32)
    return min(after.replace(day=2), LAST_CRAWL).isoformat()
