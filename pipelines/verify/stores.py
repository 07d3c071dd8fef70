"""What else is held: the landing, the record, keys and counters, and the files of steps."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

from pipelines.verify.damage import PUBLISH_AGAIN, Damage, restore
from warehouse.control.keys import KeyStore
from warehouse.errors import SankofaError
from warehouse.mart.candidate import damaged_manifests
from warehouse.mart.nodes import STEPS
from warehouse.record.index import index_differs
from warehouse.record.integrity import advice, damaged_files, note_files
from warehouse.record.landing import open_landing
from warehouse.record.store import Record, open_record
from warehouse.settings import Settings
from warehouse.steps.store import StepStore
from warehouse.usage.store import Usage


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
