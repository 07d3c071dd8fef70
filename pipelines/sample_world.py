"""The sample world, which is fictional: an archive in this package, unpacked into a folder.

``<folder>/<source>/<day>/<path>`` is what was read at ``path`` of a source on a day; ``world.json``
has the last of these days and how much there is of each source.
"""

import json
from pathlib import Path
from zipfile import ZipFile

ARCHIVE = Path(__file__).with_name("sample_world.zip")


def unpack_world(folder: Path) -> dict[str, int]:
    """Write the world, unless the folder has it; return the files and records of each source.

    A folder that has it is left as it is: an erased document must not come back.
    """
    written = folder / "world.json"
    if not written.exists():
        # world.json is the last of its members.
        with ZipFile(ARCHIVE) as archive:
            archive.extractall(folder)
    counts: dict[str, int] = json.loads(written.read_bytes())["counts"]
    return counts
