"""Builds as they lie in a folder: without a pointer for a while, or with other metadata."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from warehouse.publish.builds import manifest_file, pointer_file, read_manifest
from warehouse.publish.manifest import BuildManifest, encode_manifest


@contextmanager
def nothing_published(folder: Path) -> Iterator[None]:
    """Take the pointer of a folder of builds away for a while."""
    pointer = pointer_file(folder)
    away = pointer.rename(pointer.with_suffix(".away"))
    yield
    away.rename(pointer)


def change_metadata(folder: Path, name: str, **values: str) -> None:
    """Change the metadata of a build."""
    manifest = read_manifest(folder, name)
    assert manifest is not None
    changed = BuildManifest(name, {**manifest.metadata, **values}, manifest.files)
    manifest_file(folder, name).write_bytes(encode_manifest(changed))
