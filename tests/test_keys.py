"""Keys: shown once, kept as a hash, found in constant time."""

import re
import sqlite3
import stat
from pathlib import Path

import pytest

from warehouse.keys import (
    KeyStore,
    KeyStoreUnavailable,
    check,
    create,
    find,
    sandbox,
    signing_secret,
)
from warehouse.tiers import TIERS


@pytest.fixture
def store(tmp_path: Path) -> KeyStore:
    return KeyStore(tmp_path / "stores" / "keys.sqlite")


def test_a_created_key_is_found_with_its_tier(store: KeyStore) -> None:
    for tier in TIERS:
        key = create(store, tier)
        found = find(store, key)
        assert re.fullmatch(r"sk_live_[A-Za-z0-9_-]{43}", key)
        assert found is not None and found.tier == TIERS[tier]
        assert key.startswith(found.prefix) and len(found.prefix) == 12


def test_a_key_that_was_never_made_is_not_found(store: KeyStore) -> None:
    key = create(store, "starter")
    for wrong in (key[:-1], key + "x", key[:12], key.upper(), "", "sk_live_", "ключ", "\udc80"):
        assert find(store, wrong) is None


def test_the_file_holds_no_key_in_clear_but_the_sandbox_one(store: KeyStore) -> None:
    key, public = create(store, "professional"), sandbox(store)

    held = store.path.read_bytes()

    assert key.encode() not in held
    assert public.encode() in held
    assert stat.S_IMODE(store.path.stat().st_mode) == 0o600


def test_the_sandbox_key_is_made_once_and_is_a_real_sample_key(store: KeyStore) -> None:
    public = sandbox(store)

    assert sandbox(store) == public
    found = find(store, public)
    assert found is not None and found.tier.name == "sample"


def test_two_keys_with_one_prefix_are_told_apart(store: KeyStore) -> None:
    first, second = create(store, "starter"), create(store, "professional")
    with sqlite3.connect(store.path) as connection:
        connection.execute("UPDATE keys SET prefix = ?", (second[:12],))
    connection.close()

    found = find(store, second)

    assert found is not None and found.tier.name == "professional"
    assert find(store, second[:12] + first[12:]) is None


def test_a_store_that_is_not_there_is_unavailable_and_not_empty(store: KeyStore) -> None:
    with pytest.raises(KeyStoreUnavailable):
        check(store)
    with pytest.raises(KeyStoreUnavailable):
        find(store, "sk_live_x")
    create(store, "sample")
    check(store)
    store.path.write_bytes(b"broken" * 1000)
    with pytest.raises(KeyStoreUnavailable):
        check(store)


def test_a_signing_secret_is_made_once_for_each_purpose(store: KeyStore) -> None:
    secret = signing_secret(store, "cursor")

    assert len(secret) == 32
    assert signing_secret(store, "cursor") == secret != signing_secret(store, "other")
