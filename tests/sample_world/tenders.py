"""Procurement processes, their dates and parties, shared by the portals of the sample world.

Every portal opens ``tenders_a_month`` processes a month, or some more: the number follows the
season and grows from year to year. Amounts are small more often than large, a few suppliers win
much, and new ones appear, as in real procurement.
"""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta

from tests.sample_world.countries import COUNTRIES_BY_CODE
from tests.sample_world.organisations import (
    ISSUERS_PER_SCALE,
    SampleOrganisation,
    body,
    issuer,
    person_name,
    supplier,
)
from tests.sample_world.writer import WorldWriter

# Long enough for every panel: a supplier is new after 24 months without an award.
MONTHS = 33

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
# Buyers and suppliers of the first month, and new suppliers of each further one.
_BUYERS, _SUPPLIERS, _NEW_SUPPLIERS = 14, 24, 2
# The share of the year in which each month has more than the usual number, in hundredths.
_SEASON = (0, 6, 22, 4, 8, 16, 2, 4, 10, 14, 6, 0)


@dataclass(frozen=True)
class SampleProcess:
    """One procurement, from which the releases of its stages are made.

    ``month`` counts from the first month of the world.
    """

    number: int
    month: int
    buyer: SampleOrganisation
    opened: date
    category: str
    title: str
    amount: int

    def day(self, days: int) -> date:
        """Return the date some days after the tender opened."""
        return self.opened + timedelta(days=days)


@dataclass(frozen=True)
class Publication:
    """A stage of a process that a portal publishes on a day."""

    stage: str
    day: date
    process: SampleProcess


Schedule = Callable[[SampleProcess], dict[str, int]]


def publications(
    world: WorldWriter, portal: str, code: str, schedule: Schedule
) -> dict[str, list[Publication]]:
    """Return what a portal published in each month up to the day before that of the world.

    ``schedule`` says how many days after opening each stage of a process is published.
    """
    last = world.day - timedelta(days=1)
    published = [
        Publication(stage, process.day(days), process)
        for process in processes(world, portal, code)
        for stage, days in schedule(process).items()
        if process.day(days) <= last
    ]
    published.sort(key=lambda publication: (publication.day, publication.process.number))
    by_month: dict[str, list[Publication]] = {}
    for publication in published:
        by_month.setdefault(f"{publication.day:%Y-%m}", []).append(publication)
    return by_month


def processes(
    world: WorldWriter, portal: str, code: str, a_month: int | None = None
) -> Iterator[SampleProcess]:
    """Iterate over the processes of a portal by opening date."""
    number = 0
    for month in range(MONTHS):
        first = _month(world.day, month)
        length = (_month(world.day, month + 1) - first).days
        count = _count(a_month or world.tenders_a_month, month, first)
        for position in range(count):
            opened = first + timedelta(days=length * position // count)
            if opened < world.day:
                yield _process(world, portal, code, number, month, opened)
            number += 1


def _month(day: date, month: int) -> date:
    """Return the first day of a month of the world, the last of which is that of ``day``."""
    months = day.year * 12 + day.month - MONTHS + month
    return date(months // 12, months % 12 + 1, 1)


def _count(usual: int, month: int, first: date) -> int:
    return usual * (100 + _SEASON[first.month - 1] + month // 2) // 100


def _process(
    world: WorldWriter, portal: str, code: str, number: int, month: int, opened: date
) -> SampleProcess:
    rng = world.random(portal, number)
    category = rng.choices(CATEGORIES, (5, 2, 4))[0]
    return SampleProcess(
        number,
        month,
        _buyer(world, code, number, rng),
        opened,
        category,
        rng.choice(_SUBJECTS[category]),
        _amount(rng),
    )


def _amount(rng: random.Random) -> int:
    return rng.randrange(1000, 9999) * 10 ** rng.choices((1, 2, 3, 4), (2, 4, 4, 1))[0]


def _buyer(world: WorldWriter, code: str, number: int, rng: random.Random) -> SampleOrganisation:
    if is_bought_by_issuer(code, number):
        return home_issuer(world, code, rng)
    return body(code, _skewed(rng, _BUYERS * world.scale))


def _skewed(rng: random.Random, size: int) -> int:
    """Return a position below ``size``, the first ones more often."""
    return min(rng.randrange(size), rng.randrange(size))


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
    """Return the supplier: of twelve, one an issuer at home; of sixty, one any issuer."""
    rng = world.random("supplier", code, process.number)
    if process.number % 60 == 5:
        return issuer(rng.randrange(ISSUERS_PER_SCALE * world.scale))
    if process.number % 12 == 0:
        return home_issuer(world, code, rng)
    return supplier(code, _skewed(rng, supplier_count(world, process)))


def supplier_count(world: WorldWriter, process: SampleProcess) -> int:
    """Return how many suppliers of a country there are when a process opens."""
    return (_SUPPLIERS + _NEW_SUPPLIERS * process.month) * world.scale


def other_bidders(
    world: WorldWriter, process: SampleProcess, code: str
) -> list[SampleOrganisation]:
    """Return the firms that bid and do not win: none for one tender in six, else up to five."""
    rng = world.random("bidders", code, process.number)
    count = rng.choices(range(6), (2, 2, 3, 3, 1, 1))[0]
    first = rng.randrange(supplier_count(world, process))
    return [supplier(code, first + position) for position in range(count)]


def home_issuer(world: WorldWriter, code: str, rng: random.Random) -> SampleOrganisation:
    """Return an issuer of the portal's own country."""
    at_home = [
        role for role in range(ISSUERS_PER_SCALE) if issuer(role).country == COUNTRIES_BY_CODE[code]
    ]
    return issuer(rng.choice(at_home) + ISSUERS_PER_SCALE * rng.randrange(world.scale))


def stated_amount(amount: object, as_text: bool) -> object:
    """Return an amount as a portal writes it: some write some of theirs as text."""
    return f"{amount}" if as_text else amount


def read_on(world: WorldWriter, month: str) -> str:
    """Return the day on which the crawler reads the documents of a month."""
    after = date.fromisoformat(f"{month}-01") + timedelta(days=32)
    return min(after.replace(day=2), world.day).isoformat()
