"""The sample world: invented issuers, portals and series in the real wire formats.

``<folder>/<source>/<day>/<path>`` is what a crawler read at ``path`` of a source on a day.
``traps.json`` lists where the difficult cases are; ``world.json``, written last, has the day and
the counts. No company, person or figure is real.

A world has a day, on which it was read for the last time. Reports, rates and series begin on fixed
days, and their past is the same in every world; tenders and registers are counted back from it.
"""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Literal

from tests.sample_world import (
    brazil,
    listings,
    macro_alfred,
    macro_bcb,
    macro_ecb,
    macro_worldbank,
    portal_co,
    portal_ke,
    portal_ng,
    portal_za,
    registers,
    sec,
)
from tests.sample_world.writer import WorldWriter

Size = Literal["small", "full"]
# Procurements a month and portal. The full world fills every panel of every country.
TENDERS_A_MONTH: dict[Size, int] = {"small": 4, "full": 52}

SOURCES = (
    *(sec.FACTS, sec.SUBMISSIONS, brazil.CVM, brazil.REGISTER),
    *(portal.SOURCE for portal in (portal_za, portal_ke, portal_co, portal_ng)),
    *(series.SOURCE for series in (macro_worldbank, macro_ecb, macro_alfred, macro_bcb)),
    *(registers.GLEIF, registers.ISIN_LEI, registers.OC_LEI),
    *(listings.LISTINGS, listings.OPENFIGI, listings.EQUITIES),
)

_WRITERS: tuple[Callable[[WorldWriter], None], ...] = (
    sec.write_issuers,
    brazil.write_brazil,
    portal_za.write_portal,
    portal_ke.write_portal,
    portal_co.write_portal,
    portal_ng.write_portal,
    macro_worldbank.write_worldbank,
    macro_ecb.write_ecb,
    macro_alfred.write_alfred,
    macro_bcb.write_bcb,
    registers.write_registers,
    listings.write_listings,
)


@dataclass(frozen=True)
class SampleWorld:
    """Which world: the same one always has the same bytes."""

    # That of the world in the package: what tests and documentation expect of it stays.
    day: date = date(2026, 6, 16)
    scale: int = 1
    seed: int = 7
    size: Size = "full"


# The world of the package, with few tenders.
SMALL_WORLD = SampleWorld(size="small")


def write_world(folder: Path, world: SampleWorld) -> dict[str, int]:
    """Write a world into an empty folder.

    Returns the number of files and records of each source, as ``<source>.files`` and
    ``<source>.records``.
    """
    writer = WorldWriter(
        folder, world.scale, world.seed, world.day, TENDERS_A_MONTH[world.size] * world.scale
    )
    for write in _WRITERS:
        write(writer)
    _save(folder / "traps.json", writer.traps.notes)
    _save(folder / "world.json", {"day": world.day.isoformat(), "counts": writer.counts})
    return writer.counts


def digest(folder: Path) -> str:
    """Return one hash of all files of a folder and their names."""
    total = hashlib.sha256()
    for file in sorted(folder.rglob("*")):
        if file.is_file():
            total.update(file.relative_to(folder).as_posix().encode())
            total.update(file.read_bytes())
    return total.hexdigest()


def _save(file: Path, value: object) -> None:
    text = json.dumps(value, ensure_ascii=False, indent=1, sort_keys=True)
    file.write_text(text + "\n", encoding="utf-8")
