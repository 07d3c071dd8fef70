"""What a build says about itself: its export manifest and its quality measurements."""

import msgspec

from warehouse.json_encoding import encode, encode_object
from warehouse.read.mart import Build, Mart
from warehouse.read.rows import RowPage, equal, fetch_page

# Key of the manifest in the metadata of a build.
EXPORT_MANIFEST_KEY = "export_manifest"

_NULL_MEMBERS = ("generated_at", "signature_url", "datapackage_url")
_MEMBERS = msgspec.json.Decoder(dict[str, msgspec.Raw])
_ARTIFACTS = msgspec.json.Decoder(list[msgspec.Raw])


def export_manifest(mart: Mart) -> bytes | None:
    """Return the export manifest as JSON; None if the build exported nothing."""
    manifest = mart.build().metadata.get(EXPORT_MANIFEST_KEY)
    return None if manifest is None else manifest.encode()


def export_body(build: Build) -> bytes:
    """Return the manifest with count and licence notice, as the surfaces serve it.

    Its artifacts are copied byte for byte. A build without exports has an empty list.
    """
    manifest = build.metadata.get(EXPORT_MANIFEST_KEY, "{}")
    members = {name: bytes(value) for name, value in _MEMBERS.decode(manifest).items()}
    artifacts = members.pop("artifacts", b"[]")
    return encode_object(
        {
            "data_version": encode(build.data_version),
            **dict.fromkeys(_NULL_MEMBERS, b"null"),
            "artifacts": artifacts,
            "failed": b"[]",
            **members,
            "count": encode(len(_ARTIFACTS.decode(artifacts))),
            "_license": encode(build.notice),
        }
    )


def quality_skus(mart: Mart) -> list[str]:
    """Return the SKU of every dataset that was measured, in alphabetical order."""
    rows = mart.build().rows("quality", "SELECT DISTINCT sku FROM {table}")
    return sorted({str(sku) for (sku,) in rows})


def quality_metrics(mart: Mart, sku: str) -> RowPage | None:
    """Return the quality measurements of a dataset, in any case; None if there is none."""
    page = fetch_page(mart.build(), "quality", equal(sku=sku.upper()), None)
    return page if page.rows else None
