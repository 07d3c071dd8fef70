"""A small published home, and ways to damage one file of each kind in a copy of it."""

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.helpers.installation import (
    BriefPublication,
    load_sample,
    loaded_home,
    publication,
    settings_of,
)
from tests.helpers.made_once import made_once
from warehouse.control.keys import KeyStore, create_key
from warehouse.publish.builds import Builds
from warehouse.record.integrity import note_files
from warehouse.record.store import open_record
from warehouse.shared.files import make_private

SOURCES = ("sec-companyfacts", "sec-submissions", "worldbank", "gleif")
Find = Callable[[Path], Path]


def small_home(factory: pytest.TempPathFactory) -> Path:
    """Return a home with some published sources of the sample world: shared, so copy it."""

    def make(home: Path) -> None:
        settings = settings_of(home)
        make_private(settings)
        shutil.copytree(settings_of(loaded_home(factory)).sample, settings.sample)
        load_sample(home, *SOURCES)
        note_files(open_record(settings))
        publication(settings, BriefPublication).run()
        create_key(KeyStore(settings.control), "professional")

    return made_once(factory, "small-sample", make)


def flip(path: Path, place: float = 0.5) -> None:
    """Flip one bit of a file, which becomes another file: exports may be links."""
    body = bytearray(path.read_bytes())
    body[int(len(body) * place)] ^= 1
    copy = path.with_name(f"{path.name}.flipped")
    copy.write_bytes(body)
    copy.replace(path)


def mart_file(home: Path, table: str) -> Path:
    """Return the largest file of a table of the current build."""
    builds = Builds(home / "marts")
    manifest = builds.manifest(str(builds.current()))
    assert manifest is not None
    largest = max(manifest.of("mart", table), key=lambda file: file.bytes)
    return home / "marts" / largest.path


def current(home: Path) -> str:
    """Return the current data_version."""
    return str(Builds(home / "marts").current())


def _first(pattern: str) -> Find:
    return lambda home: max(home.glob(pattern), key=lambda path: path.stat().st_size)


# A file of each kind of a home, by its kind.
KINDS: Mapping[str, Find] = {
    "mart": lambda home: mart_file(home, "fundamentals"),
    "manifest": lambda home: home / "marts" / f"{current(home)}.json",
    "pointer": lambda home: home / "marts" / "current",
    "export": lambda home: home / "exports" / current(home) / "af-fund-facts.parquet",
    "export manifest": lambda home: home / "exports" / current(home) / "manifest.json",
    "export signature": lambda home: home / "exports" / current(home) / "manifest.json.sig",
    "export description": lambda home: home / "exports" / current(home) / "datapackage.json",
    "page": lambda home: mart_file(home, "page_data"),
    "record": _first("record/fundamentals/*.parquet"),
    "Delta log": _first("record/fundamentals/_delta_log/*.json"),
    "ledger": _first("record/loads/*.parquet"),
    "list of the record": lambda home: home / "record" / ".checks" / "fundamentals.json",
    "index of the record": _first("record/.index/fundamentals/*.marks"),
    "document": _first("landing/bodies/*/*.zst"),
    "note of a document": _first("landing/documents/worldbank/*/*.json"),
    "mark of the landing": lambda home: home / "landing" / "world",
    "published versions": _first("record/versions/_delta_log/*.json"),
    "list of steps": lambda home: home / "stage" / "builds" / f"{current(home)}.json",
    "list of a step": _first("stage/steps/*/*/files.json"),
    # Of the registers: not of the step whose list is the longest.
    "step": _first("stage/steps/*/*/entities.parquet"),
}
# What a publication makes again, without which nothing else is lost.
MADE_AGAIN = (
    *("mart", "manifest", "export", "export description", "page"),
    *("step", "list of a step", "list of steps"),
)


def copy_home(home: Path, to: Path) -> Path:
    """Copy a home to damage it."""
    shutil.copytree(home, to)
    return to
