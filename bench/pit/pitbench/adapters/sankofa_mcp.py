"""Sankofa's tools over the Model Context Protocol, one call for each question."""

import json
from decimal import Decimal
from itertools import count
from typing import Any
from urllib.request import Request, urlopen

from pitbench.adapters.sankofa_rows import Rows, Sankofa
from pitbench.files import BenchFile


class Mcp(Sankofa):
    """``get_fundamentals`` and ``get_macro``; a server without sessions needs no library."""

    def __init__(self, files: list[BenchFile], url: str, key: str) -> None:
        super().__init__()
        self._url, self._numbers = url, count(1)
        self._headers = {
            "X-API-Key": key,
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
        }

    def service_id(self, cik: str) -> str:
        """Return the id of the issuer with a CIK."""
        (row,) = self._rows("resolve_identifier", {"id_type": "cik", "id_value": cik})
        return str(row["service_id"])

    def reported(self, service_id: str, **filters: str) -> Rows:
        """Return the figures of an issuer."""
        lines = [filters.pop("line_items")]
        arguments = {"service_id": service_id, "line_items": lines, **filters}
        return self._rows("get_fundamentals", arguments)

    def observations(self, **filters: str) -> Rows:
        """Return the observations of a series or of an indicator."""
        return self._rows("get_macro", filters)

    def _rows(self, tool: str, arguments: dict[str, Any]) -> Rows:
        """Return the rows of all pages."""
        rows: Rows = []
        cursor = None
        while True:
            # Compact rows leave out what a model seldom needs, such as the first day of a year.
            sent = {**arguments, "verbose": True}
            result = self._call(tool, sent if cursor is None else {**sent, "cursor": cursor})
            if result.get("answerable") is False:
                return []
            if "data" not in result:
                raise ValueError(result.get("detail", result))
            rows += [{**result.get("shared", {}), **row} for row in result["data"]]
            cursor = result.get("next_cursor")
            if cursor is None:
                return rows

    def _call(self, tool: str, arguments: dict[str, Any]) -> Any:
        call = {
            "jsonrpc": "2.0",
            "id": next(self._numbers),
            "method": "tools/call",
            "params": {"name": tool, "arguments": arguments},
        }
        body = json.dumps(call).encode()
        request = Request(self._url, body, self._headers)  # noqa: S310 - http
        with urlopen(request, timeout=60) as response:  # noqa: S310 - http
            answer = json.load(response, parse_float=Decimal)
        return answer["result"]["structuredContent"]
