"""Sankofa over HTTP, with one request for each question."""

import json
from decimal import Decimal
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

from pitbench.adapters.sankofa_rows import Rows, Sankofa
from pitbench.files import BenchFile


class Rest(Sankofa):
    """``/v1/fundamentals`` and ``/v1/macro``."""

    def __init__(self, files: list[BenchFile], url: str, key: str) -> None:
        super().__init__()
        self._url, self._key = url.rstrip("/"), key

    def service_id(self, cik: str) -> str:
        """Return the id of the issuer with a CIK."""
        rows = self._get("/v1/crosswalk", {"id_type": "cik", "id_value": cik})["data"]
        return str(rows[0]["service_id"])

    def reported(self, service_id: str, **filters: str) -> Rows:
        """Return the figures of an issuer; a paid key gets all in one answer."""
        rows: Rows = self._get(f"/v1/fundamentals/{service_id}", filters)["data"]
        return rows

    def observations(self, **filters: str) -> Rows:
        """Return the observations of a series or of an indicator."""
        # The most that one answer has: more than any series here.
        rows: Rows = self._get("/v1/macro", {**filters, "limit": "1000"})["data"]
        return rows

    def _get(self, path: str, filters: dict[str, str]) -> Any:
        address = f"{self._url}{path}?{urlencode(filters)}"
        request = Request(address, headers={"X-API-Key": self._key})  # noqa: S310 - http
        try:
            with urlopen(request) as response:  # noqa: S310 - http
                return json.load(response, parse_float=Decimal)
        except HTTPError as error:
            problem = json.load(error)
            # "What was known then cannot be answered" is no failure.
            if problem.get("answerable") is False:
                return {"data": []}
            raise
