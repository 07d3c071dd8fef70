"""The client over real HTTP, against a server that misbehaves as real ones do."""

import gzip
import logging
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest
import trustme
from hypothesis import given
from hypothesis import strategies as st

from assets.fetching.addresses import RateLimiter, without_secrets
from assets.fetching.client import REDIRECTS, Client, FetchError, SourceResponse, Timeouts
from assets.fetching.fetchers import response_json
from assets.fetching.http_bodies import BodyLimits, retry_after
from tests.helpers.http_client import http_client
from tests.helpers.paths import ROOT
from tests.helpers.replay_server import ReceivedRequest, Replay, Reply
from warehouse.shared.settings import SettingError, read_settings

JSON = {"Content-Type": "application/json"}
GOOD = Reply(b'{"a": 1}', headers=JSON)


def refusal(client: Client, url: str, expects: Any = "json") -> FetchError:
    with pytest.raises(FetchError) as refused:
        client.get(url, expects)
    return refused.value


def test_a_response_is_returned_with_its_body_and_headers(server: Replay, client: Client) -> None:
    url = server.on("/a", Reply(b'{"a": 1}', headers={**JSON, "ETag": '"1"', "Set-Cookie": "x=1"}))

    answer = client.get(url, "json")

    assert (answer.url, answer.status, answer.body) == (url, 200, b'{"a": 1}')
    assert answer.headers["etag"] == '"1"'
    assert not {"set-cookie", "content-length"} & set(answer.headers)
    assert answer.observed_at.tzinfo is UTC


def test_a_gzipped_response_is_unpacked_even_with_several_members(
    server: Replay, client: Client
) -> None:
    packed = gzip.compress(b'{"a": ') + gzip.compress(b"1}")
    url = server.on("/a", Reply(packed, headers={**JSON, "Content-Encoding": "gzip"}, piece=7))

    assert client.get(url, "json").body == b'{"a": 1}'
    assert server.requests[0].headers["accept-encoding"] == "gzip"


def test_requests_carry_the_contact_as_user_agent(
    server: Replay, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SANKOFA_CONTACT", "data@example.org")
    with http_client() as client:
        client.get(server.on("/a", GOOD))

    assert server.requests[0].headers["user-agent"] == "Sankofa data@example.org"


def test_a_live_source_is_not_contacted_without_a_contact_setting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("SANKOFA_CONTACT", raising=False)
    with http_client() as client:
        assert "set SANKOFA_CONTACT" in str(refusal(client, "https://data.sec.gov/x"))


def test_a_contact_nobody_could_write_to_is_refused() -> None:
    with pytest.raises(SettingError, match=r"SANKOFA_CONTACT .* e-mail address"):
        read_settings({"SANKOFA_CONTACT": "me\nX-Evil: 1"})


@pytest.mark.parametrize("status", [403, 408, 413, 429, 500, 502, 503, 504])
def test_a_transient_failure_is_retried(
    server: Replay, client: Client, waits: list[float], status: int
) -> None:
    url = server.on("/a", Reply(b"busy", status), Reply(b"busy", status), GOOD)

    assert client.get(url, "json").body == GOOD.body
    assert len(waits) == 2
    assert 1 <= waits[0] <= 3
    assert 2 <= waits[1] <= 4


@pytest.mark.parametrize("status", [400, 401, 404, 410])
def test_a_permanent_failure_is_not_retried(server: Replay, client: Client, status: int) -> None:
    url = server.on("/a", Reply(b"<Error><Code>NoSuchKey</Code></Error>", status))

    error = refusal(client, url)

    assert error.status == status
    assert str(error).startswith(f"{url}: it answers {status}, saying 'NoSuchKey' (tried once); ")
    assert len(server.requests) == 1


def test_a_persistent_failure_reports_the_number_of_attempts(
    server: Replay, client: Client
) -> None:
    url = server.on("/a", Reply(b"busy", 503))

    error = refusal(client, url)

    assert str(error) == f"{url}: it answers 503, saying 'busy' (tried 5 times); try again later"
    assert len(server.requests) == 5


def test_a_retry_after_in_seconds_is_respected(
    server: Replay, client: Client, waits: list[float]
) -> None:
    client.get(server.on("/a", Reply(b"", 429, {"Retry-After": "7"}), GOOD))

    assert waits == [7.0]


def test_a_retry_after_date_is_respected(
    server: Replay, client: Client, waits: list[float]
) -> None:
    moment = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)
    client.get(server.on("/a", Reply(b"", 503, {"Retry-After": moment}), GOOD))

    assert 25 < waits[0] <= 30


def test_a_retry_after_of_days_is_capped(
    server: Replay, client: Client, waits: list[float]
) -> None:
    client.get(server.on("/a", Reply(b"", 429, {"Retry-After": "999999"}), GOOD))

    assert waits == [120.0]


def test_an_unreadable_retry_after_is_ignored() -> None:
    assert retry_after("soon", datetime.now(UTC)) is None
    assert retry_after("Mon, 01 Jan 2001 00:00:00 GMT", datetime.now(UTC)) == 0


def test_a_connection_dropped_midway_is_retried(server: Replay, client: Client) -> None:
    body = b"[" + b"1," * 50_000 + b"1]"
    url = server.on("/a", Reply(body, headers=JSON, drop_after=60_000), Reply(body, headers=JSON))

    assert client.get(url, "json").body == body


def test_a_body_that_stays_shorter_than_announced_is_an_error(
    server: Replay, client: Client
) -> None:
    url = server.on("/a", Reply(b'{"a": 1}', headers=JSON, length=100))

    assert "the connection broke" in str(refusal(client, url))
    assert len(server.requests) == 5


def test_a_body_cut_by_a_length_too_small_is_not_taken_for_whole(
    server: Replay, client: Client
) -> None:
    url = server.on("/a", Reply(b'{"a": [1, 2, 3]}', headers=JSON, length=9))

    assert "its json ends in the middle" in str(refusal(client, url))


def test_a_gzip_that_ends_in_the_middle_is_not_taken_for_whole(
    server: Replay, client: Client
) -> None:
    packed = gzip.compress(b"a,b\n" * 1000)[:-9]
    url = server.on("/a", Reply(packed, headers={"Content-Encoding": "gzip"}))

    assert "its gzip is damaged (the gzip ends early)" in str(refusal(client, url, "csv"))


def test_a_body_falsely_labelled_gzip_is_an_error(server: Replay, client: Client) -> None:
    url = server.on("/a", Reply(b"not packed", headers={"Content-Encoding": "gzip"}))

    assert "its gzip is damaged" in str(refusal(client, url, "csv"))


def test_an_encoding_that_was_not_requested_is_an_error(server: Replay, client: Client) -> None:
    url = server.on("/a", Reply(b"?", headers={"Content-Encoding": "br"}))

    assert "encoded as 'br'" in str(refusal(client, url))


def test_a_gzip_bomb_is_refused_before_it_is_unpacked(server: Replay) -> None:
    bomb = gzip.compress(bytes(200 << 20), 9)
    url = server.on("/a", Reply(bomb, headers={"Content-Encoding": "gzip"}))
    with http_client(limits=BodyLimits(received=1 << 20, opened=4 << 20)) as client:
        error = refusal(client, url, "any")

    assert "it decompresses to at least" in str(error)
    assert int(str(error).split("at least ")[1].split()[0]) < 6 << 20
    assert len(server.requests) == 1


def test_a_body_announced_too_large_is_not_read(server: Replay) -> None:
    url = server.on("/a", Reply(b"x" * 5000))
    with http_client(limits=BodyLimits(received=1000, opened=9000)) as client:
        assert "it announces 5000 bytes" in str(refusal(client, url, "any"))


def test_a_web_page_with_status_200_is_not_taken_for_data(server: Replay, client: Client) -> None:
    page = b"<!DOCTYPE html><style>p {}</style><title>Sorry</title><p>Under maintenance</p>"
    url = server.on("/a", Reply(page, headers={"Content-Type": "text/html"}))

    for expects in ("json", "csv", "zip", "gzip"):
        error = str(refusal(client, url, expects))
        assert f"a web page where {expects} was expected: 'Sorry Under maintenance'" in error
        assert url in error
    assert len(server.requests) == 4


def test_data_labelled_as_a_web_page_is_still_data(server: Replay, client: Client) -> None:
    url = server.on("/a", Reply(b'\xef\xbb\xbf {"a": 1}', headers={"Content-Type": "text/html"}))

    assert client.get(url, "json").status == 200


def test_text_is_not_taken_for_a_zip(server: Replay, client: Client) -> None:
    url = server.on("/a", Reply(b"quota exceeded"))

    assert "something that is not zip: 'quota exceeded'" in str(refusal(client, url, "zip"))


def test_an_empty_body_is_no_data(server: Replay, client: Client) -> None:
    assert "the body is empty" in str(refusal(client, server.on("/a", Reply(b""))))


def test_redirects_are_followed(server: Replay, client: Client) -> None:
    server.on("/b", GOOD)
    url = server.on("/a", Reply(b"", 302, {"Location": "/b"}))

    answer = client.get(url, "json")

    assert (answer.url, answer.body) == (url, GOOD.body)


def test_redirects_in_a_circle_end(server: Replay, client: Client) -> None:
    url = server.on("/a", Reply(b"", 302, {"Location": "/a"}))

    assert f"more than {REDIRECTS} times" in str(refusal(client, url))
    assert len(server.requests) == REDIRECTS + 1


def test_a_redirect_to_something_that_is_no_web_address_is_an_error(
    server: Replay, client: Client
) -> None:
    url = server.on("/a", Reply(b"", 302, {"Location": "ftp://example.org/a"}))

    assert "does not lead to, a web address" in str(refusal(client, url))


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def encrypted(authority: trustme.CA) -> Iterator[Replay]:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(tls)
    with Replay(tls) as replay:
        yield replay


def trusting(authority: trustme.CA) -> ssl.SSLContext:
    context = ssl.create_default_context()
    authority.configure_trust(context)
    return context


def test_a_redirect_from_https_to_http_is_refused(
    encrypted: Replay, server: Replay, authority: trustme.CA
) -> None:
    url = encrypted.on("/a", Reply(b"", 302, {"Location": server.on("/a", GOOD)}))
    with http_client(verify=trusting(authority)) as client:
        assert "which is not encrypted" in str(refusal(client, url))
    assert server.requests == []


def test_a_certificate_of_an_unknown_authority_is_refused(encrypted: Replay) -> None:
    url = encrypted.on("/a", GOOD)
    with http_client() as client:
        error = str(refusal(client, url))

    assert "its certificate is not valid" in error
    assert "tried once" in error
    assert encrypted.requests == []


def test_a_slow_body_is_cut_off_at_the_total_timeout(server: Replay) -> None:
    url = server.on("/a", Reply(b"x" * 2000, pause=0.05, piece=1))
    began = time.monotonic()
    with http_client(timeouts=Timeouts(whole=0.3), attempts=1) as client:
        assert "it took longer than 0.3 s" in str(refusal(client, url, "any"))
    assert time.monotonic() - began < 50


def test_a_slow_page_of_an_error_is_not_read_to_its_end(server: Replay) -> None:
    url = server.on("/a", Reply(b"x" * 2000, 404, pause=0.05, piece=1))
    began = time.monotonic()
    with http_client(timeouts=Timeouts(whole=0.2)) as client:
        assert refusal(client, url).status == 404
    assert time.monotonic() - began < 50


def test_a_source_that_stops_sending_times_out(server: Replay) -> None:
    url = server.on("/a", Reply(b"x", pause=1.0))
    with http_client(timeouts=Timeouts(read=0.1), attempts=2, sleep=lambda _: None) as client:
        assert "did not answer in time (tried 2 times)" in str(refusal(client, url, "any"))


def test_a_host_that_does_not_exist_is_named(client: Client) -> None:
    assert "no connection" in str(refusal(client, "http://127.0.0.1:1/a"))


@pytest.mark.parametrize("url", ["ftp://example.org/a", "nowhere", "https://"])
def test_anything_but_a_web_address_is_refused(client: Client, url: str) -> None:
    assert "is not a web address" in str(refusal(client, url))


def unless_kept(request: ReceivedRequest) -> Reply:
    same = request.headers.get("if-none-match") == '"1"'
    return Reply(status=304) if same else Reply(b'{"a": 1}', headers={**JSON, "ETag": '"1"'})


def test_an_unchanged_document_is_not_sent_again(server: Replay) -> None:
    url = server.answer("/a", unless_kept)
    responses: dict[str, SourceResponse] = {}

    def headers(address: str) -> dict[str, str] | None:
        return responses[address].headers if address in responses else None

    with http_client(stored_headers=headers) as client:
        responses[url] = client.get(url, "json", conditional=True)
        second = client.get(url, "json", conditional=True)

    assert responses[url].changed
    assert not second.changed
    assert second.body == b""


def test_requests_are_conditional_on_the_last_modification_date(server: Replay) -> None:
    day = "Wed, 21 Oct 2015 07:28:00 GMT"
    with http_client(stored_headers=lambda _: {"last-modified": day}) as client:
        client.get(server.on("/a", Reply(status=304)), conditional=True)
        client.get(server.base + "/a")

    assert server.requests[0].headers["if-modified-since"] == day
    assert "if-modified-since" not in server.requests[1].headers


def test_a_large_body_goes_to_a_file_and_begins_anew_after_a_drop(
    server: Replay, client: Client, tmp_path: Path
) -> None:
    body = bytes(range(256)) * 4096
    url = server.on("/a", Reply(body, drop_after=700_000), Reply(body))
    with (tmp_path / "body").open("w+b") as target:
        answer = client.download(url, target)

    assert answer.body == b""
    assert (tmp_path / "body").read_bytes() == body


def test_progress_is_reported_in_bytes_of_the_total(server: Replay) -> None:
    progress: list[tuple[int, int | None]] = []
    with http_client(progress=lambda done, whole: progress.append((done, whole))) as client:
        client.get(server.on("/a", Reply(b"x" * 300_000)))

    assert progress[-1] == (300_000, 300_000)
    assert progress == sorted(progress)


def test_a_key_is_in_no_error_log_or_record(
    server: Replay, client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    url = server.on("/a", Reply(b"the api_key 5ecre7 is not registered", 400), GOOD)

    error = refusal(client, f"{url}?series_id=GDP&api_key=5ecre7&limit=1")
    answer = client.get(f"{url}?api_key=5ecre7&series_id=GDP")

    assert server.requests[0].query["api_key"] == "5ecre7"
    assert answer.url == f"{url}?series_id=GDP"
    assert "series_id=GDP&limit=1: it answers 400" in str(error)
    assert "5ecre7" not in f"{error}{error.__cause__}{caplog.text}"
    assert "HTTP Request" in caplog.text


def test_a_password_in_an_address_is_removed() -> None:
    assert (
        without_secrets("https://me:pass@example.org/a?b=1&TOKEN=2") == "https://example.org/a?b=1"
    )


def test_a_key_in_a_header_is_not_sent_to_another_host(server: Replay, client: Client) -> None:
    server.on("/b", GOOD)
    other = server.base.replace("127.0.0.1", "localhost") + "/b"
    url = server.on("/a", Reply(b"", 307, {"Location": other}))

    with pytest.raises(FetchError, match="redirects to another host"):
        client.post(url, b"[]", {"X-OPENFIGI-APIKEY": "5ecre7"})

    (posted,) = server.requests
    assert posted.headers["x-openfigi-apikey"] == "5ecre7"


class SleepingClock:
    """A clock that only sleeping moves."""

    def __init__(self) -> None:
        self.now = 0.0
        self.lock = threading.Lock()

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        with self.lock:
            self.now += seconds


def test_a_host_is_requested_no_more_often_than_its_rate_limit(
    server: Replay, tmp_path: Path
) -> None:
    clock = SleepingClock()
    url = server.on("/a", GOOD)
    polite = Client("", tmp_path, rates={"127.0.0.1": 8.0}, clock=clock, sleep=clock.sleep)
    with polite as client:
        for _ in range(17):
            client.get(url)

    assert clock.now == pytest.approx(2.0)


def test_threads_share_the_rate_limit_of_a_host(tmp_path: Path) -> None:
    limiter = RateLimiter({"host": 50.0}, time.monotonic, time.sleep, tmp_path)
    began = time.monotonic()
    threads = [threading.Thread(target=limiter.wait, args=["host"]) for _ in range(11)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert time.monotonic() - began >= 10 / 50


def test_hosts_of_one_owner_share_a_rate_limit_and_others_do_not(tmp_path: Path) -> None:
    clock = SleepingClock()
    limiter = RateLimiter({"sec.gov": 8.0}, clock, clock.sleep, tmp_path)
    for host in ("data.sec.gov", "www.sec.gov", "data.sec.gov", "example.org", "example.net"):
        limiter.wait(host)

    assert clock.now == pytest.approx(2 / 8)


TAKES_TURNS = """
import sys, time
from pathlib import Path
from assets.fetching.addresses import RateLimiter
limiter = RateLimiter({"sec.gov": 100.0}, time.monotonic, time.sleep, Path(sys.argv[1]))
print("ready", flush=True)
sys.stdin.readline()
began = time.monotonic()
for host in ("data.sec.gov", "www.sec.gov") * 10:
    limiter.wait(host)
print(began, time.monotonic())
"""


def test_processes_of_one_machine_share_the_rate_limit_of_a_host(tmp_path: Path) -> None:
    asking = [
        subprocess.Popen(
            [sys.executable, "-c", TAKES_TURNS, str(tmp_path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=ROOT,
            text=True,
        )
        for _ in range(2)
    ]
    for item in asking:
        assert item.stdout is not None
        assert item.stdout.readline() == "ready\n"
    for item in asking:
        assert item.stdin is not None
        item.stdin.write("go\n")
        item.stdin.flush()
    spans = [item.communicate()[0].split() for item in asking]

    assert [item.returncode for item in asking] == [0, 0]
    began, ended = zip(*((float(first), float(last)) for first, last in spans), strict=True)
    assert max(ended) - min(began) >= 39 / 100


@given(left=st.one_of(st.floats().map(repr), st.text(st.characters(codec="ascii"), max_size=20)))
def test_no_rate_limit_file_makes_anyone_wait_longer_than_one_interval(
    tmp_path_factory: pytest.TempPathFactory, left: str
) -> None:
    file = tmp_path_factory.getbasetemp() / "left"
    file.write_text(left)
    clock = SleepingClock()
    RateLimiter({"left": 4.0}, clock, clock.sleep, file.parent).wait("left")

    assert 0 <= clock.now <= 1 / 4
    assert float(file.read_text()) == clock.now


def test_a_redirect_to_a_host_that_was_not_declared_is_refused(
    server: Replay, client: Client
) -> None:
    elsewhere = server.on("/b", GOOD).replace("127.0.0.1", "localhost")
    url = server.on("/a", Reply(b"", 302, {"Location": elsewhere}))

    assert "it redirects to another host, localhost" in str(refusal(client, url))
    assert len(server.requests) == 1


def test_a_redirect_into_a_private_network_is_refused_even_if_declared(server: Replay) -> None:
    for inside in ("http://169.254.169.254/latest/meta-data", "http://[::ffff:10.0.0.1]/"):
        url = server.on("/a", Reply(b"", 302, {"Location": inside}))
        with http_client(hosts=["169.254.169.254", inside]) as client:
            assert "is not on the internet" in str(refusal(client, url))


def test_a_redirect_to_a_declared_host_is_followed_unless_it_is_this_machine(
    server: Replay,
) -> None:
    elsewhere = server.on("/b", GOOD).replace("127.0.0.1", "localhost")
    url = server.on("/a", Reply(b"", 302, {"Location": elsewhere}))
    with http_client(hosts=["localhost"]) as client:
        assert "localhost is not on the internet" in str(refusal(client, url))


def test_json_that_is_nested_too_deeply_is_an_error_of_the_fetch(
    server: Replay, client: Client
) -> None:
    answer = client.get(server.on("/a", Reply(b"[" * 100_000 + b"]" * 100_000)), "json")

    with pytest.raises(FetchError, match="the response is not JSON"):
        response_json(answer)
