"""A publisher of the data registry is fetched with the entry that the guide has."""

import gzip
import re
from datetime import date
from pathlib import Path

from assets.fetching.fetchers import Window
from assets.source import fetch_task
from assets.tenders.portal_files import read_portals
from assets.tenders.sources import portal_source
from tests.helpers.http_client import http_client
from tests.helpers.paths import ROOT
from tests.helpers.replay_server import Replay, Reply
from warehouse.shared.settings import read_settings


def test_the_entry_of_a_publisher_is_fetched_from_the_registry(tmp_path: Path) -> None:
    guide = (ROOT / "docs" / "add-a-portal.md").read_text("utf-8")
    block = re.search(r"```toml file=registry-portals\.toml\n(.*?)```", guide, re.DOTALL)
    assert block is not None
    file = tmp_path / "portals.toml"
    file.write_text(block[1], "utf-8")
    (entry,) = read_portals(file)
    source = portal_source(entry)
    assert source.fetch is not None
    with Replay() as server, http_client() as client:
        server.on("/en/publication/64/download", Reply(gzip.compress(b'{"ocid": "1"}')))
        settings = read_settings(
            {"SANKOFA_HOME": str(tmp_path), "SANKOFA_BASE_NG_REGISTRY_BUDGET": server.base}
        )
        for window in (Window(), Window(date(2020, 3, 1), date(2020, 4, 1))):
            task = fetch_task(client, source, window, settings)
            assert [document.source for document in source.fetch(task)] == [source.key]
        names = [request.query["name"] for request in server.requests]
    assert names == ["full.jsonl.gz", "2020.jsonl.gz"]
