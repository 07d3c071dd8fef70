"""Walking all tenders by cursor, over HTTP, while one build after the other is published."""

import json
import threading
from pathlib import Path

from tests.serving import World, served
from tests.test_mart import load, release_row
from warehouse.keys import KeyStore, create
from warehouse.mart.build import publish
from warehouse.record.store import Record
from warehouse.record.tables import TENDER_RELEASES

RELEASES = 300
BUILDS = 6
WALKS = 6


def test_each_release_of_the_walks_data_version_is_met_exactly_once(tmp_path: Path) -> None:
    record = Record(str(tmp_path / "record"))
    load(record, TENDER_RELEASES, *map(release_row, range(RELEASES)))
    held = {publish(record, tmp_path / "marts"): RELEASES}
    key = create(KeyStore(tmp_path / "keys.sqlite"), "professional")
    done = threading.Event()

    def go_on_publishing() -> None:
        try:
            for number in range(1, BUILDS + 1):
                # Newer, older and edited releases, so that every page would move.
                rows = range(RELEASES + 7 * (number - 1), RELEASES + 7 * number)
                load(record, TENDER_RELEASES, *map(release_row, rows))
                edited = release_row(number, publication=f"r{number}", category=f"c{number}")
                load(record, TENDER_RELEASES, edited)
                held[publish(record, tmp_path / "marts")] = RELEASES + 7 * number
        finally:
            done.set()

    publisher = threading.Thread(target=go_on_publishing)
    walked: list[tuple[str, list[str]]] = []
    with served(World(tmp_path, "", key)) as server:
        publisher.start()
        while not done.is_set() or len(walked) < WALKS:
            walk_key = create(KeyStore(tmp_path / "keys.sqlite"), "professional")
            met: list[str] = []
            versions: set[str] = set()
            cursor = ""
            while cursor is not None:
                query = f"limit=17{cursor and '&cursor='}{cursor}"
                status, headers, raw = server.get(f"/v1/tenders?{query}", walk_key)
                assert status == 200, raw
                body = json.loads(raw)
                versions.add(body["data_version"])
                assert headers["X-Data-Version"] == body["data_version"]
                met += [row["ocid"] for row in body["data"]]
                cursor = body["next_cursor"]
            (version,) = versions
            walked.append((version, met))
        publisher.join()

    assert len(held) == BUILDS + 1
    assert len({version for version, _ in walked}) > 1
    for version, met in walked:
        assert len(met) == len(set(met)) == held[version]
