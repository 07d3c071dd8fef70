"""A pinned data_version: checked before the tier, named by errors, gone when its build is."""

import shutil
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from falcon import testing

from api.app import create_app
from tests.helpers.publishing import publish
from tests.helpers.record_rows import entity_row, load
from tests.helpers.rest_service import make_world
from tests.helpers.stored_builds import change_metadata
from warehouse.control.keys import KeyStore, create_key, sandbox
from warehouse.publish.builds import Builds, manifest_file
from warehouse.publish.tables import MART_SCHEMA_VERSION
from warehouse.record.store import Record
from warehouse.record.tables import ENTITIES
from warehouse.serve.build import Mart
from warehouse.shared.errors import NothingPublished


@dataclass(frozen=True)
class Two:
    """A service over two builds, called with a sample key and with a paid key."""

    client: testing.TestClient
    marts: Path
    keys: KeyStore
    sample: str
    paid: str
    first: str
    second: str

    def get(self, path: str, key: str, pin: str | None = None) -> testing.Result:
        pinned = {} if pin is None else {"X-Data-Version": pin}
        return self.client.simulate_get(path, headers={"X-API-Key": key, **pinned})


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with two builds; shared, so copied for every test."""
    folder = make_world(tmp_path_factory, "published").root
    record = Record(str(folder / "record"))
    load(record, ENTITIES, entity_row(service_id="DCNEW"))
    publish(record, folder / "marts", "notice")
    return folder


@pytest.fixture
def two(published: Path, tmp_path: Path) -> Two:
    marts, keys = tmp_path / "marts", KeyStore(tmp_path / "control.sqlite")
    shutil.copytree(published / "marts", marts)
    first, second = Builds(marts).names()
    client = testing.TestClient(create_app(Mart(marts), keys))
    sample, paid = sandbox(keys), create_key(keys, "professional")
    return Two(client, marts, keys, sample, paid, first, second)


@pytest.mark.parametrize(
    ("path", "pin"),
    [
        ("/v1/shared/facts?entity_id=DCA1&dataset=AF-MACRO&limit=26", None),
        ("/v1/shared/facts?entity_id=DCA1&limit=26", "20200101.1"),
        ("/v1/screen?metric=net_margin&limit=26", "20200101.1"),
        ("/v1/tenders?limit=26", "20200101.1"),
        ("/v1/metrics/DCA1?limit=26", "20200101.1"),
        ("/v1/macro?series=FX.EUR.ZAR&limit=26", "20200101.1"),
        ("/v1/tender-parties?limit=26", "20200101.1"),
        ("/v1/signals/single-bid-rate?limit=26", "20200101.1"),
    ],
)
def test_parameters_are_checked_before_the_tier(two: Two, path: str, pin: str | None) -> None:
    assert two.get(path, two.sample, pin).status_code == 400
    if pin is not None:
        assert two.get(path, two.sample).status_code == 402


def test_an_error_names_the_version_that_was_pinned(two: Two) -> None:
    for path, key in (("/v1/entities/NOBODY", two.paid), ("/v1/tenders?limit=26", two.sample)):
        for pin, expected in (
            (two.first, two.first),
            (None, two.second),
            ("20200101.1", two.second),
        ):
            assert two.get(path, key, pin).headers["X-Data-Version"] == expected


def test_a_build_that_was_removed_answers_no_more(two: Two) -> None:
    assert two.get("/v1/entities/DCA1", two.paid, two.first).status_code == 200
    manifest_file(two.marts, two.first).unlink()
    gone = two.get("/v1/entities/DCA1", two.paid, two.first)
    assert (gone.status_code, gone.json["parameter"]) == (400, "X-Data-Version")


def test_a_pin_that_is_not_held_is_told_what_is(two: Two) -> None:
    for pin, nearest in (
        ("20200101.1", [two.first]),
        ("20991231.1", [two.second]),
        (f"20991231.{'9' * 9}", [two.second]),
    ):
        unknown = two.get("/v1/entities/DCA1", two.paid, pin)
        assert (unknown.status_code, unknown.json["parameter"]) == (400, "X-Data-Version")
        assert f"{pin!r} is not available: it was never published, or" in unknown.json["detail"]
        assert unknown.json["held"] == [two.second, two.first]
        assert unknown.json["nearest"] == nearest


def test_a_refused_pin_lists_at_most_thirty_versions(two: Two) -> None:
    for number in range(40):
        (two.marts / f"20200101.{number + 1}.json").touch()
    unknown = two.get("/v1/entities/DCA1", two.paid, "20200101.99").json
    assert unknown["held"][:2] == [two.second, two.first]
    assert unknown["held"][2:] == [f"20200101.{number}" for number in range(40, 12, -1)]
    assert unknown["nearest"] == ["20200101.40", two.first]


def test_a_pin_of_absurd_length_is_no_data_version(two: Two) -> None:
    for digits in (10, 300, 5_000):
        refused = two.get("/v1/entities/DCA1", two.paid, f"20200101.{'9' * digits}")
        assert (refused.status_code, refused.json["code"]) == (400, "parameter_invalid")


def test_a_build_of_the_next_format_is_refused_and_says_what_to_do(two: Two) -> None:
    assert two.get("/v1/entities/DCA1", two.paid, two.first).status_code == 200
    for version in (two.first, two.second):
        change_metadata(two.marts, version, layout=str(MART_SCHEMA_VERSION + 1))
    mart = Mart(two.marts)
    with pytest.raises(NothingPublished, match="newer than this one, replace this one by it"):
        mart.build()
    client = testing.TestClient(create_app(mart, two.keys))
    after = replace(two, client=client)
    pinned = after.get("/v1/entities/DCA1", two.paid, two.first)
    assert (pinned.status_code, pinned.json["parameter"]) == (400, "X-Data-Version")
    assert "was written by another version of the service" in pinned.json["detail"]
    now = after.get("/v1/entities/DCA1", two.paid)
    assert (now.status_code, now.json["code"]) == (503, "datastore_unavailable")


def test_no_visit_makes_a_key_store_that_was_lost(two: Two) -> None:
    key_file = Path(two.marts).with_name("control.sqlite")
    assert two.get("/v1/entities/DCA1", two.paid).status_code == 200
    key_file.rename(two.marts / "away")
    for path in ("/docs", "/v1/tenders", "/v1/entities/DCA1"):
        two.get(path, two.paid)
    fresh = testing.TestClient(create_app(Mart(two.marts), KeyStore(key_file)))
    fresh.simulate_get("/docs")
    assert not key_file.exists()
    lost = fresh.simulate_get("/v1/entities/DCA1", headers={"X-API-Key": two.paid})
    assert (lost.status_code, lost.json["code"]) == (503, "key_store_unavailable")
    # Who has read the keys before goes on with them.
    assert two.get("/v1/entities/DCA1", two.paid).status_code == 200
    (two.marts / "away").rename(key_file)
    found = fresh.simulate_get("/v1/entities/DCA1", headers={"X-API-Key": two.paid})
    assert found.status_code == 200
