"""Keys: shown once, stored as a hash, looked up in constant time, in a file or a Redis."""

import json
import re
import stat
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.redis_server import Redis
from tests.helpers.waiting import wait_until
from warehouse.errors import SankofaError
from warehouse.keys.backends import KeyStoreUnavailable
from warehouse.keys.store import (
    KeyStore,
    check_key_store,
    create_key,
    find_key,
    list_keys,
    revoke_key,
    rotate_key,
    sandbox,
    signing_secret,
    usable_sandbox_key,
)
from warehouse.tiers import TIERS, configured_tiers


@pytest.fixture(scope="module")
def redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Redis]:
    server = Redis(tmp_path_factory.mktemp("redis"))
    server.start()
    yield server
    server.kill()


@pytest.fixture
def file(tmp_path: Path) -> KeyStore:
    return KeyStore(tmp_path / "stores" / "keys.lmdb")


@pytest.fixture(params=["file", "redis"])
def store(request: pytest.FixtureRequest) -> KeyStore:
    if request.param == "file":
        file_store: KeyStore = request.getfixturevalue("file")
        return file_store
    import redis

    url = request.getfixturevalue("redis").url
    with redis.Redis.from_url(url) as client:
        client.flushall()
    return KeyStore(url)


def is_accepted(store: KeyStore, key: str) -> bool:
    """Return whether a service that has cached the key still accepts it a second later."""
    # The second for which a key may be cached is what is tested.
    time.sleep(0.95)
    return find_key(store, key) is not None


def test_a_created_key_is_found_with_its_tier(store: KeyStore) -> None:
    for tier in TIERS:
        key = create_key(store, tier)
        stored = find_key(store, key)
        assert re.fullmatch(r"sk_live_[A-Za-z0-9_-]{43}", key)
        assert stored is not None and stored.tier == TIERS[tier]
        assert key.startswith(stored.prefix) and len(stored.prefix) == 12
        assert find_key(store, key) == stored


def test_a_key_that_was_never_made_is_not_found(store: KeyStore) -> None:
    key = create_key(store, "starter")
    for wrong in (key[:-1], key + "x", key[:12], key.upper(), "", "sk_live_", "ключ", "\udc80"):
        assert find_key(store, wrong) is None


def test_no_text_but_the_key_itself_is_accepted(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    store = KeyStore(tmp_path_factory.mktemp("keys") / "keys.lmdb")
    key = create_key(store, "starter")

    @given(
        st.one_of(
            st.text(st.characters(codec="utf-8")), st.text("sk_live_AZaz09-").map(key.__add__)
        )
    )
    def ask(text: str) -> None:
        assert (find_key(store, text) is not None) == (text == key)

    ask()


def test_the_file_holds_no_key_in_clear_but_the_sandbox_one(file: KeyStore) -> None:
    key, public = create_key(file, "professional"), sandbox(file)

    file_bytes = file.path.read_bytes()

    assert key.encode() not in file_bytes
    assert public.encode() in file_bytes
    assert stat.S_IMODE(file.path.stat().st_mode) == 0o600


def test_a_redis_holds_no_key_in_clear_but_the_sandbox_one(redis: Redis) -> None:
    store = KeyStore(redis.url)
    key, public = create_key(store, "professional"), sandbox(store)

    file_bytes = b"".join(path.read_bytes() for path in redis.folder.rglob("*") if path.is_file())

    assert key.encode() not in file_bytes
    assert public.encode() in file_bytes


def test_the_sandbox_key_is_made_once_and_is_a_real_sample_key(store: KeyStore) -> None:
    public = sandbox(store)

    assert sandbox(store) == public
    stored = find_key(store, public)
    assert stored is not None and stored.tier.name == "sample" and stored.sandbox
    assert len(list_keys(store)) == 1
    with pytest.raises(SankofaError, match="public"):
        rotate_key(store, public[:12])


def test_the_sandbox_key_is_shown_to_visitors_as_long_as_it_is_valid(store: KeyStore) -> None:
    create_key(store, "sample")
    assert usable_sandbox_key(store) is None
    key = sandbox(store)
    assert usable_sandbox_key(store) == key
    revoke_key(store, key[:12])
    # Redis lookups are cached for up to a second.
    wait_until(lambda: usable_sandbox_key(store) is None)


def test_a_sandbox_key_that_was_revoked_stays_so(store: KeyStore) -> None:
    public = sandbox(store)
    revoke_key(store, public[:12])

    assert sandbox(store) == public
    assert not is_accepted(store, public)


def test_two_keys_with_the_same_prefix_are_distinguished(store: KeyStore) -> None:
    first, second = create_key(store, "starter"), create_key(store, "professional")
    row = next(row for row in list_keys(store) if row.prefix == first[:12])
    store.backend.save(msgspec.structs.replace(row, prefix=second[:12]))

    stored = find_key(store, second)

    assert stored is not None and stored.tier.name == "professional"
    assert find_key(store, second[:12] + first[12:]) is None
    with pytest.raises(SankofaError, match="name the id"):
        revoke_key(store, second[:12])


def test_a_revoked_key_is_refused_a_second_later(store: KeyStore) -> None:
    key, other = create_key(store, "starter"), create_key(store, "starter")
    assert find_key(store, key) is not None

    revoke_key(store, key[:12])

    assert not is_accepted(store, key)
    assert find_key(store, other) is not None
    with pytest.raises(SankofaError, match="no key in use"):
        revoke_key(store, key[:12])


def test_a_change_made_by_another_process_is_seen_within_a_second(store: KeyStore) -> None:
    elsewhere = KeyStore(getattr(store.backend, "path", None) or _url(store))
    key = create_key(elsewhere, "starter")
    assert find_key(store, key) is not None

    revoke_key(elsewhere, key[:12])

    assert not is_accepted(store, key)


def _url(store: KeyStore) -> str:
    kwargs = store.backend._redis.connection_pool.connection_kwargs  # type: ignore[attr-defined]
    return f"redis://127.0.0.1:{kwargs['port']}/0"


def test_a_key_that_another_process_has_just_created_is_not_called_unknown(file: KeyStore) -> None:
    create_key(file, "starter")
    reader = KeyStore(file.path)
    for _ in range(50):
        # The reader has just looked at the file, and the changes may have the same time.
        find_key(reader, "sk_live_unknown")
        key = create_key(file, "starter")
        assert find_key(reader, key) is not None


def test_a_rotated_key_keeps_its_tier_its_label_and_its_use(store: KeyStore) -> None:
    key = create_key(store, "professional", "Example Bank")
    before = find_key(store, key)

    new = rotate_key(store, key[:12])

    after = find_key(store, new)
    assert before is not None and after is not None
    assert (after.key_id, after.tier) == (before.key_id, before.tier)
    assert [row.label for row in list_keys(store)] == ["Example Bank"] * 2
    assert not is_accepted(store, key)


def test_a_rotated_key_keeps_working_for_the_stated_time(store: KeyStore) -> None:
    for overlap, stays in ((timedelta(hours=1), True), (timedelta(seconds=0.5), False)):
        key = create_key(store, "starter")
        new = rotate_key(store, key[:12], overlap=overlap)
        time.sleep(0.5)

        assert is_accepted(store, key) is stays
        assert find_key(store, new) is not None


def test_a_key_that_is_revoked_ends_with_the_one_before_its_rotation(store: KeyStore) -> None:
    key = create_key(store, "starter")
    new = rotate_key(store, key[:12], overlap=timedelta(hours=1))

    revoke_key(store, new[:12])

    assert not is_accepted(store, key) and find_key(store, new) is None


def test_a_missing_store_is_unavailable_and_not_empty(file: KeyStore) -> None:
    with pytest.raises(KeyStoreUnavailable):
        check_key_store(file)
    with pytest.raises(KeyStoreUnavailable):
        find_key(file, "sk_live_x")
    key = create_key(file, "sample")
    check_key_store(file)
    assert find_key(file, key)
    file.path.write_bytes(b"broken" * 1000)
    with pytest.raises(KeyStoreUnavailable):
        check_key_store(file)
    with pytest.raises(KeyStoreUnavailable):
        find_key(file, key)


def test_a_flipped_byte_is_detected_or_changes_nothing(file: KeyStore) -> None:
    keys = [create_key(file, "starter"), create_key(file, "professional"), sandbox(file)]
    secret = signing_secret(file, "cursor")
    keys.append(create_key(file, "professional"))
    revoke_key(file, keys[-1][:12])
    truth = [find_key(file, key) for key in keys]
    sound = file.path.read_bytes()
    used = [position for position, byte in enumerate(sound) if byte]
    detected = 0
    # Those of the pages that LMDB finds its way by, and some of the others.
    for position in used[:100] + used[100::20]:
        damaged = bytearray(sound)
        damaged[position] ^= 1 << position % 8
        file.path.write_bytes(damaged)
        store = KeyStore(file.path)
        try:
            assert [find_key(store, key) for key in keys] == truth
            assert signing_secret(store, "cursor") == secret
        except KeyStoreUnavailable:
            detected += 1
    assert detected > 50


def test_a_store_that_is_replaced_or_damaged_while_it_is_read_is_noticed(file: KeyStore) -> None:
    key = create_key(file, "starter")
    sound = file.path.read_bytes()
    for harm in (sound[:9_000], b"", b"something else", sound.replace(b"starter", b"stArter")):
        file.path.write_bytes(harm)
        wait_until(lambda: is_unavailable(file, key))
        file.path.write_bytes(sound)
        wait_until(lambda: not is_unavailable(file, key))
        assert find_key(file, key) is not None


def is_unavailable(store: KeyStore, key: str) -> bool:
    try:
        find_key(store, key)
    except KeyStoreUnavailable:
        return True
    return False


def test_the_cache_holds_no_key_and_no_secret_in_clear(file: KeyStore) -> None:
    key, public = create_key(file, "starter"), sandbox(file)
    secret = signing_secret(file, "cursor")
    assert find_key(file, key) and find_key(file, public)

    cached = repr(vars(file.backend))

    assert all(text not in cached for text in (key, public, repr(secret)[2:-1]))


def test_a_redis_that_was_killed_is_unavailable_and_comes_back(tmp_path: Path) -> None:
    server = Redis(tmp_path)
    server.start()
    try:
        store = KeyStore(server.url)
        key = create_key(store, "starter")
        assert find_key(store, key)
        server.kill()
        with pytest.raises(KeyStoreUnavailable):
            check_key_store(store)
        # Until then the key may be answered from the cache.
        time.sleep(0.95)
        with pytest.raises(KeyStoreUnavailable):
            find_key(store, key)
        server.start()
        assert find_key(store, key)
        check_key_store(store)
    finally:
        server.kill()


def test_an_unreadable_url_is_not_repeated_in_the_error() -> None:
    with pytest.raises(SankofaError) as error:
        KeyStore("redis://user:hidden@host:port/0")
    assert "hidden" not in str(error.value) and "redis://user:password@" in str(error.value)


def test_a_signing_secret_is_made_once_for_each_purpose(store: KeyStore) -> None:
    create_key(store, "sample")
    secret = signing_secret(store, "cursor")

    assert len(secret) == 32
    assert signing_secret(store, "cursor") == secret != signing_secret(store, "other")


def test_the_table_of_tiers_is_changed_by_a_file(tmp_path: Path) -> None:
    changes = tmp_path / "tiers.json"
    changes.write_text(json.dumps({"sample": {"per_minute": 7}}))
    store = KeyStore(tmp_path / "keys.lmdb", configured_tiers(changes))

    stored = find_key(store, create_key(store, "sample"))

    assert stored is not None and (stored.tier.per_minute, stored.tier.ceiling) == (7, 25)


@pytest.mark.parametrize(
    "text",
    [
        "{",
        '{"gold":{}}',
        '{"sample":{"paid":true}}',
        '{"sample":{"rows":0}}',
        '{"sample":{"rows":26}}',
    ],
)
def test_a_file_of_tiers_that_is_wrong_is_refused(tmp_path: Path, text: str) -> None:
    changes = tmp_path / "tiers.json"
    changes.write_text(text)
    with pytest.raises(SankofaError, match="SANKOFA_TIERS"):
        configured_tiers(changes)
