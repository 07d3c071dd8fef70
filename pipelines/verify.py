"""Find damage in all that is stored, and say what is done about it: ``sankofa verify``.

``doctor`` and ``up`` look at the same files by their sizes alone.
"""

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from warehouse.control.keys import KeyStore
from warehouse.publish.builds import builds_at, manifest_file, read_pointer
from warehouse.publish.candidate import damaged_manifests
from warehouse.publish.nodes import STEPS
from warehouse.publish.steps import StepStore
from warehouse.record.integrity import advice, damaged_files, note_files
from warehouse.record.landing import open_landing
from warehouse.record.row_index import index_differs
from warehouse.record.store import Record, open_record
from warehouse.serve.exports import MANIFEST_FILE, PUBLIC_KEY, SIGNATURE, PublishedExports
from warehouse.serve.usage import Usage
from warehouse.shared.errors import DamagedFile, NothingPublished, SankofaError, in_one_line
from warehouse.shared.file_store import FileStore, is_object_store
from warehouse.shared.settings import Settings
from warehouse.shared.signing import SigningKey, is_signed

_MAKE_AGAIN = "`sankofa verify --repair` makes it again"
_NO_BUILD = "pointer to the current build"


@dataclass(frozen=True)
class Damage:
    """One damaged thing: what it is, what is wrong, and what to do.

    ``remake`` says that it can be made again from what is stored: what is damaged is deleted
    (``delete``) and a publication makes it anew. Everything else only a backup brings back.
    """

    what: str
    says: str
    do: str
    remake: bool = False
    delete: Path | None = None


def _made_again(what: str, says: str, delete: Path | None) -> Damage:
    return Damage(what, says, _MAKE_AGAIN, remake=True, delete=delete)


def _restore(path: object, otherwise: str = "") -> str:
    return f"restore {path} from your backup{f'; or {otherwise}' if otherwise else ''}"


def damaged_builds(marts: str, *, thorough: bool = True) -> Iterator[Damage]:
    """Yield the damage to the pointer, the manifests, and the files that they name."""
    builds = builds_at(marts)
    names, current = builds.names(), None
    try:
        current = read_pointer(builds.path)
        if current is None and names:
            do = "`sankofa rollback DATA_VERSION` to one of them, or `sankofa publish`"
            yield Damage(_NO_BUILD, "there are builds, and none of them is served", do)
    except DamagedFile as error:
        do = "`sankofa rollback DATA_VERSION` to the build to serve; see `sankofa builds`"
        yield Damage(_NO_BUILD, str(error), do)
    checked: dict[str, str | None] = {}
    for name in dict.fromkeys((*names, *([current] if current else []))):
        what, is_current, manifest = f"build {name}", name == current, builds.manifest(name)
        if manifest is None:
            path = manifest_file(builds.path, name)
            says = (
                "its manifest cannot be read, or is not what was written"
                if name in names
                else f"the pointer in {builds.path} names it, and it is not there"
            )
            lost = _restore(path, "`sankofa publish` makes a new build")
            yield Damage(what, says, lost, remake=is_current)
            continue
        for file in manifest.files:
            path = builds.path / file.path
            if file.path not in checked:
                checked[file.path] = file.damage(builds.path, thorough=thorough)
            if (reason := checked[file.path]) is not None:
                says = f"{path.name} ({file.table}): {reason}"
                yield _of_version(what, says, str(path), is_current=is_current)


def damaged_exports(
    marts: str, exports: str, signing_key: Path | None = None, *, thorough: bool = True
) -> Iterator[Damage]:
    """Yield the damage to the exports: to manifests with their signatures, and to every file."""
    published, store = PublishedExports(exports), FileStore.of(exports)
    current = builds_at(marts).current()
    try:
        published.manifest()
    except NothingPublished:
        pass
    except DamagedFile as error:
        yield _made_again("exports", str(error), None)
    for version in published.versions():
        damaged: list[tuple[str, str]] = []
        try:
            damaged += published.damaged(version, thorough=thorough)
        except SankofaError as error:
            damaged.append((MANIFEST_FILE, str(error)))
        else:
            if thorough and not _is_signed(store, version, signing_key):
                damaged.append((SIGNATURE, f"{MANIFEST_FILE} or it is not what we signed"))
        for name, says in damaged:
            what, path = f"exports {version}", store.url(version, name)
            yield _of_version(what, f"{name}: {says}", path, is_current=version == current)


def _of_version(what: str, says: str, path: str, *, is_current: bool) -> Damage:
    """Return a damaged file of a build or of exports: only those of the current are made again."""
    if is_current:
        return _made_again(what, says, None if is_object_store(path) else Path(path))
    version = what.rpartition(" ")[2]
    return Damage(what, says, _restore(path, f"`sankofa builds drop {version}`"))


def _is_signed(store: FileStore, version: str, signing_key: Path | None) -> bool:
    try:
        body, signature = store.read(version, MANIFEST_FILE), store.read(version, SIGNATURE)
        # An operator may have changed the key: older versions have their own with them.
        keys = [store.read(version, PUBLIC_KEY)]
        if signing_key is not None and signing_key.exists():
            keys.append(SigningKey.at(signing_key).public_pem())
        return any(is_signed(body, signature, key) for key in keys)
    except (OSError, ValueError):
        return False


def damaged_landing(settings: Settings) -> Iterator[Damage]:
    """Yield the notes of documents that cannot be read, and the bodies that are not theirs."""
    for error in open_landing(settings).damage():
        yield Damage("landing", str(error), "restore it from your backup, or do what it says")


def damaged_record(settings: Settings, *, thorough: bool = True) -> Iterator[Damage]:
    """Yield the files of the record that are missing or changed; note those that are new."""
    record, damaged = open_record(settings), False
    for damage in damaged_files(record, thorough=thorough):
        damaged = True
        if damage.is_list:
            yield _made_again("record", damage.says, Path(record.root, damage.path))
        else:
            yield Damage("record", damage.says, advice(record, damage))
    if thorough and not damaged:
        yield from _damaged_indexes(record)
        note_files(record)


def _damaged_indexes(record: Record) -> Iterator[Damage]:
    for name in record.schemas:
        folder = record.index_folder(name)
        for file in record.files(name) if folder.is_dir() else ():
            with tempfile.TemporaryDirectory() as other:
                path = index_differs(folder, file.path, Path(other))
            if path is not None:
                says = f"the index of the table {name} is not that of its file: {path.name}"
                yield _made_again("record", says, path)


def damaged_steps(settings: Settings) -> Iterator[Damage]:
    """Yield the damage to files of steps and to their lists; publications make them again."""
    for path, says in damaged_manifests(settings.work):
        yield _made_again("stage", says, path)
    store = StepStore(settings.work / STEPS)
    for folder in sorted(store.root.glob("*/*")):
        if ".partial" not in folder.name and (reason := store.damage(folder)) is not None:
            yield _made_again("stage", f"{folder}: {reason}", folder)


def damaged_keys(settings: Settings) -> Iterator[Damage]:
    """Yield what the control database and the usage store say if they cannot be read."""
    stores: tuple[tuple[str, str, Callable[[], object], str], ...] = (
        ("control database", settings.control, lambda: KeyStore(settings.control).check(), ""),
        (
            "usage store",
            settings.usage,
            lambda: Usage(settings.usage).check(),
            "delete it: the month is counted anew",
        ),
    )
    for what, location, check, otherwise in stores:
        if "://" not in location and not Path(location).exists():
            continue
        try:
            check()
        # Drivers raise exceptions of any kind.
        except Exception as error:
            says = str(error) if isinstance(error, SankofaError) else f"cannot be read: {error}"
            yield Damage(what, says, _restore(location.rpartition("@")[2], otherwise))


STORES: dict[str, Callable[[Settings], Iterator[Damage]]] = {
    "landing": damaged_landing,
    "record": damaged_record,
    "builds": lambda settings: damaged_builds(settings.marts),
    "exports": lambda settings: damaged_exports(
        settings.marts, settings.exports, settings.signing_key
    ),
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


def damaged_sizes(marts: str, exports: str) -> Iterator[Damage]:
    """Yield what is published and is missing or has another size."""
    yield from damaged_builds(marts, thorough=False)
    yield from damaged_exports(marts, exports, thorough=False)


def is_incomplete(marts: str, exports: str) -> bool:
    """Return whether files of the current build are missing, or have another size."""
    return any(damage.remake for damage in damaged_sizes(marts, exports))
