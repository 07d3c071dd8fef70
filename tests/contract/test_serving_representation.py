"""How answers travel: ETag and 304, HEAD, gzip and zstd, Vary and Cache-Control."""

import gzip
import http.client
from collections.abc import Iterator

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from api.endpoints.endpoint import etag_matches
from api.middleware import accepted_coding
from tests.helpers.every_list import READ
from tests.helpers.rest_service import Served, World, make_world, served

FACTS = "/v1/fundamentals/DCA1"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return make_world(tmp_path_factory, "representation", twice=True)


@pytest.fixture(scope="module")
def server(world: World) -> Iterator[Served]:
    with served(world, "--workers", "2") as running:
        yield running


def addresses() -> list[str]:
    """Return one URL of every described endpoint, and of the pages."""
    of = {"service_id": "DCA1", "signal_key": "procurement-demand", "sku": "AF-FUND"}
    described = [endpoint.path.format(**of, ocid="ocds-0003") for endpoint in READ]
    pages = ["/docs", "/site/docs.js", "/llms.txt", "/methodology", "/problems/not_found"]
    return [*described, *pages, "/exports/latest/manifest.json", "/exports/signing-key.pem"]


@pytest.mark.parametrize("path", addresses())
def test_head_is_answered_as_get_is_without_the_body(
    server: Served, world: World, path: str
) -> None:
    status, headers, body = server.get(path, world.paid)
    again, head, nothing = server.get(path, world.paid, method="HEAD")
    assert (again, nothing) == (status, b"")
    for name in ("Content-Type", "ETag", "Vary", "Cache-Control", "X-Data-Version"):
        assert head[name] == headers[name]
    # How long a read took, and how much of a limit is left, has no fixed length.
    if path not in ("/v1/status", "/v1/usage") and status == 200:
        assert head["Content-Length"] == headers["Content-Length"] == str(len(body))


def test_a_connection_outlives_a_304(server: Served, world: World) -> None:
    _, headers, _ = server.get(FACTS, world.paid)
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    connection.connect()
    kept_socket = connection.sock
    for etag, status in ((headers["ETag"], 304), ("", 200), (headers["ETag"], 304)):
        connection.request("GET", FACTS, headers={"X-API-Key": world.paid, "If-None-Match": etag})
        answer = connection.getresponse()
        answer.read()
        assert (answer.status, answer.headers["Connection"]) == (status, None)
        assert connection.sock is kept_socket
    connection.close()


def test_an_unchanged_answer_is_304_and_a_new_build_is_not(server: Served, world: World) -> None:
    path = "/v1/tenders?limit=1000"
    first, second = world.builds.names()
    world.builds.switch(first)
    _, headers, _ = server.get(path, world.paid)
    status, unchanged, body = server.get(path, world.paid, If_None_Match=headers["ETag"])
    assert (status, body) == (304, b"")
    for name in ("ETag", "Vary", "Cache-Control", "X-Data-Version", "X-Service-Tier"):
        assert unchanged[name] == headers[name]
    assert unchanged["Content-Type"] is None and unchanged["X-Request-Id"]
    world.builds.switch(second)
    status, changed, _ = server.get(path, world.paid, If_None_Match=headers["ETag"])
    assert status == 200 and changed["ETag"] != headers["ETag"]


def test_each_coding_has_the_same_content_and_an_etag_of_its_own(
    server: Served, world: World
) -> None:
    _, plain, body = server.get(FACTS, world.paid)
    _, zipped, by_gzip = server.get(FACTS, world.paid, Accept_Encoding="gzip, deflate")
    _, packed, by_zstd = server.get(FACTS, world.paid, Accept_Encoding="gzip, deflate, br, zstd")

    assert [item["Content-Encoding"] for item in (plain, zipped, packed)] == [None, "gzip", "zstd"]
    assert gzip.decompress(by_gzip) == zstandard.ZstdDecompressor().decompress(by_zstd) == body
    assert max(len(by_gzip), len(by_zstd)) < len(body)
    assert len({item["ETag"] for item in (plain, zipped, packed)}) == 3
    assert all("Accept-Encoding" in item["Vary"] for item in (plain, zipped, packed))
    again = {"Accept_Encoding": "gzip", "If_None_Match": zipped["ETag"]}
    assert server.get(FACTS, world.paid, **again)[0] == 304


def test_small_answers_files_and_refused_codings_travel_plain(server: Served, world: World) -> None:
    accept = {"Accept_Encoding": "gzip, zstd"}
    manifest = world.published().manifest()
    parquet = next(artifact for artifact in manifest.artifacts if not artifact.requires_key)
    path = f"/exports/{manifest.data_version}/{parquet.url}"
    for item in ("/health", path):
        assert server.get(item, **accept)[1]["Content-Encoding"] is None
    refused = {"Accept_Encoding": "gzip;q=0, zstd;q=0.0"}
    assert server.get(FACTS, world.paid, **refused)[1]["Content-Encoding"] is None


PINNED = "private, max-age=86400"


def test_who_may_keep_an_answer_is_said(server: Served, world: World) -> None:
    _, keyed, _ = server.get(FACTS, world.paid)
    assert keyed["Cache-Control"] == "private"
    varied = {part.strip() for part in keyed["Vary"].split(",")}
    assert {"X-API-Key", "Authorization", "X-Data-Version", "Accept-Encoding"} <= varied
    # A pinned answer, in either way, stays the same; one for today does not.
    pin = {"X_Data_Version": keyed["X-Data-Version"]}
    in_url = f"{FACTS}?data_version={keyed['X-Data-Version']}"
    for _ in range(3):
        assert server.get(FACTS, world.paid, **pin)[1]["Cache-Control"] == PINNED
        _, headers, _ = server.get(in_url, world.paid)
        assert headers["Cache-Control"] == PINNED
        _, unchanged, _ = server.get(in_url, world.paid, If_None_Match=headers["ETag"])
        assert unchanged["Cache-Control"] == PINNED
        assert server.get(FACTS, world.paid)[1]["Cache-Control"] == "private"
    for path in (f"{FACTS}?as_of=2999-01-01", "/v1/versions"):
        assert "max-age" not in server.get(path, world.paid, **pin)[1]["Cache-Control"]
    assert server.get("/openapi.json")[1]["Cache-Control"] == "no-cache"
    assert server.get("/v1/status")[1]["Cache-Control"] == "no-store"
    assert server.get("/v1/status")[1]["ETag"] is None
    for path, key in ((FACTS, None), ("/v1/nothing", None), (f"{FACTS}?x=1", world.paid)):
        headers = server.get(path, key)[1]
        assert (headers["Cache-Control"], headers["ETag"]) == ("no-store", None)


@pytest.mark.parametrize(
    ("header", "chosen"),
    [
        (None, None),
        ("", None),
        ("identity", None),
        ("gzip", "gzip"),
        ("GZIP", "gzip"),
        ("zstd", "zstd"),
        ("gzip, zstd", "zstd"),
        ("gzip;q=1.0, zstd;q=0.5", "gzip"),
        ("gzip;q=0", None),
        ("gzip;q=nonsense", None),
        ("br, *;q=0.1", None),
    ],
)
def test_a_coding_is_used_only_where_the_client_takes_it(
    header: str | None, chosen: str | None
) -> None:
    assert accepted_coding(header) == chosen


@given(header=st.text(st.characters(codec="utf-8")))
def test_any_header_is_read(header: str) -> None:
    assert accepted_coding(header) in (None, "gzip", "zstd")
    assert etag_matches(header, '"own"') in (True, False)
