"""Searches all that a home has stored and serves for traces of this machine."""

import re
from collections.abc import Iterator
from pathlib import Path

import duckdb
from falcon import testing

from api.app import create_app
from tests.helpers.whole_tables import query
from warehouse.control.keys import KeyStore, create_key
from warehouse.record.store import open_record
from warehouse.serve.build import Mart
from warehouse.serve.exports import PublishedExports
from warehouse.shared.settings import Settings

# A path of this machine, a host of a local network, an address that is not the web's.
LOCAL = r"file:/|localhost|127\.0\.0\.1|\[::1\]|0\.0\.0\.0|fictional\.example"
_TEXTS = {".html", ".json", ".js", ".txt", ".xml", ".csv", ".md", ".pem", ".svg", ".css"}


def traces(settings: Settings, *more: str) -> list[str]:
    """Return where a trace of this machine was found; ``more`` are further patterns."""
    pattern = "|".join([LOCAL, *more])
    return [
        *_in_record(settings, pattern),
        *_in_files(Path(settings.landing, "documents"), pattern),
        *_in_files(Path(settings.exports), pattern),
        *_in_api(settings, pattern),
    ]


def source_refs(settings: Settings) -> set[tuple[str, str]]:
    """Return source and document address of every row of the record, with the quarantined."""
    record = open_record(settings)
    found: set[tuple[str, str]] = set()
    for name, schema in record.schemas.items():
        if {"source", "source_ref"} <= set(schema.names) and record.files(name):
            rows = record.query(
                f"SELECT DISTINCT source, split_part(source_ref, '#', 1) AS url "
                f"FROM {record.relation(name)}"
            )
            found |= {(row["source"], row["url"]) for row in rows.to_pylist()}
    return found


def _in_record(settings: Settings, pattern: str) -> Iterator[str]:
    record = open_record(settings)
    for name in record.schemas:
        if record.files(name):
            rows = record.query(
                f"SELECT to_json(t)::text AS row FROM {record.relation(name)} t "
                f"WHERE regexp_matches(to_json(t)::text, '{pattern}') LIMIT 3"
            )
            yield from (f"record {name}: {row:.300}" for row in rows["row"].to_pylist())


def _in_files(folder: Path, pattern: str) -> Iterator[str]:
    for path in sorted(folder.rglob("*")):
        if path.suffix == ".parquet":
            found = duckdb.execute(
                f"SELECT to_json(t)::text FROM read_parquet('{path}') t "
                f"WHERE regexp_matches(to_json(t)::text, '{pattern}') LIMIT 3"
            ).fetchall()
            yield from (f"{path.name}: {row[0]:.300}" for row in found)
        elif path.suffix in _TEXTS:
            match = re.search(f".{{0,80}}(?:{pattern}).{{0,80}}", path.read_text("utf-8"))
            if match is not None:
                yield f"{path.name}: {match[0]}"


def _in_api(settings: Settings, pattern: str) -> Iterator[str]:
    """Ask for every row that can be listed, and for the files and pages of the service."""
    keys = KeyStore(settings.control)
    headers = {"X-API-Key": create_key(keys, "professional", "test")}
    mart = Mart(settings.marts)
    app = create_app(
        mart,
        keys,
        exports=PublishedExports(settings.exports),
        base_urls=[settings.base_url],
    )
    client = testing.TestClient(app)
    for path in _paths(mart):
        while path:
            response = client.simulate_get(path, headers=headers, host="data.example.org")
            assert response.status_code == 200, (path, response.text)
            match = re.search(f".{{0,80}}(?:{pattern}).{{0,80}}", response.text)
            if match is not None:
                yield f"{path}: {match[0]}"
            body = response.json if "json" in response.headers["content-type"] else {}
            cursor = body.get("next_cursor")
            path = f"{path.partition('&cursor')[0]}&cursor={cursor}" if cursor else ""


def _paths(mart: Mart) -> Iterator[str]:
    build = mart.build()
    yield from ("/v1/status", "/v1/tenders?limit=1000", "/openapi.json", "/llms.txt", "/")
    for (service_id,) in query(build, "SELECT DISTINCT service_id FROM fundamentals LIMIT 5"):
        yield f"/v1/fundamentals/{service_id}?vintages=all"
    for (service_id,) in query(build, "SELECT DISTINCT service_id FROM entities LIMIT 5"):
        yield f"/v1/entities/{service_id}"
    for series, frequency in query(
        build, "SELECT DISTINCT series, frequency FROM macro_series LIMIT 5"
    ):
        yield f"/v1/macro?series={series}&frequency={frequency}&limit=1000"
