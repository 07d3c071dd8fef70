"""Who follows which build while code of several mart schema versions serves and publishes."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from warehouse.mart.pointers import (
    LAST_WITH_ONE_POINTER,
    Pointers,
    decode_pointers,
    encode_pointers,
)

NOW = datetime(2026, 6, 16, tzinfo=UTC)
OLD, NEW, NEWER = LAST_WITH_ONE_POINTER, LAST_WITH_ONE_POINTER + 1, LAST_WITH_ONE_POINTER + 2


def _old_published(pointers: Pointers, name: str) -> Pointers:
    """What code does that knows no pointer but ``current``."""
    return Pointers(name, pointers.by_version)


def test_code_of_the_last_version_with_one_pointer_uses_no_other() -> None:
    pointers = Pointers().switched("1", OLD, OLD, NOW)
    assert pointers == Pointers("1", {})


def test_new_code_reads_what_old_code_published_until_it_has_published_itself() -> None:
    pointers = _old_published(Pointers(), "1")
    assert pointers.followed(NEW) == ["1"] and pointers.for_older(NEW) == {}
    pointers = pointers.switched("2", NEW, NEW, NOW)
    assert (pointers.followed(OLD)[0], pointers.followed(NEW)[0]) == ("1", "2")
    assert pointers.in_use() == {"1", "2"} and pointers.for_older(NEW) == {"1": NOW}


def test_the_time_for_which_old_code_is_behind_begins_with_the_first_new_build() -> None:
    pointers = _old_published(Pointers(), "1").switched("2", NEW, NEW, NOW)
    pointers = pointers.switched("3", NEW, NEW, NOW + timedelta(days=1))
    assert pointers.for_older(NEW) == {"1": NOW}
    pointers = _old_published(pointers, "4").switched("5", NEW, NEW, NOW + timedelta(days=2))
    assert pointers.for_older(NEW) == {"4": NOW + timedelta(days=2)}


def test_what_old_code_publishes_later_is_followed_by_new_code_too() -> None:
    pointers = _old_published(Pointers(), "1").switched("2", NEW, NEW, NOW)
    pointers = _old_published(pointers, "3")
    assert (pointers.followed(OLD)[0], pointers.followed(NEW)[0]) == ("3", "3")
    assert pointers.for_older(NEW) == {}


def test_a_rollback_to_an_old_build_is_followed_by_everyone() -> None:
    pointers = _old_published(Pointers(), "2").switched("3", NEW, NEW, NOW)
    pointers = pointers.switched("1", OLD, NEW, NOW)
    assert [pointers.followed(version)[0] for version in (OLD, NEW)] == ["1", "1"]
    assert pointers.in_use() == {"1"} and pointers.for_older(NEW) == {}


def test_three_versions_each_follow_what_they_can_read() -> None:
    pointers = _old_published(Pointers(), "1").switched("2", NEW, NEW, NOW)
    pointers = pointers.switched("3", NEWER, NEWER, NOW)
    assert [pointers.followed(version)[0] for version in (OLD, NEW, NEWER)] == ["1", "2", "3"]
    pointers = pointers.switched("4", NEW, NEW, NOW)
    assert [pointers.followed(version)[0] for version in (OLD, NEW, NEWER)] == ["1", "4", "4"]


def test_a_withdrawn_build_is_named_by_no_pointer() -> None:
    pointers = _old_published(Pointers(), "1").switched("2", NEW, NEW, NOW)
    pointers = pointers.switched("1", OLD, NEW, NOW).without(["1"])
    assert pointers.in_use() == set() and pointers.followed(NEW) == []


_SWITCHES = st.lists(st.sampled_from([OLD, NEW, NEWER]))


@given(_SWITCHES)
def test_after_any_switches_everyone_follows_the_last_build_that_they_can_read(
    versions: list[int],
) -> None:
    pointers = Pointers()
    for number, version in enumerate(versions):
        pointers = pointers.switched(str(number), version, version, NOW)
        pointers = decode_pointers(pointers.current, encode_pointers(pointers))
    for reader in (OLD, NEW, NEWER):
        readable = [str(n) for n, version in enumerate(versions) if version <= reader]
        assert pointers.followed(reader)[:1] == readable[-1:]
        assert set(readable[-1:]) <= pointers.in_use()
