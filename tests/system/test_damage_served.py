"""What is damaged is 503, charged to no key, and never sent as if it were true."""

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

import pytest
from falcon import testing

from api.app import create_app
from tests.helpers.active_keys import find_key
from tests.helpers.damage import KINDS, copy_home, current, flip, mart_file, small_home
from tests.helpers.installation import settings_of
from tests.helpers.mcp_service import call, mcp_served
from tests.helpers.rest_service import World
from tests.helpers.waiting import wait_until
from tests.helpers.whole_tables import query
from warehouse.control.keys import KeyStore, create_key
from warehouse.serve.build import Mart
from warehouse.serve.exports import PublishedExports
from warehouse.serve.usage import Usage


class Service:
    """The REST app over a home, and a key."""

    def __init__(self, home: Path, key: str, mart: Mart) -> None:
        settings = settings_of(home)
        self.home, self.key, self.keys = home, key, KeyStore(settings.control)
        self.usage = Usage(settings.usage)
        exports = PublishedExports(settings.exports)
        app = create_app(mart, self.keys, exports=exports, usage=self.usage)
        self.client = testing.TestClient(app)
        self._different = count(1)

    def get(self, path: str, **headers: str) -> Any:
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.client.simulate_get(path, headers={"X-API-Key": self.key, **sent})

    def used(self) -> int:
        key = find_key(self.keys, self.key)
        assert key is not None
        return self.usage.used(key.key_id, self.usage._month.name)

    def get_unknown(self, path: str) -> Any:
        """Ask a list in a way that was not answered before: what is known needs no file."""
        return self.get(f"{path}?limit={next(self._different)}")

    def is_unavailable(self, path: str) -> bool:
        answer = self.get_unknown(path) if path.startswith("/v1/") else self.get(path)
        return bool(answer.status_code == 503 and answer.json["code"] == "datastore_unavailable")


@pytest.fixture
def home(tmp_path_factory: pytest.TempPathFactory, tmp_path: Path) -> Path:
    return copy_home(small_home(tmp_path_factory), tmp_path / "home")


@pytest.fixture
def key(home: Path) -> str:
    return create_key(KeyStore(settings_of(home).control), "professional")


@contextmanager
def serving(home: Path, key: str) -> Iterator[Service]:
    with closing(Mart(home / "marts")) as mart:
        yield Service(home, key, mart)


@pytest.fixture(scope="module")
def issuer(tmp_path_factory: pytest.TempPathFactory) -> str:
    """An issuer with figures, in every copy of the home."""
    with closing(Mart(small_home(tmp_path_factory) / "marts")) as mart:
        ((service_id,),) = query(mart.build(), "SELECT service_id FROM fundamentals LIMIT 1")
    return str(service_id)


@pytest.fixture(scope="module")
def paths(issuer: str) -> dict[str, str]:
    """What each kind of file is needed for."""
    return {
        "mart": f"/v1/fundamentals/{issuer}",
        "manifest": f"/v1/entities/{issuer}",
        "pointer": f"/v1/entities/{issuer}",
        "export": "/exports/latest/af-fund-facts.parquet",
        "export manifest": "/exports/latest/manifest.json",
        "export signature": "/exports/latest/manifest.json.sig",
        "export description": "/exports/latest/datapackage.json",
        "page": "/",
    }


@pytest.fixture(scope="module")
def intact(paths: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> dict[str, int]:
    """How each of them is answered by a home without damage."""
    home = copy_home(small_home(tmp_path_factory), tmp_path_factory.mktemp("intact") / "home")
    key = create_key(KeyStore(settings_of(home).control), "professional")
    with serving(home, key) as service:
        return {kind: service.get(path).status_code for kind, path in paths.items()}


SERVED = (
    *("mart", "manifest", "pointer", "export", "export manifest", "export signature"),
    *("export description", "page"),
)


def bucket_file(home: Path, kind: str, issuer: str) -> Path:
    """Return the file that the request of a kind reads."""
    if kind != "mart":
        return KINDS[kind](home)
    with closing(Mart(home / "marts")) as mart:
        build = mart.build()
        (found,) = build.files_with("fundamentals", "service_id", issuer)
        (path,) = (
            file.path
            for file in build._manifest.of("mart", "fundamentals")
            if file.partition == found.label
        )
    return home / "marts" / path


def flipped_at(place: float) -> Callable[[Path], None]:
    return lambda path: flip(path, place)


@pytest.mark.parametrize("kind", SERVED)
@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(flipped_at(0.1), id="flipped at its beginning", marks=pytest.mark.nightly),
        pytest.param(flipped_at(0.5), id="in its middle"),
        pytest.param(flipped_at(0.999), id="at its end", marks=pytest.mark.nightly),
        pytest.param(lambda path: path.unlink(), id="deleted"),
    ],
)
def test_a_damaged_file_is_503_from_the_start_and_charged_to_nobody(
    home: Path,
    key: str,
    kind: str,
    damage: Callable[[Path], None],
    paths: dict[str, str],
    intact: dict[str, int],
) -> None:
    path = paths[kind]
    assert intact[kind] == 200
    damage(bucket_file(home, kind, path.rpartition("/")[2]))
    with serving(home, key) as service:
        used = service.used()
        answer = service.get(path)
        assert (answer.status_code, answer.json["code"]) == (503, "datastore_unavailable")
        assert answer.headers["Retry-After"]
        assert service.used() == used
        if kind in ("mart", "manifest", "pointer"):
            status = service.get("/v1/status")
            assert (status.status_code, status.json["degraded"]) == (503, ["datastore"])


@pytest.mark.parametrize("kind", ["manifest", "pointer", "mart"])
def test_what_is_deleted_while_it_is_served_is_noticed_and_comes_back(
    home: Path, key: str, kind: str, paths: dict[str, str]
) -> None:
    path = paths["mart"]
    file = bucket_file(home, kind, path.rpartition("/")[2])
    with serving(home, key) as service:
        expected = service.get(path).content
        away = home / "away"
        shutil.move(file, away)
        wait_until(lambda: service.is_unavailable(path), timeout=30)
        assert service.get("/v1/status").json["degraded"] == ["datastore"]
        if kind != "mart":
            assert service.is_unavailable("/")
        shutil.move(away, file)
        wait_until(lambda: service.get_unknown(path).status_code == 200, timeout=30)
        assert service.get(path).content == expected
        assert service.get("/v1/status").status_code == 200


def test_a_file_that_changes_while_it_is_open_is_noticed(
    home: Path, key: str, paths: dict[str, str]
) -> None:
    path = paths["mart"]
    file = bucket_file(home, "mart", path.rpartition("/")[2])
    with serving(home, key) as service:
        assert service.get(path).status_code == 200
        flip(file)
        wait_until(lambda: service.is_unavailable(path), timeout=30)
        flip(file)
        wait_until(lambda: service.get_unknown(path).status_code == 200, timeout=30)


def test_a_search_in_files_that_are_overwritten_while_they_are_open_becomes_503(
    home: Path, key: str
) -> None:
    file = mart_file(home, "search")
    intact = file.read_bytes()
    for seed in range(3):
        file.write_bytes(intact)
        with serving(home, key) as service:
            assert not any(map(service.is_unavailable, SEARCHES))
            rng, body = Random(seed), bytearray(intact)
            for _ in range(400):
                body[rng.randrange(100, len(body))] = rng.randrange(256)
            # In place, and of the same size: the server has mapped this file.
            with file.open("r+b") as stream:
                stream.write(body)
            # Rows have a check of their own; of an index the next look at the file knows.
            wait_until(lambda: all(map(service.is_unavailable, SEARCHES)), timeout=30)


SEARCHES = [f"/v1/search?query={words}" for words in ("fictional", "bank", "XJSE:UBF0", "brewry")]


def test_only_a_client_that_pins_a_version_is_told_that_it_is_unknown(
    home: Path, key: str, paths: dict[str, str]
) -> None:
    path = paths["mart"]
    version = current(home)
    KINDS["manifest"](home).unlink()
    with serving(home, key) as service:
        assert service.get(path).status_code == 503
        # It is the current one: the client is right, and the build is lost.
        assert service.get(path, X_Data_Version=version).status_code == 503
        assert service.get(path, X_Data_Version="20010101.1").status_code == 400


def test_mcp_says_that_data_is_unavailable_and_charges_nobody(
    home: Path, key: str, issuer: str
) -> None:
    flip(bucket_file(home, "mart", issuer))
    world = World(home, key, key)
    with mcp_served(world, "--usage", settings_of(home).usage) as server:
        answer = call(server, key, "get_fundamentals", {"service_id": issuer})
    assert b"datastore_unavailable" in answer.body
    with serving(home, key) as service:
        assert service.used() == 0


def test_a_large_export_is_checked_aside_and_sent_once_it_was(
    home: Path, key: str, paths: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("warehouse.serve.exports._AT_ONCE", 1000)
    path = paths["export"]
    with serving(home, key) as service:
        expected = KINDS["export"](home).read_bytes()
        wait_until(lambda: service.get(path).status_code == 200, timeout=30)
        assert service.get(path).content == expected
        flip(KINDS["export"](home))
        wait_until(lambda: service.get(path).status_code == 503, timeout=30)
        assert service.is_unavailable(path)


def test_an_export_that_lost_bytes_is_not_sent(home: Path, key: str, paths: dict[str, str]) -> None:
    file = KINDS["export"](home)
    file.write_bytes(file.read_bytes()[:500])
    with serving(home, key) as service:
        assert service.is_unavailable(paths["export"])
        assert json.loads(service.get("/exports/latest/manifest.json").content)["artifacts"]
