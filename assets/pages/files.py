"""The files of a page: how each is described, and the first rows that it has."""

from dataclasses import dataclass

import pyarrow.parquet as pq

from assets.pages.cards import Card, meanings
from assets.pages.coverage import shown
from warehouse.exports.published import Artifact, Manifest, PublishedExports, file_name

# Far fewer than a key of the sample tier gets of it in one answer.
_FIRST = 5


@dataclass(frozen=True)
class File:
    """One file as a page shows it; addresses are below that of the service."""

    artifact: Artifact
    path: str
    latest: str
    schema: str
    delta: str | None
    fields: tuple[tuple[str, str, str, bool], ...]
    names: tuple[str, ...]
    rows: tuple[tuple[str | None, ...], ...]

    @property
    def size(self) -> str:
        """Say how large it is."""
        kilobytes = self.artifact.size_bytes / 1000
        return f"{kilobytes:,.0f} kB" if kilobytes < 1000 else f"{kilobytes / 1000:,.1f} MB"


def files_of(card: Card, manifest: Manifest, published: PublishedExports) -> tuple[File, ...]:
    """Describe the files of a card that the build has."""
    held = {each.key: each for each in manifest.artifacts}
    return tuple(
        _file(held[key], manifest.data_version, published) for key in card.parts if key in held
    )


def _file(artifact: Artifact, version: str, published: PublishedExports) -> File:
    names, rows = _first_rows(published, version, artifact.key)
    below, delta = f"exports/{version}/", artifact.delta
    return File(
        artifact,
        below + file_name(artifact.key),
        f"exports/latest/{file_name(artifact.key)}",
        below + artifact.schema_url.rsplit("/", 1)[-1],
        None if delta is None else below + delta.url.rsplit("/", 1)[-1],
        tuple(meanings(artifact.key)),
        names,
        rows,
    )


def _first_rows(
    published: PublishedExports, version: str, key: str
) -> tuple[tuple[str, ...], tuple[tuple[str | None, ...], ...]]:
    file = published.file(version, file_name(key))
    assert file is not None
    with file.open() as opened:
        table = pq.ParquetFile(opened)
        batch = next(table.iter_batches(batch_size=_FIRST), None)
        names = tuple(table.schema_arrow.names)
    rows = [] if batch is None else batch.to_pylist()
    return names, tuple(tuple(shown(row[name]) for name in names) for row in rows)
