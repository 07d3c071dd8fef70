"""Walking all tenders by cursor, over HTTP, while one build after the other is published."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.helpers.publishing import publish
from tests.helpers.record_rows import load, release_row
from tests.helpers.rest_service import Served, World, served
from tests.helpers.waiting import wait_until
from warehouse.control.keys import KeyStore, create_key
from warehouse.record.store import Record
from warehouse.record.tables import TENDER_RELEASES
from warehouse.serve.build import Mart

RELEASES = 300
BUILDS = 2
ADDED = 7


def expected(build: int) -> dict[str, int]:
    """Return the vintage of each release in a build: every build edited one."""
    ocids = [release_row(number)["ocid"] for number in range(RELEASES + ADDED * build)]
    return {ocid: 2 if 1 <= number <= build else 1 for number, ocid in enumerate(ocids)}


def publish_build(record: Record, marts: Path, build: int) -> str:
    """Publish newer, older and edited releases, so that every page would move."""
    first = RELEASES + ADDED * (build - 1)
    load(record, TENDER_RELEASES, *map(release_row, range(first, first + ADDED)))
    title = f'{{"tender":{{"title":"edited {build}"}},"buyer":null}}'
    edited = release_row(build, publication=f"r{build}", release=title)
    load(record, TENDER_RELEASES, edited)
    return publish(record, marts)


def pages(server: Served, key: str) -> Iterator[dict[str, Any]]:
    """Yield every page of one walk."""
    cursor = ""
    while cursor is not None:
        status, headers, raw = server.get(
            f"/v1/tenders?limit=17{cursor and '&cursor='}{cursor}", key
        )
        assert status == 200, raw
        body: dict[str, Any] = json.loads(raw)
        assert headers["X-Data-Version"] == body["data_version"]
        yield body
        cursor = body["next_cursor"]


def test_each_release_of_the_walks_data_version_is_met_exactly_once(tmp_path: Path) -> None:
    record, marts = Record(str(tmp_path / "record")), tmp_path / "marts"
    load(record, TENDER_RELEASES, *map(release_row, range(RELEASES)))
    build_numbers = {publish(record, marts): 0}
    store, done, overtaken = KeyStore(tmp_path / "control.sqlite"), threading.Event(), 0

    def go_on_publishing() -> None:
        try:
            for build in range(1, BUILDS + 1):
                build_numbers[publish_build(record, marts, build)] = build
        finally:
            done.set()

    publisher, walked = threading.Thread(target=go_on_publishing), []
    with served(World(tmp_path, "", create_key(store, "professional")), "--workers", "2") as server:
        publisher.start()
        while not done.is_set():
            met = []
            for page in pages(server, create_key(store, "professional")):
                met.append(page)
                if len(met) == 3:
                    overtaken += _is_overtaken(marts, page["data_version"], done)
            walked.append(met)
        publisher.join()

    assert len(build_numbers) == BUILDS + 1 and overtaken
    for met in walked:
        (version,) = {page["data_version"] for page in met}
        rows = [(row["ocid"], row["vintage"]) for page in met for row in page["data"]]
        assert len(rows) == len(dict(rows))
        assert dict(rows) == expected(build_numbers[version])


def _is_overtaken(marts: Path, version: str, done: threading.Event) -> bool:
    """Wait, in the middle of a walk, until another build is published or none will be."""
    mart = Mart(marts)
    wait_until(lambda: mart.build().data_version != version or done.is_set(), 120, every=0.02)
    return mart.build().data_version != version
