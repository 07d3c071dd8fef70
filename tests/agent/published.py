"""An independent reading of a published world: its Parquet files, by DuckDB.

Organisations are found as the sample world defines them, never by the server under test: an
issuer's figures come from the document of its CIK, and so does its service_id.
"""

import re
from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import Any

import duckdb

from tests.sample_world.organisations import SampleOrganisation, cik_of, issuer


class Published:
    """The export files of the latest version below a folder, one view for each."""

    def __init__(self, exports: Path) -> None:
        self.version = version = (exports / "latest").read_text().strip()
        self._sql = duckdb.connect()
        for file in sorted((exports / version).glob("*.parquet")):
            name = file.name.removesuffix(".parquet").replace("-", "_")
            if "." not in name:
                self._sql.execute(f"CREATE VIEW {name} AS FROM '{file}'")

    def rows(self, query: str, *values: object) -> list[dict[str, Any]]:
        """Return the rows of a query; decimals without the zeros of their scale."""
        cursor = self._sql.execute(query, values)
        names = [column[0] for column in cursor.description]
        return [dict(zip(names, map(_plain, row), strict=True)) for row in cursor.fetchall()]

    def column(self, query: str, *values: object) -> list[Any]:
        """Return the first column of a query."""
        return [next(iter(row.values())) for row in self.rows(query, *values)]

    def one(self, query: str, *values: object) -> Any:
        """Return the one value of a query."""
        (value,) = self.column(query, *values)
        return value

    @cached_property
    def columns(self) -> set[str]:
        """The names of all columns of all files."""
        return set(self.column("SELECT DISTINCT column_name FROM information_schema.columns"))

    def service_id(self, serial: int) -> str:
        """Return the service_id under which the figures of an issuer are published."""
        query = "SELECT DISTINCT service_id FROM af_fund_facts WHERE source_ref LIKE ?"
        return str(self.one(query, _document(issuer(serial))))

    def figures(
        self, serial: int, lines: Sequence[str], as_of: str | None = None, **equal: str
    ) -> list[dict[str, Any]]:
        """Return the figures of an issuer that were known on a day, newest period first."""
        conditions = "".join(f" AND {name} = ?" for name in equal)
        return self.rows(
            "SELECT * FROM af_fund_facts WHERE source_ref LIKE ? AND list_contains(?, line_item) "
            f"AND NOT withdrawn AND {_KNOWN}{conditions} ORDER BY period_end DESC, line_item",
            *(_document(issuer(serial)), list(lines), as_of, as_of),
            *equal.values(),
        )

    def figure(self, serial: int, line: str, label: str, as_of: str | None = None) -> Decimal:
        """Return one figure of a full year, as it was known on a day."""
        (found,) = self.figures(serial, [line], as_of, fiscal_label=label, period_type="FY")
        value: Decimal = found["value_reported"]
        return value

    def observations(
        self, series: str, since: str, until: str, as_of: str | None = None
    ) -> list[dict[str, Any]]:
        """Return what was known of a series on a day, newest first."""
        return self.rows(
            "SELECT * FROM af_macro_series WHERE series = ? AND period_end BETWEEN ? AND ? "
            f"AND NOT withdrawn AND {_KNOWN} ORDER BY period_end DESC, available_at DESC",
            *(series, since, until, as_of, as_of),
        )

    def panel(self, key: str, as_of: str | None = None, **equal: str) -> list[dict[str, Any]]:
        """Return what was known of a panel on a day, newest month first."""
        conditions = "".join(f" AND {name} = ?" for name in equal)
        return self.rows(
            f"SELECT * FROM {key.replace('-', '_')} WHERE {_KNOWN}{conditions} "
            "ORDER BY month DESC, measure",
            *(as_of, as_of, *equal.values()),
        )


# A row counts from the day on which it was public to that on which another took its place.
_KNOWN = (
    "available_at <= coalesce(CAST(? AS DATE), DATE '9999-12-31') "
    "AND (superseded_at IS NULL OR superseded_at > coalesce(CAST(? AS DATE), DATE '9999-12-30'))"
)


def _document(company: SampleOrganisation) -> str:
    return f"%CIK{cik_of(company)}.json%"


def _plain(value: Any) -> Any:
    """Return a value as JSON has it."""
    if isinstance(value, Decimal):
        whole = value.to_integral_value()
        return whole.quantize(Decimal(1)) if value == whole else value.normalize()
    if isinstance(value, date):
        return value.isoformat()
    return value


def years_in(text: str) -> set[str]:
    """Return the years that a text mentions."""
    return set(re.findall(r"(?<!\d)(?:19|20)\d\d(?!\d)", text))
