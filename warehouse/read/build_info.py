"""The manifest of what a build exported, as it was written."""

import msgspec

from warehouse.json_encoding import encode, encode_object
from warehouse.read.mart import Build, Mart
from warehouse.read.rows import RowPage, equal, fetch_page

# Where the writer of a build keeps the manifest in what the build says of itself.
EXPORT_MANIFEST_KEY = "export_manifest"

_MEMBERS = ("generated_at", "signature_url", "datapackage_url")
_RAW = msgspec.json.Decoder(dict[str, msgspec.Raw])
_ARTIFACTS = msgspec.json.Decoder(list[msgspec.Raw])


def export_manifest(mart: Mart) -> bytes | None:
    """Give the manifest as JSON; None if the build exported nothing."""
    told = mart.build().about.get(EXPORT_MANIFEST_KEY)
    return None if told is None else told.encode()


def export_body(build: Build) -> bytes:
    """Give the manifest with the licence notice; an empty list of files if there are none."""
    told = build.about.get(EXPORT_MANIFEST_KEY, "{}")
    held = {name: bytes(each) for name, each in _RAW.decode(told).items()}
    artifacts = held.pop("artifacts", b"[]")
    return encode_object(
        {
            "data_version": encode(build.data_version),
            **dict.fromkeys(_MEMBERS, b"null"),
            "artifacts": artifacts,
            "failed": b"[]",
            **held,
            "count": encode(len(_ARTIFACTS.decode(artifacts))),
            "_license": encode(build.notice),
        }
    )


def quality_metrics(mart: Mart, sku: str) -> RowPage | None:
    """Give the measurements of a dataset, named in any case; None if there is no such one."""
    rows = fetch_page(mart.build(), "quality", equal(sku=sku.upper()), None)
    return rows if rows.rows else None
