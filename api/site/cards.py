"""The pages of datasets and panels as data: what each is, its files, and code that requests it."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date
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


# Code to copy: each snippet works as it is, with the sandbox key where one is needed.

API, MCP, KEY, OWN_KEY = "{API}", "{MCP}", "{KEY}", "{OWN_KEY}"
_HEADER = "X-API-Key"


@dataclass(frozen=True)
class CodeSnippet:
    """Code to copy: for which tool, in which language, and what it shows."""

    tool: str
    language: str
    shows: str
    code: str


def write_snippets(
    card: Card,
    files: tuple[PageFile, ...],
    examples: Mapping[str, str],
    api: str,
    mcp: str,
    sandbox_key: str,
) -> list[CodeSnippet]:
    """Return the snippets of a page, with the addresses of REST and MCP and the sandbox key."""
    # Without an MCP server of its own, the address is that of the service.
    values = {API: api, MCP: mcp or api, KEY: sandbox_key or "SANDBOX_KEY", OWN_KEY: "YOUR_KEY"}

    def filled(code: str) -> str:
        for placeholder, value in values.items():
            code = code.replace(placeholder, value)
        return code

    return [replace(each, code=filled(each.code)) for each in _snippets(card, files, examples)]


def _snippets(
    card: Card, files: tuple[PageFile, ...], examples: Mapping[str, str]
) -> list[CodeSnippet]:
    url = f"{API}{card.api_path.format(**examples)}"
    main = files[0] if files else None
    is_open = main is not None and not main.artifact.requires_key
    snippets: list[CodeSnippet] = []
    if main is not None and is_open:
        snippets += _open_file(f"{API}/{main.latest}", main, examples["as_of"])
    snippets += _response(url, "observations" if card.panel else "data", only_curl=is_open)
    if main is not None and not is_open:
        snippets += _licensed_file(f"{API}/{main.latest}", main, examples["as_of"])
    return [*snippets, *_mcp(card, url)]


def _open_file(url: str, file: PageFile, as_of: str) -> Iterator[CodeSnippet]:
    yield CodeSnippet("DuckDB", "sql", "the file", f"SELECT * FROM '{url}' LIMIT 10;")
    if (statement := _as_of_statement(file, url, as_of)) is not None:
        yield CodeSnippet("DuckDB, as of a day", "sql", f"what was known on {as_of}", statement)
    decimals = [column.name for column in file.artifact.columns if "decimal" in column.type]
    dates = [column.name for column in file.artifact.columns if "date" in column.type]
    for tool, code in (
        ("pandas", _pandas_file(url, decimals, dates)),
        ("polars", _polars_file(url, decimals)),
    ):
        yield CodeSnippet(tool, "python", "the file", code)
    yield CodeSnippet("curl, the file", "sh", "the file", f"curl -fsSO '{url}'")


def _pandas_file(url: str, decimals: list[str], dates: list[str]) -> str:
    """Return a program that reads a file, with a line for floats and one for dates."""
    lines = ["import pandas as pd", "", f'rows = pd.read_parquet("{url}")']
    if decimals:
        lines += [
            "# decimals are exact; floats are faster",
            f"rows = rows.astype(dict.fromkeys({json.dumps(decimals)}, float))",
        ]
    if dates:
        lines += [
            "# as datetimes, days compare with strings",
            f"days = {json.dumps(dates)}",
            "rows[days] = rows[days].apply(pd.to_datetime)",
        ]
    return "\n".join((*lines, "print(rows)"))


def _polars_file(url: str, decimals: list[str]) -> str:
    lines = ["import polars as pl", "", f'rows = pl.read_parquet("{url}")']
    if decimals:
        lines += [
            "# decimals are exact; floats are faster",
            f"rows = rows.with_columns(pl.col({json.dumps(decimals)}).cast(pl.Float64))",
        ]
    return "\n".join((*lines, "print(rows)"))


def _as_of_statement(file: PageFile, url: str, as_of: str) -> str | None:
    statement = file.artifact.sql_as_of
    if statement is None:
        return None
    return f"{statement.format(url=url, as_of=date.fromisoformat(as_of))};"


def _response(url: str, rows: str, *, only_curl: bool) -> Iterator[CodeSnippet]:
    if not only_curl:
        query = f"SELECT row.* FROM (SELECT unnest({rows}) AS row FROM read_json('{url}'));"
        yield CodeSnippet("DuckDB", "sql", "an API response", f"{_secret(KEY)}\n{query}")
        for tool, program in (
            ("pandas", "import pandas as pd\n\n{}\nprint(pd.DataFrame(rows))"),
            # strict=False: the type of a column may differ between its first and its later rows.
            ("polars", "import polars as pl\n\n{}\nprint(pl.json_normalize(rows, strict=False))"),
        ):
            yield CodeSnippet(tool, "python", "an API response", _python(url, rows, program))
    curl = f"curl -fsS -H '{_HEADER}: {KEY}' '{url}'"
    yield CodeSnippet("curl", "sh", "an API response", curl)


def _secret(key: str) -> str:
    header = f"{{'{_HEADER}': '{key}'}}"
    return f"CREATE OR REPLACE SECRET (TYPE http, EXTRA_HTTP_HEADERS MAP {header});"


def _python(url: str, rows: str, program: str) -> str:
    """Return a program that reads a response; decimals stay exact, as Decimal."""
    body = (
        "# numbers are exact decimals; for floats leave out parse_float\n"
        f'request = Request("{url}", headers={{"{_HEADER}": "{KEY}"}})\n'
        "with urlopen(request) as response:\n"
        f'    rows = json.load(response, parse_float=Decimal)["{rows}"]'
    )
    imports = (
        "import json\nfrom decimal import Decimal\nfrom urllib.request import Request, urlopen\n\n"
    )
    return imports + program.format(body)


def _licensed_file(url: str, file: PageFile, as_of: str) -> Iterator[CodeSnippet]:
    query = _as_of_statement(file, url, as_of) or f"SELECT * FROM '{url}' LIMIT 10;"
    shows = f"the whole file; needs a {file.artifact.required_tier} key"
    yield CodeSnippet("DuckDB, the whole file", "sql", shows, f"{_secret(OWN_KEY)}\n{query}")
    yield CodeSnippet(
        "curl, the whole file",
        "sh",
        shows,
        f"curl -fsSO -H '{_HEADER}: {OWN_KEY}' '{url}'",
    )


def _mcp(card: Card, url: str) -> Iterator[CodeSnippet]:
    server = {"url": f"{MCP}/mcp", "headers": {_HEADER: KEY}}
    settings = json.dumps({"mcpServers": {"sankofa": server}}, indent=2)
    yield CodeSnippet("MCP, client settings", "json", "connects an agent", settings)
    if card.panel is not None:
        uri = json.dumps({"uri": f"sankofa://methodology/{SIGNAL_SET}/{card.panel.key}"}, indent=2)
        yield CodeSnippet("MCP, resource", "json", "how the panel is calculated", uri)
    if card.tool is not None:
        call = json.dumps({"name": card.tool, "arguments": _tool_arguments(url)}, indent=2)
        yield CodeSnippet("MCP, tool call", "json", "what an agent then calls", call)


def _tool_arguments(url: str) -> dict[str, str | int]:
    """Return the parameters of an API URL as arguments of the tool, which has the same names."""
    parts = urlsplit(url.removeprefix(API))
    arguments: dict[str, str | int] = {
        name: int(value) if name == "limit" else value for name, value in parse_qsl(parts.query)
    }
    path_parameters = {"fundamentals": "service_id", "quality-metrics": "sku"}
    name = path_parameters.get(parts.path.split("/")[2])
    return {**({name: parts.path.rsplit("/", 1)[-1]} if name else {}), **arguments}
