"""Every store killed, frozen and restarted under load, with real servers."""

import http.client
import json
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Self

import pytest

from tests.helpers.made_once import copy_of, made_once
from tests.helpers.mcp_service import call, mcp_served
from tests.helpers.postgres_server import Postgres
from tests.helpers.redis_server import Redis
from tests.helpers.rest_service import Served, World, publish_invented, served
from tests.helpers.stores import Stores, stores_of
from tests.helpers.waiting import wait_until
from warehouse.control.keys import KeyStore, create_key, sandbox

# Servers give up on each other after some seconds, and a shared machine may halt for longer: a
# test that fails is run once more, and the summary names it.
pytestmark = pytest.mark.flaky(reruns=1)

ENTITY = "/v1/entities/DCA1"
STORES = ("datastore", "key_store", "usage_store")
CODES = {"datastore": "datastore_unavailable", "key_store": "key_store_unavailable"}
# The status, the code of the problem, and whether the month is counted.
Met = tuple[int, str | None, bool]
WELL: Met = (200, None, True)
WITHOUT: dict[str, Met] = {
    "datastore": (503, CODES["datastore"], True),
    "key_store": WELL,
    "usage_store": (200, None, False),
}


@pytest.fixture(scope="module", params=["embedded", "servers"])
def stores(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Stores]:
    invented = made_once(tmp_path_factory, "invented", publish_invented)
    with stores_of(copy_of(invented, "stores", tmp_path_factory), request.param) as running:
        yield running


@pytest.fixture(scope="module")
def world(stores: Stores, tmp_path_factory: pytest.TempPathFactory) -> World:
    keys = KeyStore(stores.key_store.url)
    return World(tmp_path_factory.mktemp("served"), sandbox(keys), create_key(keys, "professional"))


@pytest.fixture(scope="module")
def server(stores: Stores, world: World) -> Iterator[Served]:
    with pytest.MonkeyPatch.context() as environment:
        tiers = world.root / "tiers.json"
        tiers.write_text('{"professional": {"per_minute": 1000000}}')
        environment.setenv("SANKOFA_TIERS", str(tiers))
        with served(world, *stores.options(), "--workers", "2") as running:
            yield running


@dataclass
class Visitors:
    """Clients that keep sending requests, one connection per client."""

    port: int
    key: str
    met: list[Met] = field(default_factory=list)
    _stop: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> Self:
        self._threads = [threading.Thread(target=self._ask) for _ in range(3)]
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(30)

    def _ask(self) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        while not self._stop.is_set():
            connection.request("GET", ENTITY, headers={"X-API-Key": self.key})
            answer = connection.getresponse()
            code = json.loads(answer.read()).get("code")
            counted = "monthly" in (answer.headers["RateLimit"] or "")
            self.met.append((answer.status, code, counted))
            # Paced: the key has a limit per minute.
            time.sleep(0.03)
        connection.close()

    def meet(self, expected: Met) -> None:
        """Wait until clients see nothing but the expected response."""

        def settled() -> bool | None:
            begin = len(self.met)
            # That nothing else is met is no event: it is looked at for a while.
            time.sleep(0.3)
            return True if set(self.met[begin:]) == {expected} else None

        wait_until(settled)


def status(server: Served) -> tuple[int, list[str]]:
    code, _, raw = server.get("/v1/status")
    body: dict[str, Any] = json.loads(raw)
    return code, body["degraded"]


@pytest.mark.parametrize("name", STORES)
def test_a_killed_store_is_named_and_recovers_without_a_restart(
    stores: Stores, world: World, server: Served, name: str
) -> None:
    store = vars(stores)[name]
    children = wait_until(lambda: _both(server))
    with Visitors(server.port, world.paid) as visitors:
        visitors.meet(WELL)
        store.kill()
        try:
            visitors.meet(WITHOUT[name])
            assert status(server) == (503, [name])
            assert server.get("/health")[0] == 200
        finally:
            store.start()
        visitors.meet(WELL)
        wait_until(lambda: status(server) == (200, []))
    assert set(visitors.met) == {WELL, WITHOUT[name]}
    assert server.children() == children


@pytest.mark.parametrize("stores", ["servers"], indirect=True)
@pytest.mark.parametrize("name", ["key_store", "usage_store"])
def test_a_store_that_hangs_is_named_within_the_deadline_of_status(
    stores: Stores, world: World, server: Served, name: str
) -> None:
    store = vars(stores)[name]
    assert isinstance(store, Postgres | Redis)
    assert server.get(ENTITY, world.paid)[0] == 200
    store.freeze()
    try:
        code, _, raw = server.get("/v1/status")
        body = json.loads(raw)
        assert (code, body["degraded"]) == (503, [name])
        checked = body["checks"][name]
        # The Redis client gives up before the deadline; the databases are cut off by it.
        assert checked["status"] == "failed"
        assert name == "usage_store" or checked["latency_ms"] == 1000
        # Keys are in memory.
        assert server.get(ENTITY, world.paid)[0] == 200
    finally:
        store.thaw()
    wait_until(lambda: server.get(ENTITY, world.paid)[0] == 200)
    wait_until(lambda: status(server) == (200, []))


@pytest.mark.parametrize("workers", [pytest.param("1", marks=pytest.mark.nightly), "2"])
def test_a_service_started_while_its_stores_are_down_answers_once_they_are_up(
    stores: Stores, world: World, workers: str
) -> None:
    for name in STORES:
        vars(stores)[name].kill()
    try:
        with served(world, *stores.options(), "--workers", workers) as running:
            code, degraded = status(running)
            assert (code, set(degraded)) == (503, set(STORES))
            problem = json.loads(running.get(ENTITY, world.paid)[2])
            assert problem["code"] == "key_store_unavailable"
            for name in STORES:
                vars(stores)[name].start()
            wait_until(lambda: status(running) == (200, []))
            wait_until(lambda: running.get(ENTITY, world.paid)[0] == 200)
            page = json.loads(running.get("/v1/tenders?limit=2", world.paid)[2])
            next_page = f"/v1/tenders?limit=2&cursor={page['next_cursor']}"
            assert running.get(next_page, world.paid)[0] == 200
    finally:
        for name in STORES:
            vars(stores)[name].start()


def test_agents_are_answered_once_the_stores_are_up(stores: Stores, world: World) -> None:
    for name in CODES:
        vars(stores)[name].kill()
    try:
        with mcp_served(world, *stores.options()) as running:

            def code() -> str | None:
                answer = call(running, world.paid, "search_tenders", {"limit": 2})
                body = answer.result["structuredContent"] if answer.status == 200 else answer.json()
                code: str | None = body.get("code")
                return code

            assert code() == CODES["key_store"]
            stores.key_store.start()
            wait_until(lambda: code() == CODES["datastore"])
            stores.datastore.start()
            wait_until(lambda: code() is None)
    finally:
        for name in CODES:
            vars(stores)[name].start()


def _both(server: Served) -> list[int] | None:
    workers = server.children()
    return workers if len(workers) == 2 else None
