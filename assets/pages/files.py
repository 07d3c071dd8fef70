"""The downloadable files of a page: their description and first rows."""

from dataclasses import dataclass

import pyarrow.parquet as pq

from assets.pages.cards import Card, describe_columns
from assets.pages.coverage import format_cell
from warehouse.exports.published import Artifact, Manifest, PublishedExports, file_name

# Far fewer than a sample key gets in one response.
_FIRST_ROWS = 5


@dataclass(frozen=True)
class PageFile:
    """One file as a page shows it; paths are relative to the address of the service."""

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
        """The size for people, in kB or MB."""
        kilobytes = self.artifact.size_bytes / 1000
        return f"{kilobytes:,.0f} kB" if kilobytes < 1000 else f"{kilobytes / 1000:,.1f} MB"


def files_of(card: Card, manifest: Manifest, published: PublishedExports) -> tuple[PageFile, ...]:
    """Return the files of a card that the build has."""
    artifacts = {artifact.key: artifact for artifact in manifest.artifacts}
    return tuple(
        _file(artifacts[key], manifest.data_version, published)
        for key in card.file_keys
        if key in artifacts
    )


def _file(artifact: Artifact, version: str, published: PublishedExports) -> PageFile:
    names, rows = _first_rows(published, version, artifact.key)
    folder, delta = f"exports/{version}/", artifact.delta
    return PageFile(
        artifact,
        folder + file_name(artifact.key),
        f"exports/latest/{file_name(artifact.key)}",
        folder + artifact.schema_url.rsplit("/", 1)[-1],
        None if delta is None else folder + delta.url.rsplit("/", 1)[-1],
        tuple(describe_columns(artifact.key)),
        names,
        rows,
    )


def _first_rows(
    published: PublishedExports, version: str, key: str
) -> tuple[tuple[str, ...], tuple[tuple[str | None, ...], ...]]:
    file = published.file(version, file_name(key))
    # The manifest of this build names it.
    assert file is not None
    with file.open() as opened:
        table = pq.ParquetFile(opened)
        batch = next(table.iter_batches(batch_size=_FIRST_ROWS), None)
        names = tuple(table.schema_arrow.names)
    rows = [] if batch is None else batch.to_pylist()
    return names, tuple(tuple(format_cell(row[name]) for name in names) for row in rows)
