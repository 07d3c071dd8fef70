"""``sankofa exports``: published files, made ready for other places than the service."""

from importlib.resources import files
from pathlib import Path
from typing import Any

import click
import msgspec
from jinja2 import Template

from warehouse.serve.exports import CROISSANT, MANIFEST_FILE, SIGNATURE, PublishedExports
from warehouse.shared.errors import SankofaError
from warehouse.shared.settings import read_settings

# How many rows a dataset has, in the words of Hugging Face: up to 3 digits, 4 digits, and so on.
_SIZES = ["n<1K", "1K<n<10K", "10K<n<100K", "100K<n<1M", "1M<n<10M", "10M<n<100M", "100M<n<1B"]


@click.group()
def exports() -> None:
    """Make published files ready for other places."""


@exports.command("card")
@click.argument("folder", type=click.Path(path_type=Path))
@click.argument("data_version", required=False)
def card(folder: Path, data_version: str | None) -> None:
    """Write a dataset for Hugging Face into FOLDER: the open panels, with their card.

    The card is README.md; Croissant, the signed manifest and the files of DATA_VERSION (default:
    the latest) are written as well.
    """
    published = PublishedExports(read_settings().exports)
    manifest = published.manifest(data_version)
    panels = [each for each in manifest.artifacts if each.kind == "open-panel" and each.rows]
    if not panels:
        raise SankofaError(f"{manifest.data_version} has no open panel with rows")

    def body(name: str) -> bytes:
        file = published.file(manifest.data_version, name)
        assert file is not None
        with file.open() as stream:
            return stream.read()

    folder.mkdir(parents=True, exist_ok=True)
    for name in (MANIFEST_FILE, SIGNATURE, *(panel.url for panel in panels)):
        (folder / name).write_bytes(body(name))
    croissant = _of_panels(msgspec.json.decode(body(CROISSANT)), {panel.key for panel in panels})
    (folder / CROISSANT).write_bytes(msgspec.json.format(msgspec.json.encode(croissant), indent=1))
    rows, licences = sum(panel.rows for panel in panels), {panel.license for panel in panels}
    text = Template(
        files("pipelines").joinpath("templates", "dataset_card.md").read_text("utf-8"),
        trim_blocks=True,
    ).render(
        manifest=manifest,
        panels=panels,
        rows=rows,
        size=_SIZES[max(0, len(str(rows)) - 3)],
        license=licences.pop().lower() if len(licences) == 1 else "other",
        description=croissant["description"],
    )
    (folder / "README.md").write_text(text, "utf-8")
    click.echo(f"{folder}: {len(panels)} open panels of {manifest.data_version}")


def _of_panels(croissant: dict[str, Any], keys: set[str]) -> dict[str, Any]:
    """Return the description of all files without those that are not open."""
    records = {f"{key}-rows" for key in keys}
    return {
        **croissant,
        "license": [text for text in croissant["license"] if text.startswith("https://")],
        "distribution": [each for each in croissant["distribution"] if each["@id"] in keys],
        "recordSet": [each for each in croissant["recordSet"] if each["@id"] in records],
    }
