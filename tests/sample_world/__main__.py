"""Write the archive of the fictional world that the package has."""

import tempfile
import zipfile
from pathlib import Path

from pipelines.sample_world import ARCHIVES
from tests.sample_world.world import SampleWorld, write_world


def main() -> None:
    """Write the archive; it always has the same bytes."""
    with tempfile.TemporaryDirectory() as name:
        write_world(Path(name), SampleWorld())
        write_archive(ARCHIVES["fictional"], Path(name))


def write_archive(path: Path, folder: Path) -> None:
    """Write the archive of a world, whose documents are in a folder."""
    # bzip2 makes it a third smaller than deflate, which also differs between versions of zlib.
    with zipfile.ZipFile(path, "w", zipfile.ZIP_BZIP2) as archive:
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        # world.json last: a folder that has it is complete.
        for file in sorted(files, key=lambda file: file.name == "world.json"):
            member = zipfile.ZipInfo(file.relative_to(folder).as_posix())
            member.compress_type = zipfile.ZIP_BZIP2
            archive.writestr(member, file.read_bytes())
    print(f"{path}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
