"""Zips of packages, as some portals publish them: every member is read, none is lost silently."""

import gzip
import io
import json
import zipfile
from typing import Any

import pytest

from assets.parsing.parsed import Parsed, join_parts
from assets.tenders.parse import parse_portal
from assets.tenders.pieces import in_pieces
from tests.helpers.parsed_rows import untyped
from tests.helpers.tenders import KEY, PORTUGAL, document


def zipped(**members: bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return packed.getvalue()


def package(ocid: str) -> bytes:
    release = {"ocid": ocid, "id": f"{ocid}-1", "date": "2026-01-01T00:00:00Z", "tag": ["tender"]}
    return json.dumps({"license": "CC-BY", "releases": [release]}).encode()


def parsed(body: bytes, way: str) -> Parsed:
    if way == "whole":
        return untyped(parse_portal(document(), body, PORTUGAL, KEY))
    # What cannot seek, as a body of the landing.
    parts = in_pieces(PORTUGAL, KEY, size=1, head=100)(document(), NoSeek(body))
    return join_parts([untyped(part) for part in parts])


class NoSeek(io.BytesIO):
    def seekable(self) -> bool:
        return False


def rejected(result: Parsed) -> dict[str, str]:
    rows: list[Any] = result.rejected.get("tender_releases", [])
    return {row.source_ref.partition("#")[2]: row.reason for row in rows}


@pytest.mark.parametrize("way", ["whole", "streamed"])
def test_every_member_is_read_and_located_by_its_name(way: str) -> None:
    record: dict[str, Any] = {"ocid": "b", "releases": [{"url": "https://x.example"}]}
    record["compiledRelease"] = {"ocid": "b", "id": "b-1", "date": "2026-01-01", "tag": ["tender"]}
    records = json.dumps({"records": [record]}).encode()
    body = zipped(
        **{
            "2026/a.json": package("a"),
            "b.json": records,
            "c.jsonl.gz": gzip.compress(package("c")),
        }
    )
    rows = parsed(body, way).rows["tender_releases"]
    assert [row["ocid"] for row in rows] == ["a", "b", "c"]
    assert rows[0]["source_ref"].endswith("/releases#2026/a.json#/releases/0")
    assert rows[1]["source_ref"].endswith("#b.json#/records/0/compiledRelease")


@pytest.mark.parametrize("way", ["whole", "streamed"])
def test_a_member_that_cannot_be_read_is_rejected_by_name_and_the_others_stay(way: str) -> None:
    nested = zipped(**{"d.json": package("d")})
    body = zipped(
        **{
            "a.json": package("a"),
            "b.txt": b"Read me",
            "nested.zip": nested,
            "e.json": package("e"),
        }
    )
    result = parsed(body, way)
    assert [row["ocid"] for row in result.rows["tender_releases"]] == ["a", "e"]
    assert {name.partition("#")[0] for name in rejected(result)} == {"b.txt", "nested.zip"}


@pytest.mark.parametrize("way", ["whole", "streamed"])
def test_a_damaged_or_empty_zip_is_rejected(way: str) -> None:
    body = zipped(**{"a.json": package("a")})
    (reason,) = rejected(parsed(body[:60], way)).values()
    assert reason.startswith("not a zip")
    folder = io.BytesIO()
    with zipfile.ZipFile(folder, "w") as archive:
        archive.mkdir("folder")
    assert rejected(parsed(folder.getvalue(), way)) == {"": "the zip holds no release"}
