"""Code snippets of a page: each works as it is, with the sandbox key where one is needed."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date
from urllib.parse import parse_qsl, urlsplit

from api.site.cards import Card, PageFile
from warehouse.methodology.signals import SIGNAL_SET

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
