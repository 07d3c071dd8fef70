"""Rollback: only to a readable build, and the newer build can be removed."""

from pathlib import Path

import pytest

from pipelines.builds import drop_builds, roll_back
from tests.helpers.installation import copy_of, settings_of
from tests.helpers.publishing import publish
from tests.helpers.record_rows import entity_row, load
from tests.helpers.stored_builds import change_metadata
from warehouse.publish.builds import builds_at
from warehouse.record.store import Record
from warehouse.record.tables import ENTITIES
from warehouse.serve.build import Mart
from warehouse.shared.errors import NothingPublished, UnknownVersion
from warehouse.shared.settings import Settings


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with two builds."""
    home = settings_of(tmp_path_factory.mktemp("published") / "home")
    record = Record(home.record)
    for number in (1, 2):
        load(record, ENTITIES, entity_row(service_id=f"DC{number}"))
        publish(record, home.marts, "notice")
    return home.home


@pytest.fixture
def here(published: Path, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    return settings_of(copy_of(published, "here", tmp_path_factory))


def test_readers_are_never_switched_to_a_build_that_they_cannot_read(here: Settings) -> None:
    older, newer = builds_at(here.marts).names()
    change_metadata(Path(here.marts), older, layout="0")
    with pytest.raises(UnknownVersion, match="another version"):
        roll_back(here)
    assert builds_at(here.marts).current() == newer


def test_a_pin_to_a_withdrawn_build_is_refused_by_a_thread_that_read_it_as_the_current_one(
    here: Settings,
) -> None:
    older, newer = builds_at(here.marts).names()
    mart = Mart(here.marts)
    assert mart.build().data_version == newer
    assert mart.at(newer).build().data_version == newer
    roll_back(here)
    drop_builds(here, [newer])
    with pytest.raises(UnknownVersion, match="was withdrawn"):
        mart.at(newer).build()
    assert mart.build().data_version == older


def test_once_the_current_build_is_withdrawn_nothing_is_served(here: Settings) -> None:
    _, newer = builds_at(here.marts).names()
    mart = Mart(here.marts)
    assert mart.build().data_version == newer
    builds_at(here.marts).withdraw(newer, "a document in it was erased")
    with pytest.raises(UnknownVersion, match="withdrawn: a document in it was erased"):
        mart.at(newer).build()
    assert builds_at(here.marts).current() is None
    with pytest.raises(NothingPublished):
        mart.build()
