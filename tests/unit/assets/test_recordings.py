"""Recordings are read as if they had been fetched; what cannot be read is named."""

import gzip
import io
import json
import os
import stat
import zipfile
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from assets.entities.sources import SOURCES as ENTITIES
from assets.filings.sources import SOURCES as FILINGS
from assets.ingest.recordings import Origin, Recordings, observed_at, read_manifest
from assets.source import Source, fictional
from warehouse.record.landing import FetchedResponse
from warehouse.shared.errors import SankofaError

SOURCES = {source.key: source for source in (*FILINGS, *ENTITIES)}
FACTS = SOURCES["sec-companyfacts"]
BASE = "https://data.sec.gov/api/xbrl/companyfacts"
URL = f"{BASE}/CIK0000000001.json"
DAY = datetime(2026, 2, 20, 6, tzinfo=UTC)
ORIGIN = Origin(URL, DAY)
FOLDER = Origin(BASE, DAY)


@dataclass(frozen=True)
class Read:
    """What came out of a reading, with the bodies read while they were open."""

    responses: list[FetchedResponse]
    failed: list[str]
    skipped: dict[str, int]

    @property
    def bodies(self) -> dict[str, bytes]:
        return {response.url: body_of(response) for response in self.responses}


def body_of(response: FetchedResponse) -> bytes:
    assert isinstance(response.body, bytes)
    return response.body


def read(*paths: Path, origin: Origin | None = None, source: Source = FACTS) -> Read:
    recordings = Recordings(source)
    responses = []
    for response in recordings.read(paths, origin):
        assert not isinstance(response.body, bytes)
        response.body.seek(0)
        responses.append(replace(response, body=response.body.read()))
    return Read(responses, recordings.failed, dict(recordings.skipped))


def written(path: Path, content: bytes | str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def zipped(**members: bytes | str) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name.replace("__", "/").replace("_dot_", "."), content)
    return packed.getvalue()


# Plain files


def test_a_file_is_landed_at_its_origin_with_the_headers_beside_it(tmp_path: Path) -> None:
    path = written(tmp_path / "facts.json", "{}")
    written(tmp_path / "facts.json.headers.json", json.dumps({"X-Jobs": "1"}))
    (response,) = read(path, origin=ORIGIN).responses
    assert response == FetchedResponse(
        "sec-companyfacts", URL, b"{}", "public-domain", DAY, 200, {"x-jobs": "1"}
    )


def test_the_files_of_a_folder_are_named_by_their_paths_below_the_origin(tmp_path: Path) -> None:
    for name in ("a.json", "b/c d.json", ".hidden", "b/.DS_Store", "a.json.headers.json"):
        written(tmp_path / "all" / name, "{}")
    found = read(tmp_path / "all", origin=FOLDER)
    assert list(found.bodies) == [f"{BASE}/a.json", f"{BASE}/b/c%20d.json"]
    assert found.failed == []
    assert found.skipped == {"hidden files": 2}


def test_no_link_leads_out_of_a_folder_and_each_is_named(tmp_path: Path) -> None:
    folder, outside = tmp_path / "all", tmp_path / "outside"
    secret = written(outside / "secret.json", '{"secret": 1}')
    written(folder / "a.json", "{}")
    written(folder / "b.json", "{}")
    (folder / "file.json").symlink_to(secret)
    (folder / "upwards.json").symlink_to("../outside/secret.json")
    (folder / "gone.json").symlink_to(outside / "gone.json")
    (folder / "folder").symlink_to(outside)
    (folder / "below").symlink_to(folder / ".")
    (folder / "b.json.headers.json").symlink_to(secret)
    (folder / "same.json").symlink_to("a.json")
    os.mkfifo(folder / "pipe.json")
    found = read(folder, origin=FOLDER)
    assert list(found.bodies) == [f"{BASE}/a.json", f"{BASE}/same.json"]
    assert all(b"secret" not in body for body in found.bodies.values())
    named = {line.partition(": ")[0]: line.partition(": ")[2] for line in found.failed}
    assert {Path(path).name for path in named} == {
        *("file.json", "upwards.json", "gone.json", "folder", "below", "b.json", "pipe.json"),
        "b.json.headers.json",
    }
    assert all("not followed" in words or "neither a file" in words for words in named.values())


def test_a_link_that_is_named_itself_is_read(tmp_path: Path) -> None:
    (tmp_path / "link.json").symlink_to(written(tmp_path / "elsewhere" / "a.json", "{}"))
    assert list(read(tmp_path / "link.json", origin=ORIGIN).bodies) == [URL]


def test_a_manifest_leads_out_of_its_folder_by_absolute_paths_alone(tmp_path: Path) -> None:
    outside = written(tmp_path / "secret.json", "{}")
    (tmp_path / "all").mkdir()
    (tmp_path / "all" / "link.json").symlink_to(outside)
    for path in ("../secret.json", "link.json"):
        row = f"path,url,observed_at\n{path},{URL},2026-02-20\n"
        manifest = written(tmp_path / "all" / "manifest.csv", row)
        with pytest.raises(SankofaError, match=r"line 2: .* leads out of the folder"):
            read_manifest(manifest)
    # Who writes an absolute path means it.
    row = f"path,url,observed_at\n{outside},{URL},2026-02-20\n"
    (entry,) = read_manifest(written(tmp_path / "all" / "manifest.csv", row))
    assert entry.path == outside


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("/etc/a.json", "its name is absolute"),
        ("C:\\a.json", "its name is absolute"),
        ("../a.json", "its name leads out of the zip"),
        ("b/../../a.json", "its name leads out of the zip"),
        ("..\\a.json", "its name leads out of the zip"),
    ],
)
def test_a_member_whose_name_leads_out_of_its_zip_is_refused_by_name(
    tmp_path: Path, name: str, why: str
) -> None:
    path = tmp_path / "all.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(zipfile.ZipInfo(name), "{}")
        archive.writestr("good.json", "{}")
        archive.writestr(".DS_Store", "{}")
    found = read(path, origin=FOLDER)
    assert list(found.bodies) == [f"{BASE}/good.json"]
    assert found.failed == [f"{path}: {name} in the zip is refused: {why}"]
    assert found.skipped == {"hidden files": 1}


def test_a_link_in_a_zip_is_refused_by_name(tmp_path: Path) -> None:
    link = zipfile.ZipInfo("link.json")
    link.create_system, link.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        archive.writestr(link, "/etc/passwd")
        archive.writestr("good.json", "{}")
    found = read(tmp_path / "all.zip", origin=FOLDER)
    assert list(found.bodies) == [f"{BASE}/good.json"]
    assert "link.json in the zip is refused: it is a link" in found.failed[0]


def test_api_keys_in_an_origin_are_not_landed(tmp_path: Path) -> None:
    path = written(tmp_path / "a.json", "{}")
    found = read(path, origin=Origin(f"{URL}?api_key=5ecre7&a=1", DAY))
    assert list(found.bodies) == [f"{URL}?a=1"]


def test_a_plain_file_without_an_origin_is_refused_with_what_to_give(tmp_path: Path) -> None:
    found = read(written(tmp_path / "a.json", "{}"))
    assert found.responses == []
    assert "give --origin, its address at the publisher, and --observed-at" in found.failed[0]


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("https://elsewhere.example/CIK1.json", "which is published at data.sec.gov"),
        ("http://127.0.0.1:8/CIK1.json", "local network"),
        ("file:///tmp/CIK1.json", "not a web address"),
        ("/tmp/CIK1.json", "not a web address"),
        ("https://data.sec.gov.example/CIK1.json", "is not an address of sec-companyfacts"),
    ],
)
def test_an_origin_that_is_not_the_publishers_is_refused(
    tmp_path: Path, url: str, why: str
) -> None:
    found = read(written(tmp_path / "a.json", "{}"), origin=Origin(url, DAY))
    assert found.responses == [] and why in found.failed[0]


def test_a_source_that_states_no_address_takes_any_public_one(tmp_path: Path) -> None:
    origin = Origin("https://exchange.example/listings.csv", DAY)
    found = read(written(tmp_path / "a.csv", "a"), origin=origin, source=SOURCES["listings"])
    assert list(found.bodies) == [origin.url]


def test_bad_files_are_named_and_the_others_go_on(tmp_path: Path) -> None:
    folder = tmp_path / "all"
    written(folder / "good.json", "{}")
    written(folder / "empty.json", "")
    written(folder / "cut.json.gz", gzip.compress(b"{}" * 500)[:-9])
    written(folder / "cut.zip", zipped(a="1" * 500)[:60])
    written(folder / "odd.json", "{}")
    written(folder / "odd.json.headers.json", "[1]")
    found = read(folder, tmp_path / "nothing", origin=FOLDER)
    assert list(found.bodies) == [f"{BASE}/good.json"]
    words = {Path(line.partition(": ")[0]).name: line for line in found.failed}
    assert "the file is empty" in words["empty.json"]
    assert "the gzip is damaged" in words["cut.json.gz"]
    assert "the zip is damaged" in words["cut.zip"]
    assert "write one JSON object" in words["odd.json"]
    assert "No such file" in words["nothing"]


@pytest.mark.skipif(os.getuid() == 0, reason="left out: root reads every file")
def test_a_file_that_may_not_be_read_is_named(tmp_path: Path) -> None:
    path = written(tmp_path / "a.json", "{}")
    path.chmod(0)
    assert "Permission denied" in read(path, origin=ORIGIN).failed[0]


def test_an_empty_folder_is_named(tmp_path: Path) -> None:
    written(tmp_path / "a" / ".keep", "")
    assert read(tmp_path / "a", origin=FOLDER).failed == [
        f"{tmp_path / 'a'}: the folder contains no files that can be read"
    ]


# Archives


def test_a_gzip_is_unpacked_unless_the_source_publishes_gzips(tmp_path: Path) -> None:
    packed = gzip.compress(b"{}")
    written(tmp_path / "all" / "a.json.gz", packed)
    assert read(tmp_path / "all", origin=FOLDER).bodies == {f"{BASE}/a.json": b"{}"}
    publishing = replace(FACTS, archives=frozenset({"gzip"}))
    found = read(tmp_path / "all", origin=FOLDER, source=publishing)
    assert found.bodies == {f"{BASE}/a.json.gz": packed}


def test_a_zip_is_unpacked_unless_the_source_publishes_zips(tmp_path: Path) -> None:
    content = zipped(a_dot_json="{}", b__c_dot_json_dot_gz=gzip.compress(b"[]"), __MACOSX_dot_x="0")
    path = written(tmp_path / "bundle.zip", content)
    assert read(path, origin=FOLDER).bodies[f"{BASE}/a.json"] == b"{}"
    assert read(path, origin=FOLDER).bodies[f"{BASE}/b/c.json.gz"] == b"[]"
    gleif = SOURCES["gleif"]
    origin = Origin("https://goldencopy.gleif.org/api/v2/latest.json", DAY)
    assert read(path, origin=origin, source=gleif).bodies == {origin.url: content}


def test_the_members_of_a_published_zip_are_named_within_it(tmp_path: Path) -> None:
    path = written(tmp_path / "2024.zip", zipped(a_dot_json="{}"))
    origin = Origin(f"{BASE}/2024.zip", DAY)
    assert list(read(path, origin=origin).bodies) == [f"{BASE}/2024.zip!/a.json"]
    assert list(read(tmp_path, origin=FOLDER).bodies) == [f"{BASE}/2024.zip!/a.json"]


def test_headers_in_a_zip_belong_to_the_member_they_are_named_after(tmp_path: Path) -> None:
    path = written(
        tmp_path / "a.zip", zipped(a_dot_json="{}", a_dot_json_dot_headers_dot_json='{"A": "1"}')
    )
    (response,) = read(path, origin=FOLDER).responses
    assert response.headers == {"a": "1"}


def test_a_damaged_member_is_named_and_the_others_are_read(tmp_path: Path) -> None:
    content = bytearray(zipped(a_dot_json="1" * 50, b_dot_json="2" * 50))
    content[content.index(b"a.json") + 8] ^= 0xFF
    found = read(written(tmp_path / "a.zip", bytes(content)), origin=FOLDER)
    assert list(found.bodies) == [f"{BASE}/b.json"]
    assert "a.json in the zip cannot be read" in found.failed[0]


def test_a_zip_without_files_is_named(tmp_path: Path) -> None:
    found = read(written(tmp_path / "a.zip", zipped(_dot_hidden="0")), origin=FOLDER)
    assert "the zip contains no files" in found.failed[0]


def test_bombs_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from assets.fetching import containers

    monkeypatch.setattr(
        containers.ContainerLimits, "__init__", lambda self: _limits(self, 2, 1000, 1500)
    )
    bombs = {
        "bomb.json.gz": (gzip.compress(b"0" * 1001), "the gzip decompresses to more than 1,000"),
        "bomb.zip": (zipped(a="0" * 1001), "a decompresses to more than 1,000"),
        "sum.zip": (zipped(a="0" * 900, b="1" * 900), "the zip decompresses to more than 1,500"),
        "many.zip": (zipped(a="0", b="0", c="0"), "the zip has 3 members; 2 are allowed"),
    }
    for name, (content, words) in bombs.items():
        found = read(written(tmp_path / name, content), origin=FOLDER)
        assert found.responses == [] and words in found.failed[0]


def _limits(limits: object, members: int, member: int, total: int) -> None:
    for name, value in (("members", members), ("member", member), ("total", total)):
        object.__setattr__(limits, name, value)


def test_recordings_of_a_fictional_source_are_named_as_such(tmp_path: Path) -> None:
    source = fictional(FACTS)
    origin = Origin("https://fictional.example/sec-companyfacts/a.json", DAY)
    (response,) = read(written(tmp_path / "a", "{}"), origin=origin, source=source).responses
    assert response.world == "fictional"


# Moments and manifests


def test_a_day_stands_for_a_fixed_hour_and_a_moment_for_itself() -> None:
    assert observed_at("2026-02-20") == DAY
    assert observed_at("2026-02-20T14:30+02:00") == datetime(2026, 2, 20, 12, 30, tzinfo=UTC)
    assert observed_at("2026-02-20T14:30") == datetime(2026, 2, 20, 14, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "why"), [("20 Feb 2026", "neither a day"), ("9999-01-01", "has not come yet")]
)
def test_a_moment_that_cannot_be_is_refused(text: str, why: str) -> None:
    with pytest.raises(SankofaError, match=why):
        observed_at(text)


COLUMNS = "path,url,observed_at,source,headers,sha256"
MANIFESTS = {
    "m.csv": f'{COLUMNS}\na.json,{URL},2026-02-20,sec-companyfacts,"{{""A"": ""1""}}",{"a" * 12}\n',
    "m.tsv": f"{COLUMNS}\na.json,{URL},2026-02-20,sec-companyfacts,,{'a' * 12}\n".replace(
        ",", "\t"
    ),
    "without-source.csv": f"path,url,observed_at\na.json,{URL},2026-02-20\n",
}


@pytest.mark.parametrize("name", MANIFESTS)
def test_a_manifest_says_where_and_when_each_file_was_read(tmp_path: Path, name: str) -> None:
    (entry,) = read_manifest(written(tmp_path / name, MANIFESTS[name]))
    assert entry.path == tmp_path / "a.json"
    assert entry.origin is not None
    assert (entry.origin.url, entry.origin.observed_at) == (URL, DAY)
    assert entry.origin.headers == ({"a": "1"} if name == "m.csv" else {})
    assert entry.source == (None if name == "without-source.csv" else "sec-companyfacts")


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("path,url\n", "has no column observed_at"),
        (f"{COLUMNS}\n", "names no files"),
        (f"{COLUMNS}\n,,,\n", "line 2: it names no path"),
        (f"{COLUMNS}\na.json,{URL},,\n", "line 2: a.json needs both url and observed_at"),
        (f"{COLUMNS}\na.json,{URL},soon,\n", "line 2: 'soon' is neither a day"),
        (f"{COLUMNS}\na.json,{URL},2026-02-20,,[],\n", "write one JSON object"),
        (f"{COLUMNS}\na.json,{URL},2026-02-20,,,abc\n", "at least 12 characters"),
        (b"\xff\xfe", "not UTF-8"),
    ],
)
def test_a_bad_manifest_is_refused_with_its_line(
    tmp_path: Path, content: str | bytes, why: str
) -> None:
    with pytest.raises(SankofaError, match=f"m.csv.*{why}"):
        read_manifest(written(tmp_path / "m.csv", content))


def test_a_file_that_differs_from_the_manifest_is_refused(tmp_path: Path) -> None:
    written(tmp_path / "a.json", "{}")
    (entry,) = read_manifest(written(tmp_path / "m.csv", MANIFESTS["m.csv"]))
    with pytest.raises(SankofaError, match="the manifest says aaaa"):
        entry.verify()


# What a source publishes


def test_a_source_is_published_at_its_hosts_alone() -> None:
    base = "https://www.stats.example/api/v1/"
    hosts = ("files.example", "raw.example/stats")
    source = replace(FACTS, base_url=base, other_hosts=hosts)
    for url in (f"{base}cpi", "http://stats.example/a", "https://raw.example/stats/anything"):
        assert source.is_published_at(url)
    for url in ("https://raw.example/other", "https://stats.example.org/", "https://a.example/"):
        assert not source.is_published_at(url)
