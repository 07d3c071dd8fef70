"""What a build says about itself: its export manifest and its quality measurements."""

from typing import Any

import msgspec

from warehouse.exports.published import absolute_urls
from warehouse.json_encoding import encode
from warehouse.read.conditions import Key
from warehouse.read.mart import Build, Mart
from warehouse.read.rows import RowPage, equal, fetch_page

# Key of the manifest in the metadata of a build.
EXPORT_MANIFEST_KEY = "export_manifest"

_NULL_MEMBERS = ("generated_at", "signature_url", "datapackage_url")
_MEMBERS = msgspec.json.Decoder(dict[str, Any])


def export_manifest(mart: Mart) -> bytes | None:
    """Return the export manifest as JSON; None if the build exported nothing."""
    manifest = mart.build().metadata.get(EXPORT_MANIFEST_KEY)
    return None if manifest is None else manifest.encode()


def export_body(build: Build, exports_url: str) -> bytes:
    """Return the manifest with count and licence notice, as the surfaces serve it.

    Its URLs are absolute, below ``exports_url``. A build without exports has an empty list.
    """
    version, manifest = build.data_version, build.metadata.get(EXPORT_MANIFEST_KEY, "{}")
    members = absolute_urls(_MEMBERS.decode(manifest), exports_url, version)
    artifacts = [
        absolute_urls(artifact, exports_url, version) for artifact in members.pop("artifacts", [])
    ]
    return encode(
        {
            "data_version": version,
            **dict.fromkeys(_NULL_MEMBERS),
            "artifacts": artifacts,
            "failed": [],
            **members,
            "count": len(artifacts),
            "_license": build.notice,
        }
    )


def quality_metrics(
    mart: Mart, sku: str, limit: int | None = None, after: Key | None = None
) -> RowPage | None:
    """Return the quality measurements of a dataset, in any case; None if there is no such one."""
    page = fetch_page(mart.build(), "quality", equal(sku=sku.upper()), limit, after=after)
    return page if page.rows else None


def skus(build: Build) -> list[str]:
    """Return the datasets that were measured."""
    statement = "SELECT DISTINCT sku FROM {table} ORDER BY sku"
    return [str(sku) for (sku,) in build.rows("quality", statement)]
