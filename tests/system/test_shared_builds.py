"""Builds in an S3-compatible store that really runs: one machine publishes, two REST machines pull.

Each machine has a home of its own; nothing but the store is shared.
"""

import json
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from hashlib import sha256
from itertools import count
from pathlib import Path
from random import Random

import msgspec
import pytest

from pipelines.builds import drop_builds, roll_back
from tests.helpers.installation import publication, settings_of
from tests.helpers.nightly import times
from tests.helpers.publishing import publish
from tests.helpers.random_world import everything
from tests.helpers.record_rows import load, release_row
from tests.helpers.rest_service import Served, World, started
from tests.helpers.s3_server import S3Server, s3_server
from tests.helpers.waiting import wait_until
from warehouse.control.keys import KeyStore, create_key, sandbox
from warehouse.publish.builds import Builds, builds_at
from warehouse.publish.manifest import BuildFile, encode_manifest
from warehouse.publish.shared_builds import SharedList, pull_builds, push_builds, read_list
from warehouse.publish.write import manifest_of
from warehouse.record.store import Record
from warehouse.record.tables import TENDER_RELEASES
from warehouse.serve.build import Mart, check_readable
from warehouse.shared.errors import DamagedFile, DatastoreUnavailable, SankofaError
from warehouse.shared.file_store import FileStore
from warehouse.shared.files import seal

ENTITY = "/v1/entities/DCA1"
_NUMBERS = count(1)


@pytest.fixture(scope="module")
def server() -> Iterator[S3Server]:
    with s3_server() as running:
        yield running


@dataclass(frozen=True)
class Publisher:
    """A machine that publishes to a store."""

    home: Path
    url: str

    @property
    def builds(self) -> Builds:
        return builds_at(self.home / "marts")

    @property
    def store(self) -> FileStore:
        return FileStore.of(self.url)

    def make(self) -> str:
        """Publish one release more, on this machine alone; return the data_version."""
        record, number = Record(str(self.home / "record")), next(_NUMBERS)
        if not self.builds.names():
            for table, rows in everything(Random(1)).items():
                load(record, table, *rows)
        load(record, TENDER_RELEASES, release_row(number, country="ZA", ocid=f"new-{number}"))
        return publish(record, self.builds.path, work=self.home / "work")

    def publish(self) -> str:
        version = self.make()
        push_builds(self.builds, self.url)
        return version

    def files_of(self, version: str) -> dict[str, int]:
        manifest = self.builds.manifest(version)
        assert manifest is not None
        return {file.path: file.bytes for file in manifest.files}


@dataclass(frozen=True)
class Machine:
    """A machine that serves what it pulled."""

    world: World
    rest: Served

    def ask(self, pin: str | None = None) -> tuple[int, str | None, str]:
        pinned = {} if pin is None else {"X-Data-Version": pin}
        status, headers, body = self.rest.get(ENTITY, self.world.paid, **pinned)
        return status, headers["X-Data-Version"], body.decode()

    def serves(self, version: str) -> bool:
        return self.ask()[:2] == (200, version)

    def log(self) -> str:
        return self.rest.log.read_text()


@dataclass(frozen=True)
class Trial:
    """A publisher, and two machines that pull."""

    publisher: Publisher
    machines: tuple[Machine, Machine]

    def wait(self, version: str) -> None:
        wait_until(lambda: all(machine.serves(version) for machine in self.machines), 60, every=0.1)


@pytest.fixture(scope="module")
def trial(server: S3Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trial]:
    publisher = Publisher(tmp_path_factory.mktemp("publisher"), server.url("shared", "marts"))
    first = publisher.publish()
    with ExitStack() as running, pytest.MonkeyPatch.context() as environment:
        environment.setenv("SANKOFA_SHARED_MARTS", publisher.url)
        machines = []
        for workers in ("1", "2"):
            root = tmp_path_factory.mktemp("machine")
            keys = KeyStore(root / "control.sqlite")
            world = World(root, sandbox(keys), create_key(keys, "professional"))
            rest = running.enter_context(started(world, "api", "--workers", workers))
            machines.append(Machine(world, rest))
        trial = Trial(publisher, (machines[0], machines[1]))
        trial.wait(first)
        yield trial


def test_publications_fail_no_request_and_no_file_is_fetched_twice(
    server: S3Server, trial: Trial
) -> None:
    stop, statuses = threading.Event(), Counter[int]()

    def visit(machine: Machine) -> None:
        while not stop.is_set():
            statuses[machine.ask()[0]] += 1
            # Paced: the key has a limit per minute.
            time.sleep(0.05)

    visitors = [threading.Thread(target=visit, args=(machine,)) for machine in trial.machines]
    for visitor in visitors:
        visitor.start()
    try:
        versions = []
        for _ in range(times(3)):
            versions.append(trial.publisher.publish())
            trial.wait(versions[-1])
    finally:
        stop.set()
        for visitor in visitors:
            visitor.join()
    assert statuses.keys() == {200} and statuses[200] > 20
    fetched = server.objects_read("shared/marts/files/", "shared/marts/packs/")
    assert fetched.keys() >= {
        f"shared/marts/{path}" for path in trial.publisher.files_of(versions[-1])
    }
    assert set(fetched.values()) == {len(trial.machines)}
    # Most files are those of the build before.
    before, after = (trial.publisher.files_of(version) for version in versions[-2:])
    assert len(after.keys() - before.keys()) < len(after) / 2


def test_a_damaged_download_is_refused_while_the_old_build_answers(trial: Trial) -> None:
    publisher, before = trial.publisher, trial.machines[0].ask()[1]
    shared = read_list(publisher.store).manifests
    version = publisher.make()
    path, size = next(
        (path, size)
        for path, size in publisher.files_of(version).items()
        if not publisher.store.exists(path)
    )
    publisher.store.put(b"\0" * size, path)
    push_builds(publisher.builds, publisher.url)
    assert read_list(publisher.store).manifests.keys() - shared.keys() == {version}

    for machine in trial.machines:
        wait_until(lambda machine=machine: f"{path} came damaged" in machine.log(), 30)  # type: ignore[misc]
        assert machine.serves(str(before)) and machine.ask(version)[0] == 400
        assert not list(machine.world.marts.rglob("*.partial"))

    # What the line in the log says: delete it, and publish again.
    publisher.store.delete(path)
    push_builds(publisher.builds, publisher.url)
    trial.wait(version)


def test_pins_rollbacks_and_withdrawals_are_those_of_the_publisher(trial: Trial) -> None:
    publisher = trial.publisher
    older, newer = publisher.publish(), publisher.publish()
    trial.wait(newer)
    for machine in trial.machines:
        assert machine.ask(older)[:2] == (200, older)
    settings = settings_of(publisher.home).model_copy(update={"shared_marts": publisher.url})

    roll_back(settings, older)
    trial.wait(older)
    assert all(machine.ask(newer)[:2] == (200, newer) for machine in trial.machines)

    drop_builds(settings, [newer])
    for machine in trial.machines:
        wait_until(lambda machine=machine: machine.ask(newer)[0] == 400)  # type: ignore[misc]
        assert "was withdrawn" in json.loads(machine.ask(newer)[2])["detail"]
    named = {path for name in publisher.builds.names() for path in publisher.files_of(name)}
    here = {f"{file.parent.name}/{file.name}" for file in publisher.builds.path.glob("*s/*")}
    assert here == named
    assert {file.path for file in publisher.store.listing() if "/" in file.path} == named


def test_what_was_pulled_cannot_be_changed_where_it_was_pulled(trial: Trial) -> None:
    marts = trial.machines[0].world.marts
    with (
        pytest.raises(SankofaError, match="do it on the machine that publishes"),
        builds_at(marts).publishing_lock(),
    ):
        pass


def test_a_new_publisher_begins_with_the_builds_of_the_store(trial: Trial, tmp_path: Path) -> None:
    first, settings = trial.publisher, settings_of(tmp_path / "home")
    current = read_list(first.store).current
    load(Record(settings.record), TENDER_RELEASES, release_row(1))

    plan = publication(settings, shared_marts=first.url).begin()

    assert plan is not None and plan.before == current
    assert builds_at(settings.marts).names() == first.builds.names()
    assert check_readable(Mart(settings.marts)) == current


def test_a_store_that_is_away_or_damaged_changes_nothing_here(
    server: S3Server, trial: Trial, tmp_path: Path
) -> None:
    builds = trial.publisher.builds
    before = builds.current()
    with pytest.raises(DatastoreUnavailable, match="it copies what is missing"):
        push_builds(builds, "s3://no-such-bucket-here/marts")
    assert builds.current() == before

    FileStore.of(server.url("damaged")).put(b"{}", "builds.json")
    with pytest.raises(DamagedFile, match=r"builds\.json is damaged"):
        pull_builds(server.url("damaged"), Builds(tmp_path / "reader"))
    push_builds(builds, server.url("damaged"))
    pull_builds(server.url("damaged"), Builds(tmp_path / "reader"))
    assert Builds(tmp_path / "reader").current() == before


def test_a_store_can_make_a_machine_write_nothing_but_builds(tmp_path: Path) -> None:
    file = BuildFile("mart", "countries", "", "../outside", "0" * 32, "", 1, 1)
    body = encode_manifest(manifest_of("20260101.1", {"notice": "n"}, [file]))
    store = FileStore.of(str(tmp_path / "store"))
    store.put(body, "20260101.1.json")
    store.put(b"x", "outside")
    listed = SharedList({"20260101.1": sha256(body).hexdigest()}, "20260101.1")
    store.put(seal(msgspec.json.encode(listed)), "builds.json")
    with pytest.raises(DamagedFile, match="no file of a build"):
        pull_builds(str(tmp_path / "store"), Builds(tmp_path / "machine" / "marts"))
    assert not (tmp_path / "machine" / "outside").exists()
