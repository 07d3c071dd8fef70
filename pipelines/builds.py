"""The builds of an installation: back to an older one, and none held for ever."""

import shutil
from pathlib import Path

from assets.exports.export import switch_latest
from pipelines.places import Places
from warehouse.errors import UnknownVersion
from warehouse.exports.published import Published
from warehouse.mart.build import retire
from warehouse.mart.builds import builds_at


def roll_back(here: Places, data_version: str | None = None) -> str:
    """Switch every reader to an older build, the one before by default, and name it."""
    builds = builds_at(here.marts)
    with builds.alone():
        name = data_version or _before(builds.names(), builds.current())
        builds.switch(name)
        if name in Published(here.exports).versions():
            switch_latest(here.exports, name)
    return name


def _before(names: list[str], current: str | None) -> str:
    older = names[: names.index(current)] if current in names else []
    if not older:
        raise UnknownVersion("there is no build before the current one; see `sankofa builds`")
    return older[-1]


def let_go(marts: str, exports: str, docs: Path, keep: int) -> list[str]:
    """Hold the newest builds and the current one, with exports and pages; name what went."""
    gone = retire(marts, keep)
    held = Published(exports)
    for name in set(gone) & set(held.versions()):
        held.remove(name)
    for name in gone:
        shutil.rmtree(docs / name, ignore_errors=True)
    return gone
