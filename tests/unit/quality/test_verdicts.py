"""Verdicts about names that are kept in a file of the cache folder."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quality import persons
from quality.persons import judge_name, party_names
from quality.verdicts import VerdictFile, flush_verdicts, open_verdicts

NAMES = ("Acme (Pty) Ltd", "Jane Doe", "Ministry of Health", "A Ltd; B Ltd", "Mr J Smith t/a Acme")


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "cache"
    open_verdicts(None)


def judged(folder: Path | None, names: tuple[str, ...] = NAMES) -> list[object]:
    """Judge names as a new process would, with what is known in a folder."""
    party_names.cache_clear()
    persons._judge.cache_clear()
    open_verdicts(folder)
    verdicts: list[object] = [
        (party_names(name, "ZA"), judge_name(name, country="za", scheme=None, identifier=None))
        for name in names
    ]
    flush_verdicts()
    return verdicts


def file_in(folder: Path) -> Path:
    (path,) = folder.glob("verdicts-*.sqlite")
    return path


def entries(folder: Path) -> int:
    with sqlite3.connect(file_in(folder)) as stored:
        return int(stored.execute("SELECT count(*) FROM verdicts").fetchone()[0])


def test_what_an_earlier_run_judged_is_the_same_and_no_name_is_in_the_file(folder: Path) -> None:
    plain = judged(None)
    assert judged(folder) == plain
    assert entries(folder) >= len(NAMES)
    for file in folder.iterdir():
        body = file.read_bytes().lower()
        assert not any(word in body for word in (b"acme", b"jane", b"doe", b"smith"))
    assert judged(folder) == plain


def test_what_was_judged_before_is_not_judged_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = judged(folder)
    monkeypatch.setattr(persons, "legal_form", lambda *_: pytest.fail("judged again"))
    assert judged(folder, NAMES[:1]) == known[:1]


def test_other_word_lists_know_nothing_of_what_was_judged_before(folder: Path) -> None:
    judged(folder)
    before = file_in(folder)
    other = VerdictFile(folder, "another version")
    assert other.verdict(str.upper, ("jane",)) == "JANE"
    other.flush()
    assert file_in(folder) != before and entries(folder) == 1


@pytest.mark.parametrize("damage", ["cut", "overwritten", "empty", "a folder", "an altered entry"])
def test_a_damaged_file_only_costs_time(folder: Path, damage: str) -> None:
    plain = judged(None)
    judged(folder)
    open_verdicts(None)
    path = file_in(folder)
    with sqlite3.connect(path) as stored:
        stored.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        if damage == "an altered entry":
            stored.execute("UPDATE verdicts SET verdict = 'legal_form:ltd'")
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
    assert judged(folder) == plain
    assert judged(folder) == plain


@given(st.lists(st.none() | st.text(), max_size=3), st.lists(st.none() | st.text(), max_size=3))
def test_only_equal_inputs_share_a_verdict(one: list[str | None], other: list[str | None]) -> None:
    file = VerdictFile(Path("/dev/null/none"), "1")

    def inputs(*given: str | None) -> str:
        return repr(given)

    assert file.verdict(inputs, tuple(one)) == repr(tuple(one))
    assert file.verdict(inputs, tuple(other)) == repr(tuple(other))
