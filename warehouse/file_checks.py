"""Find damage in files: a check of their bytes, lists of such checks, and seals of small files.

A check is XXH3: some 50 times as fast as SHA-256, so that files can be checked whenever they are
opened. It finds damage and stops no forger; what others verify is signed and has SHA-256.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING

import msgspec
import xxhash

from warehouse.errors import DamagedFile

if TYPE_CHECKING:
    from warehouse.file_store import FileStore

# The list of the files of a folder, with a check of each.
CHECKS = "checks.json"
_DIFFERS = "its bytes are not those that were written"
_CHUNK = 1 << 20
_SEAL = re.compile(rb',"seal":"([0-9a-f]{64})"\}\Z')


class FileCheck(msgspec.Struct, frozen=True, array_like=True):
    """The size of a file and the XXH3 of its bytes."""

    size: int
    xxh3: str


_decode = msgspec.json.Decoder(dict[str, dict[str, FileCheck]]).decode


def check_of(body: bytes) -> FileCheck:
    """Return the check of bytes."""
    return FileCheck(len(body), xxhash.xxh3_128_hexdigest(body))


def check_of_file(path: str | Path) -> FileCheck:
    """Return the check of a local file; raises ``OSError`` if it cannot be read."""
    with Path(path).open("rb") as file:
        return check_of_stream(file)


def check_of_stream(stream: IO[bytes]) -> FileCheck:
    """Return the check of what is left to read of a stream."""
    digest, size = xxhash.xxh3_128(), 0
    for chunk in _chunks(stream):
        digest.update(chunk)
        size += len(chunk)
    return FileCheck(size, digest.hexdigest())


def sha256_of_stream(stream: IO[bytes]) -> str:
    """Return the SHA-256 of what is left to read of a stream."""
    digest = hashlib.sha256()
    for chunk in _chunks(stream):
        digest.update(chunk)
    return digest.hexdigest()


def damage_of(path: str | Path, size: int = 0, xxh3: str = "", sha256: str = "") -> str | None:
    """Return what is wrong with a local file; None if it is what was written.

    What is not known of it is left empty. SHA-256 is computed if there is nothing faster.
    """
    try:
        found = Path(path).stat().st_size
        if size and found != size:
            return f"it has {found:,} bytes instead of {size:,}"
        if xxh3:
            return None if check_of_file(path).xxh3 == xxh3 else _DIFFERS
        if sha256:
            with Path(path).open("rb") as file:
                return None if sha256_of_stream(file) == sha256 else _DIFFERS
    except FileNotFoundError:
        return "it is missing"
    except OSError as error:
        return f"it cannot be read ({error.strerror})"
    return None


def _chunks(stream: IO[bytes]) -> Iterator[bytes]:
    return iter(lambda: stream.read(_CHUNK), b"")


def seal(body: bytes) -> bytes:
    """Return a JSON object with one more member, the SHA-256 of all that stands before it."""
    return body[:-1] + b',"seal":"' + hashlib.sha256(body).hexdigest().encode() + b'"}'


def break_seal(body: bytes, name: str) -> tuple[bytes, bool]:
    """Return a JSON object without its seal, and whether it had one; raise if it was changed."""
    sealed = _SEAL.search(body)
    if sealed is None:
        return body, False
    inner = body[: sealed.start()] + b"}"
    if hashlib.sha256(inner).hexdigest().encode() != sealed[1]:
        raise DamagedFile(f"{name} is damaged: {_DIFFERS}")
    return inner, True


def encode_checks(checks: Mapping[str, FileCheck]) -> bytes:
    """Encode a list of checks, sealed."""
    return seal(msgspec.json.encode({"files": dict(sorted(checks.items()))}))


def decode_checks(body: bytes, name: str) -> dict[str, FileCheck]:
    """Decode a list of checks; raise ``DamagedFile`` if it is not as it was written."""
    inner, sealed = break_seal(body, name)
    try:
        if sealed:
            return _decode(inner)["files"]
    except (msgspec.MsgspecError, KeyError):
        pass
    raise DamagedFile(f"{name} is damaged: it is no list of files")


def checks_of_folder(folder: Path) -> dict[str, FileCheck]:
    """Return the checks of all files below a folder, by path."""
    return {
        path.relative_to(folder).as_posix(): check_of_file(path)
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != CHECKS
    }


def stored_checks(store: "FileStore", folder: str) -> dict[str, FileCheck] | None:
    """Return the list of the files of a folder; None if it was written before there were lists."""
    try:
        body = store.read(folder, CHECKS)
    except FileNotFoundError:
        return None
    return decode_checks(body, store.path(folder, CHECKS))
