"""Files: replaced at once, private to their user, and checked for damage."""

import hashlib
import os
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import IO, TypeVar

import msgspec
import xxhash

from warehouse.shared.errors import DamagedFile, DatastoreUnavailable
from warehouse.shared.settings import SETTINGS_FILE, Settings

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
    yield from settings.home.glob(SETTINGS_FILE)
    for url in (settings.control, settings.usage):
        if "://" not in url:
            # SQLite keeps other files next to a database.
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


# Find damage in files: whoever writes one notes its check, and ``difference`` says whether it is
# still what was written. What is done about it is decided in ``pipelines/verify.py``.
#
# A check is XXH3: some 50 times as fast as SHA-256, so that files can be checked whenever they
# are opened. It finds damage and stops no forger; what others verify is signed and has SHA-256.

# The list of the files of a folder, with a check of each.
CHECKS = "checks.json"
_DIFFERS = "its bytes are not those that were written"
_CHUNK = 1 << 20
_SEAL = re.compile(rb',"seal":"([0-9a-f]{64})"\}\Z')
_T = TypeVar("_T")
# Device, inode, size and time of change.
Identity = tuple[int, int, int, int]


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
    """Return the check of the rest of a stream."""
    digest, size = xxhash.xxh3_128(), 0
    while chunk := stream.read(_CHUNK):
        digest.update(chunk)
        size += len(chunk)
    return FileCheck(size, digest.hexdigest())


def sha256_of_file(path: str | Path) -> str:
    """Return the SHA-256 of a file."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def difference(
    written: FileCheck, size: int | None, read: Callable[[], FileCheck] | None
) -> str | None:
    """Return what is wrong with a file; None if it is what was written.

    ``size`` is what it has now, None if it is missing. ``read`` returns the check of its bytes;
    without it the size decides.
    """
    if size is None:
        return "it is missing"
    if size != written.size:
        return f"it has {size:,} bytes instead of {written.size:,}"
    return _DIFFERS if read is not None and read() != written else None


def damage_of(path: str | Path, written: FileCheck, *, thorough: bool = True) -> str | None:
    """Return what is wrong with a local file: by every byte, or by its size; None if nothing is."""
    try:
        read = partial(check_of_file, path) if thorough else None
        return difference(written, Path(path).stat().st_size, read)
    except FileNotFoundError:
        return difference(written, None, None)
    except OSError as error:
        return f"it cannot be read ({error.strerror})"


class CheckedFiles:
    """The files that a process has checked, each whole before it is first read.

    A file is checked again once it is another one: its inode, size or time of change differ. Bytes
    that change on the disk without any of these are found by ``sankofa verify``. Any number of
    threads may ask.
    """

    def __init__(self) -> None:
        # Whoever reads a file may look here first: those that are in it need no check.
        self.intact: dict[str, Identity] = {}
        self._damaged: dict[str, tuple[Identity, str]] = {}
        self._in_threads: set[str] = set()
        self._lock = threading.Lock()

    def require(self, path: str, written: FileCheck, at_once: int | None = None) -> None:
        """Raise ``DamagedFile`` unless a file is what was written.

        A file of more bytes than ``at_once`` is checked in a thread: ``DatastoreUnavailable`` is
        raised until that is done.
        """
        identity = identity_of(path)
        if identity is None:
            raise DamagedFile(f"{path} is missing")
        if at_once is not None and identity[2] == written.size > at_once:
            self._check_in_thread(path, identity, written)
        else:
            with self._lock:
                self._check(path, identity, written)
        self._refuse_damaged(path, identity)

    def require_size(self, path: str, written: FileCheck) -> None:
        """Raise ``DamagedFile`` if one is missing, has another size, or was found damaged."""
        identity = identity_of(path)
        if identity is None or identity[2] != written.size:
            self.require(path, written)
        self._refuse_damaged(path, identity)

    def forget_changed(self) -> list[str]:
        """Forget the files that are no longer those that were checked, and return them."""
        changed = [
            path for path, identity in tuple(self.intact.items()) if identity_of(path) != identity
        ]
        for path in changed:
            self.intact.pop(path, None)
        return changed

    def _refuse_damaged(self, path: str, identity: Identity | None) -> None:
        known = self._damaged.get(path)
        if known is not None and known[0] == identity:
            raise DamagedFile(f"{path} is damaged: {known[1]}")

    def _is_known(self, path: str, identity: Identity) -> bool:
        damaged = self._damaged.get(path)
        return self.intact.get(path) == identity or (damaged is not None and damaged[0] == identity)

    def _check(self, path: str, identity: Identity, written: FileCheck) -> None:
        if self._is_known(path, identity):
            return
        reason = damage_of(path, written)
        if reason is None:
            self.intact[path] = identity
        else:
            self._damaged[path] = identity, reason

    def _check_in_thread(self, path: str, identity: Identity, written: FileCheck) -> None:
        def check() -> None:
            try:
                self._check(path, identity, written)
            finally:
                self._in_threads.discard(path)

        with self._lock:
            if self._is_known(path, identity):
                return
            if path not in self._in_threads:
                self._in_threads.add(path)
                threading.Thread(target=check, name="check", daemon=True).start()
        raise DatastoreUnavailable(f"{path} is being checked; ask again")


def identity_of(path: str) -> Identity | None:
    """Return what tells a file from another one of the same name; None if there is none."""
    try:
        stat = os.stat(path)  # noqa: PTH116
    except OSError:
        return None
    return stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns


def seal(body: bytes) -> bytes:
    """Return a JSON object with one more member, the SHA-256 of everything before it."""
    return body[:-1] + b',"seal":"' + hashlib.sha256(body).hexdigest().encode() + b'"}'


def decode_sealed(decode: Callable[[bytes], _T], body: bytes, name: str) -> _T:
    """Decode a sealed JSON object; raise ``DamagedFile`` if it is not as it was written."""
    sealed = _SEAL.search(body)
    inner = body if sealed is None else body[: sealed.start()] + b"}"
    if sealed is None or hashlib.sha256(inner).hexdigest().encode() != sealed[1]:
        raise DamagedFile(f"{name} is damaged: {_DIFFERS}")
    try:
        return decode(inner)
    except msgspec.MsgspecError as error:
        raise DamagedFile(f"{name} is damaged: {error}") from error


def encode_checks(checks: Mapping[str, FileCheck]) -> bytes:
    """Encode a list of checks, sealed."""
    return seal(msgspec.json.encode({"files": dict(sorted(checks.items()))}))


def decode_checks(body: bytes, name: str) -> dict[str, FileCheck]:
    """Decode a list of checks; raise ``DamagedFile`` if it is not as it was written."""
    return decode_sealed(_decode, body, name).get("files", {})


def checks_of_folder(folder: Path) -> dict[str, FileCheck]:
    """Return the checks of all files below a folder, by path."""
    return {
        path.relative_to(folder).as_posix(): check_of_file(path)
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != CHECKS
    }
