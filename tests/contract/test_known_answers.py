"""Known answers are sent without reading a row, and only to those who may have them."""

import gzip
import shutil
import zlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import date, datetime, tzinfo
from pathlib import Path
from typing import Any, Self

import pytest
import zstandard
from falcon import testing
from hypothesis import given
from hypothesis import strategies as st
from mcp_server.results import Body, ToolRows
from mcp_server.service import Call
from mcp_server.service import Service as Tools
from mcp_server.tools import TOOLS, Tool

from api.app import create_app
from api.endpoints.known_answers import KnownResponses
from api.middleware import _gzip
from tests.helpers.rest_service import World, make_world
from warehouse.contract.known_answers import BodyCache, KnownAnswers
from warehouse.control.keys import Key, KeyStore, create_key, list_keys, revoke_key
from warehouse.publish.builds import builds_at
from warehouse.serve.build import Mart
from warehouse.serve.usage import Usage
from warehouse.shared.errors import DatastoreUnavailable
from warehouse.shared.tiers import TIERS, Tier, TierName

QUESTIONS = (
    "/v1/fundamentals/DCA1",
    "/v1/fundamentals/DCA1?as_of=2021-06-01&format=csv",
    "/v1/fundamentals/DCA1?as_of=2999-01-01",
    "/v1/entities/DCA1",
    "/v1/tenders?limit=2",
    "/v1/search?query=mining",
)
# Of each request: what differs between two answers to the same question.
OF_REQUEST = ("x-request-id", "ratelimit", "ratelimit-policy")

DECODED: Mapping[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.decompress,
    "zstd": lambda body: zstandard.ZstdDecompressor().decompressobj().decompress(body),
    "identity": bytes,
}


class Service:
    """The service over the builds of a folder, called without a server."""

    def __init__(
        self,
        world: World,
        usage: Path | None = None,
        tiers: Mapping[TierName, Tier] = TIERS,
    ) -> None:
        self.world = world
        counters = None if usage is None else Usage(usage)
        app = create_app(Mart(world.marts), KeyStore(world.keys, tiers), usage=counters)
        self._client = testing.TestClient(app)

    def ask(self, url: str, key: str | None = None, **headers: str) -> testing.Result:
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        sent["X-API-Key"] = key or self.world.paid
        return self._client.simulate_get(url, headers=sent)


class _Day(datetime):
    """A clock that shows a day of our choice."""

    today_is = date(2026, 11, 18)

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> Self:
        return cls(cls.today_is.year, cls.today_is.month, cls.today_is.day, 12, tzinfo=tz)


def test_an_answer_whose_day_is_capped_at_today_is_not_known_tomorrow(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("warehouse.contract.known_answers.datetime", _Day)
    known: KnownAnswers[Body] = KnownAnswers(Mart(world.marts), lambda: b"secret")
    cases: tuple[tuple[dict[str, object], bool], ...] = (
        ({"as_of": "2999-01-01"}, True),
        ({"as_of": "2018-01-01"}, False),
        ({}, False),
        ({"claims": [{"value": 1}, {"as_of": "2026-11-19"}]}, True),
        ({"claims": [{"as_of": "2018-01-01"}, {"as_of": None}]}, False),
        ({"claims": {"as_of": "2026-11-19"}}, True),
        ({"claims": "no list"}, False),
    )
    for sent, changes in cases:
        tags = set()
        for day in (date(2026, 11, 18), date(2026, 11, 19)):
            monkeypatch.setattr(_Day, "today_is", day)
            tags.add(known.build_and_tag(sent, None, "a question")[1])
        assert len(tags) == (2 if changes else 1), sent


@pytest.fixture
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return make_world(tmp_path_factory, "known", twice=True)


def without_its_files(world: World, root: Path) -> Service:
    """Return the service with the names of its builds, and none of their rows."""
    shutil.copytree(world.root, root)
    bare = replace(world, root=root)
    for folder in bare.marts.iterdir():
        if folder.is_dir():
            shutil.rmtree(folder)
    return Service(bare)


def lasting(answer: testing.Result) -> dict[str, str]:
    return {name: text for name, text in answer.headers.items() if name not in OF_REQUEST}


@pytest.mark.parametrize("url", QUESTIONS)
def test_a_304_reads_no_row(world: World, tmp_path: Path, url: str) -> None:
    etag = Service(world).ask(url).headers["ETag"]
    unreadable = without_its_files(world, tmp_path / "bare")
    assert unreadable.ask(url).status_code == 503
    # Another process with the same control database knows the tag.
    unchanged = unreadable.ask(url, If_None_Match=f'"other", W/{etag}')
    assert (unchanged.status_code, unchanged.content) == (304, b"")
    assert unchanged.headers["ETag"] == etag and unchanged.headers["X-Data-Version"]


@pytest.mark.parametrize("coding", ["identity", "gzip", "zstd"])
@pytest.mark.parametrize("url", QUESTIONS)
def test_an_answer_is_the_same_however_often_it_is_sent(
    world: World, tmp_path: Path, url: str, coding: str
) -> None:
    service = Service(world, tmp_path / "usage")
    answers = [service.ask(url, Accept_Encoding=coding) for _ in range(4)]
    for again in answers[1:]:
        assert (again.status_code, again.content) == (200, answers[0].content)
        assert lasting(again) == lasting(answers[0])
    # Each is counted.
    left = [answer.headers["RateLimit"].split(";")[1] for answer in answers]
    assert len(set(left)) == 4


def test_a_tag_is_of_no_use_for_anything_else(world: World) -> None:
    service, store = Service(world), KeyStore(world.keys)
    of_tenders = create_key(store, "professional", datasets=["AF-TENDER"])
    etags = {url: service.ask(url).headers["ETag"] for url in QUESTIONS}
    assert len({*etags.values()}) == len(QUESTIONS)
    every_tag = ", ".join((*etags.values(), "*"))
    refused = {
        "/v1/entities/DCNOBODY": 404,
        "/v1/fundamentals/DCNOBODY": 404,
        "/v1/fundamentals/DCA1?as_of=nonsense": 400,
        "/v1/fundamentals/DCA1?unknown=1": 400,
        "/v1/tenders?limit=2&cursor=nonsense": 400,
        "/v1/tenders?limit=100000": 400,
    }
    for url, status in refused.items():
        assert service.ask(url, If_None_Match=every_tag).status_code == status
    for url in QUESTIONS[:2]:
        assert service.ask(url, of_tenders, If_None_Match=etags[url]).status_code == 403
    for url, etag in etags.items():
        assert service.ask(url, world.sample, If_None_Match=etag).status_code == 200
        gone = service.ask(url, If_None_Match=etag, X_Data_Version="20000101.1")
        assert gone.status_code == 400
        assert service.ask(url, "sk_live_unknown", If_None_Match=etag).status_code == 401


def test_an_answer_that_is_kept_is_sent_to_no_other_key(world: World) -> None:
    service, store = Service(world), KeyStore(world.keys)
    key = create_key(store, "professional")
    of_tenders = create_key(store, "professional", datasets=["AF-TENDER"])
    for _ in range(3):
        assert service.ask(QUESTIONS[0], key).status_code == 200
    assert service.ask(QUESTIONS[0], of_tenders).status_code == 403
    sample = service.ask(QUESTIONS[0], world.sample).json
    assert sample["count"] <= TIERS["sample"].rows
    revoke_key(store, next(row.key_id for row in list_keys(store) if key.startswith(row.prefix)))
    assert Service(world).ask(QUESTIONS[0], key).status_code == 401


def test_what_is_known_is_limited_as_everything_is_and_a_304_is_not_charged(
    world: World, tmp_path: Path
) -> None:
    tier, url = TIERS["professional"], QUESTIONS[0]
    few = {**TIERS, tier.name: replace(tier, per_month=4)}
    service = Service(world, tmp_path / "usage", few)
    etag = [service.ask(url) for _ in range(3)][-1].headers["ETag"]
    for _ in range(5):
        unchanged = service.ask(url, If_None_Match=etag)
        assert unchanged.status_code == 304 and '"monthly";r=1;' in unchanged.headers["RateLimit"]
    assert service.ask(url).status_code == 200
    for sent in ({}, {"If_None_Match": etag}):
        refused = service.ask(url, **sent)
        assert (refused.status_code, refused.json["violated_policies"]) == (429, ["monthly"])
        assert refused.headers["Cache-Control"] == "no-store" and "ETag" not in refused.headers


@pytest.mark.parametrize("coding", ["gzip", "zstd", "identity"])
def test_a_stream_of_rows_has_a_tag_and_is_compressed(
    world: World, monkeypatch: pytest.MonkeyPatch, coding: str
) -> None:
    service, url = Service(world), QUESTIONS[1]
    whole = service.ask(url).content
    assert whole.count(b"\n") > 2
    # As with thousands of rows.
    for name in ("warehouse.contract.listing", "api.endpoints.response"):
        monkeypatch.setattr(f"{name}.MOST_WHOLE", 1)
    monkeypatch.setattr("warehouse.contract.listing.PIECE", 1)
    streamed = service.ask(url, Accept_Encoding=coding)
    etag = streamed.headers["ETag"]
    assert (streamed.headers.get("Content-Encoding", "identity"), whole) == (
        coding,
        DECODED[coding](streamed.content),
    )
    assert "Content-Length" not in streamed.headers
    again = service.ask(url, Accept_Encoding=coding, If_None_Match=etag)
    assert (again.status_code, again.content) == (304, b"")
    assert streamed.headers["Vary"] == again.headers["Vary"]


def test_a_call_that_is_repeated_needs_no_row_and_is_kept_for_no_other_key_or_build(
    world: World,
) -> None:
    service, (first, second) = Tools(Mart(world.marts), KeyStore(world.keys)), world.builds.names()
    sent = {"service_id": "DCA1", "limit": 2}

    def run(tool: Tool, tier: TierName = "professional", **more: object) -> Body:
        return service.run(tool, sent | more, Call(key=Key("sk_live_test", TIERS[tier])))

    def fail(*given: object) -> ToolRows:
        raise DatastoreUnavailable("rows are read")

    real = TOOLS["get_fundamentals"]
    failing = replace(real, read=fail)
    world.builds.switch(first)
    answers = [run(real) for _ in range(2)]
    assert run(failing) == answers[0] == answers[1] and not answers[0].is_error
    assert run(failing, "sample").is_error and run(failing, verbose=True).is_error
    assert run(failing, data_version=second).is_error
    world.builds.switch(second)
    assert run(failing).is_error
    assert f'"data_version":"{second}"'.encode() in run(real).body
    # A build that is gone is refused, whatever was kept of it.
    for _ in range(3):
        assert not run(real, data_version=first).is_error
    builds_at(world.marts).remove(first)
    assert run(real, data_version=first).is_error


def test_an_answer_of_a_deleted_build_is_not_sent(world: World) -> None:
    service, (first, second) = Service(world), world.builds.names()
    world.builds.switch(first)
    url = "/v1/tenders?limit=2"
    walk = f"{url}&cursor={service.ask(url).json['next_cursor']}"
    world.builds.switch(second)
    etags = {}
    for _ in range(3):
        etags = {
            url: service.ask(url, X_Data_Version=first).headers["ETag"],
            walk: service.ask(walk).headers["ETag"],
        }
    assert service.ask(walk, If_None_Match=etags[walk]).status_code == 304
    builds_at(world.marts).remove(first)
    for sent in ({}, {"If_None_Match": f"{etags[url]}, {etags[walk]}"}):
        assert service.ask(url, X_Data_Version=first, **sent).json["parameter"] == "X-Data-Version"
        assert service.ask(walk, **sent).json["code"] == "cursor_invalid"


def test_the_next_build_is_answered_from_at_once(world: World) -> None:
    service, (first, second) = Service(world), world.builds.names()
    url = "/v1/tenders?limit=2"
    for version in (first, second, first):
        world.builds.switch(version)
        for _ in range(3):
            assert service.ask(url).json["data_version"] == version


def test_answers_of_the_build_before_take_no_room(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[KnownResponses] = []

    def make(*stores: Any) -> KnownResponses:
        made.append(KnownResponses(*stores))
        return made[0]

    monkeypatch.setattr("api.app.KnownResponses", make)
    service, (first, second) = Service(world), world.builds.names()
    world.builds.switch(first)
    for url in QUESTIONS * 2:
        service.ask(url)
    assert made[0].kept.bytes
    # A pin is answered from the build before, and changes nothing.
    world.builds.switch(second)
    service.ask(QUESTIONS[0], X_Data_Version=first)
    assert made[0].kept.bytes
    service.ask(QUESTIONS[0])
    assert not made[0].kept.bytes


def test_the_list_of_versions_is_never_one_that_was_kept(world: World) -> None:
    service, (first, _) = Service(world), world.builds.names()
    before = [service.ask("/v1/versions") for _ in range(3)][-1]
    assert before.json["count"] == 2
    builds_at(world.marts).remove(first)
    after = service.ask("/v1/versions", If_None_Match=before.headers["ETag"])
    assert (after.status_code, after.json["count"]) == (200, 1)


@given(sizes=st.lists(st.integers(0, 400), max_size=60), most=st.integers(1, 1_000))
def test_what_is_kept_never_takes_more_than_its_room(sizes: list[int], most: int) -> None:
    cache = BodyCache[int](most, 300)
    for number, size in enumerate(sizes):
        cache.put(number % 20, size, size)
        kept = [cache.get(key) for key in range(20)]
        assert sum(filter(None, kept)) == cache.bytes <= most
        assert all(size <= 300 for size in kept if size is not None)


def test_what_is_used_stays_and_what_was_not_used_for_longest_goes() -> None:
    cache = BodyCache[bytes](10_000, 1_000)
    for number in range(100):
        cache.put(number, b"", 1_000)
        cache.get(0)
    assert [number for number in range(100) if cache.get(number) is not None] == [
        0,
        *range(91, 100),
    ]


def test_questions_that_are_never_repeated_are_not_kept(world: World) -> None:
    known = KnownResponses(Mart(world.marts), lambda: b"secret")
    assert not any(known.is_repeated(f'"{number}"') for number in range(20_000))
    assert len(known.once) <= 8_192
    assert known.is_repeated('"19999"') and not known.is_repeated('"0"')


@given(body=st.binary(max_size=5_000))
def test_gzip_is_what_everybody_reads(body: bytes) -> None:
    compressed = _gzip(body)
    assert gzip.decompress(compressed) == zlib.decompress(compressed, wbits=31) == body
