"""The four benchmark queries with random keys, as each contender expects them."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from urllib.parse import quote

from tests.bench.serve.data import VERSION, Data
from warehouse.contract.pagination import next_cursor
from warehouse.control.keys import KeyStore, signing_secret
from warehouse.serve.build import Mart

ASKED = 20_000


@dataclass(frozen=True)
class Question:
    """One request in the form each contender expects; ROAPI gets SQL."""

    ours: str
    usual: str
    datasette: str
    roapi: str


def questions(data: Data, case: str) -> list[Question]:
    """Make the random requests of a case, the same ones in every run."""
    chance = random.Random(case)
    made = _CASES[case](data, chance)
    return [next(made) for _ in range(ASKED)]


def _fundamentals(data: Data, chance: random.Random) -> Iterator[Question]:
    while True:
        issuer = f"DC{chance.randrange(data.size.issuers):08d}"
        as_of = date(2023, 4, 1) + timedelta(chance.randrange(360))
        yield Question(
            f"/v1/fundamentals/{issuer}?as_of={as_of}",
            f"/fundamentals/{issuer}?as_of={as_of}",
            f"/plain/fundamentals.json?id={issuer}&as_of={as_of}&_shape=objects",
            f"SELECT * FROM facts WHERE service_id = '{issuer}' AND available_at <= '{as_of}' "
            f"AND superseded_at > '{as_of}' ORDER BY period_end DESC, line_item",
        )


def _macro(data: Data, chance: random.Random) -> Iterator[Question]:
    while True:
        series = f"CPI.{chance.randrange(data.size.series)}"
        as_of = date(2017, 1, 1) + timedelta(chance.randrange(1_200))
        yield Question(
            f"/v1/macro?series={series}&as_of={as_of}&limit=1000",
            f"/macro?series={series}&as_of={as_of}",
            f"/plain/macro.json?series={series}&as_of={as_of}&_shape=objects",
            f"SELECT * FROM macro WHERE series = '{series}' AND available_at <= '{as_of}' "
            f"AND superseded_at > '{as_of}' ORDER BY period_end DESC",
        )


def _tenders(data: Data, chance: random.Random) -> Iterator[Question]:
    secret = signing_secret(KeyStore(data.keys), "cursor")
    files = Mart(data.marts).build().files("tender_releases")
    counts = [file.query("SELECT count(*) FROM tender_releases")[0][0] for file in files]
    statement = "SELECT country FROM tender_releases WHERE row_number = ?"
    while True:
        file, count = chance.choice(list(zip(files, counts, strict=True)))
        number, position = chance.randrange(1, count + 1), chance.randrange(1, data.size.releases)
        ((country,),) = file.query(statement, number)
        after = (file.label, str(number))
        cursor = next_cursor(secret, "tenders", {"country": country}, after, VERSION)
        sent = quote(cursor or "")
        yield Question(
            f"/v1/tenders?country={country}&limit=100&cursor={sent}",
            f"/tenders?country={country}&after={position}",
            f"/plain/tenders.json?country={country}&after={position}&_shape=objects",
            f"SELECT * FROM releases WHERE country = '{country}' AND position > {position} "
            "ORDER BY position LIMIT 100",
        )


def _entity(data: Data, chance: random.Random) -> Iterator[Question]:
    while True:
        who = f"DC{chance.randrange(data.size.entities):08d}"
        yield Question(
            f"/v1/entities/{who}",
            f"/entities/{who}",
            f"/plain/entity.json?id={who}&_shape=objects",
            f"SELECT * FROM entities WHERE service_id = '{who}'",
        )


_CASES = {
    "fundamentals": _fundamentals,
    "tenders": _tenders,
    "macro": _macro,
    "entity": _entity,
}
CASES = tuple(_CASES)
# The queries by which Datasette answers the same.
DATASETTE = {
    "fundamentals": "select * from facts where service_id = :id and available_at <= :as_of "
    "and superseded_at > :as_of order by period_end desc, line_item",
    "macro": "select * from macro where series = :series and available_at <= :as_of "
    "and superseded_at > :as_of order by period_end desc",
    "tenders": "select * from releases where country = :country "
    "and position > cast(:after as integer) order by position limit 100",
    "entity": "select * from entities where service_id = :id",
}
