"""A mirror that begins empty and follows the changes has, each time, the rows of the files."""

from collections.abc import Callable, Collection, Iterable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pyarrow.parquet as pq
import pytest
from falcon.testing import TestClient

from api.app import create_app
from assets.exports.export import switch_latest
from pipelines.builds import by_operator
from tests.helpers.nightly import is_nightly
from tests.helpers.random_world import day, facts_of
from tests.helpers.record_rows import load, release_row, series_row
from tests.helpers.rest_service import World, make_world
from tests.helpers.seed import seed_of_this_run
from tests.helpers.withheld_key import WITHHELD_KEY
from warehouse.control.keys import KeyStore
from warehouse.record.erase import enter_erasure, erase_rows, versions_with
from warehouse.record.store import Record
from warehouse.record.tables import FUNDAMENTALS, MACRO_SERIES, TENDER_RELEASES
from warehouse.record.withheld import process_subject, sighting_subject, withhold
from warehouse.serve.build import Mart
from warehouse.serve.catalogue import changes_of

Row = dict[str, Any]
# Each with a member that its rows alone have.
_FILES = {
    "af-fund-facts": "value_reported",
    "af-tender-releases": "ocid",
    "af-macro-series": "series",
    "af-macro-annual": "indicator",
}
_DECODE = msgspec.json.Decoder(Row, float_hook=Decimal).decode


class Mirror:
    """A program that knows the service by its description alone."""

    def __init__(self, client: TestClient, key: str) -> None:
        self.client, self.key = client, key
        self.rows: dict[str, Row] = {}
        self.version, self.restarts = "1900-01-01", 0
        self.kinds: set[str] = set()

    def follow(self) -> None:
        """Take over what differs from the version that it has."""
        cursor = None
        while True:
            params = {"since": self.version, "level": "fact", "limit": "1000"}
            params |= {"cursor": cursor} if cursor else {}
            headers = {"X-API-Key": self.key}
            found = self.client.simulate_get("/v1/changes", params=params, headers=headers)
            if found.status_code == 404:
                # Its version was withdrawn, because of what it contained.
                self.rows, self.version = {}, "1900-01-01"
                self.restarts += 1
                continue
            assert found.status_code == 200, found.text
            answer = _DECODE(found.content)
            for change in answer["data"]:
                self.take(change)
            cursor = answer["next_cursor"]
            if cursor is None:
                self.version = answer["data_version"]
                return

    def take(self, change: Row) -> None:
        """Apply one change."""
        self.kinds.add(change["change"])
        if change["change"] == "removed":
            del self.rows[change["key"]]
            return
        assert (change["key"] in self.rows) == (change["change"] == "changed")
        self.rows[change["key"]] = change["row"]


def check_against_files(mirror: Mirror, world: World) -> None:
    """Compare every row with the files of the current version, in all members that both have."""
    version, compared = str(world.builds.current()), 0
    for file, member in _FILES.items():
        table = pq.read_table(Path(world.exports) / version / f"{file}.parquet")
        rows = [row for row in mirror.rows.values() if member in row]
        names = {name for row in rows for name in row} & set(table.column_names)
        assert {member, "available_at", "vintage", "source_ref", "provenance_id"} <= names
        assert in_order(rows, names) == in_order(table.to_pylist(), names), file
        compared += len(rows)
    assert compared == len(mirror.rows)


def in_order(rows: Iterable[Row], names: Collection[str]) -> list[list[str]]:
    return sorted([f"{name}={as_text(row[name])}" for name in sorted(names)] for row in rows)


def as_text(value: Any) -> str:
    if isinstance(value, Decimal | int) and not isinstance(value, bool):
        return format(Decimal(value).normalize(), "f")
    if isinstance(value, datetime):
        return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    if isinstance(value, list):
        return ",".join(map(str, value))
    return value.isoformat() if isinstance(value, date) else str(value)


class Publisher:
    """A publisher to whose world anything happens."""

    def __init__(self, world: World) -> None:
        self.world, self.random = world, Random(seed_of_this_run())
        self.record = Record(str(world.root / "record"))
        self.number = 0

    def add_and_restate(self) -> None:
        self.number += 1
        document = f"document-{self.number}"
        load(
            self.record,
            TENDER_RELEASES,
            *(release_row(8_000 + 10 * self.number + n, document=document) for n in range(4)),
        )
        load(self.record, FUNDAMENTALS, *facts_of(Random(self.number))[:20])
        values = (str(self.random.randrange(1000)) for _ in range(5))
        rows = [series_row(value, day(self.random), document=document) for value in values]
        load(self.record, MACRO_SERIES, *rows)
        self.world.publish()

    def withhold(self) -> None:
        sql = f"SELECT figure, figure_check, sighting FROM {self.record.relation('fundamentals')}"
        stored = self.record.query(f"{sql} ORDER BY ALL").to_pylist()
        figures = [
            sighting_subject(FUNDAMENTALS, *row.values()) for row in self.random.sample(stored, 3)
        ]
        process = process_subject("test", f"ocds-{self.random.randrange(20):04}")
        withhold(self.record, [*figures, process], "a request", "op", WITHHELD_KEY.encode())
        self.world.publish()

    def erase(self) -> None:
        document, moment = f"document-{self.number}", datetime.now(UTC) - timedelta(1)
        versions = versions_with(self.record, document)
        enter_erasure(self.record, document, "test", moment, "a request", "op")
        with self.record.exclusive():
            erase_rows(self.record, document)
        self.record = Record(self.record.root)
        self.world.publish()
        for version in versions:
            self.world.builds.withdraw(version, by_operator())

    def roll_back(self) -> None:
        names = self.world.builds.names()
        self.world.builds.switch(names[-2])
        switch_latest(self.world.exports, names[-2])


def test_a_mirror_that_follows_the_changes_has_the_rows_of_the_files(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    world = make_world(tmp_path_factory, "mirrored")
    publisher = Publisher(world)
    steps: list[Callable[[], None]] = [publisher.withhold, publisher.roll_back]
    if is_nightly():
        some = [publisher.add_and_restate, *steps]
        steps += [publisher.random.choice(some) for _ in range(15)]
        steps += [publisher.add_and_restate, publisher.withhold, publisher.erase]
    mirror = Mirror(TestClient(create_app(Mart(world.marts), KeyStore(world.keys))), world.paid)
    mirror.follow()
    check_against_files(mirror, world)
    removed = 0
    for step in steps:
        step()
        before = len(mirror.rows)
        mirror.follow()
        check_against_files(mirror, world)
        if step == publisher.withhold:
            brought = changes_of(world.builds.metadata(mirror.version)) or []
            assert sum(each.added - each.removed for each in brought) <= len(mirror.rows) - before
            removed += sum(each.removed for each in brought)
    assert removed and {"added", "restated", "removed"} <= mirror.kinds
    # What an erased document said is in no version that could still be compared with.
    assert mirror.restarts == (1 if is_nightly() else 0)
