"""What the manifest of an export says: its members, and nothing else."""

from datetime import date, datetime
from typing import Literal

import msgspec

from warehouse.tiers import TierName

Kind = Literal["open-panel", "licensed"]


class ColumnType(msgspec.Struct, frozen=True):
    """A column of a file and the type it has there."""

    name: str
    type: str


class Delta(msgspec.Struct, frozen=True):
    """What changed since the version before, and how to apply it."""

    against: str
    url: str
    rows: int
    size_bytes: int
    sha256: str
    key: str
    meaning: str
    sql_apply: str


class Artifact(msgspec.Struct, frozen=True):
    """One Parquet file of a version.

    ``sql_as_of`` has the places ``{url}`` and ``{as_of}`` to fill in; null where a file holds
    only what is known now.
    """

    key: str
    title: str
    kind: Kind
    sku: str | None
    signal_key: str | None
    url: str
    requires_key: bool
    required_tier: TierName | None
    license: str
    rows: int
    columns: tuple[ColumnType, ...]
    size_bytes: int
    sha256: str
    schema_url: str
    period_min: date | None
    period_max: date | None
    sort_key: tuple[str, ...]
    methodology_ref: str | None
    delta: Delta | None
    sql_as_of: str | None


class Failed(msgspec.Struct, frozen=True):
    """A file that could not be made, and why."""

    key: str
    title: str
    sku: str | None
    reason: str


class Manifest(msgspec.Struct, frozen=True):
    """Every file of one version."""

    data_version: str
    generated_at: datetime
    artifacts: tuple[Artifact, ...]
    failed: tuple[Failed, ...]
    signature_url: str
    datapackage_url: str


def encode(manifest: Manifest) -> bytes:
    """Write the manifest as it is signed."""
    return msgspec.json.format(msgspec.json.encode(manifest), indent=1) + b"\n"


def decode(body: bytes) -> Manifest:
    """Read a manifest."""
    return msgspec.json.decode(body, type=Manifest)
