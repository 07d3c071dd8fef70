"""What ``sankofa verify`` checks: builds, exports, landing, record, keys and files of steps."""

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from assets.exports.signing import SigningKey, is_signed
from warehouse.control.keys import KeyStore
from warehouse.publish.builds import Builds, builds_at, manifest_file, read_pointer
from warehouse.publish.candidate import damaged_manifests
from warehouse.publish.nodes import STEPS
from warehouse.publish.steps import StepStore
from warehouse.record.integrity import advice, damaged_files, note_files
from warehouse.record.landing import open_landing
from warehouse.record.row_index import index_differs
from warehouse.record.store import Record, open_record
from warehouse.serve.exports import (
    MANIFEST_FILE,
    PUBLIC_KEY,
    SIGNATURE,
    PublishedExports,
    delta_name,
    file_name,
    schema_name,
)
from warehouse.serve.usage import Usage
from warehouse.shared.errors import DamagedFile, NothingPublished, SankofaError, in_one_line
from warehouse.shared.file_store import FileStore
from warehouse.shared.files import CHECKS, damage_of, stored_checks
from warehouse.shared.settings import Settings

# What is damaged, and what brings it back.


@dataclass(frozen=True)
class Damage:
    """One damaged thing: what it is, what is wrong, and what to do.

    ``remake`` says that it can be made again from what is held: what is damaged is deleted
    (``delete``) and a publication makes it anew. Everything else only a backup brings back.
    """

    what: str
    says: str
    do: str
    remake: bool = False
    delete: Path | None = None


PUBLISH_AGAIN = "`sankofa verify --repair` makes it again"


def restore(path: str, otherwise: str = "") -> str:
    """Return the advice to restore a path from a backup, and what else there is to do."""
    return f"restore {path} from your backup{f'; or {otherwise}' if otherwise else ''}"


# Builds: the pointer, every manifest, and every file that a manifest names.


def damaged_builds(marts: str, *, thorough: bool = True) -> Iterator[Damage]:
    """Yield what is damaged of the builds: by names and sizes, or by every byte."""
    builds = builds_at(marts)
    try:
        current = read_pointer(builds.path)
    except DamagedFile as error:
        do = "`sankofa rollback DATA_VERSION` to the build to serve; see `sankofa builds`"
        yield Damage("pointer to the current build", str(error), do)
        current = None
    else:
        if current is None and builds.names():
            do = "`sankofa rollback DATA_VERSION` to one of them, or `sankofa publish`"
            says = "there are builds, and none of them is served"
            yield Damage("pointer to the current build", says, do)
    if current is not None and current not in builds.names():
        says = f"the pointer in {builds.path} names it, and it is not there"
        lost = _lost(manifest_file(builds.path, current))
        yield Damage(f"build {current}", says, lost, remake=True)
    checked: dict[str, str | None] = {}
    for name in builds.names():
        yield from _damaged_build(
            builds, name, checked, is_current=name == current, thorough=thorough
        )


def _damaged_build(
    builds: Builds, name: str, checked: dict[str, str | None], *, is_current: bool, thorough: bool
) -> Iterator[Damage]:
    folder, manifest = builds.path, builds.manifest(name)
    if manifest is None:
        path = manifest_file(folder, name)
        says = "its manifest cannot be read, or is not what was written"
        yield Damage(f"build {name}", says, _lost(path), remake=is_current)
        return
    for file in manifest.files:
        for stored in file.stored:
            if stored.path not in checked:
                checked[stored.path] = (
                    stored.damage(folder)
                    if thorough
                    else damage_of(folder / stored.path, stored.bytes)
                )
            if (reason := checked[stored.path]) is not None:
                path = folder / stored.path
                yield Damage(
                    f"build {name}",
                    f"{path.name} ({file.table}): {reason}",
                    PUBLISH_AGAIN if is_current else _lost(path, name),
                    remake=is_current,
                    delete=path if is_current else None,
                )


def _lost(path: Path, name: str = "") -> str:
    otherwise = f"`sankofa builds drop {name}`" if name else "`sankofa publish` makes a new build"
    return restore(str(path), otherwise)


# Exports: manifests with their signatures, and every file.


def damaged_exports(
    destination: str,
    current: str | None,
    signing_key: Path | None,
    *,
    thorough: bool = True,
) -> Iterator[Damage]:
    """Yield what is damaged of the exports: by names and sizes, or by every byte."""
    published, store = PublishedExports(destination), FileStore.of(destination)
    try:
        published.manifest()
    except NothingPublished:
        pass
    except DamagedFile as error:
        yield Damage("exports", str(error), PUBLISH_AGAIN, remake=True)
    for version in published.versions():
        what, is_current = f"exports {version}", version == current
        try:
            names = _files_of(published, store, version)
        except SankofaError as error:
            yield _lost_export(what, store.path(version, MANIFEST_FILE), str(error), is_current)
            continue
        if store.is_local and not store.exists(version, CHECKS):
            says = f"{CHECKS}, the list of its files, is missing"
            yield _lost_export(what, store.path(version, CHECKS), says, is_current)
        if thorough and not _is_signed(store, version, signing_key):
            says = f"{MANIFEST_FILE} or its signature is not what was signed with our key"
            yield _lost_export(what, store.path(version, SIGNATURE), says, is_current)
        is_intact = published.is_intact if thorough else published.has_size
        for name in names:
            if not is_intact(version, name):
                says = f"{name} is missing or damaged"
                yield _lost_export(what, store.path(version, name), says, is_current)


def _files_of(published: PublishedExports, store: FileStore, version: str) -> list[str]:
    manifest = published.manifest(version)
    listed = set(stored_checks(store, version) or ()) - {MANIFEST_FILE}
    for artifact in manifest.artifacts:
        listed |= {file_name(artifact.key), schema_name(artifact.key)}
        if artifact.delta is not None:
            listed.add(delta_name(artifact.key))
    return sorted(listed)


def _is_signed(store: FileStore, version: str, signing_key: Path | None) -> bool:
    try:
        key = (
            SigningKey.at(signing_key).public_pem()
            if signing_key is not None and signing_key.exists()
            else store.read(version, PUBLIC_KEY)
        )
        body, signature = store.read(version, MANIFEST_FILE), store.read(version, SIGNATURE)
        # An operator may have changed the key: older versions have their own beside them.
        return is_signed(body, signature, key) or is_signed(
            body, signature, store.read(version, PUBLIC_KEY)
        )
    except (OSError, ValueError):
        return False


def _lost_export(what: str, path: str, says: str, is_current: bool) -> Damage:
    if is_current:
        delete = Path(path) if "://" not in path else None
        return Damage(what, says, PUBLISH_AGAIN, remake=True, delete=delete)
    version = what.rpartition(" ")[2]
    return Damage(what, says, restore(path, f"`sankofa builds drop {version}`"))


# What else is held: the landing, the record, keys and counters, and the files of steps.


def damaged_landing(settings: Settings) -> Iterator[Damage]:
    """Yield the notes of documents that cannot be read, and the bodies that are not theirs."""
    for error in open_landing(settings).damage():
        yield Damage("landing", str(error), "restore it from your backup, or do what it says")


def damaged_record(settings: Settings) -> Iterator[Damage]:
    """Yield the files of the record that are missing or changed; note those that are new."""
    record = open_record(settings)
    damaged = False
    for damage in damaged_files(record, thorough=True):
        damaged = True
        if damage.is_list:
            path = Path(record.root, damage.path)
            yield Damage("record", damage.says, PUBLISH_AGAIN, remake=True, delete=path)
        else:
            yield Damage("record", damage.says, advice(record, damage))
    if not damaged:
        yield from _damaged_indexes(record)
        note_files(record)


def _damaged_indexes(record: Record) -> Iterator[Damage]:
    for name in record.schemas:
        folder = record.index_folder(name)
        if not folder.is_dir():
            continue
        for file in record.files(name):
            with tempfile.TemporaryDirectory() as other:
                path = index_differs(folder, file.path, Path(other))
            if path is not None:
                says = f"the index of the table {name} is not that of its file: {path.name}"
                yield Damage("record", says, PUBLISH_AGAIN, remake=True, delete=path)


def damaged_steps(settings: Settings) -> Iterator[Damage]:
    """Yield what is damaged of the files of steps and their lists; publications make them again."""
    for path, says in damaged_manifests(settings.work):
        yield Damage("stage", says, PUBLISH_AGAIN, remake=True, delete=path)
    store = StepStore(settings.work / STEPS)
    for folder in sorted(store.root.glob("*/*")):
        if ".partial" in folder.name:
            continue
        if (reason := store.damage(folder)) is not None:
            yield Damage("stage", f"{folder}: {reason}", PUBLISH_AGAIN, remake=True, delete=folder)


def damaged_keys(settings: Settings) -> Iterator[Damage]:
    """Yield what the control database and the usage store say if they cannot be read."""
    if _is_held(settings.control):
        keys = KeyStore(settings.control)
        yield from _unreadable("control database", keys.check, settings.control)
    if _is_held(settings.usage):
        yield from _unreadable("usage store", lambda: Usage(settings.usage).check(), settings.usage)


def _is_held(location: str) -> bool:
    return "://" in location or Path(location).exists()


def _unreadable(what: str, read: object, location: str) -> Iterator[Damage]:
    assert callable(read)
    try:
        read()
    # Drivers raise exceptions of any kind.
    except Exception as error:
        shown = location.rpartition("@")[2]
        otherwise = "" if what == "control database" else "delete it: the month is counted anew"
        says = f"cannot be read: {error}"
        if isinstance(error, SankofaError):
            says = str(error)
        yield Damage(what, says, restore(shown, otherwise))


def _exports(settings: Settings) -> Iterator[Damage]:
    current = builds_at(settings.marts).current()
    return damaged_exports(settings.exports, current, settings.signing_key)


STORES: dict[str, Callable[[Settings], Iterator[Damage]]] = {
    "landing": damaged_landing,
    "record": damaged_record,
    "builds": lambda settings: damaged_builds(settings.marts),
    "exports": _exports,
    "keys and usage": damaged_keys,
    "stage": damaged_steps,
}


def examine(settings: Settings) -> Iterator[tuple[str, list[Damage]]]:
    """Yield each store with what is damaged in it."""
    for name, check in STORES.items():
        damaged: list[Damage] = []
        try:
            damaged += check(settings)
        # Libraries raise exceptions of any kind; the other stores are checked all the same.
        except Exception as error:
            do = "run `sankofa doctor` to find the cause, then check again"
            damaged.append(Damage(name, f"cannot be checked: {in_one_line(error)[:300]}", do))
        yield name, damaged


def missing_files(marts: str, exports: str) -> Iterator[Damage]:
    """Yield what is published and is missing or has another size, of the current build alone."""
    current = builds_at(marts).current()
    quick = (
        damaged_builds(marts, thorough=False),
        damaged_exports(exports, current, None, thorough=False),
    )
    for damaged in quick:
        yield from (damage for damage in damaged if damage.remake)
