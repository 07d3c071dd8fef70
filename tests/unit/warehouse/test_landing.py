"""Landed bodies are the bytes that came, recognised when they come again."""

import io
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.paths import ROOT
from warehouse.errors import LandingError, LicenceError
from warehouse.record.landing import FetchedResponse, Landing
from warehouse.tables import LicenseClass

FIRST = datetime(2026, 1, 1, 6, tzinfo=UTC)
LATER = datetime(2026, 2, 1, 6, tzinfo=UTC)
LATEST = datetime(2026, 3, 1, 6, tzinfo=UTC)


def fetched(
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


def test_a_body_comes_back_as_it_was_with_how_it_came(landing: Landing) -> None:
    document, new = landing.land(fetched())
    assert new
    assert landing.read(document) == b'{"a": 0.1}'
    assert landing.documents("test") == [document]
    assert (document.url, document.status) == ("https://example.org/a.json", 200)
    assert (document.headers, document.license_class) == ({"etag": '"x"'}, "cc0")
    assert document.observed_at == FIRST


def test_the_same_bytes_again_write_nothing(landing: Landing, tmp_path: Path) -> None:
    first, _ = landing.land(fetched())
    before = files(tmp_path)
    assert len(before) == 2
    again, new = landing.land(fetched(observed_at=LATER))
    assert (again, new) == (first, False)
    assert files(tmp_path) == before


def test_the_same_bytes_from_two_addresses_are_stored_once(
    landing: Landing, tmp_path: Path
) -> None:
    one, _ = landing.land(fetched())
    two, new = landing.land(fetched(url="https://example.org/b.json"))
    assert new
    assert one.sha256 == two.sha256
    assert len(list(tmp_path.rglob("*.zst"))) == 1
    assert len(landing.documents("test")) == 2


def test_bytes_that_come_back_are_another_reading_of_one_stored_body(
    landing: Landing, tmp_path: Path
) -> None:
    landing.land(fetched(b"1"))
    landing.land(fetched(b"2", observed_at=LATER))
    third, new = landing.land(fetched(b"1", observed_at=LATEST))
    assert new
    assert [landing.read(each) for each in landing.documents("test")] == [b"1", b"2", b"1"]
    assert landing.documents("test")[-1] == third
    assert len(list(tmp_path.rglob("*.zst"))) == 2


def test_a_missing_body_is_written_again_when_its_bytes_come_again(
    landing: Landing, tmp_path: Path
) -> None:
    document, _ = landing.land(fetched())
    next(tmp_path.rglob("*.zst")).unlink()
    landing.land(fetched())
    assert landing.read(document) == fetched().body


def test_a_damaged_note_is_named(landing: Landing, tmp_path: Path) -> None:
    landing.land(fetched())
    note = next(tmp_path.rglob("*.json"))
    note.write_text("{")
    with pytest.raises(LandingError, match=r"\.json is damaged .*delete it"):
        landing.documents("test")


def test_bodies_are_compressed(landing: Landing, tmp_path: Path) -> None:
    landing.land(fetched(b"a" * 100_000))
    [body] = tmp_path.rglob("*.zst")
    assert body.stat().st_size < 1_000


@pytest.mark.parametrize("damage", [b"", b"not zstd at all", None])
def test_a_damaged_body_is_an_error(landing: Landing, tmp_path: Path, damage: bytes | None) -> None:
    document, _ = landing.land(fetched())
    other, _ = landing.land(fetched(b'{"a": 0.2}', url="https://example.org/b.json"))
    mine, theirs = (next(tmp_path.rglob(f"{each.sha256}.zst")) for each in (document, other))
    mine.write_bytes(theirs.read_bytes() if damage is None else damage)
    with pytest.raises(LandingError, match="is not what was fetched"):
        landing.read(document)
    with pytest.raises(LandingError, match="is not what was fetched"), landing.open(document):
        raise AssertionError("a byte was handed out")


def test_a_missing_body_is_an_error(landing: Landing, tmp_path: Path) -> None:
    document, _ = landing.land(fetched())
    next(tmp_path.rglob("*.zst")).unlink()
    with pytest.raises(LandingError, match=r"is missing: fetch https://example\.org/a\.json again"):
        landing.read(document)


def test_a_large_body_is_read_as_a_stream(landing: Landing) -> None:
    document, _ = landing.land(fetched(b"0123456789" * 500_000))
    with landing.open(document) as stream:
        assert stream.read(10) == b"0123456789"


def test_what_may_not_be_redistributed_is_not_kept(landing: Landing, tmp_path: Path) -> None:
    with pytest.raises(LicenceError, match="forbids redistribution"):
        landing.land(fetched(license_class="restricted"))
    assert files(tmp_path) == {}


def test_a_file_lands_as_its_bytes_do_and_is_stored_once_with_them(
    landing: Landing, tmp_path: Path
) -> None:
    body = b"0123456789" * 500_000
    first, _ = landing.land(fetched(body))
    with tempfile.TemporaryFile() as file:
        file.write(body)
        second, new = landing.land(fetched(file, observed_at=LATER))
    assert (second, new) == (first, False)
    assert first.size == len(body)
    assert len(list(tmp_path.rglob("*.zst"))) == 1
    assert not list(tmp_path.rglob("*.part"))


def test_a_file_that_comes_first_is_read_back_whole_and_as_a_stream(landing: Landing) -> None:
    document, new = landing.land(fetched(io.BytesIO(b"a" * 3_000_000)))
    assert new
    assert landing.read(document) == b"a" * 3_000_000
    with landing.open(document) as stream:
        assert stream.read() == b"a" * 3_000_000


def test_the_keys_of_documents_are_known_without_opening_them(landing: Landing) -> None:
    landing.land(fetched(b"1"))
    landing.land(fetched(b"2", observed_at=LATER))
    landing.land(fetched(b"1", url="https://example.org/b.json"))
    assert landing.keys("test") == {document.key for document in landing.documents("test")}
    assert landing.keys("another") == set()


LANDS_A_BODY = """
import os, resource, sys, tempfile
from datetime import UTC, datetime
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


def test_a_body_of_any_size_lands_in_the_same_memory(tmp_path: Path) -> None:
    size = 200 << 20
    done = subprocess.run(
        [sys.executable, "-c", LANDS_A_BODY, str(tmp_path), str(size)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert int(done.stdout) * 1024 < size / 4


@given(st.binary(max_size=2_000))
def test_any_bytes_survive(tmp_path_factory: pytest.TempPathFactory, body: bytes) -> None:
    landing = Landing(str(tmp_path_factory.getbasetemp() / "any"))
    document, _ = landing.land(fetched(body))
    assert landing.read(document) == body
