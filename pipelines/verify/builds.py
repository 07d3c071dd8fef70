"""Builds: the pointer, every manifest, and every file that a manifest names."""

from collections.abc import Iterator
from pathlib import Path

from pipelines.verify.damage import PUBLISH_AGAIN, Damage, restore
from warehouse.errors import DamagedFile
from warehouse.file_checks import damage_of
from warehouse.mart.builds import Builds, builds_at, manifest_file, read_pointer


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
