"""Documents of the sample world are like those fetched from a source, with their headers."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from assets.ingest.land import fetch_sample
from assets.macro.sources import SOURCES
from assets.source import Source
from warehouse.record.landing import Landing
from warehouse.shared.errors import SankofaError

SOURCE: Source = replace(SOURCES[0], key="test")


def put(folder: Path, day: str, name: str, content: str) -> None:
    path = folder / "test" / day / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)


def test_documents_are_yielded_in_the_order_in_which_they_were_read(tmp_path: Path) -> None:
    put(tmp_path, "2026-02-01", "a.json", "2")
    put(tmp_path, "2026-01-01", "a.json", "1")

    fetched = [(response.url, response.observed_at) for response in fetch_sample(tmp_path, SOURCE)]

    assert fetched == [
        ("https://fictional.example/test/a.json", datetime(2026, 1, 1, 6, tzinfo=UTC)),
        ("https://fictional.example/test/a.json", datetime(2026, 2, 1, 6, tzinfo=UTC)),
    ]


def test_the_headers_file_beside_a_document_is_landed_as_its_headers(tmp_path: Path) -> None:
    put(tmp_path, "2026-01-01", "a.json", "[]")
    put(tmp_path, "2026-01-01", "a.json.headers.json", json.dumps({"X-Jobs": "ISIN"}))
    landing = Landing(str(tmp_path / "landing"))

    for response in fetch_sample(tmp_path, SOURCE):
        landing.land(response)

    [document] = landing.documents("test")
    assert document.headers == {"x-jobs": "ISIN"}
    assert landing.read(document) == b"[]"


@pytest.mark.parametrize(("headers", "reason"), [("{", "not JSON"), ("[1]", "one JSON object")])
def test_an_unreadable_headers_file_is_named_in_the_error(
    tmp_path: Path, headers: str, reason: str
) -> None:
    put(tmp_path, "2026-01-01", "a.json", "[]")
    put(tmp_path, "2026-01-01", "a.json.headers.json", headers)
    with pytest.raises(SankofaError, match=rf"a\.json\.headers\.json: .*{reason}"):
        list(fetch_sample(tmp_path, SOURCE))
