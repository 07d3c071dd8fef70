"""Write the archive of the sample world that the package has."""

import tempfile
import zipfile
from pathlib import Path

from pipelines.sample_world import ARCHIVE
from tests.sample_world.world import SampleWorld, write_world


def main() -> None:
    """Write the archive; it always has the same bytes."""
    # bzip2 makes it a third smaller than deflate, which also differs between versions of zlib.
    with (
        tempfile.TemporaryDirectory() as name,
        zipfile.ZipFile(ARCHIVE, "w", zipfile.ZIP_BZIP2) as archive,
    ):
        folder = Path(name)
        write_world(folder, SampleWorld())
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        # world.json last: a folder that has it is complete.
        for path in sorted(files, key=lambda path: path.name == "world.json"):
            member = zipfile.ZipInfo(path.relative_to(folder).as_posix())
            member.compress_type = zipfile.ZIP_BZIP2
            archive.writestr(member, path.read_bytes())
    print(f"{ARCHIVE}: {ARCHIVE.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
