"""The manifest of what a build exported, as it was written."""

from warehouse.read.mart import Mart

# Where the writer of a build keeps the manifest in what the build says of itself.
MANIFEST = "export_manifest"


def export_manifest(mart: Mart) -> bytes | None:
    """Give the manifest as JSON; None if the build exported nothing."""
    told = mart.build().about.get(MANIFEST)
    return None if told is None else told.encode()
