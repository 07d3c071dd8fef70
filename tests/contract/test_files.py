"""The files behind the export manifest, over real HTTP."""

import hashlib
import http.client
import json
import threading
from collections.abc import Iterator
from urllib.parse import urljoin
from urllib.request import urlopen

import duckdb
import fsspec
import pandas as pd
import polars as pl
import pyarrow.parquet as pq
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_public_key
from hypothesis import given
from hypothesis import strategies as st

from api.resources.exports import RangeNotSatisfiable, requested_range
from tests.helpers.doc_checkout import UnchangingHttpFiles
from tests.helpers.rest_service import Served, World, make_world, served
from warehouse.serve.exports import Artifact

SIZES = st.integers(0, 10**12)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return make_world(tmp_path_factory, "files")


@pytest.fixture(scope="module")
def server(world: World) -> Iterator[Served]:
    usage = str(world.root / "usage.lmdb")
    with served(world, "--workers", "2", "--usage", usage) as running:
        yield running


def of_kind(world: World, kind: str) -> list[Artifact]:
    artifacts = [
        artifact for artifact in world.published().manifest().artifacts if artifact.kind == kind
    ]
    assert artifacts
    return artifacts


def path_of(world: World, artifact: Artifact) -> str:
    return f"/exports/{world.published().latest()}/{artifact.url}"


def test_every_file_of_the_manifest_is_there_byte_for_byte(server: Served, world: World) -> None:
    for artifact in world.published().manifest().artifacts:
        status, headers, body = server.get(path_of(world, artifact), world.paid)
        assert (status, hashlib.sha256(body).hexdigest()) == (200, artifact.sha256)
        assert headers["ETag"] == f'"{artifact.sha256}"'
        assert headers["Content-Type"] == "application/vnd.apache.parquet"
        assert int(headers["Content-Length"]) == artifact.size_bytes
        assert server.get(f"/exports/latest/{artifact.schema_url}")[0] == 200


def test_open_panels_need_no_key_and_are_kept_forever(server: Served, world: World) -> None:
    for artifact in of_kind(world, "open-panel"):
        status, headers, _ = server.get(path_of(world, artifact))
        assert (status, headers["Accept-Ranges"]) == (200, "bytes")
        assert headers["Cache-Control"] == "public, max-age=31536000, immutable"


def test_a_licensed_file_without_a_key_is_401_and_with_a_sample_key_402(
    server: Served, world: World
) -> None:
    for artifact in of_kind(world, "licensed"):
        path = path_of(world, artifact)
        assert server.get(path)[0] == server.get(path, "sk_live_wrong")[0] == 401
        status, headers, body = server.get(path, world.sample)
        problem = json.loads(body)
        assert (status, problem["code"]) == (402, "licensed_export")
        assert (problem["tier"], problem["required_tier"]) == ("sample", "starter")
        assert headers["X-Upgrade-URL"] == problem["upgrade_url"]
        status, headers, _ = server.get(path, world.paid)
        assert status == 200 and headers["Cache-Control"].startswith("private, ")


def test_head_says_how_long_a_file_is(server: Served, world: World) -> None:
    for artifact in of_kind(world, "open-panel"):
        status, headers, body = server.get(path_of(world, artifact), method="HEAD")
        assert (status, body) == (200, b"")
        assert int(headers["Content-Length"]) == artifact.size_bytes
        assert (headers["Accept-Ranges"], headers["ETag"]) == ("bytes", f'"{artifact.sha256}"')


@pytest.mark.parametrize(
    ("byte_range", "start", "end"),
    [
        ("bytes=0-3", 0, 4),
        ("bytes=100-", 100, None),
        ("bytes=-8", -8, None),
        ("bytes=-99999999", 0, None),
        ("bytes=4-99999999", 4, None),
    ],
)
def test_a_part_is_206(
    server: Served, world: World, byte_range: str, start: int, end: int | None
) -> None:
    path = path_of(world, of_kind(world, "open-panel")[0])
    whole = server.get(path)[2]
    status, headers, body = server.get(path, Range=byte_range)

    assert (status, body) == (206, whole[slice(start, end)])
    first = range(len(whole))[start]
    assert headers["Content-Range"] == f"bytes {first}-{first + len(body) - 1}/{len(whole)}"
    assert int(headers["Content-Length"]) == len(body)


def test_a_part_of_a_licensed_file_is_charged_to_the_month_as_the_whole_is(
    server: Served, world: World
) -> None:
    path, left = path_of(world, of_kind(world, "licensed")[0]), []
    for byte_range, expected in (("bytes=0-3", 206), ("lines=0-1", 200), ("bytes=0-3", 206)):
        status, headers, _ = server.get(path, world.paid, Range=byte_range)
        assert status == expected
        left.append(int(headers["RateLimit"].partition('"monthly";r=')[2].partition(";")[0]))
    assert left == [left[0], left[0] - 1, left[0] - 2]


def test_a_part_that_is_not_there_is_416(server: Served, world: World) -> None:
    artifact = of_kind(world, "open-panel")[0]
    for byte_range in (f"bytes={artifact.size_bytes}-", "bytes=-0"):
        status, headers, body = server.get(path_of(world, artifact), Range=byte_range)
        assert (status, json.loads(body)["code"]) == (416, "range_not_satisfiable")
        assert headers["Content-Range"] == f"bytes */{artifact.size_bytes}"
        assert headers["Cache-Control"] == "no-store"


def test_what_is_no_single_range_is_answered_with_the_whole(server: Served, world: World) -> None:
    path = path_of(world, of_kind(world, "open-panel")[0])
    for byte_range in ("bytes=0-1,4-5", "lines=0-1", "bytes=5-1", "bytes=-", "bytes=a-b"):
        assert server.get(path, Range=byte_range)[0] == 200


def test_a_part_of_other_bytes_is_answered_with_the_whole(server: Served, world: World) -> None:
    path = path_of(world, of_kind(world, "open-panel")[0])
    etag = server.get(path)[1]["ETag"]
    assert server.get(path, Range="bytes=0-3", If_Range=etag)[0] == 206
    assert server.get(path, Range="bytes=0-3", If_Range='"other"')[0] == 200


def test_what_a_client_holds_is_304(server: Served, world: World) -> None:
    path = path_of(world, of_kind(world, "open-panel")[0])
    etag = server.get(path)[1]["ETag"]
    for if_none_match in (etag, f"W/{etag}", f'"x", {etag}', "*"):
        status, headers, body = server.get(path, If_None_Match=if_none_match)
        assert (status, body, headers["ETag"]) == (304, b"", etag)
    assert server.get(path, If_None_Match='"x"')[0] == 200


def test_a_browser_of_any_origin_may_read_parts(server: Served, world: World) -> None:
    path = path_of(world, of_kind(world, "open-panel")[0])
    headers = server.get(path, Origin="https://example.org", Range="bytes=0-3")[1]
    assert headers["Access-Control-Allow-Origin"] == "*"
    exposed = {part.strip() for part in headers["Access-Control-Expose-Headers"].split(",")}
    assert {"Content-Range", "Accept-Ranges", "Content-Length", "ETag"} <= exposed
    preflight = {"Access_Control_Request_Method": "GET", "Access_Control_Request_Headers": "range"}
    status, headers, _ = server.get(
        path, method="OPTIONS", Origin="https://example.org", **preflight
    )
    assert status == 200 and "range" in headers["Access-Control-Allow-Headers"].lower()


def test_latest_names_the_version_it_is_and_is_asked_again(server: Served, world: World) -> None:
    version = world.published().latest()
    for name in ("manifest.json", "datapackage.json", "croissant.json", "manifest.json.sig"):
        status, headers, body = server.get(f"/exports/latest/{name}")
        assert (status, headers["X-Data-Version"]) == (200, version)
        assert headers["Content-Location"] == f"/exports/{version}/{name}"
        assert headers["Cache-Control"] == "public, max-age=60"
        assert body == server.get(f"/exports/{version}/{name}")[2]


def test_the_served_key_verifies_the_served_manifest(server: Served) -> None:
    key = load_pem_public_key(server.get("/exports/signing-key.pem")[2])
    assert isinstance(key, Ed25519PublicKey)
    manifest, signature = (
        server.get(f"/exports/latest/{name}")[2] for name in ("manifest.json", "manifest.json.sig")
    )
    key.verify(signature, manifest)


def test_a_file_that_no_manifest_names_is_404_with_and_without_a_key(
    server: Served, world: World
) -> None:
    version = world.published().latest()
    for path in (
        f"{version}/nothing.parquet",
        "20000101.1/manifest.json",
        "..%2f..%2fcontrol.sqlite/x",
        f"{version}/..%2f..%2fcontrol.sqlite",
        "latest/latest",
    ):
        for key in (None, world.paid):
            assert server.get(f"/exports/{path}", key)[0] == 404, path


def test_an_unknown_file_or_version_is_refused_with_the_nearest(
    server: Served, world: World
) -> None:
    name = of_kind(world, "open-panel")[0].url
    problem = json.loads(server.get(f"/exports/latest/{name.replace('t.', '.')}x")[2])
    assert name in problem["nearest"] and name in problem["allowed"]
    for path in ("20000101.1", "20000101.1/", f"lastest/{name}"):
        status, _, body = server.get(f"/exports/{path}")
        assert (status, json.loads(body)["nearest"]) == (404, ["latest"])


def test_a_version_without_a_file_leads_to_its_manifest(server: Served, world: World) -> None:
    version = world.published().latest()
    for path in ("latest", "latest/", version, f"{version}/"):
        status, headers, _ = server.get(f"/exports/{path}")
        assert status == 302
        assert urljoin(f"/exports/{path}", headers["Location"]) == (
            f"/exports/{version}/manifest.json"
        )


def test_pandas_polars_and_pyarrow_read_open_files_by_their_address(
    server: Served, world: World
) -> None:
    for artifact in of_kind(world, "open-panel"):
        address = f"{server.address}{path_of(world, artifact)}"
        with fsspec.open(address) as file:
            by_arrow = pq.read_table(file)
        assert by_arrow.num_rows == artifact.rows
        assert by_arrow.column_names == [column.name for column in artifact.columns]
        assert len(pd.read_parquet(address)) == artifact.rows
        assert pl.read_parquet(address).height == artifact.rows
        assert pl.scan_parquet(address).select(pl.len()).collect().item() == artifact.rows


def test_duckdb_reads_open_files_by_their_address(server: Served, world: World) -> None:
    """Through fsspec, by parts: DuckDB's own extension for HTTP is downloaded when first used."""
    engine = duckdb.connect()
    engine.register_filesystem(UnchangingHttpFiles())
    for artifact in of_kind(world, "open-panel"):
        address = f"{server.address}{path_of(world, artifact)}"
        (counted,) = engine.sql(f"SELECT count(*) FROM read_parquet('{address}')").fetchall()
        assert counted == (artifact.rows,)
    engine.close()


def test_a_reader_that_asks_as_duckdb_does_gets_footer_and_column_by_parts(
    server: Served, world: World
) -> None:
    """HEAD, the last eight bytes, the footer, then one part for each piece, on one connection.

    DuckDB itself needs the extension httpfs, which is downloaded when first used.
    """
    artifact = max(of_kind(world, "open-panel"), key=lambda item: item.rows)
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)

    def ask(method: str, **headers: str) -> http.client.HTTPResponse:
        connection.request(method, path_of(world, artifact), headers=headers)
        return connection.getresponse()

    def read(start: int, length: int) -> bytes:
        answer = ask("GET", Range=f"bytes={start}-{start + length - 1}")
        assert answer.status == 206
        return answer.read()

    head = ask("HEAD")
    head.read()
    size = int(head.headers["Content-Length"])
    assert head.headers["Accept-Ranges"] == "bytes"
    tail = read(size - 8, 8)
    assert tail[4:] == b"PAR1"
    footer = read(size - 8 - int.from_bytes(tail[:4], "little"), int.from_bytes(tail[:4], "little"))
    connection.close()
    with urlopen(f"{server.address}{path_of(world, artifact)}") as whole:
        assert whole.read().endswith(footer + tail)


def test_many_clients_read_parts_at_once(server: Served, world: World) -> None:
    path = path_of(world, of_kind(world, "open-panel")[0])
    whole, wrong = server.get(path)[2], []

    def reader(number: int) -> None:
        for start in range(number, min(len(whole), 2000), 97):
            if server.get(path, Range=f"bytes={start}-{start + 9}")[2] != whole[start : start + 10]:
                wrong.append(start)

    threads = [threading.Thread(target=reader, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@given(size=SIZES, first=SIZES, last=SIZES)
def test_a_range_is_what_the_file_has_of_it(size: int, first: int, last: int) -> None:
    if first > last:
        assert requested_range(f"bytes={first}-{last}", size) is None
    elif first >= size:
        with pytest.raises(RangeNotSatisfiable):
            requested_range(f"bytes={first}-{last}", size)
    else:
        assert requested_range(f"bytes={first}-{last}", size) == (first, min(last, size - 1))


@given(size=SIZES, length=SIZES)
def test_a_suffix_is_the_end_of_the_file(size: int, length: int) -> None:
    if not size or not length:
        with pytest.raises(RangeNotSatisfiable):
            requested_range(f"bytes=-{length}", size)
    else:
        assert requested_range(f"bytes=-{length}", size) == (max(size - length, 0), size - 1)


@given(header=st.text(st.characters(codec="utf-8")), size=SIZES)
def test_any_header_is_a_part_or_the_whole(header: str, size: int) -> None:
    for text in (header, f"bytes={header}"):
        try:
            byte_range = requested_range(text, size)
        except RangeNotSatisfiable:
            continue
        assert byte_range is None or 0 <= byte_range[0] <= byte_range[1] < size
