"""Files: replaced at once, private to their user, and checked for damage."""

import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING

import msgspec
import xxhash

from warehouse.shared.errors import DamagedFile
from warehouse.shared.settings import Settings

if TYPE_CHECKING:
    from warehouse.shared.file_store import FileStore


# Replace a file at once: a reader sees the old one or the new one, also after a power cut.


def move_into_place(partial: Path, target: Path) -> None:
    """Rename a finished file to its final name; it is on disk before it can be seen."""
    sync(partial)
    partial.replace(target)
    # The rename itself is durable only once the folder is synced too.
    sync(target.parent)


def create_file(path: Path, body: bytes, partial: Path) -> bool:
    """Write a file unless there is one by that name; return whether it was written."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial.write_bytes(body)
    sync(partial)
    try:
        # A link is refused if the name is taken, and what it names is complete.
        os.link(partial, path)
    except FileExistsError:
        return False
    finally:
        partial.unlink(missing_ok=True)
    sync(path.parent)
    return True


def sync(path: Path) -> None:
    """Write a file or a folder to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


# What only its user may read: documents and rows with people in them, keys, counters.
#
# Exports, pages and builds hold nothing but what is published, and a web server of another user
# may serve them: they stay as they are.

_OTHERS = 0o077


def private_paths(settings: Settings) -> Iterator[Path]:
    """Yield the folders and files of an installation that are private to its user."""
    for url in (settings.landing, settings.record):
        if "://" not in url:
            yield Path(url)
    yield from (settings.work, settings.caches, settings.dagster, settings.logs)
    yield Path(settings.metrics)
    for url in (settings.control, settings.usage):
        if "://" not in url:
            # Databases have files beside them.
            yield from sorted(Path(url).parent.glob(f"{Path(url).name}*"))


def readable_by_others(settings: Settings) -> list[Path]:
    """Return the private folders and files that other users of the machine can read."""
    return [path for path in private_paths(settings) if path.exists() and _is_open(path)]


def make_private(settings: Settings) -> None:
    """Create the private folders, and close those that other users can read."""
    for path in private_paths(settings):
        if not path.exists():
            private_folder(path)
    close_private(settings)


def close_private(settings: Settings) -> None:
    """Close private folders and files to other users, as far as they exist.

    What belongs to another user is left as it is: `sankofa doctor` reports it.
    """
    for path in private_paths(settings):
        if path.exists():
            _close(path)


def private_folder(path: Path) -> Path:
    """Create a folder that only its user can open, whatever the umask, or close it; return it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileExistsError):
        path.mkdir(0o700)
        # A umask can only take rights away, also those of the user.
        path.chmod(0o700)
    _close(path)
    return path


def _close(path: Path) -> None:
    if _is_open(path) and path.stat().st_uid == os.geteuid():
        # A home on a disk that cannot be written stays as it is.
        with suppress(OSError):
            path.chmod(path.stat().st_mode & ~_OTHERS)


def _is_open(path: Path) -> bool:
    return bool(path.stat().st_mode & _OTHERS)


# Find damage in files: a check of their bytes, lists of such checks, and seals of small files.
#
# A check is XXH3: some 50 times as fast as SHA-256, so that files can be checked whenever they
# are opened. It finds damage and stops no forger; what others verify is signed and has SHA-256.

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
