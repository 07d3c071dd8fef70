"""The sample world: invented issuers, portals and series in the real wire formats.

``<folder>/<source>/<day>/<path>`` is what a crawler read at ``path`` of a source on a day.
``traps.json`` lists where the difficult cases are; ``world.json``, written last, says which world
the folder contains. No company, person or figure is real.
"""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from assets.sample import (
    macro_alfred,
    macro_ecb,
    macro_worldbank,
    portal_co,
    portal_ke,
    portal_ng,
    portal_za,
    registers,
    sec,
)
from assets.sample.writer import WorldWriter

# Bump it when the content changes: folders of another generator are written again.
GENERATOR = 1

SOURCES = (
    *(sec.FACTS, sec.SUBMISSIONS),
    *(portal.SOURCE for portal in (portal_za, portal_ke, portal_co, portal_ng)),
    *(series.SOURCE for series in (macro_worldbank, macro_ecb, macro_alfred)),
    *(registers.GLEIF, registers.ISIN_LEI, registers.OC_LEI, registers.LISTINGS),
)

_WRITERS: tuple[Callable[[WorldWriter], None], ...] = (
    sec.write_issuers,
    portal_za.write_portal,
    portal_ke.write_portal,
    portal_co.write_portal,
    portal_ng.write_portal,
    macro_worldbank.write_worldbank,
    macro_ecb.write_ecb,
    macro_alfred.write_alfred,
    registers.write_registers,
)


def write_world(folder: Path, scale: int = 1, seed: int = 7) -> dict[str, int]:
    """Write the world of a scale and seed; the same scale and seed give the same bytes.

    Returns the number of files and records of each source, as ``<source>.files`` and
    ``<source>.records``. A folder that already contains this world is left as it is; of
    another or an unfinished one the source folders are written again.
    """
    if scale < 1:
        raise ValueError(f"the scale of a world is 1 or more, not {scale}")
    identity = {"generator": GENERATOR, "scale": scale, "seed": seed}
    manifest = _read_manifest(folder)
    if manifest is not None and {name: manifest.get(name) for name in identity} == identity:
        return dict(manifest["counts"])
    _clear(folder)
    world = WorldWriter(folder, scale, seed)
    for write in _WRITERS:
        write(world)
    _save(folder / "traps.json", world.traps.notes)
    _save(folder / "world.json", identity | {"counts": world.counts})
    return world.counts


def _read_manifest(folder: Path) -> dict[str, Any] | None:
    manifest = folder / "world.json"
    return json.loads(manifest.read_text("utf-8")) if manifest.exists() else None


def _clear(folder: Path) -> None:
    # First: a folder that is only partly cleared must not pass for a finished world.
    (folder / "world.json").unlink(missing_ok=True)
    for source in SOURCES:
        shutil.rmtree(folder / source, ignore_errors=True)


def _save(file: Path, value: object) -> None:
    text = json.dumps(value, ensure_ascii=False, indent=1, sort_keys=True)
    file.write_text(text + "\n", encoding="utf-8")
