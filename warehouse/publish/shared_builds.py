"""Builds in an object store: one machine publishes them, any number of others pull them.

The store has the manifests and files of the publisher's folder under the same names, and
``builds.json``: which builds there are, which one is current, and why others were withdrawn. Files
are named by their content and never change. ``builds.json`` is written last, so whatever it names
is complete; whoever pulls looks at it every second.

A machine that pulls has every build of the store in a folder of its own, so that pins are answered
as on the machine that publishes, and reads them as if they had been published there.
"""

import hashlib
import logging
import re
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import msgspec

from warehouse.publish.builds import (
    FILES,
    PULLED_FROM,
    Builds,
    manifest_file,
    pointer_file,
    replace_file,
)
from warehouse.publish.manifest import BuildFile, decode_manifest
from warehouse.shared.errors import DamagedFile, DatastoreUnavailable, in_one_line
from warehouse.shared.file_store import FileStore, require_known_store
from warehouse.shared.files import decode_sealed, move_into_place, seal
from warehouse.shared.locks import try_file_lock

T = TypeVar("T")
SETTING = "SANKOFA_SHARED_MARTS"
_LIST, _LOCK = "builds.json", "pull.lock"
_PATH = re.compile(rf"{FILES}/\w+\.sqlite")
_LOG = logging.getLogger("sankofa.builds")
# Files that are copied at the same time.
_AT_ONCE = 8
# How often whoever pulls looks at the list, and how rarely at most after failures.
_LOOK_SECONDS, _MAX_WAIT_SECONDS = 1.0, 30.0


class SharedList(msgspec.Struct, frozen=True):
    """What is in a store: the SHA-256 of each manifest, the current build, and withdrawals."""

    manifests: dict[str, str] = {}
    current: str | None = None
    withdrawn: dict[str, str] = {}


_decode = msgspec.json.Decoder(SharedList).decode


def read_list(store: FileStore) -> SharedList:
    """Return what is in a store; nothing if no build was pushed to it yet."""
    try:
        body = store.read(_LIST)
    except FileNotFoundError:
        return SharedList()
    return decode_sealed(_decode, body, store.path(_LIST))


def push_builds(builds: Builds, url: str) -> None:
    """Make the store have the builds of a folder, and no others; take the publishing lock.

    Without a URL nothing is shared. Killed in between, the store has what it had before, and the
    next call copies the rest.
    """
    if not url:
        return
    require_known_store(url, SETTING)
    try:
        _push(builds, FileStore.of(url))
    # Drivers raise exceptions of any kind.
    except Exception as error:
        raise DatastoreUnavailable(
            f"the builds of this machine could not be copied to {url} ({in_one_line(error)}), so "
            "machines that pull from there still serve what it had; once it answers again, run "
            "`sankofa publish`: it copies what is missing"
        ) from error


def _push(builds: Builds, store: FileStore) -> None:
    before, stored_sizes = SharedList(), {file.path: file.size for file in store.listing()}
    # A list that is damaged is written anew, with every manifest.
    with suppress(DamagedFile):
        before = read_list(store)
    manifests: dict[str, str] = {}
    files: dict[str, BuildFile] = {}
    for name in builds.names():
        manifest, path = builds.manifest(name), manifest_file(builds.path, name)
        # One that is damaged here cannot be served there either.
        if manifest is not None:
            manifests[name] = hashlib.sha256(path.read_bytes()).hexdigest()
            files |= {file.path: file for file in manifest.files}
    _at_once(
        lambda file: store.upload(builds.path / file.path, file.path),
        [file for file in files.values() if stored_sizes.get(file.path) != file.bytes],
    )
    for name, digest in manifests.items():
        if before.manifests.get(name) != digest or f"{name}.json" not in stored_sizes:
            store.upload(manifest_file(builds.path, name), f"{name}.json")
    after = SharedList(manifests, builds.current(), builds.withdrawals())
    if after != before:
        store.put(seal(msgspec.json.encode(after)), _LIST)
    named = {_LIST, *files, *(f"{name}.json" for name in manifests)}
    _at_once(store.delete, [path for path in stored_sizes if path not in named])


def pull_builds(url: str, builds: Builds) -> None:
    """Make a folder have the builds of a store, and no others; keep the files that it has.

    Each file is checked before anything names it. If one is damaged, the build is not added, what
    was current stays current, and ``DamagedFile`` is raised at the end.
    """
    store = FileStore.of(url)
    _pull(store, read_list(store), builds)


def _pull(store: FileStore, shared: SharedList, builds: Builds) -> None:
    failures: list[Exception] = []
    # The current one first: the others are for pins.
    for name in sorted(shared.manifests, key=lambda name: name != shared.current):
        try:
            _pull_build(store, builds, name, shared.manifests[name])
        except (DamagedFile, OSError) as error:
            failures.append(error)
    builds.path.mkdir(parents=True, exist_ok=True)
    builds.write_withdrawals(shared.withdrawn)
    if shared.current in builds.names():
        if shared.current != builds.current():
            builds.switch(str(shared.current))
    elif shared.current is None or builds.current() in shared.withdrawn:
        pointer_file(builds.path).unlink(missing_ok=True)
    for name in builds.names():
        # What was deleted in time answers until its successor is here; what was withdrawn does not.
        if name not in shared.manifests and name != builds.current():
            builds.remove(name)
    if failures:
        raise failures[0]


def _pull_build(store: FileStore, builds: Builds, name: str, digest: str) -> None:
    target = manifest_file(builds.path, name)
    body = target.read_bytes() if target.is_file() else b""
    is_here = hashlib.sha256(body).hexdigest() == digest
    if not is_here:
        body = store.read(f"{name}.json")
        if hashlib.sha256(body).hexdigest() != digest:
            raise DamagedFile(f"{store.path(f'{name}.json')} came damaged")
    manifest = decode_manifest(body, f"{name}.json")
    files = {file.path: file for file in manifest.files}
    if foreign := [path for path in files if not _PATH.fullmatch(path)]:
        # Whoever can write to the store must not write anywhere else on this machine.
        raise DamagedFile(
            f"the manifest of {name} names {foreign[0]!r}, which is no file of a build"
        )
    _at_once(
        lambda file: _download(store, builds.path, file),
        [file for file in files.values() if _size(builds.path / file.path) != file.bytes],
    )
    if not is_here:
        replace_file(target, body)


def _download(store: FileStore, folder: Path, file: BuildFile) -> None:
    target = folder / file.path
    partial = target.with_name(f"{target.name}.partial")
    partial.parent.mkdir(parents=True, exist_ok=True)
    store.download(partial, file.path)
    partial_file = msgspec.structs.replace(file, path=partial.relative_to(folder).as_posix())
    if (reason := partial_file.damage(folder)) is not None:
        partial.unlink(missing_ok=True)
        raise DamagedFile(f"{store.path(file.path)} came damaged: {reason}")
    move_into_place(partial, target)


def _size(path: Path) -> int | None:
    return path.stat().st_size if path.is_file() else None


def _at_once(work: Callable[[T], None], items: Iterable[T]) -> None:
    with ThreadPoolExecutor(_AT_ONCE, "builds") as pool:
        # Collected, so that the first failure is raised.
        list(pool.map(work, items))


def start_pulling(url: str, folder: Path) -> None:
    """Pull the builds of a store to a folder from now on, in the background.

    Of several processes of a machine one does it at a time; the others read what it pulled. Nothing
    is pulled into the folder of a machine that publishes.
    """
    require_known_store(url, SETTING)
    folder.mkdir(parents=True, exist_ok=True)
    threading.Thread(
        target=_keep_pulling, args=(url, Builds(folder)), name="pull", daemon=True
    ).start()


def _keep_pulling(url: str, builds: Builds) -> None:
    while True:
        with try_file_lock(builds.path / _LOCK) as is_ours:
            if is_ours:
                _pull_for_ever(url, builds)
        time.sleep(_LOOK_SECONDS)


def _pull_for_ever(url: str, builds: Builds) -> None:
    marker = builds.path / PULLED_FROM
    seen, wait = SharedList(), _LOOK_SECONDS
    while True:
        try:
            # Builds without the marker were published by this machine.
            if marker.exists() or not builds.names():
                store = FileStore.of(url)
                if (shared := read_list(store)) != seen:
                    marker.write_text(url, "utf-8")
                    _pull(store, shared, builds)
                    _LOG.info("the current build is %s, pulled from %s", builds.current(), url)
                    seen = shared
            wait = _LOOK_SECONDS
        # Whatever it is, the builds that are here answer.
        except Exception as error:
            wait = min(2 * wait, _MAX_WAIT_SECONDS)
            _LOG.error(
                "builds cannot be pulled from %s: %s. What was pulled before is served; the next "
                "attempt is in %.0f s. If a file there stays damaged, delete it and run `sankofa "
                "publish` on the machine that publishes",
                url,
                in_one_line(error),
                wait,
            )
        time.sleep(wait)
