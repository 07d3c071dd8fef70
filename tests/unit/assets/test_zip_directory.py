"""Zips read entry by entry give what zipfile gives, and refuse what is damaged."""

import io
import zipfile
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assets.parsing.unpacking import read_beginning, read_entry, zip_entries

NAMES = st.text(st.characters(exclude_characters="/\\\0", codec="utf-8"), min_size=1, max_size=20)
BODIES = st.one_of(st.binary(max_size=400), st.binary(max_size=8).map(lambda part: part * 900))
METHODS = st.sampled_from([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])


def zip_of(
    members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED, note: bytes = b""
) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", method) as archive:
        archive.comment = note
        for name, body in members.items():
            # As a zip that was written to a pipe, sizes follow the content.
            with archive.open(zipfile.ZipInfo(name), "w", force_zip64=len(body) % 2 == 0) as member:
                member.write(body)
    return target.getvalue()


def contents(body: bytes) -> dict[str, bytes]:
    zipped = io.BytesIO(body)
    return {entry.name: read_entry(zipped, entry) for entry in zip_entries(zipped)}


@given(st.dictionaries(NAMES, BODIES, max_size=6), METHODS, st.sampled_from([b"", b"a note"]))
def test_every_member_is_the_one_that_zipfile_reads(
    members: dict[str, bytes], method: int, note: bytes
) -> None:
    body = zip_of(members, method, note)
    with zipfile.ZipFile(io.BytesIO(body)) as archive:
        expected = {name: archive.read(name) for name in archive.namelist()}
    assert contents(body) == expected


@given(BODIES, METHODS, st.integers(1, 5000))
def test_a_beginning_is_the_beginning(content: bytes, method: int, size: int) -> None:
    zipped = io.BytesIO(zip_of({"a": content}, method))
    (entry,) = zip_entries(zipped)
    beginning = read_beginning(zipped, entry, size)
    assert content.startswith(beginning) and len(beginning) <= size
    if size >= entry.packed_size:
        assert beginning == content[:size]


@pytest.mark.slow
def test_more_members_than_a_zip_of_old_could_have_are_all_found() -> None:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        for number in range(66_000):
            archive.writestr(zipfile.ZipInfo(f"CIK{number:010}.json"), b"")
    names = [entry.name for entry in zip_entries(target)]
    assert len(names) == 66_000 and names[-1] == "CIK0000065999.json"


def test_sizes_and_positions_beyond_four_gigabytes_are_read_from_the_extra_field() -> None:
    body = bytearray(zip_of({"abc": b"content"}, zipfile.ZIP_STORED))
    directory = body.index(b"PK\x01\x02")
    end = body.index(b"PK\x05\x06")
    longs = b"".join(number.to_bytes(8, "little") for number in (7, 7, 0))
    extra = b"\x99\x99\x01\x00x" + b"\x01\x00\x18\x00" + longs
    entry = body[directory:end]
    for start, size in ((20, 4), (24, 4), (42, 4)):
        entry[start : start + size] = b"\xff" * size
    entry[30:32] = len(extra).to_bytes(2, "little")
    entry = entry[:49] + extra
    body[end + 12 : end + 16] = len(entry).to_bytes(4, "little")
    assert contents(bytes(body[:directory] + entry + body[end:])) == {"abc": b"content"}


def cut(body: bytes) -> bytes:
    return body[:-10]


def without_start(body: bytes) -> bytes:
    return body[40:]


def damaged_directory(body: bytes) -> bytes:
    return body.replace(b"PK\x01\x02", b"PK\x09\x09")


def damaged_local_header(body: bytes) -> bytes:
    return body.replace(b"PK\x03\x04", b"PK\x09\x09")


def other_checksum(body: bytes) -> bytes:
    at = body.index(b"PK\x01\x02") + 16
    return body[:at] + bytes([body[at] ^ 1]) + body[at + 1 :]


def smaller_size(body: bytes) -> bytes:
    at = body.index(b"PK\x01\x02") + 24
    return body[:at] + (3).to_bytes(4, "little") + body[at + 4 :]


def encrypted(body: bytes) -> bytes:
    at = body.index(b"PK\x01\x02") + 8
    return body[:at] + bytes([body[at] | 1]) + body[at + 1 :]


def other_method(body: bytes) -> bytes:
    at = body.index(b"PK\x01\x02") + 10
    return body[:at] + b"\x63\x00" + body[at + 2 :]


@pytest.mark.parametrize(
    "damage",
    [
        *(cut, without_start, damaged_directory, damaged_local_header, other_checksum),
        *(smaller_size, encrypted, other_method),
    ],
)
def test_damage_is_an_error_and_never_other_content(damage: Callable[[bytes], bytes]) -> None:
    with pytest.raises(zipfile.BadZipFile):
        contents(damage(zip_of({"a": b"some content " * 50})))


@given(st.data())
def test_a_changed_byte_never_gives_other_content_under_a_known_name(data: st.DataObject) -> None:
    members = {"a": b"some content " * 20, "b": bytes(range(200))}
    body = bytearray(zip_of(members))
    at = data.draw(st.integers(0, len(body) - 1))
    body[at] ^= data.draw(st.integers(1, 255))
    try:
        found = contents(bytes(body))
    except (zipfile.BadZipFile, ValueError):
        return
    assert all(members[name] == content for name, content in found.items() if name in members)
