"""What a build says about itself: its export manifest, what pages show, what changed in it."""

from collections.abc import Mapping
from typing import Any

import msgspec

from warehouse.serve.build import Build, Mart
from warehouse.serve.exports import absolute_urls
from warehouse.serve.rows import equal, fetch_page
from warehouse.shared.json_encoding import encode

# Key of the manifest in the metadata of a build.
EXPORT_MANIFEST_KEY = "export_manifest"
# Key of how many vintages it brought, compared with the build before it.
CHANGES = "changes"

_NULL_MEMBERS = ("generated_at", "signature_url", "datapackage_url")
_MEMBERS = msgspec.json.Decoder(dict[str, Any])


class ChangedDataset(msgspec.Struct, frozen=True):
    """Vintages of a dataset that are new, restated, withdrawn, and gone: withheld or erased."""

    dataset: str
    added: int
    restated: int
    withdrawn: int
    removed: int


class _PageData(msgspec.Struct):
    body: msgspec.Raw


_CHANGES = msgspec.json.Decoder(list[ChangedDataset])
_PAGE_DATA = msgspec.json.Decoder(_PageData)


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


def page_data(build: Build, name: str) -> bytes | None:
    """Return what pages show of a build under a name, as JSON; None if it has nothing of it."""
    page = fetch_page(build, "page_data", equal(name=name), 1)
    return bytes(_PAGE_DATA.decode(page.rows[0]).body) if page.rows else None


def changes_of(metadata: Mapping[str, str]) -> list[ChangedDataset] | None:
    """Return what a build brought, by dataset; None if it is not known."""
    return _CHANGES.decode(metadata[CHANGES]) if CHANGES in metadata else None
