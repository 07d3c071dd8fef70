"""The questions of the benchmark, random ones and the same in every run, as each server takes them.

``uniform`` asks for everything equally often, so that nothing is found in a cache that is not
larger than the data; ``zipf`` asks for few things often and for many seldom, as visitors do.
"""

import io
import json
import random
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import accumulate
from typing import Any
from urllib.parse import quote

from api.app import create_app
from tests.bench.serve.data import BUYERS, CATEGORIES, ITEM_NAMES, METRIC, PANEL, Data
from warehouse.control.keys import KeyStore
from warehouse.serve.build import Mart

QUESTIONS, EXPONENT = 20_000, 1.1
COUNTRIES = ("ZA", "KE", "NG")
# Rows of the pages whose cursors are remembered: no multiple of anything that a file may have.
_STEPS = (170, 230, 290, 350)
_CURSOR = re.compile(rb'"next_cursor":"([^"]+)"')


@dataclass(frozen=True)
class Question:
    """One request in the form each server takes; empty for a server that is not compared."""

    ours: str
    usual: str = ""
    datasette: str = ""


def questions(data: Data, case: str) -> list[Question]:
    """Return the questions of a case, uniformly distributed."""
    made = _CASES[case](data, random.Random(case))
    return [next(made) for _ in range(QUESTIONS)]


def by_zipf(uniform: list[Question]) -> list[Question]:
    """Return as many of the questions, the first ones often and the last ones seldom."""
    weights = list(accumulate(rank**-EXPONENT for rank in range(1, len(uniform) + 1)))
    return random.Random("zipf").choices(uniform, cum_weights=weights, k=len(uniform))


def _fundamentals(data: Data, chance: random.Random) -> Iterator[Question]:
    while True:
        issuer, as_of = _issuer(data, chance), _day(chance)
        yield Question(
            f"/v1/fundamentals/{issuer}?as_of={as_of}",
            f"/fundamentals/{issuer}?as_of={as_of}",
            f"/plain/fundamentals.json?id={issuer}&as_of={as_of}&_shape=objects",
        )


def _two_lines(data: Data, chance: random.Random) -> Iterator[Question]:
    while True:
        lines = ",".join(chance.sample(ITEM_NAMES, 2))
        url = f"/v1/fundamentals/{_issuer(data, chance)}?line_items={lines}&as_of={_day(chance)}"
        yield Question(url)


def _series(data: Data, chance: random.Random) -> Iterator[Question]:
    while True:
        series = f"CPI.{chance.randrange(data.size.series)}"
        as_of = date(2017, 1, 1) + timedelta(chance.randrange(1_200))
        yield Question(
            f"/v1/macro?series={series}&as_of={as_of}&limit=1000",
            f"/macro?series={series}&as_of={as_of}",
            f"/plain/macro.json?series={series}&as_of={as_of}&_shape=objects",
        )


def _macro_of_country(data: Data, chance: random.Random) -> Iterator[Question]:
    while True:
        as_of = date(2017, 1, 1) + timedelta(chance.randrange(1_200))
        begins = as_of - timedelta(chance.randrange(40, 400))
        yield Question(f"/v1/macro?country=ZA&as_of={as_of}&from={begins}&limit=100")


def _tenders(data: Data, chance: random.Random) -> Iterator[Question]:
    cursors = _cursors(data)
    while True:
        country, position = chance.choice(COUNTRIES), chance.randrange(1, data.size.releases)
        cursor = quote(chance.choice(cursors[country]))
        yield Question(
            f"/v1/tenders?country={country}&limit=100&cursor={cursor}",
            f"/tenders?country={country}&after={position}",
            f"/plain/tenders.json?country={country}&after={position}&_shape=objects",
        )


def _filtered_tenders(data: Data, chance: random.Random) -> Iterator[Question]:
    while True:
        country, buyer = chance.choice(COUNTRIES), chance.randrange(BUYERS)
        category = chance.choice(CATEGORIES)
        which = chance.choice((f"buyer=Department%20{buyer}", f"category={category}"))
        ends = date(2016, 1, 1) + timedelta(chance.randrange(3_000))
        yield Question(f"/v1/tenders?country={country}&{which}&to={ends}&limit=25")


def _entity(data: Data, chance: random.Random) -> Iterator[Question]:
    while True:
        service_id = f"DC{chance.randrange(data.size.entities):08d}"
        yield Question(
            f"/v1/entities/{service_id}",
            f"/entities/{service_id}",
            f"/plain/entity.json?id={service_id}&_shape=objects",
        )


def _search(data: Data, chance: random.Random) -> Iterator[Question]:
    while True:
        # Words of names are distributed like this, see ``data.py``.
        word = int(20_000 * chance.random() ** 3)
        yield Question(f"/v1/search?query=word{word}&limit=10")


def _panel(data: Data, chance: random.Random) -> Iterator[Question]:
    while True:
        country = chance.choice(COUNTRIES)
        buyer = chance.randrange(data.size.buyers_of_panel)
        yield Question(
            f"/v1/signals/{PANEL}?country={country}&dimension=buyer"
            f"&dimension_value=Department%20{buyer}&as_of={_day(chance)}&limit=100"
        )


def _screen(data: Data, chance: random.Random) -> Iterator[Question]:
    while True:
        order = chance.choice(("asc", "desc"))
        as_of = date(2016, 1, 1) + timedelta(chance.randrange(3_000))
        yield Question(f"/v1/screen?metric={METRIC}&as_of={as_of}&order={order}&limit=25")


def _issuer(data: Data, chance: random.Random) -> str:
    return f"DC{chance.randrange(data.size.issuers):08d}"


def _day(chance: random.Random) -> date:
    return date(2023, 4, 1) + timedelta(chance.randrange(360))


_CASES: dict[str, Callable[[Data, random.Random], Iterator[Question]]] = {
    "fundamentals": _fundamentals,
    "tenders": _tenders,
    "series": _series,
    "entity": _entity,
    "two lines": _two_lines,
    "tenders filtered": _filtered_tenders,
    "macro of a country": _macro_of_country,
    "search": _search,
    "panel": _panel,
    "screen": _screen,
}
# The cases that peers answer too, and those that are ours alone.
COMPARED = ("fundamentals", "tenders", "series", "entity")
OWN = tuple(case for case in _CASES if case not in COMPARED)
CASES = (*COMPARED, *OWN)
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


def _cursors(data: Data) -> dict[str, list[str]]:
    """Return cursors of pages all over the releases of each country, found by walking once."""
    file = data.folder / "cursors.json"
    if not file.exists():
        app = create_app(Mart(data.marts), KeyStore(data.keys))
        walked = {country: list(_walk(app, country, data.key)) for country in COUNTRIES}
        file.write_text(json.dumps(walked))
    cursors: dict[str, list[str]] = json.loads(file.read_text())
    return cursors


def _walk(app: Callable[..., Any], country: str, key: str) -> Iterator[str]:
    chance, cursor = random.Random(country), ""
    while True:
        url = f"/v1/tenders?country={country}&limit={chance.choice(_STEPS)}"
        _, _, body = ask(app, url + (f"&cursor={quote(cursor)}" if cursor else ""), key)
        found = _CURSOR.search(body)
        if found is None:
            return
        cursor = found[1].decode()
        yield cursor


def ask(
    app: Callable[..., Any], url: str, key: str, **more: str
) -> tuple[str, dict[str, str], bytes]:
    """Send one request through an app, without a server; return status, headers and body.

    ``more`` are variables of the environment, such as ``HTTP_ACCEPT_ENCODING``.
    """
    path, _, query = url.partition("?")
    environ = {
        "REQUEST_METHOD": "GET",
        "PATH_INFO": path,
        "QUERY_STRING": query,
        "SERVER_NAME": "bench",
        "SERVER_PORT": "80",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "REMOTE_ADDR": "127.0.0.1",
        "HTTP_HOST": "bench",
        "HTTP_ACCEPT": "*/*",
        "HTTP_X_API_KEY": key,
        "wsgi.url_scheme": "http",
        "wsgi.input": io.BytesIO(),
        "wsgi.errors": sys.stderr,
        **more,
    }
    started: list[tuple[str, dict[str, str]]] = []

    def start(status: str, headers: list[tuple[str, str]], error: object = None) -> None:
        started.append((status, {name.lower(): value for name, value in headers}))

    body = b"".join(app(environ, start))
    return (*started[0], body)
