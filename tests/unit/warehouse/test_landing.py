"""Landed bodies are the fetched bytes, stored once."""

import io
import subprocess
import sys
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.paths import ROOT
from warehouse.record.landing import FetchedResponse, Landing
from warehouse.shared.errors import LandingError, LicenceError
from warehouse.shared.files import seal
from warehouse.tables.sighting import LicenseClass

FIRST = datetime(2026, 1, 1, 6, tzinfo=UTC)
LATER = datetime(2026, 2, 1, 6, tzinfo=UTC)
LATEST = datetime(2026, 3, 1, 6, tzinfo=UTC)


def response(
    body: bytes | IO[bytes] = b'{"a": 0.1}',
    url: str = "https://example.org/a.json",
    observed_at: datetime = FIRST,
    license_class: LicenseClass = "cc0",
) -> FetchedResponse:
    return FetchedResponse("test", url, body, license_class, observed_at, 200, {"etag": '"x"'})


@pytest.fixture
def landing(tmp_path: Path) -> Landing:
    return Landing(str(tmp_path))


def files(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_body_is_read_back_unchanged_with_its_metadata(landing: Landing) -> None:
    document, new = landing.land(response())
    assert new
    assert landing.read(document) == b'{"a": 0.1}'
    assert landing.documents("test") == [document]
    assert (document.url, document.status) == ("https://example.org/a.json", 200)
    assert (document.headers, document.license_class) == ({"etag": '"x"'}, "cc0")
    assert document.observed_at == FIRST


def test_the_same_bytes_again_write_nothing(landing: Landing, tmp_path: Path) -> None:
    first, _ = landing.land(response())
    before = files(tmp_path)
    # Its body, its note, the mark of the world and a lock.
    assert len(before) == 4
    again, new = landing.land(response(observed_at=LATER))
    assert (again, new) == (first, False)
    assert files(tmp_path) == before


def test_the_same_bytes_from_two_addresses_are_stored_once(
    landing: Landing, tmp_path: Path
) -> None:
    first, _ = landing.land(response())
    second, new = landing.land(response(url="https://example.org/b.json"))
    assert new
    assert first.sha256 == second.sha256
    assert len(list(tmp_path.rglob("*.zst"))) == 1
    assert len(landing.documents("test")) == 2


def test_several_documents_are_found_at_once_by_the_beginnings_of_their_hashes(
    landing: Landing,
) -> None:
    urls = [f"https://example.org/{name}.json" for name in "abc"]
    a, b, _ = (landing.land(response(url.encode(), url))[0] for url in urls)
    assert landing.find(sha256=(a.sha256, b.sha256[:12])) == [a, b]
    assert landing.find(sha256=a.sha256) == [a]
    assert landing.find(sha256=()) == []


def test_a_return_to_earlier_bytes_is_a_new_document_of_the_same_body(
    landing: Landing, tmp_path: Path
) -> None:
    landing.land(response(b"1"))
    landing.land(response(b"2", observed_at=LATER))
    third, new = landing.land(response(b"1", observed_at=LATEST))
    assert new
    assert [landing.read(document) for document in landing.documents("test")] == [b"1", b"2", b"1"]
    assert landing.documents("test")[-1] == third
    assert len(list(tmp_path.rglob("*.zst"))) == 2


def test_a_missing_body_is_written_again_when_it_is_fetched_again(
    landing: Landing, tmp_path: Path
) -> None:
    document, _ = landing.land(response())
    next(tmp_path.rglob("*.zst")).unlink()
    landing.land(response())
    assert landing.read(document) == response().body


def test_a_damaged_metadata_file_is_named(landing: Landing, tmp_path: Path) -> None:
    landing.land(response())
    metadata = next(tmp_path.rglob("*.json"))
    metadata.write_text("{")
    with pytest.raises(LandingError, match=r"\.json is damaged: .*; delete it"):
        landing.documents("test")


@given(place=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
def test_no_flipped_bit_of_a_note_is_read(
    tmp_path_factory: pytest.TempPathFactory, place: float, bit: int
) -> None:
    """Address, moment, licence and headers decide what is served and from which day."""
    folder = tmp_path_factory.mktemp("flipped")
    landing = Landing(str(folder))
    landing.land(response())
    note = next(folder.glob("documents/*/*/*.json"))
    body = bytearray(note.read_bytes())
    body[int(len(body) * place)] ^= 1 << bit
    note.write_bytes(body)
    with pytest.raises(LandingError, match=r"\.json is damaged: .*; delete it"):
        landing.documents("test")
    assert [str(note) in str(error) for error in landing.damage()] == [True]


def test_a_note_with_a_licence_that_is_none_is_not_read(landing: Landing, tmp_path: Path) -> None:
    landing.land(response())
    note = next(tmp_path.glob("documents/*/*/*.json"))
    inner = note.read_bytes().rpartition(b',"seal"')[0] + b"}"
    note.write_bytes(seal(inner.replace(b'"cc0"', b'"cc9"')))
    with pytest.raises(LandingError, match="is damaged: Invalid enum value 'cc9'"):
        landing.documents("test")


@given(place=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
def test_a_flipped_bit_of_a_copy_of_notes_changes_no_document(
    tmp_path_factory: pytest.TempPathFactory, place: float, bit: int
) -> None:
    folder = tmp_path_factory.mktemp("copied")
    landing = Landing(str(folder / "landing"), folder / "cache")
    document, _ = landing.land(response())
    assert landing.documents("test") == [document]
    (copies,) = (folder / "cache").rglob("*.jsonl")
    body = bytearray(copies.read_bytes())
    body[int(len(body) * place)] ^= 1 << bit
    copies.write_bytes(body)
    assert landing.documents("test") == [document]


def test_every_flipped_bit_of_a_mark_is_found(landing: Landing, tmp_path: Path) -> None:
    landing.land(response())
    landing.mark_fetched("test", FIRST)
    assert landing.last_fetched("test") == FIRST
    for mark in (tmp_path / "world", tmp_path / "fetched" / "test"):
        intact = mark.read_bytes()
        for place in range(len(intact) * 8):
            body = bytearray(intact)
            body[place // 8] ^= 1 << place % 8
            mark.write_bytes(body)
            assert len(list(landing.damage())) == 1, (mark, place)
        mark.write_bytes(intact)
    assert list(landing.damage()) == []


def test_bodies_are_compressed(landing: Landing, tmp_path: Path) -> None:
    landing.land(response(b"a" * 100_000))
    [body] = tmp_path.rglob("*.zst")
    assert body.stat().st_size < 1_000


@pytest.mark.parametrize("damage", [b"", b"not zstd at all", None])
def test_a_damaged_body_is_an_error(landing: Landing, tmp_path: Path, damage: bytes | None) -> None:
    document, _ = landing.land(response())
    other, _ = landing.land(response(b'{"a": 0.2}', url="https://example.org/b.json"))
    path, other_path = (next(tmp_path.rglob(f"{d.sha256}.zst")) for d in (document, other))
    path.write_bytes(other_path.read_bytes() if damage is None else damage)
    with pytest.raises(LandingError, match="is not what was fetched"):
        landing.read(document)
    with pytest.raises(LandingError, match="is not what was fetched"), landing.open(document):
        raise AssertionError("a byte was returned")


def test_a_missing_body_is_an_error(landing: Landing, tmp_path: Path) -> None:
    document, _ = landing.land(response())
    next(tmp_path.rglob("*.zst")).unlink()
    with pytest.raises(LandingError, match=r"is missing: fetch https://example\.org/a\.json again"):
        landing.read(document)


def test_a_large_body_is_read_as_a_stream(landing: Landing) -> None:
    document, _ = landing.land(response(b"0123456789" * 500_000))
    with landing.open(document) as stream:
        assert stream.read(10) == b"0123456789"


def test_a_restricted_response_is_not_stored(landing: Landing, tmp_path: Path) -> None:
    with pytest.raises(LicenceError, match="forbids redistribution"):
        landing.land(response(license_class="restricted"))
    assert files(tmp_path) == {}


def test_a_file_and_its_bytes_land_as_the_same_document(landing: Landing, tmp_path: Path) -> None:
    body = b"0123456789" * 500_000
    first, _ = landing.land(response(body))
    with tempfile.TemporaryFile() as file:
        file.write(body)
        second, new = landing.land(response(file, observed_at=LATER))
    assert (second, new) == (first, False)
    assert first.size == len(body)
    assert len(list(tmp_path.rglob("*.zst"))) == 1
    assert not list(tmp_path.rglob("*.part"))


def test_a_landed_file_is_read_back_whole_and_as_a_stream(landing: Landing) -> None:
    document, new = landing.land(response(io.BytesIO(b"a" * 3_000_000)))
    assert new
    assert landing.read(document) == b"a" * 3_000_000
    with landing.open(document) as stream:
        assert stream.read() == b"a" * 3_000_000


def test_keys_come_from_file_names_alone(landing: Landing) -> None:
    landing.land(response(b"1"))
    landing.land(response(b"2", observed_at=LATER))
    landing.land(response(b"1", url="https://example.org/b.json"))
    assert landing.keys("test") == {document.key for document in landing.documents("test")}
    assert landing.keys("another") == set()


LANDS_A_BODY = """
import os, resource, sys, tempfile
from datetime import UTC, datetime, timedelta
from warehouse.record.landing import FetchedResponse, Landing
landing, size = Landing(sys.argv[1]), int(sys.argv[2])
with tempfile.TemporaryFile() as body:
    piece = os.urandom(1 << 20)
    for number in range(size >> 20):
        body.write(number.to_bytes(8, "big") + piece[8:])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    document, _ = landing.land(
        FetchedResponse("test", "https://example.org/a.zip", body, "cc0", datetime.now(UTC))
    )
with landing.open(document) as stream:
    assert sum(len(piece) for piece in iter(lambda: stream.read(1 << 20), b"")) == size
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.slow
def test_a_large_body_lands_in_constant_memory(tmp_path: Path) -> None:
    size = 200 << 20
    process = subprocess.run(
        [sys.executable, "-c", LANDS_A_BODY, str(tmp_path), str(size)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert int(process.stdout) * 1024 < size / 4


@given(st.binary(max_size=2_000))
def test_any_bytes_survive(tmp_path_factory: pytest.TempPathFactory, body: bytes) -> None:
    landing = Landing(str(tmp_path_factory.getbasetemp() / "any"))
    document, _ = landing.land(response(body))
    assert landing.read(document) == body


def test_a_document_of_a_moment_yet_to_come_is_refused(landing: Landing, tmp_path: Path) -> None:
    now = datetime.now(UTC)
    with pytest.raises(LandingError, match=r"a\.json' is said to have been read at 2931-01-01T"):
        landing.land(response(observed_at=datetime(2931, 1, 1, tzinfo=UTC)))
    assert files(tmp_path) == {}
    # A clock may be ahead of ours.
    assert landing.land(response(observed_at=now + timedelta(hours=2)))[1]
