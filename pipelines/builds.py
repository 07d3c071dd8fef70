"""The builds of an installation: back to an older one, and none held for ever."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import msgspec

from assets.exports.export import switch_latest
from warehouse.data_version import DATA_VERSION
from warehouse.errors import NothingPublished, UnknownVersion
from warehouse.exports.published import PublishedExports
from warehouse.mart.build import delete_old_builds
from warehouse.mart.builds import builds_at
from warehouse.read.mart import Mart
from warehouse.settings import Settings


def roll_back(settings: Settings, data_version: str | None = None, drop: bool = False) -> str:
    """Switch every reader to an older build, the one before by default, and name it.

    With ``drop`` the one that was read until now is taken away, its exports and pages too.
    """
    builds = builds_at(settings.marts)
    with builds.publishing_lock():
        left = builds.current()
        name = data_version or _before(builds.names(), builds.current())
        if name in builds.names():
            # A build that cannot be read is refused before anyone is switched to it.
            mart = Mart(settings.marts)
            mart.at(name).build()
            mart.close()
        builds.switch(name)
        if name in PublishedExports(settings.exports).versions():
            switch_latest(settings.exports, name)
        if drop and left is not None and left != name:
            builds.remove(left)
            if left in PublishedExports(settings.exports).versions():
                PublishedExports(settings.exports).remove(left)
            shutil.rmtree(settings.docs / left, ignore_errors=True)
    return name


def _before(names: list[str], current: str | None) -> str:
    if current is None:
        raise NothingPublished("nothing has been published yet; run `sankofa publish`")
    older = names[: names.index(current)] if current in names else []
    if not older:
        raise UnknownVersion("there is no build before the current one; see `sankofa builds`")
    return older[-1]


def clear_unpublished(marts: str, exports: str, docs: Path) -> None:
    """Remove what a publisher exported that died before anyone could read its build."""
    kept, held = PublishedExports(exports), builds_at(marts).names()
    try:
        last = _order(kept.latest())
    except NothingPublished:
        last = ()
    for name in kept.versions():
        if name not in held and _order(name) > last:
            kept.remove(name)
    _clear_docs(docs, {*held, *kept.versions()})


def let_go(marts: str, exports: str, docs: Path, keep: int) -> list[str]:
    """Hold the newest builds and the current one, with exports and pages; name what went.

    What an earlier call was killed before it came to goes as well.
    """
    gone = delete_old_builds(marts, keep)
    kept, held = PublishedExports(exports), builds_at(marts).names()
    versions = kept.versions()
    for name in versions:
        if name in gone or (name in versions[:-keep] and name not in held):
            kept.remove(name)
    _clear_docs(docs, {*held, *kept.versions()})
    return gone


def _clear_docs(docs: Path, held: set[str]) -> None:
    for folder in docs.glob("*"):
        if DATA_VERSION.fullmatch(folder.name) and folder.name not in held:
            shutil.rmtree(folder, ignore_errors=True)


def _order(data_version: str) -> tuple[int, ...]:
    return tuple(map(int, data_version.split(".")))


# Keys of a build's metadata, beside its manifest.
COUNTS, MEASURED = "served_counts", "measured"


@dataclass(frozen=True)
class BuildInfo:
    """A build as `sankofa builds` lists it; ``current`` marks the one that readers see."""

    data_version: str
    current: bool
    published_at: datetime | None
    rows: int | None


class _Measurement(msgspec.Struct):
    measured_at: datetime


_measurements = msgspec.json.Decoder(list[_Measurement])
_counts = msgspec.json.Decoder(dict[str, dict[str, int]])


def list_builds(settings: Settings) -> list[BuildInfo]:
    """Return all builds, the newest first."""
    builds = builds_at(settings.marts)
    current = builds.current()
    return [
        _info(name, name == current, builds.metadata(name)) for name in reversed(builds.names())
    ]


def _info(name: str, current: bool, metadata: Mapping[str, str]) -> BuildInfo:
    measurements = _measurements.decode(metadata.get(MEASURED, "[]"))
    counts = _counts.decode(metadata[COUNTS]) if COUNTS in metadata else None
    return BuildInfo(
        name,
        current,
        max((measurement.measured_at for measurement in measurements), default=None),
        None if counts is None else sum(sum(table.values()) for table in counts.values()),
    )
