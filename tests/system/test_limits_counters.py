"""Counters of a minute and a month: exact, shared by processes, alike in a file and a Redis."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.full_disk import no_room_for_files
from tests.helpers.redis_server import Redis
from warehouse.control.keys import Key, KeyStore, create_key
from warehouse.serve.counters import UsageUnavailable, month_at
from warehouse.serve.lmdb_counters import LmdbCounters
from warehouse.serve.usage import QuotaStatus, Usage, network_of
from warehouse.shared.tiers import TIERS, Tier

SMALL = Tier("sample", 25, 25, 3, 5, paid=False)
ASKING = """
import sys, time
from warehouse.control.keys import Key
from warehouse.shared.tiers import TIERS
from warehouse.serve.usage import Usage
usage, key = Usage(sys.argv[1]), Key("p", TIERS["professional"], "shared")
print("asking", flush=True)
for _ in range(int(sys.argv[2])):
    usage.take(key, None)
"""


class ManualClock:
    """A clock that the test sets."""

    def __init__(self, text: str = "2026-11-15T12:00:00+00:00") -> None:
        self.now = datetime.fromisoformat(text).timestamp()

    def __call__(self) -> float:
        return self.now


@pytest.fixture(scope="module")
def redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Redis]:
    server = Redis(tmp_path_factory.mktemp("redis"))
    server.start()
    yield server
    server.kill()


@pytest.fixture(params=["file", "redis"])
def usage_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "file":
        return str(tmp_path / "usage" / "usage.lmdb")
    import redis

    url: str = request.getfixturevalue("redis").url
    with redis.Redis.from_url(url) as client:
        client.flushall()
    return url


def key(name: str = "a", tier: Tier = SMALL, sandbox: bool = False) -> Key:
    return Key("sk_live_abcd", tier, name, sandbox)


def remaining(standing: QuotaStatus) -> dict[str, int]:
    return {name: count for name, count, _ in standing.remaining()}


def test_a_minute_is_refused_above_its_number_and_says_when_it_ends(usage_url: str) -> None:
    usage = Usage(usage_url)
    standings = [usage.take(key(), None) for _ in range(5)]

    assert [standing.violated for standing in standings] == [[], [], [], ["burst"], ["burst"]]
    assert [remaining(standing)["burst"] for standing in standings] == [2, 1, 0, 0, 0]
    assert all(1 <= standing.retry_after <= 61 for standing in standings[3:])
    assert usage.take(key("b"), None).violated == []


def test_what_the_minute_refuses_is_not_charged_to_the_month(usage_url: str) -> None:
    usage = Usage(usage_url)
    for _ in range(10):
        last = usage.take(key(), None)

    assert remaining(last)["monthly"] == 2
    assert usage.used("a", last.month.name) == 3


def test_a_month_is_refused_above_its_number_until_the_next_one(usage_url: str) -> None:
    usage = Usage(usage_url)
    tier = Tier("sample", 25, 25, 100, 5, paid=False)
    standings = [usage.take(key(tier=tier), None) for _ in range(7)]

    assert [standing.violated for standing in standings] == [[]] * 5 + [["monthly"]] * 2
    assert [remaining(standing)["monthly"] for standing in standings] == [4, 3, 2, 1, 0, 0, 0]
    wait = standings[-1].month.ends - time.time()
    assert abs(standings[-1].retry_after - wait) < 60
    assert usage.used("a", standings[-1].month.name) == 5


def test_both_limits_are_named_when_both_are_reached(usage_url: str) -> None:
    usage = Usage(usage_url)
    tier = Tier("sample", 25, 25, 2, 2, paid=False)
    last = [usage.take(key(tier=tier), None) for _ in range(3)][-1]

    assert last.violated == ["burst", "monthly"]
    assert last.retry_after > 60 or last.month.ends - time.time() < 62


def test_a_charge_is_refunded_once(usage_url: str) -> None:
    usage = Usage(usage_url)
    first, second = usage.take(key(), None), usage.take(key(), None)

    after = usage.give_back(second)

    assert remaining(after)["monthly"] == remaining(first)["monthly"] == 4
    assert usage.give_back(after) == after
    assert usage.used("a", first.month.name) == 1


def test_a_request_that_is_not_charged_counts_against_the_minute_only(usage_url: str) -> None:
    usage = Usage(usage_url)
    standing = usage.take(key(), None, charge=False)

    assert remaining(standing) == {"burst": 2, "monthly": 5}
    assert usage.give_back(standing) == standing


def test_the_sandbox_is_counted_per_network(usage_url: str) -> None:
    usage, public = Usage(usage_url), key(sandbox=True)
    for _ in range(4):
        mine = usage.take(public, "192.0.2.7")

    assert mine.violated == ["burst"]
    assert usage.take(public, "192.0.2.200").violated == ["burst"]
    assert usage.take(public, "192.0.3.7").violated == []
    assert usage.take(public, "2001:db8:1:2::1").violated == []
    assert usage.used("a", mine.month.name) == 5
    assert [usage.take(key("b"), f"192.0.{n}.1").violated for n in range(4)][-1] == ["burst"]


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("192.0.2.7", "192.0.2.0/24"),
        ("::ffff:192.0.2.7", "192.0.2.0/24"),
        ("2001:db8:1:2::1", "2001:db8:1::/48"),
        ("fe80::1%eth0", "fe80::/48"),
        ("", "unknown"),
        (None, "unknown"),
        ("localhost", "unknown"),
    ],
)
def test_a_network_is_a_24_or_a_48(address: str | None, network: str) -> None:
    assert network_of(address) == network


def test_a_minute_begins_anew_when_it_has_ended(tmp_path: Path) -> None:
    clock = ManualClock()
    usage = Usage(tmp_path / "u", clock)
    for _ in range(4):
        usage.take(key(), None)
    clock.now += 59
    assert usage.take(key(), None).retry_after <= 2
    clock.now += 1
    assert usage.take(key(), None).violated == []


def test_a_month_begins_anew_at_midnight_utc(tmp_path: Path) -> None:
    clock = ManualClock("2026-12-31T23:59:00+00:00")
    usage = Usage(tmp_path / "u", clock)
    tier = Tier("sample", 25, 25, 100, 1, paid=False)
    usage.take(key(tier=tier), None)
    refused = usage.take(key(tier=tier), None)
    assert (refused.violated, refused.month.name) == (["monthly"], "2026-12")
    assert refused.month.seconds == 31 * 86_400
    clock.now += 60
    assert usage.take(key(tier=tier), None).violated == []
    assert (usage.used("a", "2026-12"), usage.used("a", "2027-01")) == (1, 1)


def test_a_redis_forgets_its_counters_by_itself(redis: Redis) -> None:
    import redis as redis_library

    usage = Usage(redis.url)
    month = usage.take(key("ttl"), None).month
    with redis_library.Redis.from_url(redis.url) as client:
        assert 0 < int(client.pttl("sankofa:usage:minute:{ttl}")) <= 60_000
        ends = int(client.pttl(f"sankofa:usage:month:{month.name}:{{ttl}}")) / 1000 + time.time()
    assert abs(ends - month.expires) < 60


@given(st.integers(0, 4_000_000_000))
def test_every_moment_falls_within_its_month(now: int) -> None:
    month = month_at(now)
    assert month.starts <= now < month.ends
    assert month.name == f"{datetime.fromtimestamp(now, UTC):%Y-%m}"
    assert month_at(month.ends).starts == month.ends


steps = st.lists(
    st.tuples(st.sampled_from("ab"), st.integers(0, 40), st.booleans(), st.booleans()), max_size=40
)


@settings(max_examples=40, deadline=None)
@given(steps)
def test_the_file_counts_as_a_list_of_requests_would(
    requests: list[tuple[str, int, bool, bool]],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        clock = ManualClock("2026-11-30T23:57:00+00:00")
        usage = Usage(Path(folder) / "u", clock)
        began: dict[str, float] = {}
        minute: dict[str, int] = {}
        month: dict[tuple[str, str], int] = {}
        for who, seconds, charge, counts in requests:
            clock.now += seconds
            standing = usage.take(key(who), None, charge)
            if clock.now >= began.get(who, 0) + 60:
                began[who], minute[who] = clock.now, 0
            minute[who] += 1
            name = (who, standing.month.name)
            spent = month.get(name, 0)
            violated = ["burst"] * (minute[who] > 3) + ["monthly"] * (charge and spent >= 5)
            assert standing.violated == violated
            if charge and not violated:
                month[name] = spent + counts
                if not counts:
                    usage.give_back(standing)
        for (who, name_of_month), spent in month.items():
            assert usage.used(who, name_of_month) == spent


def test_what_is_not_charged_is_never_above_the_month(tmp_path: Path) -> None:
    clock = ManualClock()
    usage = Usage(tmp_path / "u", clock)
    for _ in range(5):
        usage.take(key(), None)
        clock.now += 60
    assert usage.take(key(), None).violated == ["monthly"]
    free = [usage.take(key(), None, charge=False) for _ in range(3)]
    assert [item.violated for item in free] == [[], [], ["burst"]]
    assert [item.remaining()[1][:2] for item in free] == [("monthly", 0)] * 3
    # It need not wait for the next month either, nor does a smaller cap refuse it.
    assert free[-1].retry_after <= 61
    less = Tier("sample", 25, 25, 3, 2, paid=False)
    clock.now += 60
    assert usage.take(key(tier=less), None, charge=False).violated == []


def asking(usage_url: str, times: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", ASKING, usage_url, str(times)], stdout=subprocess.PIPE, text=True
    )


def ended(process: subprocess.Popen[str]) -> int:
    process.communicate(timeout=60)
    return process.returncode


def test_concurrent_processes_lose_no_request(usage_url: str) -> None:
    shared = Key("p", TIERS["professional"], "shared")
    usage = Usage(usage_url)
    processes = [asking(usage_url, 300) for _ in range(2)]
    assert [ended(item) for item in processes] == [0] * 2

    standing = usage.take(shared, None)

    assert standing.violated == ["burst"]
    assert usage.used("shared", standing.month.name) == 600


def test_a_request_that_waited_for_its_turn_begins_no_new_minute(tmp_path: Path) -> None:
    clock = ManualClock()
    usage = Usage(tmp_path / "u", clock)
    for late in (0.0, -0.5, 0.0):
        usage.take(key(), None)
        clock.now += late
    assert usage.take(key(), None).violated == ["burst"]


def test_a_process_killed_while_counting_blocks_nobody(tmp_path: Path) -> None:
    usage_url = str(tmp_path / "u")
    usage = Usage(usage_url)
    for _ in range(3):
        victim = asking(usage_url, 10**9)
        assert victim.stdout is not None and victim.stdout.readline() == "asking\n"
        # Long enough that the kill meets it while it counts.
        time.sleep(0.2)
        os.kill(victim.pid, signal.SIGKILL)
        ended(victim)
        assert usage.take(key("other"), None).counted.month_used is not None
    assert usage.take(key("other"), None).violated == ["burst"]


def test_a_file_grows_with_its_clients_in_every_process(tmp_path: Path) -> None:
    path, month, tier = tmp_path / "u.lmdb", month_at(time.time()), TIERS["professional"]
    small = LmdbCounters(path, map_size=1 << 16)
    small.take("first", tier, month, True, time.time())
    pid = os.fork()
    if pid == 0:
        other = LmdbCounters(path, map_size=1 << 16)
        for number in range(3_000):
            other.take(f"sandbox@{number}", tier, month, True, time.time())
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0

    assert small.take("first", tier, month, True, time.time()).month_used == 2
    assert small.used("sandbox", month.name) == 3_000


def test_networks_that_nobody_reports_any_more_are_forgotten_and_keys_are_not(
    tmp_path: Path,
) -> None:
    counters, tier = LmdbCounters(tmp_path / "u.lmdb"), TIERS["professional"]
    then, now = (datetime(2026, month, 15, tzinfo=UTC).timestamp() for month in (3, 11))
    for who in ("key", *(f"sandbox@{number}" for number in range(500))):
        counters.take(who, tier, month_at(then), True, then)
    for number in range(500):
        counters.take(f"sandbox@new{number}", tier, month_at(now), True, now)

    assert counters.used("key", "2026-03") == 1
    assert counters.used("sandbox", "2026-03") < 50
    assert counters.used("sandbox", "2026-11") == 500


def test_a_clock_that_steps_over_the_end_of_a_month_and_back_forgets_nothing(
    usage_url: str,
) -> None:
    november = datetime.fromisoformat("2026-11-30T23:59:30+00:00").timestamp()
    clock = ManualClock()
    usage, tier = Usage(usage_url, clock), Tier("sample", 25, 25, 100, 5, paid=False)
    for step in (0, 60, 0, 60, 0, 60):
        clock.now = november + step
        usage.take(key(tier=tier), None)

    assert (usage.used("a", "2026-11"), usage.used("a", "2026-12")) == (3, 3)
    assert remaining(usage.take(key(tier=tier), None))["monthly"] == 1


def test_a_process_counts_on_after_a_fork(tmp_path: Path) -> None:
    usage = Usage(tmp_path / "u.lmdb")
    month = usage.take(key(), None).month.name
    pid = os.fork()
    if pid == 0:
        counted = usage.take(key(), None).counted.month_used
        os._exit(0 if counted == 2 else 1)

    assert os.waitpid(pid, 0)[1] == 0
    usage.take(key(), None)
    assert usage.used("a", month) == 3


def test_threads_lose_no_request(tmp_path: Path) -> None:
    usage, tier = Usage(tmp_path / "u.lmdb"), TIERS["professional"]
    with ThreadPoolExecutor(8) as threads:
        counted = list(threads.map(lambda _: usage.take(key(tier=tier), None), range(400)))

    assert sorted(item.counted.minute_used for item in counted) == list(range(1, 401))
    assert usage.used("a", counted[0].month.name) == 400


def test_a_store_that_has_room_reserved_goes_on_counting_on_a_full_disk(tmp_path: Path) -> None:
    usage = Usage(tmp_path / "u.lmdb")
    usage.check()
    with no_room_for_files():
        for name in map(str, range(2_000)):
            assert usage.take(key(name), None).counted.month_used == 1
        usage.check()


def test_a_store_that_cannot_write_fails_its_check_until_it_can(tmp_path: Path) -> None:
    usage = Usage(tmp_path / "u.lmdb")
    with no_room_for_files():
        with pytest.raises(UsageUnavailable):
            usage.check()
        assert remaining(usage.take(key(), None)) == {"burst": 2}
    usage.check()


def test_a_file_that_is_cut_off_while_it_is_used_ends_no_process(tmp_path: Path) -> None:
    path = tmp_path / "u.lmdb"
    usage = Usage(path)
    for name in map(str, range(200)):
        usage.take(key(name), None)
    for length in (path.stat().st_size // 2, 8_192, 0):
        os.truncate(path, length)
        assert usage.take(key(), None).violated == []
        with suppress(UsageUnavailable):
            usage.check()


def test_a_damaged_file_is_set_aside_and_counting_starts_anew(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path, month = tmp_path / "u.lmdb", month_at(time.time())
    counters = LmdbCounters(path)
    for number in range(100):
        counters.take(f"k{number}", SMALL, month, True, time.time())
    counters.close()
    with path.open("r+b") as file:
        file.seek(2 * 4_096)
        file.write(os.urandom(path.stat().st_size - 2 * 4_096))

    assert counters.take("k1", SMALL, month, True, time.time()).month_used == 1
    assert "damaged" in caplog.text and (tmp_path / "u.lmdb.damaged").exists()


def test_a_store_of_something_else_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    store = KeyStore(tmp_path / "control.sqlite")
    create_key(store, "starter")
    before = (tmp_path / "control.sqlite").read_bytes()

    with pytest.raises(UsageUnavailable, match="not an LMDB file; move it away"):
        Usage(tmp_path / "control.sqlite").check()

    assert (tmp_path / "control.sqlite").read_bytes() == before


def test_without_its_store_every_process_enforces_the_minute_by_itself(tmp_path: Path) -> None:
    server = Redis(tmp_path)
    server.start()
    try:
        usage = Usage(server.url)
        month = usage.take(key("r"), None).month.name
        server.kill()
        alone = [usage.take(key("r"), None) for _ in range(5)]
        assert [item.violated for item in alone] == [[], [], [], ["burst"], ["burst"]]
        assert [remaining(item) for item in alone[:2]] == [{"burst": 2}, {"burst": 1}]
        assert 1 <= alone[-1].retry_after <= 61
        assert usage.give_back(alone[0]) == alone[0]
        with pytest.raises(UsageUnavailable):
            usage.check()
        server.start()
        usage.check()
        # A store that failed is tried again after a second.
        time.sleep(1.05)
        assert remaining(usage.take(key("r"), None)) == {"burst": 1, "monthly": 3}
        assert usage.used("r", month) == 2
    finally:
        server.kill()


def test_a_file_that_cannot_be_used_is_unavailable_until_it_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "usage.lmdb"
    usage = Usage(path)
    usage.take(key(), None)
    for harm in ("another file", "a folder"):
        path.unlink()
        if harm == "a folder":
            path.mkdir()
        else:
            path.write_bytes(b"something else")
        with pytest.raises(UsageUnavailable):
            usage.check()
        assert remaining(usage.take(key(harm), None)) == {"burst": 2}
        if path.is_dir():
            path.rmdir()
        usage.check() if harm == "a folder" else None
    # A store that failed is tried again after a second.
    time.sleep(1.05)
    assert remaining(usage.take(key(), None)) == {"burst": 2, "monthly": 4}


@settings(max_examples=30, deadline=None)
@given(st.binary(max_size=6_000), st.integers(0, 20_000))
def test_no_file_content_crashes_the_counters(noise: bytes, at: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path, month = Path(folder) / "u", month_at(time.time())
        counters = LmdbCounters(path)
        counters.take("a", SMALL, month, True, time.time())
        counters.close()
        with path.open("r+b") as file:
            file.seek(at)
            file.write(noise)
        with suppress(UsageUnavailable):
            for _ in range(3):
                counted = counters.take("a", SMALL, month, True, time.time())
            assert counted.minute_used >= 3 and counters.used("a", month.name) >= 0
        counters.close()
