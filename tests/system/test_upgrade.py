"""Code of a newer mart schema version publishes beside older code: folder and database alike."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.helpers.postgres_server import new_database, postgres
from warehouse.errors import DatastoreUnavailable
from warehouse.mart.builds import Builds, builds_at, delete_old_builds, is_postgres_url
from warehouse.mart.pointers import KEPT_FOR_OLDER, LAST_WITH_ONE_POINTER
from warehouse.read import engines
from warehouse.read.checked_files import CheckedFiles
from warehouse.read.engines import Engine, SqliteEngine
from warehouse.read.open_files import OpenFiles
from warehouse.read.pack_files import OpenPackFiles
from warehouse.read.postgres import PostgresEngine
from warehouse.steps.files import BuildManifest

OLD, NEW = LAST_WITH_ONE_POINTER, LAST_WITH_ONE_POINTER + 1
FIRST, SECOND, THIRD, FOURTH = "20260101.1", "20260101.2", "20260101.3", "20260101.4"


@pytest.fixture(autouse=True)
def notice_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "OLDER_CODE_SECONDS", 0)


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield str(tmp_path / "marts")
        return
    with postgres() as server:
        yield new_database(server)


def _publish(url: str, name: str, schema_version: int) -> Builds:
    """Publish an empty build as code of a schema version does; return the builds it sees."""
    builds = builds_at(url, schema_version)
    builds.add(BuildManifest(name, {"layout": str(schema_version)}, ()))
    builds.switch(name)
    return builds


def _reader(url: str, schema_version: int) -> Engine:
    if is_postgres_url(url):
        return PostgresEngine(url, schema_version)
    return SqliteEngine(Path(url), OpenFiles(), OpenPackFiles(), CheckedFiles(), schema_version)


def test_a_server_stays_with_the_last_build_that_it_can_read(url: str) -> None:
    old, new = _reader(url, OLD), _reader(url, NEW)
    _publish(url, FIRST, OLD)
    assert (old.current(), new.current()) == (FIRST, FIRST)
    builds = _publish(url, SECOND, NEW)
    assert (old.current(), new.current()) == (FIRST, SECOND)
    assert builds.current() == SECOND and set(builds.for_older()) == {FIRST}
    # Whatever older code publishes meanwhile, both can read.
    _publish(url, THIRD, OLD)
    assert (old.current(), new.current(), builds.current()) == (THIRD, THIRD, THIRD)
    _publish(url, FOURTH, NEW)
    assert (old.current(), new.current(), builds.current()) == (THIRD, FOURTH, FOURTH)
    old.close()
    new.close()


def test_a_rollback_to_the_version_before_is_followed_by_all_servers(url: str) -> None:
    old, new = _reader(url, OLD), _reader(url, NEW)
    _publish(url, FIRST, OLD)
    _publish(url, SECOND, OLD)
    _publish(url, THIRD, NEW).switch(FIRST)
    assert (old.current(), new.current()) == (FIRST, FIRST)
    old.close()
    new.close()


def test_a_withdrawn_build_is_followed_by_no_server(url: str) -> None:
    old, new = _reader(url, OLD), _reader(url, NEW)
    _publish(url, FIRST, OLD)
    builds = _publish(url, SECOND, NEW)
    assert (old.current(), new.current()) == (FIRST, SECOND)
    builds.withdraw(FIRST, "a person was named")
    assert builds_at(url, OLD).current() is None and new.current() == SECOND
    builds.withdraw(SECOND, "a person was named")
    assert builds.current() is None and builds.in_use() == set()
    old.close()
    new.close()


def test_what_older_code_withdraws_is_no_longer_served_by_newer_code(url: str) -> None:
    new = _reader(url, NEW)
    older = _publish(url, FIRST, OLD)
    _publish(url, SECOND, NEW)
    assert new.current() == SECOND
    # Older code does not know that somebody follows it.
    older.remove(SECOND)
    assert (new.current(), builds_at(url, NEW).current()) == (FIRST, FIRST)
    new.close()


def test_a_build_is_kept_for_older_servers_for_some_days_and_publications(url: str) -> None:
    builds = _publish(url, FIRST, OLD)
    for name in (SECOND, THIRD, FOURTH):
        builds = _publish(url, name, NEW)
    later = datetime.now(UTC) + KEPT_FOR_OLDER + timedelta(minutes=1)
    assert delete_old_builds(builds, 4, later) == []
    assert delete_old_builds(builds, 2) == [SECOND]
    assert builds_at(url, OLD).current() == FIRST
    assert delete_old_builds(builds, 2, later) == [FIRST]
    assert builds_at(url, OLD).current() is None and builds.current() == FOURTH


def test_older_code_keeps_what_it_follows_and_newer_code_what_is_left(url: str) -> None:
    old = _publish(url, FIRST, OLD)
    new = _publish(url, SECOND, NEW)
    for name in (THIRD, FOURTH):
        _publish(url, name, OLD)
    assert delete_old_builds(old, 1) == [FIRST, SECOND, THIRD]
    assert new.current() == FOURTH


@pytest.mark.parametrize("file", ["current", "pointers.json"])
@pytest.mark.parametrize("damage", [b"\xff\xfe", b"no build", b""])
def test_a_damaged_pointer_is_told_and_replaced_by_a_rollback(
    tmp_path: Path, file: str, damage: bytes
) -> None:
    url = str(tmp_path)
    _publish(url, FIRST, OLD)
    builds, reader = _publish(url, SECOND, NEW), _reader(url, NEW)
    (tmp_path / file).write_bytes(damage)
    with pytest.raises(DatastoreUnavailable, match="sankofa rollback"):
        reader.current()
    builds.switch(FIRST)
    assert (reader.current(), builds_at(url, OLD).current()) == (FIRST, FIRST)
