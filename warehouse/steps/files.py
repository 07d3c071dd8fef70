"""Immutable files, each named by what it was made from, and the manifest of a build."""

import hashlib
from collections.abc import Iterable, Mapping

import msgspec

from warehouse.json_encoding import encode


class BuildFile(msgspec.Struct, frozen=True, omit_defaults=True):
    """One file of a build.

    ``kind`` is what reads it: ``snapshot`` (Parquet for later steps), ``mart`` (SQLite), ``export``
    or ``page``. ``path`` is relative to the store of its kind. ``audit`` is the result of the
    audit of these very bytes.
    """

    kind: str
    table: str
    partition: str
    path: str
    key: str
    sha256: str
    rows: int
    bytes: int
    audit: Mapping[str, str] = {}


class BuildManifest(msgspec.Struct, frozen=True):
    """A build: its data_version, its metadata, and every file it consists of."""

    data_version: str
    metadata: Mapping[str, str]
    files: tuple[BuildFile, ...]

    def of(self, kind: str, table: str) -> tuple[BuildFile, ...]:
        """Return the files of a table, ordered by partition."""
        return tuple(
            sorted(
                (file for file in self.files if (file.kind, file.table) == (kind, table)),
                key=lambda file: file.partition,
            )
        )


def with_results(
    files: Iterable[BuildFile], results: Mapping[tuple[str, str], Mapping[str, str]]
) -> list[BuildFile]:
    """Return the files with the results of their audit, which are given by table and partition."""
    return [
        msgspec.structs.replace(file, audit=results.get((file.table, file.partition), {}))
        for file in files
    ]


def step_key(
    step: str,
    version: str,
    partition: str,
    inputs: Mapping[str, str],
    settings: Mapping[str, str] | None = None,
) -> str:
    """Return the key of what a step makes: ``inputs`` are the SHA-256 of its inputs by name."""
    parts = {
        "step": step,
        "version": version,
        "partition": partition,
        "inputs": dict(sorted(inputs.items())),
        "settings": dict(sorted((settings or {}).items())),
    }
    return hashlib.sha256(encode(parts)).hexdigest()[:32]
