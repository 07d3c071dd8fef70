"""Quality floors: what is measured of each dataset, how, and the minimum that passes.

A measurement is a statement over the tables of a snapshot that returns a row per ``scope``: with
``n_checked`` and ``n_passed``, of which the share is taken, or with a ``value``. If it returns no
row there was nothing to check, and the floor is UNMEASURED. A floor that ``blocks`` stops the
publication: only our own mistake can miss it. One that depends on how much or how often a source
publishes does not: it turns red, and the data is published.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import ROUND_DOWN, Context, Decimal
from typing import Any

from warehouse.mart.snapshot import Snapshot
from warehouse.record.rules import SERVED_LICENCES
from warehouse.record.tables import RECORD_TABLES
from warehouse.tables.operations import QualityMetric, QualityStatus

# Placeholder in a statement for the time of the measurement.
MEASURED_AT = "$measured_at"

ALL, HALF = Decimal(1), Decimal("0.5")


@dataclass(frozen=True)
class Floor:
    """One measurement and what passes: at least ``floor``, or at most if ``is_maximum``.

    ``scope`` is that of the UNMEASURED row if there is nothing to check.
    """

    sku: str
    dimension: str
    metric: str
    scope: str
    statement: str
    floor: Decimal
    unit: str = "share"
    is_maximum: bool = False
    blocks: bool = True

    def passes(self, value: Decimal) -> bool:
        """Return whether a measured value passes."""
        return value <= self.floor if self.is_maximum else value >= self.floor


_TABLES = {
    "AF-FUND": ("fundamentals",),
    "AF-TENDER": ("tender_releases", "tender_parties"),
    "AF-MACRO": ("macro_annual", "macro_series"),
}
_KEYS = {table.name: ", ".join((*table.identity, "vintage")) for table in RECORD_TABLES}
_SERVED = ", ".join(f"'{name}'" for name in SERVED_LICENCES)
_COMPLETENESS = {
    "provenance_complete": (
        "source_ref <> '' AND document <> '' AND observed_at IS NOT NULL "
        "AND method IS NOT NULL AND provenance_id <> ''"
    ),
    "licence_complete": f"license_class IN ({_SERVED})",
}


def _share(table: str, condition: str, where: str = "TRUE", scope: str | None = None) -> str:
    """Return SQL that counts the rows of a table that meet a condition, per ``scope``."""
    return f"""
SELECT {scope or f"'{table}'"} AS scope, count(*) AS n_checked,
    count(*) FILTER (WHERE {condition}) AS n_passed
FROM {table} WHERE {where} GROUP BY scope"""


def _unique(table: str) -> str:
    return f"""
SELECT '{table}' AS scope, sum(occurrences) AS n_checked, count(*) AS n_passed
-- as many keys as rows if no key occurs twice
FROM (SELECT count(*) AS occurrences FROM {table} GROUP BY {_KEYS[table]})"""


def _days_since_new(table: str) -> str:
    return f"""
SELECT source AS scope, date_diff('day', max(observed_at), {MEASURED_AT}) AS value,
    count(*) AS n_checked, NULL AS n_passed
FROM {table} GROUP BY source"""


# Assets must equal liabilities plus equity. A difference of up to a thousandth is due to rounding,
# for example of amounts reported in millions.
_BALANCED = """
WITH balance AS (
    SELECT service_id, unit, basis, period_end,
        max(value_reported) FILTER (WHERE line_item = 'total_assets') AS assets,
        max(value_reported) FILTER (WHERE line_item = 'total_liabilities') AS liabilities,
        max(value_reported) FILTER (WHERE line_item = 'total_equity') AS equity
    FROM fundamentals WHERE latest AND period_type = 'INSTANT' GROUP BY ALL
)
SELECT 'fundamentals' AS scope, count(*) AS n_checked, count(*) FILTER (
    WHERE abs(CAST(assets - liabilities - equity AS DOUBLE)) <= abs(assets) / 1000
) AS n_passed
FROM balance WHERE assets IS NOT NULL AND liabilities IS NOT NULL AND equity IS NOT NULL"""

# Issuers whose newest full year has both revenue and profit.
_CORE_ITEMS = """
WITH years AS (
    SELECT service_id, period_end, bool_or(line_item = 'revenue') AS revenue,
        bool_or(line_item = 'profit') AS profit
    FROM fundamentals WHERE latest AND period_type = 'FY' GROUP BY ALL
)
SELECT 'issuers' AS scope, count(*) AS n_checked, count(*) FILTER (
    WHERE revenue AND profit
) AS n_passed
FROM (FROM years QUALIFY period_end = max(period_end) OVER (PARTITION BY service_id))"""

FLOORS: tuple[Floor, ...] = (
    *(
        Floor(sku, "completeness", metric, table, _share(table, condition), ALL)
        for sku, tables in _TABLES.items()
        for table in tables
        for metric, condition in _COMPLETENESS.items()
    ),
    *(
        Floor(sku, "uniqueness", "key_unique", table, _unique(table), ALL)
        for sku, tables in _TABLES.items()
        for table in tables
    ),
    *(
        Floor(
            *(sku, "freshness", "days_since_new", table, _days_since_new(table), Decimal(days)),
            unit="days",
            is_maximum=True,
            blocks=False,
        )
        for sku, table, days in (
            ("AF-FUND", "fundamentals", 14),
            ("AF-TENDER", "tender_releases", 7),
            # The World Bank revises its indicators each quarter.
            ("AF-MACRO", "macro_annual", 120),
            ("AF-MACRO", "macro_series", 7),
        )
    ),
    Floor("AF-FUND", "consistency", "accounting_identity", "fundamentals", _BALANCED, HALF),
    Floor(
        *("AF-FUND", "coverage", "core_items_reported", "issuers", _CORE_ITEMS, HALF),
        blocks=False,
    ),
    *(
        Floor(
            *("AF-TENDER", "coverage", metric, "tender_releases"),
            _share("tender_releases", f"{column} IS NOT NULL", "latest", "source"),
            HALF,
            blocks=False,
        )
        for metric, column in (("buyer_stated", "buyer_key"), ("value_stated", "tender_value"))
    ),
    Floor(
        *("AF-TENDER", "resolution", "parties_resolved", "party_matches"),
        # Parties are resolved by number or exact name only, so that many real matches are missed.
        _share("party_matches", "service_id IS NOT NULL", scope="country"),
        Decimal("0.1"),
        blocks=False,
    ),
    Floor(
        *("AF-TENDER", "privacy", "no_contact_in_text", "tender_releases"),
        _share(
            "tender_releases",
            "row_id NOT IN (SELECT row_id FROM releases_with_contact)",
            "release IS NOT NULL",
        ),
        ALL,
    ),
    Floor(
        *("AF-TENDER", "privacy", "parties_established", "tender_parties"),
        _share(
            "tender_parties",
            "org_evidence IS NOT NULL AND row_id NOT IN (SELECT row_id FROM failing_parties)",
            "name IS NOT NULL",
        ),
        ALL,
    ),
    Floor(
        *("AF-MACRO", "coverage", "values_known", "macro_series"),
        _share("macro_series", "value IS NOT NULL", "latest", "source"),
        HALF,
    ),
)


# Truncated, not rounded: one failing row among very many must never look like none.
_TEN_DIGITS = Context(prec=10, rounding=ROUND_DOWN)


def measure(
    snapshot: Snapshot, measured_at: datetime, floors: Iterable[Floor] = FLOORS
) -> list[tuple[Floor, QualityMetric]]:
    """Measure every floor; one with nothing to check is UNMEASURED, which is never a pass."""
    return [
        (floor, row) for floor in floors for row in _measure_floor(snapshot, floor, measured_at)
    ]


def _measure_floor(
    snapshot: Snapshot, floor: Floor, measured_at: datetime
) -> Iterator[QualityMetric]:
    timestamp = f"TIMESTAMPTZ '{measured_at.astimezone(UTC).isoformat()}'"
    scopes = [
        row
        for row in snapshot.read(floor.statement.replace(MEASURED_AT, timestamp)).to_pylist()
        # A row that counted nothing is as good as none: UNMEASURED, and not 0 of 0.
        if row["n_checked"]
    ]
    scopes.sort(key=lambda row: str(row["scope"]))
    for row in scopes or [{"scope": floor.scope}]:
        value = _value(row)
        yield QualityMetric(
            sku=floor.sku,
            dimension=floor.dimension,
            metric=floor.metric,
            scope=row["scope"],
            value=value,
            unit=floor.unit,
            floor=floor.floor,
            status=_status(floor, value),
            n_checked=_count(row, "n_checked"),
            n_passed=_count(row, "n_passed"),
            measured_at=measured_at,
            data_version=snapshot.data_version,
        )


def _status(floor: Floor, value: Decimal | None) -> QualityStatus:
    if value is None:
        return "UNMEASURED"
    return "PASS" if floor.passes(value) else "FAIL"


def _value(row: dict[str, Any]) -> Decimal | None:
    if row.get("value") is not None:
        return Decimal(row["value"])
    if row.get("n_passed") is None:
        return None
    return _TEN_DIGITS.divide(Decimal(row["n_passed"]), Decimal(row["n_checked"]))


def _count(row: dict[str, Any], name: str) -> int | None:
    return None if row.get(name) is None else int(row[name])
