"""Verdicts about names that are kept in a file of the cache folder."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quality.persons import judge_name, party_names, remember_verdicts
from quality.verdicts import VerdictFile

NAMES = ("Acme (Pty) Ltd", "Jane Doe", "Ministry of Health", "A Ltd; B Ltd", "Mr J Smith t/a Acme")


@pytest.fixture
def path(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "cache" / "verdicts.sqlite"
    remember_verdicts(None)


def judged(names: tuple[str, ...] = NAMES) -> list[object]:
    return [
        (party_names(name, "ZA"), judge_name(name, country="za", scheme=None, identifier=None))
        for name in names
    ]


def judged_with(file: VerdictFile) -> list[object]:
    remember_verdicts(file)
    verdicts = judged()
    file.flush()
    return verdicts


def test_what_an_earlier_run_judged_is_the_same_and_no_name_is_in_the_file(path: Path) -> None:
    plain = judged()
    assert judged_with(VerdictFile(path, "1")) == plain
    with sqlite3.connect(path) as stored:
        assert stored.execute("SELECT count(*) FROM verdicts").fetchone()[0] >= len(NAMES)
    for file in path.parent.iterdir():
        body = file.read_bytes().lower()
        assert not any(word in body for word in (b"acme", b"jane", b"doe", b"smith"))
    assert judged_with(VerdictFile(path, "1")) == plain


def test_other_word_lists_know_nothing_of_what_was_judged_before(path: Path) -> None:
    judged_with(VerdictFile(path, "1"))
    other = VerdictFile(path, "2")
    assert other.get(other.key("judge", "Jane Doe", "ZA", None, None, None)) is None
    with sqlite3.connect(path) as stored:
        assert stored.execute("SELECT count(*) FROM verdicts").fetchone() == (0,)


@pytest.mark.parametrize("damage", ["cut", "overwritten", "empty", "a folder", "an altered entry"])
def test_a_damaged_file_only_costs_time(path: Path, damage: str) -> None:
    plain = judged()
    judged_with(VerdictFile(path, "1"))
    with sqlite3.connect(path) as stored:
        stored.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        if damage == "an altered entry":
            stored.execute("UPDATE verdicts SET verdict = cast('legal_form' || x'00' AS BLOB)")
    body = path.read_bytes()
    if damage == "cut":
        path.write_bytes(body[: len(body) // 2])
    elif damage == "overwritten":
        path.write_bytes(body[:100] + bytes(255 for _ in body[100:]))
    elif damage == "empty":
        path.write_bytes(b"")
    elif damage == "a folder":
        path.unlink()
        path.mkdir()
    assert judged_with(VerdictFile(path, "1")) == plain
    assert judged_with(VerdictFile(path, "1")) == plain


@given(st.lists(st.none() | st.text(), max_size=3), st.lists(st.none() | st.text(), max_size=3))
def test_only_equal_inputs_have_the_same_key(
    one: list[str | None], other: list[str | None]
) -> None:
    file = VerdictFile(Path("/dev/null/none"), "1")
    assert (file.key(*one) == file.key(*other)) == (one == other)
