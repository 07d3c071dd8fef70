"""Versioned releases: the state of a process after each release, for every past day."""

import json
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assets.tenders.portal_files import read_portals
from assets.tenders.releases import states
from assets.tenders.sources import portal_source
from tests.helpers.parsed_rows import untyped
from tests.helpers.paths import REAL
from warehouse.record.landing import Document

ENTRY = """[hn-test]
country = "HN"
title = "Test"
base_url = "https://hn-test.example"
licence.class = "cc-by"
licence.name = "As stated"
licence.stated_at = "https://hn-test.example/licence"
"""


def version(value: Any, number: int) -> dict[str, Any]:
    day = f"2020-{number:02}-01T00:00:00Z"
    return {"releaseID": f"r{number}", "releaseDate": day, "releaseTag": ["tender"], "value": value}


def releases_of(body: bytes, folder: Path) -> list[dict[str, Any]]:
    file = folder / "portals.toml"
    file.write_text(ENTRY, "utf-8")
    source = portal_source(read_portals(file)[0]).with_withheld_key("secret")
    moment = datetime(2026, 11, 14, tzinfo=UTC)
    url = "https://hn-test.example/record"
    document = Document("0" * 64, "hn-test", url, "cc-by", moment, 200, {}, len(body))
    parsed = untyped(source.parser.parse(document, body))
    assert not parsed.rejected, parsed.rejected
    return parsed.rows["tender_releases"]


def test_each_release_gives_the_process_as_it_left_it() -> None:
    first, second, third = states(
        {
            "ocid": "ocds-x-1",
            "tender": {
                "id": "t",
                "title": [version("Road", 1), version("Road and bridge", 3)],
                "value": {"amount": [version(10, 1), version(None, 2)]},
            },
            "awards": [{"id": "a1", "status": [version("active", 2)]}],
        }
    )
    assert (first["id"], first["date"], first["tag"]) == ("r1", "2020-01-01T00:00:00Z", ["tender"])
    assert first["tender"] == {"id": "t", "title": "Road", "value": {"amount": 10}}
    assert "awards" not in first
    assert second["awards"] == [{"id": "a1", "status": "active"}]
    assert "value" not in second["tender"] or second["tender"]["value"] == {}
    assert third["tender"]["title"] == "Road and bridge"


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 9), st.integers()), min_size=1))
def test_no_state_has_a_value_that_was_given_later(changes: list[tuple[str, int, int]]) -> None:
    given_values = {(name, month): value for name, month, value in changes}
    versioned: dict[str, Any] = {"ocid": "ocds-x-1", "tender": {}}
    for (name, month), value in given_values.items():
        versioned["tender"].setdefault(name, []).append(version(value, month))
    months = sorted({month for _, month in given_values})
    for month, state in zip(months, states(versioned), strict=True):
        for name in "abc":
            known = [
                (at, value)
                for (each, at), value in given_values.items()
                if each == name and at <= month
            ]
            expected = max(known)[1] if known else None
            assert state["tender"].get(name) == expected


def test_a_record_with_links_only_gives_the_states_of_its_versioned_release(tmp_path: Path) -> None:
    record = {
        "ocid": "ocds-x-1",
        "releases": [{"url": "https://hn-test.example/r1", "date": "2020-01-01T00:00:00Z"}],
        "compiledRelease": {"ocid": "ocds-x-1", "id": "c", "date": "2020-03-01T00:00:00Z"},
        "versionedRelease": {
            "ocid": "ocds-x-1",
            "tender": {
                "id": "t",
                "value": {
                    "amount": [version(10, 1), version(12, 3)],
                    "currency": [version("HNL", 1)],
                },
            },
        },
    }
    rows = releases_of(json.dumps(record).encode(), tmp_path)
    assert [(row["release_id"], str(row["available_at"]), row["tender_value"]) for row in rows] == [
        ("r1", "2020-01-01", Decimal(10)),
        ("r3", "2020-03-01", Decimal(12)),
    ]


@pytest.mark.shared
def test_the_history_of_a_real_record_ends_in_its_compiled_release(tmp_path: Path) -> None:
    path = REAL / "more" / "ocds" / "latam_helper" / "ocds-lcuori-P2020-60-1-5136_honduras.json"
    record = json.loads(path.read_bytes())
    *_, last = states(record["versionedRelease"])
    compiled = record["compiledRelease"]
    for name in ("buyer", "awards", "contracts", "parties", "planning", "initiationType"):
        assert last[name] == compiled[name], name
    del record["releases"]
    (row,) = releases_of(json.dumps(record).encode(), tmp_path)
    assert str(row["available_at"]) == "2020-10-30"
