"""Documents in a folder come as they would from their source, with the headers given."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from assets.ingest.land import fetch_folder
from assets.macro.sources import SOURCES
from assets.source import Source
from warehouse.errors import SankofaError
from warehouse.record.landing import Landing

SOURCE: Source = replace(SOURCES[0], key="test")


def put(folder: Path, day: str, name: str, content: str) -> None:
    path = folder / "test" / day / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)


def test_documents_come_in_the_order_of_the_days_on_which_they_were_read(tmp_path: Path) -> None:
    put(tmp_path, "2026-02-01", "a.json", "2")
    put(tmp_path, "2026-01-01", "a.json", "1")

    came = [(each.url, each.observed_at) for each in fetch_folder(tmp_path, "base:", SOURCE)]

    assert came == [
        ("base:/test/a.json", datetime(2026, 1, 1, 6, tzinfo=UTC)),
        ("base:/test/a.json", datetime(2026, 2, 1, 6, tzinfo=UTC)),
    ]


def test_the_headers_beside_a_document_come_with_it_and_are_no_document(tmp_path: Path) -> None:
    put(tmp_path, "2026-01-01", "a.json", "[]")
    put(tmp_path, "2026-01-01", "a.json.headers.json", json.dumps({"X-Jobs": "ISIN"}))
    landing = Landing(str(tmp_path / "landing"))

    for each in fetch_folder(tmp_path, "base:", SOURCE):
        landing.land(each)

    [document] = landing.documents("test")
    assert document.headers == {"x-jobs": "ISIN"}
    assert landing.read(document) == b"[]"


@pytest.mark.parametrize(("written", "words"), [("{", "not JSON"), ("[1]", "one JSON object")])
def test_headers_that_cannot_be_read_are_named(tmp_path: Path, written: str, words: str) -> None:
    put(tmp_path, "2026-01-01", "a.json", "[]")
    put(tmp_path, "2026-01-01", "a.json.headers.json", written)
    with pytest.raises(SankofaError, match=rf"a\.json\.headers\.json: .*{words}"):
        list(fetch_folder(tmp_path, "base:", SOURCE))
