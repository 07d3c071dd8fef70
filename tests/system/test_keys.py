"""Keys: shown once, stored as a hash, read from memory; in a SQLite file or a PostgreSQL."""

import json
import re
import sqlite3
import stat
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.active_keys import find_key
from tests.helpers.postgres_server import Postgres, new_database, postgres
from tests.helpers.stores import Embedded
from tests.helpers.waiting import wait_until
from warehouse.control.keys import (
    Key,
    KeyStore,
    create_key,
    list_keys,
    revoke_key,
    rotate_key,
    sandbox,
    signing_secret,
    usable_sandbox_key,
)
from warehouse.control.models import list_actions, recorded
from warehouse.shared.errors import ControlUnavailable, SankofaError
from warehouse.shared.tiers import TIERS, configured_tiers


@pytest.fixture(scope="module")
def postgres_server() -> Iterator[Postgres]:
    with postgres() as server:
        yield Postgres(server)


@pytest.fixture
def file(tmp_path: Path) -> KeyStore:
    return KeyStore(tmp_path / "stores" / "control.sqlite")


@pytest.fixture(params=["file", "postgres"])
def store(request: pytest.FixtureRequest) -> KeyStore:
    if request.param == "file":
        file_store: KeyStore = request.getfixturevalue("file")
        return file_store
    running: Postgres = request.getfixturevalue("postgres_server")
    return KeyStore(new_database(running._server))


def path_of(store: KeyStore) -> Path:
    """Return the file of the database of a store."""
    assert store.database.path is not None
    return store.database.path


def location_of(store: KeyStore) -> str:
    """Return the path or URL of the database of a store."""
    if store.database.path is not None:
        return str(store.database.path)
    url = store.database._engine.url.render_as_string(hide_password=False)
    return url.replace("+psycopg", "")


def is_accepted(store: KeyStore, key: str) -> bool:
    """Return whether a service that has read the key still accepts it a second later."""
    # The second within which a change is noticed is what is tested.
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
    store = KeyStore(tmp_path_factory.mktemp("keys") / "control.sqlite")
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

    file_bytes = path_of(file).read_bytes()

    assert key.encode() not in file_bytes
    assert public.encode() in file_bytes
    assert stat.S_IMODE(path_of(file).stat().st_mode) == 0o600


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
    assert usable_sandbox_key(store) is None


def test_a_sandbox_key_that_was_revoked_stays_so(store: KeyStore) -> None:
    public = sandbox(store)
    revoke_key(store, public[:12])

    assert sandbox(store) == public
    assert not is_accepted(store, public)


def test_two_keys_with_the_same_prefix_are_distinguished(store: KeyStore) -> None:
    first, second = create_key(store, "starter"), create_key(store, "professional")
    row = next(row for row in list_keys(store) if row.prefix == first[:12])
    row.prefix = second[:12]
    with store.database.writing() as session:
        session.add(row)

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
    elsewhere = KeyStore(location_of(store))
    key = create_key(elsewhere, "starter")
    wait_until(lambda: is_known(store, key))

    revoke_key(elsewhere, key[:12])

    assert not is_accepted(store, key)


def test_a_key_that_another_process_has_just_created_is_not_called_unknown(file: KeyStore) -> None:
    create_key(file, "starter")
    reader = KeyStore(path_of(file))
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
    with pytest.raises(ControlUnavailable):
        file.check()
    with pytest.raises(ControlUnavailable):
        find_key(file, "sk_live_x")
    with pytest.raises(ControlUnavailable):
        signing_secret(file, "cursor")
    assert not path_of(file).exists()
    key = create_key(file, "sample")
    file.check()
    assert find_key(file, key)


def test_a_flipped_byte_is_detected_or_changes_nothing(file: KeyStore) -> None:
    keys = [create_key(file, "starter"), create_key(file, "professional"), sandbox(file)]
    secret = signing_secret(file, "cursor")
    keys.append(create_key(file, "professional"))
    revoke_key(file, keys[-1][:12])
    truth = [find_key(file, key) for key in keys]
    sound = path_of(file).read_bytes()
    used = [position for position, byte in enumerate(sound) if byte]
    detected = 0
    # Those of the header, and some of the others.
    for position in used[:60] + used[60::40]:
        damaged = bytearray(sound)
        damaged[position] ^= 1 << position % 8
        path_of(file).write_bytes(damaged)
        store = KeyStore(path_of(file))
        try:
            assert [find_key(store, key) for key in keys] == truth
            assert signing_secret(store, "cursor") == secret
        except ControlUnavailable:
            detected += 1
    assert detected > 30


def test_a_store_that_is_damaged_while_it_is_read_changes_no_tier(file: KeyStore) -> None:
    key = create_key(file, "starter")
    sound = path_of(file).read_bytes()
    # Another tier of the same length, in the row alone.
    key_id = list_keys(file)[0].key_id.encode()
    assert key_id + b"starter" in sound
    other_tier = sound.replace(key_id + b"starter", key_id + b"sample ", 1)
    for harm in (sound[:9_000], b"", b"something else", b"broken" * 1000, other_tier):
        path_of(file).write_bytes(harm)
        for use in (file.check, KeyStore(path_of(file)).check, lambda: revoke_key(file, key[:12])):
            with pytest.raises(ControlUnavailable):
                use()
        assert find_key(file, key) is not None
        path_of(file).write_bytes(sound)
        file.check()


def test_a_store_that_is_replaced_is_noticed(file: KeyStore) -> None:
    key = create_key(file, "starter")
    backup = path_of(file).read_bytes()
    later = create_key(file, "starter")
    assert find_key(file, later) is not None
    new = path_of(file).with_suffix(".new")
    new.write_bytes(backup)
    new.rename(path_of(file))
    wait_until(lambda: find_key(file, later) is None)
    assert find_key(file, key) is not None


def test_the_cache_holds_no_key_and_no_secret_in_clear(file: KeyStore) -> None:
    key, public = create_key(file, "starter"), sandbox(file)
    secret = signing_secret(file, "cursor")
    assert find_key(file, key) and find_key(file, public)

    cached = repr(vars(file))

    assert all(text not in cached for text in (key, public, repr(secret)[2:-1]))


def test_keys_that_were_read_go_on_while_the_database_is_down(
    store: KeyStore, request: pytest.FixtureRequest, caplog: pytest.LogCaptureFixture
) -> None:
    database: Embedded | Postgres
    if store.database.path is None:
        database = request.getfixturevalue("postgres_server")
    else:
        database = Embedded(store.database.path)
    key = create_key(store, "starter")
    assert find_key(store, key)
    if isinstance(database, Postgres):
        # The servers of tests do not wait for the disk.
        with store.database.reading() as session:
            session.connection().exec_driver_sql("CHECKPOINT")
    database.kill()
    try:
        with pytest.raises(ControlUnavailable):
            store.check()
        assert find_key(store, key) is not None
        # Whether another one exists cannot be said now.
        with pytest.raises(ControlUnavailable):
            find_key(store, "sk_live_unknown")
        with pytest.raises(ControlUnavailable):
            create_key(store, "starter")
        assert "the 1 keys read before go on working" in caplog.text
        with pytest.raises(ControlUnavailable):
            find_key(KeyStore(location_of(store)), key)
    finally:
        database.start()
    wait_until(lambda: is_known(store, "sk_live_unknown") is False)
    revoke_key(store, key[:12])
    assert find_key(store, key) is None


def is_known(store: KeyStore, key: str) -> bool | None:
    """Return whether a key is known; None while nothing can be said."""
    try:
        return find_key(store, key) is not None
    except ControlUnavailable:
        return None


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("redis://user:hidden@host/0", "a file or postgresql://"),
        ("postgresql://user:hidden@host:port/name", "postgresql://user:password@"),
    ],
)
def test_an_unreadable_url_is_not_repeated_in_the_error(url: str, says: str) -> None:
    with pytest.raises(SankofaError) as error:
        KeyStore(url)
    assert "hidden" not in str(error.value) and says in str(error.value)


def test_tables_of_another_version_are_refused_with_what_to_do(file: KeyStore) -> None:
    create_key(file, "starter")
    with sqlite3.connect(path_of(file)) as connection:
        connection.execute("UPDATE sankofa_schema SET version = 2")
    for use in (file.check, lambda: create_key(file, "starter")):
        with pytest.raises(ControlUnavailable, match="has tables of version 2, and this service"):
            use()


def test_a_file_of_something_else_is_refused_and_left_as_it_is(file: KeyStore) -> None:
    path_of(file).parent.mkdir()
    with sqlite3.connect(path_of(file)) as connection:
        connection.execute("CREATE TABLE facts (value)")
    before = path_of(file).read_bytes()
    for use in (file.check, lambda: create_key(file, "starter")):
        with pytest.raises(ControlUnavailable, match="is no control database; correct SANKOFA_"):
            use()
    assert path_of(file).read_bytes() == before


def test_every_change_of_a_key_is_an_action_with_who_when_and_why(store: KeyStore) -> None:
    key = create_key(store, "starter", why="a contract")
    new = rotate_key(store, key[:12], why="it leaked")
    revoke_key(store, new[:12])
    with pytest.raises(SankofaError):
        revoke_key(store, new[:12])

    rows = list_actions(location_of(store))

    assert [(row.kind, row.why) for row in rows] == [
        *(("keys create", "a contract"), ("keys rotate", "it leaked"), ("keys revoke", "")),
    ]
    assert [row.what[:12] for row in rows] == [key[:12], key[:12], new[:12]]
    assert all("@" in row.who and row.began_at.tzinfo and row.ended_at for row in rows)
    assert not any(text[12:] in repr(rows) for text in (key, new))


def test_an_action_is_recorded_before_it_is_done_with_its_outcome_afterwards(
    store: KeyStore,
) -> None:
    location = location_of(store)
    with recorded(location, "rollback", "to 20261114.1", "bad data"):
        (begun,) = list_actions(location)
        assert (begun.ended_at, begun.failure) == (None, None)
    with pytest.raises(SankofaError), recorded(location, "erase", "a document", "a request"):
        raise SankofaError("the disk is full")
    done, failed = list_actions(location)
    assert done.ended_at is not None and done.failure is None
    assert failed.ended_at is not None and failed.failure == "the disk is full"
    assert list_actions(location, "erase") == [failed]
    assert list_actions(location, since=datetime.now(UTC) + timedelta(days=1)) == []


def test_a_key_expires_at_its_moment_and_keeps_its_limits_when_it_is_rotated(
    store: KeyStore,
) -> None:
    expires = datetime.now(UTC) + timedelta(seconds=1)
    limits: dict[str, Any] = {"datasets": ["AF-FUND"], "networks": ["192.0.2.0/24"]}
    key = create_key(store, "starter", expires_at=expires, **limits)
    new = rotate_key(store, key[:12], timedelta(hours=1))
    for text in (key, new):
        found = look_up(store, text)
        assert found.is_active() and found.expires and found.ends == expires.timestamp()
        assert found.tier == replace(TIERS["starter"], datasets=frozenset({"AF-FUND"}))
        assert found.may_be_sent_from("192.0.2.9") and found.may_be_sent_from("::ffff:192.0.2.9")
        assert not found.may_be_sent_from("198.51.100.1") and not found.may_be_sent_from(None)
    # It ends without any change of the database.
    wait_until(lambda: not look_up(store, new).is_active())
    assert find_key(store, key) is find_key(store, new) is None


def look_up(store: KeyStore, text: str) -> Key:
    found = store.look_up(text)
    assert found is not None
    return found


def test_a_signing_secret_is_made_once_for_each_purpose(store: KeyStore) -> None:
    create_key(store, "sample")
    secret = signing_secret(store, "cursor")

    assert len(secret) == 32
    assert signing_secret(store, "cursor") == secret != signing_secret(store, "other")


def test_the_table_of_tiers_is_changed_by_a_file(tmp_path: Path) -> None:
    changes = tmp_path / "tiers.json"
    changes.write_text(json.dumps({"sample": {"per_minute": 7}}))
    store = KeyStore(tmp_path / "control.sqlite", configured_tiers(changes))

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
