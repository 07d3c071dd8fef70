"""The sample world: invented issuers, portals and series in the real wire formats.

``<folder>/<source>/<day>/<path>`` is what a crawler read at ``path`` of a source on a day.
``traps.json`` lists where the difficult cases are; ``world.json``, written last, says which world
the folder contains. No company, person or figure is real.

A world has a day, on which it was read for the last time: a world of today is as fresh as sources
that are read every day. Reports, rates and series begin on fixed days, and their past is the same
in every world; tenders and registers are counted back from the day.
"""

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

from assets.ingest.recorded_files import start_of_reading
from assets.sample import (
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
from assets.sample.writer import WorldWriter
from warehouse.errors import SankofaError

# Bump it when the content changes: folders of another generator are written again.
GENERATOR = 3

FIRST_DAY = date(2026, 3, 1)

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

    day: date
    scale: int = 1
    seed: int = 7
    size: Size = "full"
    generator: int = GENERATOR

    def __post_init__(self) -> None:
        """Raise SankofaError for a scale or a day that no world has."""
        if self.scale < 1:
            raise SankofaError(f"the scale of a sample world is 1 or more, not {self.scale}")
        if self.day < FIRST_DAY:
            raise SankofaError(
                f"no sample world is older than {FIRST_DAY}, and this would be of {self.day}: "
                "is the clock right?"
            )

    def __str__(self) -> str:
        return (
            f"day {self.day}, scale {self.scale}, seed {self.seed}, size {self.size}, "
            f"generator {self.generator}"
        )


def last_day_read(now: datetime) -> date:
    """Return the last day whose documents had been read by ``now``: none is of the future."""
    today = now.astimezone(UTC).date()
    return today if start_of_reading(today) <= now else today - timedelta(days=1)


def write_world(folder: Path, world: SampleWorld) -> dict[str, int]:
    """Write a world.

    Returns the number of files and records of each source, as ``<source>.files`` and
    ``<source>.records``. A folder that already contains this world is left as it is; of
    another or an unfinished one the source folders are written again.
    """
    if world_in(folder) == world:
        return dict(_manifest(folder)["counts"])
    _clear(folder)
    writer = WorldWriter(
        folder, world.scale, world.seed, world.day, TENDERS_A_MONTH[world.size] * world.scale
    )
    for write in _WRITERS:
        write(writer)
    _save(folder / "traps.json", writer.traps.notes)
    _save(folder / "world.json", _described(world) | {"counts": writer.counts})
    return writer.counts


def world_in(folder: Path) -> SampleWorld | None:
    """Return which world a folder contains; None if it contains none, or not all of one."""
    manifest = _manifest(folder)
    if not manifest:
        return None
    try:
        return SampleWorld(
            date.fromisoformat(manifest["day"]),
            manifest["scale"],
            manifest["seed"],
            manifest["size"],
            manifest["generator"],
        )
    except (KeyError, TypeError, ValueError) as error:
        raise SankofaError(
            f"{folder / 'world.json'} does not say which sample world this is ({error!r}): "
            "remove the folder to have it written again"
        ) from None


def _described(world: SampleWorld) -> dict[str, Any]:
    return {**vars(world), "day": world.day.isoformat()}


def _manifest(folder: Path) -> dict[str, Any]:
    manifest = folder / "world.json"
    return json.loads(manifest.read_text("utf-8")) if manifest.exists() else {}


def _clear(folder: Path) -> None:
    # First: a folder that is only partly cleared must not pass for a finished world.
    (folder / "world.json").unlink(missing_ok=True)
    for source in SOURCES:
        shutil.rmtree(folder / source, ignore_errors=True)


def _save(file: Path, value: object) -> None:
    text = json.dumps(value, ensure_ascii=False, indent=1, sort_keys=True)
    file.write_text(text + "\n", encoding="utf-8")
