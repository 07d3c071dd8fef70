"""Code to copy from a page: it works as it stands, with the sandbox key where one is needed.

``{API}``, ``{MCP}`` and ``{KEY}`` stand for what the script of the page knows better than the
publisher: under which address it is read, and the sandbox key.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from assets.pages.cards import Card
from assets.pages.files import File
from warehouse.mart.snapshot import Snapshot
from warehouse.methodology.signals import SIGNAL_SET

API, MCP, KEY, OWN_KEY = "{API}", "{MCP}", "{KEY}", "{OWN_KEY}"
_HEADER = "X-API-Key"


@dataclass(frozen=True)
class Snippet:
    """Something to copy: for which tool, in which language, and what it shows."""

    tool: str
    language: str
    shows: str
    code: str


def snippets(card: Card, files: tuple[File, ...], example: Mapping[str, str]) -> list[Snippet]:
    """Write the snippets of a page."""
    ask = f"{API}{card.ask.format(**example)}"
    main = files[0] if files else None
    is_open = main is not None and not main.artifact.requires_key
    found: list[Snippet] = []
    if main is not None and is_open:
        found += _of_file(f"{API}/{main.latest}", main, example["as_of"])
    found += _of_answer(ask, "observations" if card.panel else "data", only_curl=is_open)
    if main is not None and not is_open:
        found += _licensed(f"{API}/{main.latest}", main, example["as_of"])
    return [*found, *_mcp(card, ask)]


def _of_file(address: str, file: File, as_of: str) -> Iterator[Snippet]:
    yield Snippet("DuckDB", "sql", "the file", f"SELECT * FROM '{address}' LIMIT 10;")
    if (filtered := _as_of(file, address, as_of)) is not None:
        yield Snippet("DuckDB as of a day", "sql", f"what was known on {as_of}", filtered)
    for tool, short in (("pandas", "pd"), ("polars", "pl")):
        code = f'import {tool} as {short}\n\nrows = {short}.read_parquet("{address}")\nprint(rows)'
        yield Snippet(tool, "python", "the file", code)
    yield Snippet("curl, the file", "sh", "the file", f"curl -fsSO '{address}'")


def _as_of(file: File, address: str, as_of: str) -> str | None:
    filtered = file.artifact.sql_as_of
    if filtered is None:
        return None
    return f"{filtered.format(url=address, as_of=date.fromisoformat(as_of))};"


def _of_answer(ask: str, rows: str, *, only_curl: bool) -> Iterator[Snippet]:
    if not only_curl:
        asked = f"SELECT row.* FROM (SELECT unnest({rows}) AS row FROM read_json('{ask}'));"
        yield Snippet("DuckDB", "sql", "an answer", f"{_secret(KEY)}\n{asked}")
        for tool, frame in (
            ("pandas", "import pandas as pd\n\n{}\nprint(pd.DataFrame(rows))"),
            ("polars", "import polars as pl\n\n{}\nprint(pl.json_normalize(rows, strict=False))"),
        ):
            yield Snippet(tool, "python", "an answer", _python(ask, rows, frame))
    yield Snippet("curl", "sh", "an answer", f"curl -fsS -H '{_HEADER}: {KEY}' '{ask}'")


def _secret(key: str) -> str:
    header = f"{{'{_HEADER}': '{key}'}}"
    return f"CREATE OR REPLACE SECRET (TYPE http, EXTRA_HTTP_HEADERS MAP {header});"


def _python(ask: str, rows: str, frame: str) -> str:
    """Read an answer with its digits: a number that is not whole becomes a Decimal."""
    body = (
        f'ask = Request("{ask}", headers={{"{_HEADER}": "{KEY}"}})\n'
        "with urlopen(ask) as answer:\n"
        f'    rows = json.load(answer, parse_float=Decimal)["{rows}"]'
    )
    heads = (
        "import json\nfrom decimal import Decimal\nfrom urllib.request import Request, urlopen\n\n"
    )
    return heads + frame.format(body)


def _licensed(address: str, file: File, as_of: str) -> Iterator[Snippet]:
    tier = file.artifact.required_tier
    asked = _as_of(file, address, as_of) or f"SELECT * FROM '{address}' LIMIT 10;"
    shows = f"the whole file, with a key of the {tier} tier"
    yield Snippet("DuckDB, the whole file", "sql", shows, f"{_secret(OWN_KEY)}\n{asked}")
    yield Snippet(
        "curl, the whole file",
        "sh",
        shows,
        f"curl -fsSO -H '{_HEADER}: {OWN_KEY}' '{address}'",
    )


def _mcp(card: Card, ask: str) -> Iterator[Snippet]:
    server = {"url": f"{MCP}/mcp", "headers": {_HEADER: KEY}}
    joined = json.dumps({"mcpServers": {"sankofa": server}}, indent=2)
    yield Snippet("MCP, the client's settings", "json", "how an agent is connected", joined)
    if card.panel is not None:
        page = {"uri": f"sankofa://methodology/{SIGNAL_SET}/{card.panel.key}"}
        yield Snippet("MCP, a resource", "json", "how it is worked out", json.dumps(page, indent=2))
    if card.tool is not None:
        call = {"name": card.tool, "arguments": _arguments(ask)}
        yield Snippet("MCP, a call", "json", "what an agent then asks", json.dumps(call, indent=2))


def _arguments(ask: str) -> dict[str, str | int]:
    """Give a tool what an address gives the API: by the same names."""
    parts = urlsplit(ask.removeprefix(API))
    given: dict[str, str | int] = {
        name: int(value) if name == "limit" else value for name, value in parse_qsl(parts.query)
    }
    last = parts.path.rsplit("/", 1)[-1]
    named = {"fundamentals": "service_id", "quality-metrics": "sku"}
    owner = named.get(parts.path.split("/")[2])
    return {**({owner: last} if owner else {}), **given}


_EXAMPLES = {
    "issuer": """
SELECT service_id AS found FROM fundamentals WHERE available_at <= DATE '{as_of}'
GROUP BY ALL ORDER BY max(vintage) DESC, count(*) DESC, service_id LIMIT 1""",
    "country": """
SELECT country AS found FROM tender_releases WHERE latest
GROUP BY ALL ORDER BY count(*) DESC, country LIMIT 1""",
    "series": """
SELECT series AS found FROM macro_series WHERE available_at <= DATE '{as_of}'
GROUP BY ALL ORDER BY count(*) DESC, series LIMIT 1""",
}


def examples(snapshot: Snapshot, published_on: date) -> dict[str, str]:
    """Give an issuer that restated something, a country, a series and a day that lies back."""
    as_of = date(published_on.year - 1, 6, 30).isoformat()
    found = {name: _first(snapshot, each.format(as_of=as_of)) for name, each in _EXAMPLES.items()}
    return {**found, "as_of": as_of}


def _first(snapshot: Snapshot, statement: str) -> str:
    rows: list[dict[str, Any]] = snapshot.read(statement).to_pylist()
    return str(rows[0]["found"]) if rows else "none"
