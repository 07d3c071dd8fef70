"""Publishing: a complete build first, then one atomic switch to it."""

import fcntl
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from warehouse.mart.notices import NOTICE
from warehouse.mart.pointer import current, switch
from warehouse.mart.write import made_from, write_build
from warehouse.record.store import Record
from warehouse.record.tables import RECORD_TABLES
from warehouse.record.versions import loads_of, name_version


def publish(record: Record, folder: Path, notice: str = NOTICE) -> str:
    """Publish what the record holds now and give its data_version.

    Killed at any point, the build before still answers and publishing again is all that is
    needed. With nothing loaded since, the current build stays and costs no work.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with _alone(folder):
        published = _unchanged(record, folder, notice)
        if published is not None:
            return published
        data_version = name_version(record)
        write_build(record, folder, data_version, loads_of(record, data_version), notice)
        switch(folder, data_version)
        return data_version


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Let one publisher work at a time, and clear what a killed one left behind."""
    with (folder / "publish.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for left in folder.glob("*.partial"):
            left.unlink()
        yield


def _unchanged(record: Record, folder: Path, notice: str) -> str | None:
    build = current(folder)
    about = {} if build is None else _about(build)
    loads = {table.name: record.load_seq(table) for table in RECORD_TABLES}
    same = (about.get("made_from"), about.get("notice")) == (made_from(loads), notice)
    return about["data_version"] if same else None


def _about(build: Path) -> dict[str, str]:
    """Read what a build says of itself; one that cannot be read says nothing."""
    try:
        with closing(sqlite3.connect(f"{build.absolute().as_uri()}?mode=ro", uri=True)) as mart:
            return dict(mart.execute("SELECT name, value FROM about"))
    except sqlite3.Error:
        return {}
