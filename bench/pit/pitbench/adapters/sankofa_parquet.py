"""Sankofa's bulk files: every vintage is in them, and their manifest has the filter of a day."""

import json
from datetime import date, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import duckdb

from pitbench.adapters.sankofa_rows import Rows, Sankofa
from pitbench.files import BenchFile
from pitbench.model import Answer, Question


class Parquet(Sankofa):
    """SQL over the files of one version, in the folder in which they were downloaded."""

    def __init__(self, files: list[BenchFile], folder: str) -> None:
        super().__init__()
        manifest = json.loads(Path(folder, "manifest.json").read_text("utf-8"))
        self._sql = duckdb.connect()
        self._as_of = {}
        for artifact in manifest["artifacts"]:
            key = artifact["key"].replace("-", "_")
            if key in ("af_fund_facts", "af_macro_series", "af_identifiers"):
                # In memory, as whoever asks thousands of questions has it.
                path = Path(folder, Path(artifact["url"]).name)
                self._sql.execute(f"CREATE TABLE {key} AS FROM '{path}'")
                self._as_of[key] = (artifact["sql_as_of"] or "").replace("'{url}'", key)

    def service_id(self, cik: str) -> str:
        """Return the id of the issuer with a CIK."""
        where = "id_type = 'cik' AND ltrim(id_value, '0') = $cik"
        (row,) = self._rows(f"SELECT service_id FROM af_identifiers WHERE {where}", cik=cik)
        return str(row["service_id"])

    def answer(self, question: Question) -> Answer | None:
        """Return the value; the files have first releases of series as well."""
        if question.figure.track == "series" and question.kind == "first":
            row = self._rows(
                "SELECT value FROM af_macro_series WHERE series = $series AND vintage = 1"
                " AND period_start = CAST($day AS DATE) AND available_at <= CAST($as_of AS DATE)",
                series=f"FRED.{question.figure.subject}",
                day=question.figure.end,
                as_of=question.as_of,
            )
            return Answer(row[0]["value"] if row else None)
        return super().answer(question)

    def reported(self, service_id: str, **filters: str) -> Rows:
        """Return the figures of an issuer: of the day, or the first ones by then."""
        known = self._as_of["af_fund_facts"].format(as_of=filters["as_of"])
        if filters["vintages"] == "as_reported":
            known = (
                "SELECT * FROM af_fund_facts WHERE vintage = 1"
                f" AND available_at <= DATE '{filters['as_of']}'"
            )
        return self._rows(
            f"SELECT * FROM ({known}) WHERE service_id = $service_id AND line_item = $line_item",
            service_id=service_id,
            line_item=filters["line_items"],
        )

    def observations(self, **filters: str) -> Rows:
        """Return the observations of a series; annual indicators have no day in the files."""
        if "series" not in filters:
            return []
        known = self._as_of["af_macro_series"].format(as_of=filters["as_of"])
        return self._rows(
            f"SELECT * FROM ({known}) WHERE series = $series", series=filters["series"]
        )

    def _rows(self, query: str, **values: str) -> Rows:
        found: Any = self._sql.execute(query, values)
        names = [column[0] for column in found.description]
        return [
            {name: _plain(value) for name, value in zip(names, row, strict=True)}
            for row in found.fetchall()
        ]


def _plain(value: Any) -> Any:
    """Return a day as text, and a moment as New York's; numbers stay exact."""
    if isinstance(value, datetime):
        value = value.astimezone(ZoneInfo("America/New_York"))
    return value.isoformat() if isinstance(value, date) else value
