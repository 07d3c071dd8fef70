"""The pages of datasets and panels as data: what each is, its files, and code that requests it."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import msgspec

from warehouse.methodology import signals
from warehouse.methodology.signals import SIGNAL_SET, Panel
from warehouse.serve.exports import Artifact, Manifest, file_name
from warehouse.shared.data_files import csv_rows


@dataclass(frozen=True)
class Card:
    """One dataset or panel: the path of its page, its texts, its files and its statements.

    ``cell_meaning`` says what a cell of its coverage by country and year counts. ``api_path`` has
    placeholders for examples from the build; ``tool`` is the MCP tool for the same data.
    """

    path: str
    title: str
    about: str
    file_keys: tuple[str, ...]
    cell_meaning: str
    api_path: str
    tool: str | None = None
    notes: tuple[str, ...] = ()
    panel: Panel | None = None


DATASETS = tuple(
    Card(
        row["path"],
        row["title"],
        row["about"],
        tuple(row["files"].split()),
        row["cell_meaning"],
        row["api_path"],
        row["tool"] or None,
        tuple(filter(None, row["notes"].split(" | "))),
    )
    for row in csv_rows(__name__, "datasets")
)


def _panel(panel: Panel) -> Card:
    return Card(
        f"signals/{panel.key}",
        panel.title,
        f"{panel.title}, by country and month. Requires {panel.needs}.",
        (panel.key,),
        "share of processes in scope that state what the measures need",
        f"/v1/signals/{panel.key}",
        None,
        panel.notes,
        panel,
    )


PANELS = tuple(_panel(panel) for panel in signals.PANELS)
CARDS = (*DATASETS, *PANELS)
# The titles of datasets by the names that rows have.
TITLES = {card.path.rpartition("/")[2].upper(): card.title for card in CARDS}


class FileContent(msgspec.Struct, frozen=True):
    """Name, type, meaning and nullability of each column of a file, and its first rows."""

    fields: tuple[tuple[str, str, str, bool], ...]
    rows: tuple[tuple[str | None, ...], ...]


@dataclass(frozen=True)
class PageFile:
    """One file as a page shows it; paths are relative to the address of the service."""

    artifact: Artifact
    content: FileContent
    path: str
    latest: str
    schema: str
    delta: str | None

    @property
    def size(self) -> str:
        """The size for people, in kB or MB."""
        kilobytes = self.artifact.size_bytes / 1000
        return f"{kilobytes:,.0f} kB" if kilobytes < 1000 else f"{kilobytes / 1000:,.1f} MB"


def files_of(
    card: Card, manifest: Manifest | None, contents: Mapping[str, FileContent]
) -> Iterator[PageFile]:
    """Yield the files of a card that the build has."""
    if manifest is None:
        return
    folder = f"exports/{manifest.data_version}/"
    artifacts = {artifact.key: artifact for artifact in manifest.artifacts}
    for key in card.file_keys:
        if key in artifacts and key in contents:
            artifact = artifacts[key]
            delta = artifact.delta
            yield PageFile(
                artifact,
                contents[key],
                folder + file_name(key),
                f"exports/latest/{file_name(key)}",
                folder + artifact.schema_url.rsplit("/", 1)[-1],
                None if delta is None else folder + delta.url.rsplit("/", 1)[-1],
            )


def snippet_values(
    card: Card,
    files: tuple[PageFile, ...],
    examples: Mapping[str, str],
    api: str,
    mcp: str,
    sandbox_key: str,
) -> dict[str, Any]:
    """Return what ``snippets.html`` writes code with: addresses, the key, columns, calls of MCP."""
    path, key = card.api_path.format(**examples), sandbox_key or "SANDBOX_KEY"
    file = files[0].artifact if files else None
    file_url = f"{api}/{files[0].latest}" if files else ""
    statement = None if file is None else file.sql_as_of
    if statement is not None:
        day = date.fromisoformat(examples["as_of"])
        statement = f"{statement.format(url=file_url, as_of=day)};"
    # Without an MCP server of its own, the address is that of the service.
    server = {"url": f"{mcp or api}/mcp", "headers": {"X-API-Key": key}}
    resource = card.panel and {"uri": f"sankofa://methodology/{SIGNAL_SET}/{card.panel.key}"}
    call = card.tool and {"name": card.tool, "arguments": _tool_arguments(path)}
    return {
        "key": key,
        "url": f"{api}{path}",
        "rows": "observations" if card.panel else "data",
        "as_of": examples["as_of"],
        "file": file,
        "file_url": file_url,
        "statement": statement,
        "decimals": _columns(file, "decimal"),
        "dates": _columns(file, "date"),
        "mcp_settings": json.dumps({"mcpServers": {"sankofa": server}}, indent=2),
        "mcp_resource": resource and json.dumps(resource, indent=2),
        "mcp_call": call and json.dumps(call, indent=2),
    }


def _columns(file: Artifact | None, kind: str) -> str:
    """Return the columns of a kind, as a list of Python; nothing if there are none."""
    names = [column.name for column in (file.columns if file else ()) if kind in column.type]
    return json.dumps(names) if names else ""


def _tool_arguments(path: str) -> dict[str, str | int]:
    """Return the parameters of an API path as arguments of the tool, which has the same names."""
    parts = urlsplit(path)
    arguments: dict[str, str | int] = {
        name: int(value) if name == "limit" else value for name, value in parse_qsl(parts.query)
    }
    path_parameters = {"fundamentals": "service_id", "quality-metrics": "sku"}
    name = path_parameters.get(parts.path.split("/")[2])
    return {**({name: parts.path.rsplit("/", 1)[-1]} if name else {}), **arguments}
