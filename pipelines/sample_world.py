"""The worlds of the package: documents in an archive, unpacked into a folder.

``starter`` has documents of real sources, byte for byte as they were published; ``fictional`` is
the sample world, invented in the formats of the real sources.

``<folder>/<source>/<day>/<path>`` is what was read at ``path`` of a source on a day; ``world.json``
says which world it is, and how much there is of each source.
"""

import json
from pathlib import Path
from typing import Literal
from zipfile import ZipFile

from assets.ingest.land import WORLD, world_in
from warehouse.record.landing import World
from warehouse.shared.errors import SankofaError

PackagedWorld = Literal["starter", "fictional"]
# What ``sankofa up`` says of each.
WORLDS: dict[World, str] = {
    "starter": "real documents of 27 companies; `make run WORLD=fictional` in another home has "
    "tenders and macro series as well",
    "fictional": "the sample world, which is fictional",
}
_FOLDER = Path(__file__).parent
ARCHIVES: dict[PackagedWorld, Path] = {
    "starter": _FOLDER / "starter_world.zip",
    "fictional": _FOLDER / "sample_world.zip",
}


def unpack_world(folder: Path, world: PackagedWorld | None = None) -> dict[str, int]:
    """Write a world, by default the starter one; return the files and records of each source.

    A folder that has one is left as it is: an erased document must not come back.
    """
    written = folder / WORLD
    if not written.exists():
        # world.json is the last of its members.
        with ZipFile(ARCHIVES[world or "starter"]) as archive:
            archive.extractall(folder)
    unpacked = world_in(folder)
    if world not in (None, unpacked):
        raise SankofaError(
            f"{folder} has the {unpacked} world: set SANKOFA_HOME to another folder for the "
            f"{world} one"
        )
    counts: dict[str, int] = json.loads(written.read_bytes())["counts"]
    return counts
