import gzip
import io
import json
import random
import resource
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assets.parsing.parsed import Parsed, join_parts
from assets.tenders.long_json import values
from assets.tenders.parse import parse_portal
from assets.tenders.pieces import in_pieces
from assets.tenders.portal_files import Portal
from tests.helpers.parsed_rows import untyped
from tests.helpers.paths import REAL
from tests.helpers.tenders import KEY, PORTALS, PORTUGAL, REAL_PORTALS, document

KENYA = PORTALS["ke-ppip"]
BASE = {"ocid": "ocds-a-1", "id": "1", "date": "2026-08-14T00:00:00Z"}
LINE = json.dumps(BASE).encode()


def parts(body: bytes, portal: Portal = KENYA, **sizes: int) -> list[Parsed]:
    streamed = in_pieces(portal, KEY, **sizes)(document(), io.BytesIO(body))
    return [untyped(part) for part in streamed]


def read(body: bytes, portal: Portal = KENYA, **sizes: int) -> Parsed:
    return join_parts(parts(body, portal, **sizes))


def accepted(parsed: Parsed) -> list[str]:
    return [row["source_ref"].partition("#")[2] for row in parsed.rows.get("tender_releases", [])]


def rejections(parsed: Parsed) -> list[tuple[str, str]]:
    rejected = parsed.rejected.get("tender_releases", [])
    return [(row.source_ref.partition("#")[2], row.reason) for row in rejected]


@pytest.mark.parametrize("compress", [bytes, gzip.compress])
def test_lines_are_parsed_in_parts(compress: Any) -> None:
    parsed_parts = parts(compress(b"\n".join([LINE] * 25)), size=10 * (len(LINE) + 1), head=200)

    assert [len(part.rows["tender_releases"]) for part in parsed_parts] == [10, 10, 5]
    assert accepted(parsed_parts[2])[-1] == "line 25"


def test_a_broken_line_is_rejected_with_its_number() -> None:
    parsed = read(b"\n".join([LINE, b'{"ocid": "x", "id"', b"", LINE, b"<html>", LINE]), head=200)

    assert accepted(parsed) == ["line 1", "line 4", "line 6"]
    assert [location for location, _ in rejections(parsed)] == ["line 2", "line 5"]


def test_only_a_broken_tail_is_rejected() -> None:
    parsed = read(b"\n".join([LINE, LINE, LINE[:-9]]), head=200)

    assert accepted(parsed) == ["line 1", "line 2"]
    assert rejections(parsed)[0][0] == "line 3"


def varied_lines(count: int) -> bytes:
    chance = random.Random(3)
    lines = [json.dumps(BASE | {"id": str(chance.random())}).encode() for _ in range(count)]
    return b"\n".join(lines)


def test_releases_before_the_end_of_a_truncated_gzip_are_read() -> None:
    parsed = read(gzip.compress(varied_lines(2000))[:-2000])

    assert 1000 < len(accepted(parsed)) < 2000
    assert rejections(parsed)[-1] == ("", "the body cannot be opened: the gzip ends early")


@pytest.mark.slow
def test_releases_before_the_damage_in_a_gzip_are_read() -> None:
    body = gzip.compress(varied_lines(20_000))

    parsed = read(body[: len(body) // 2] + b"\0" * 100 + body[len(body) // 2 :])

    assert len(accepted(parsed)) > 1000
    assert rejections(parsed)[-1][1].startswith("the body cannot be opened: the gzip is broken")


def test_members_of_a_gzip_are_one_body() -> None:
    parsed = read(gzip.compress(LINE + b"\n") + gzip.compress(LINE))

    assert accepted(parsed) == ["line 1", "line 2"]


def test_a_line_that_is_too_long_is_rejected() -> None:
    chunks = [LINE + b"\n", *[b"x" * 100] * 50, b"\n" + LINE]

    results = list(values(chunks, longest=1000))
    assert [result.location for result in results] == ["line 1", "line 2", "line 3"]
    assert results[1].reason == "longer than 1000 bytes"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("body", "locations"),
    [
        ({"releases": [BASE, BASE]}, ["/releases/0", "/releases/1"]),
        ([BASE, BASE], ["/0", "/1"]),
        ([{"uri": "a", "releases": [BASE]}, BASE], ["/0/releases/0", "/1"]),
        ({"records": [{"ocid": "a", "releases": [BASE]}]}, ["/records/0/releases/0"]),
        ({"result": {"releases": [BASE]}}, ["/result/releases/0"]),
        ({"data": [BASE]}, ["/data/0"]),
    ],
)
def test_a_value_that_does_not_fit_in_memory_is_read_release_by_release(
    body: Any, locations: list[str]
) -> None:
    parsed = read(json.dumps(body, indent=1).encode(), head=10)

    assert accepted(parsed) == locations
    assert rejections(parsed) == []


def test_the_broken_tail_of_a_package_is_rejected_and_the_rest_read() -> None:
    body = json.dumps({"releases": [BASE] * 3}, indent=1).encode()

    parsed = read(body[:-40], head=10)

    assert accepted(parsed) == ["/releases/0", "/releases/1"]
    ((location, reason),) = rejections(parsed)
    assert location == "after /releases/1"
    assert reason.startswith("not JSON: ")


def test_a_licence_after_the_releases_applies_to_them() -> None:
    closed = "https://creativecommons.org/licenses/by-nc/4.0/"
    package = {"releases": [BASE], "license": closed}

    for body in (package, [package | {"uri": "a"}], {"license": closed, "releases": [BASE]}):
        ((_, reason),) = rejections(read(json.dumps(body, indent=1).encode(), head=10))
        assert reason == f"the licence does not let us pass it on: {closed}"


def test_a_package_without_a_release_is_rejected() -> None:
    assert rejections(read(b'{"a":\n1}', head=2)) == [("", "no OCDS release, record or package")]
    assert rejections(read(b'{"releases":\n[]}', head=2)) == [("/releases", "holds no release")]
    assert rejections(read(b"", head=2)) == [("", "the body is empty")]


def test_numbers_of_a_long_package_are_exact() -> None:
    body = (
        b'{"releases":\n[{"ocid":"a","id":"1","tender":{"value":{"amount":0.10000000000000001}}}]}'
    )

    (row,) = read(body, head=2).rows["tender_releases"]
    assert '"amount":0.10000000000000001' in row["release"]


@settings(deadline=None)
@given(st.binary() | st.lists(st.sampled_from([LINE, b"{", b"]", b"\xff", b""])).map(b"\n".join))
def test_any_bytes_are_rows_or_rejections(body: bytes) -> None:
    parsed = read(body, head=20)

    assert accepted(parsed) or rejections(parsed)


class EndlessBody(io.RawIOBase):
    """A body of any length that is never in memory as a whole."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks

    def read(self, size: int = -1) -> bytes:
        return next(self._chunks, b"")


@pytest.mark.slow
def test_memory_is_flat_however_long_the_body_is() -> None:
    release = BASE | {"tender": {"description": "water " * 3_000}}
    line = json.dumps(release).encode() + b"\n"
    before = _peak()

    body = EndlessBody(line * 50 for _ in range(300))
    count = 0
    for part in in_pieces(KENYA, KEY, size=4 << 20)(document(), body):  # type: ignore[arg-type]
        count += sum(len(release) for release in part.typed["tender_releases"])

    assert count == 15_000
    assert _peak() - before < 200 << 10


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def counts(parsed: Parsed) -> dict[str, int]:
    row_counts = {name: len(rows) for name, rows in parsed.rows.items()}
    return row_counts | {f"{name} rejected": len(rows) for name, rows in parsed.rejected.items()}


def portal_of(path: Path) -> Portal:
    return next((PORTALS[key] for name, key in REAL_PORTALS.items() if name in str(path)), PORTUGAL)


def real_files() -> list[Path]:
    return sorted(path for path in (REAL / "ocds").rglob("*") if path.is_file())


@pytest.mark.shared
@pytest.mark.parametrize("compress", [bytes, gzip.compress])
def test_every_real_file_gives_the_same_rows_in_parts(compress: Any) -> None:
    for path in real_files():
        body, portal = path.read_bytes(), portal_of(path)
        whole = untyped(parse_portal(document(), body, portal, KEY))
        in_parts = read(compress(body), portal)
        assert in_parts.rows.get("tender_releases") == whole.rows.get("tender_releases"), path
        assert counts(in_parts) == counts(whole), path


@pytest.mark.shared
def test_every_real_package_gives_the_same_rows_release_by_release() -> None:
    compared = 0
    for path in real_files():
        body, portal = path.read_bytes(), portal_of(path)
        whole = untyped(parse_portal(document(), body, portal, KEY))
        release_by_release = read(body, portal, head=1)
        if whole.rows and not whole.rejected and not accepted(whole)[0].startswith("line"):
            compared += len(accepted(release_by_release))
            if accepted(release_by_release) != accepted(whole):
                print(
                    path,
                    accepted(whole)[:3],
                    accepted(release_by_release)[:3],
                    rejections(release_by_release)[:3],
                )
            else:
                assert [row["release"] for row in release_by_release.rows["tender_releases"]] == [
                    row["release"] for row in whole.rows["tender_releases"]
                ]
    assert compared > 300


# Zips of packages, as some portals publish them: every member is read, none is lost silently.


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
