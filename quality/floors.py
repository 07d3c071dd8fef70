"""Quality floors: what is measured of each dataset, how, and the minimum that passes.

A measurement is a statement over the tables of a snapshot that returns a row per ``scope``: with
``n_checked`` and ``n_passed``, of which the share is taken, or with a ``value``. If it returns no
row there was nothing to check, and the floor is UNMEASURED. A floor that ``blocks`` stops the
publication: only our own mistake can miss it. One that depends on what, how much or how often a
source publishes does not: it turns red, and the data is published.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from decimal import ROUND_DOWN, Context, Decimal
from typing import Any

from warehouse.mart.snapshot import Snapshot
from warehouse.record.rules import SERVED_LICENCES
from warehouse.record.tables import RECORD_TABLES
from warehouse.tables.operations import QualityMetric, QualityStatus

# Placeholder in a statement for the time of the measurement.
MEASURED_AT = "$measured_at"

ALL, NEARLY_ALL, HALF = Decimal(1), Decimal("0.95"), Decimal("0.5")
DAYS_SINCE_NEW = "days_since_new"


@dataclass(frozen=True)
class Floor:
    """One measurement and what passes: at least ``floor``, or at most if ``is_maximum``.

    ``by_scope`` has other floors for some scopes. ``scope`` is that of the UNMEASURED row if
    there is nothing to check.
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
    by_scope: Mapping[str, Decimal] = field(default_factory=dict)

    def of(self, scope: str) -> Decimal:
        """Return the floor of a scope."""
        return self.by_scope.get(scope, self.floor)

    def passes(self, value: Decimal, scope: str) -> bool:
        """Return whether a measured value of a scope passes."""
        return value <= self.of(scope) if self.is_maximum else value >= self.of(scope)


# What each metric measures, for readers.
MEANINGS = {
    "provenance_complete": "rows with source, document, location, method and day of reading",
    "licence_complete": "rows under a licence that permits serving them",
    "key_unique": "rows of which no other has the same figure and vintage",
    "one_value_per_period": "periods of a series with one value, on one base",
    DAYS_SINCE_NEW: "age of the newest publication of a source: by its own date, else since we "
    "first saw its content, never since we last read it",
    "accounting_identity": "balance sheets in the newest publication that states assets, "
    "liabilities and equity, where assets equal the others (with temporary equity) to a "
    "thousandth and none contradicts its filing",
    "core_items_reported": "issuers, banks and insurers aside, whose newest full year has "
    "revenue, profit and total assets",
    "buyer_stated": "releases that name their buyer",
    "value_stated": "releases that state the value of the tender",
    "parties_resolved": "parties that are known to be an organisation of the registers",
    "no_contact_in_text": "releases without a contact in their texts",
    "parties_established": "named parties that are established as organisations",
    "values_known": "observations with a value",
}

_TABLES = {
    "AF-FUND": ("fundamentals",),
    "AF-TENDER": ("tender_releases", "tender_parties"),
    "AF-MACRO": ("macro_annual", "macro_series"),
}
_IDENTITIES = {table.name: table.identity for table in RECORD_TABLES}
_KEYS = {name: ", ".join((*identity, "vintage")) for name, identity in _IDENTITIES.items()}
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


def _one_value(table: str) -> str:
    """Return SQL that counts the periods of each series that have one value."""
    series = [name for name in _IDENTITIES[table] if name not in ("unit", "base_period")]
    return f"""
SELECT '{table}' AS scope, count(*) AS n_checked, count(*) FILTER (WHERE figures = 1) AS n_passed
FROM (SELECT count(*) AS figures FROM {table} WHERE latest GROUP BY {", ".join(series)})"""


def _days_since_new(*tables: str) -> str:
    """Return SQL that measures the age of the newest publication of each source.

    A publication is as old as its own date: the day from which the public could read it, else the
    day by which the publisher names it. If it has neither, the day on which we first saw it
    counts. So reading the same again makes nothing newer, and a silent edit of an old publication
    does not either.
    """
    rows = " UNION ALL ".join(
        f"SELECT source, available_at, publication, observed_at FROM {table} WHERE NOT withdrawn"
        for table in tables
    )
    return f"""
SELECT source AS scope, sum(row_count) AS n_checked, NULL AS n_passed,
    greatest(0, date_diff('day', max(published_on), CAST({MEASURED_AT} AS DATE))) AS value
FROM (
    SELECT source, publication, count(*) AS row_count, min(coalesce(
        available_at, try_cast(left(publication, 10) AS DATE), CAST(observed_at AS DATE)
    )) AS published_on
    FROM ({rows}) GROUP BY ALL
) GROUP BY source"""


# Assets must equal liabilities plus equity, with what stands between the two in US statements, in
# the newest publication that states all of them: a later one may restate a single side. What
# stands between may also be a part of liabilities or equity already. A difference of up to a
# thousandth is due to rounding, for example of amounts in millions. A side that contradicts its own
# filing fails, whatever the sum.
_BALANCED = """
WITH figures AS (
    SELECT DISTINCT figure, figure_check, unit, basis, period_end, line_item FROM fundamentals
    WHERE period_type = 'INSTANT' AND line_item IN
        ('total_assets', 'total_liabilities', 'total_equity', 'temporary_equity')
),
balance AS (
    SELECT service_id, unit, basis, period_end, publication, available_at,
        bool_or(conflicts_with IS NOT NULL) AS conflicts,
        max(value_reported) FILTER (WHERE line_item = 'total_assets') AS assets,
        max(value_reported) FILTER (WHERE line_item = 'total_liabilities') AS liabilities,
        max(value_reported) FILTER (WHERE line_item = 'total_equity') AS equity,
        coalesce(max(value_reported) FILTER (WHERE line_item = 'temporary_equity'), 0) AS temporary
    FROM statements JOIN figures USING (figure, figure_check) WHERE NOT withdrawn GROUP BY ALL
    HAVING assets IS NOT NULL AND liabilities IS NOT NULL AND equity IS NOT NULL
),
newest AS (
    FROM balance QUALIFY row_number() OVER (PARTITION BY service_id, unit, basis, period_end
        ORDER BY available_at DESC NULLS LAST, publication DESC) = 1
)
SELECT 'fundamentals' AS scope, count(*) AS n_checked, count(*) FILTER (
    WHERE NOT conflicts
        AND least(abs(CAST(assets - liabilities - equity AS DOUBLE)),
            abs(CAST(assets - liabilities - equity - temporary AS DOUBLE))) <= abs(assets) / 1000
) AS n_passed
FROM newest"""

# Issuers whose newest full year has revenue, profit and total assets. Banks and insurers, which
# report no revenue, are known by lines that only they have.
_CORE_ITEMS = """
WITH lines AS (
    SELECT service_id, bool_or(line_item IN ('deposits', 'premiums', 'claims'))
        OR (bool_or(line_item = 'net_interest_income') AND bool_or(line_item = 'loans'))
        AS is_financial,
        max(period_end) FILTER (WHERE period_type = 'FY') AS year_end
    FROM fundamentals WHERE latest GROUP BY ALL
),
newest AS (
    SELECT service_id,
        bool_or(line_item = 'revenue' AND period_type = 'FY') AS revenue,
        bool_or(line_item IN ('profit', 'profit_attributable') AND period_type = 'FY') AS profit,
        bool_or(line_item = 'total_assets') AS assets
    FROM fundamentals JOIN lines USING (service_id)
    WHERE latest AND NOT is_financial AND period_end = year_end GROUP BY ALL
)
SELECT 'non-financial issuers' AS scope, count(*) AS n_checked,
    count(*) FILTER (WHERE revenue AND profit AND assets) AS n_passed
FROM newest"""

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
        Floor("AF-MACRO", "uniqueness", "one_value_per_period", table, _one_value(table), ALL)
        for table in _TABLES["AF-MACRO"]
    ),
    *(
        Floor(
            *(sku, "freshness", DAYS_SINCE_NEW, "sources", _days_since_new(*tables), Decimal(7)),
            unit="days",
            is_maximum=True,
            blocks=False,
        )
        for sku, tables in (_TABLES | {"AF-TENDER": ("tender_releases",)}).items()
    ),
    Floor(
        *("AF-FUND", "consistency", "accounting_identity", "fundamentals", _BALANCED, NEARLY_ALL),
        blocks=False,
    ),
    Floor(
        *("AF-FUND", "coverage", "core_items_reported", "non-financial issuers", _CORE_ITEMS),
        Decimal("0.9"),
        blocks=False,
    ),
    *(
        Floor(
            *("AF-TENDER", "coverage", metric, "tender_releases"),
            _share("tender_releases", f"{column} IS NOT NULL", "latest", "source"),
            least,
            blocks=False,
        )
        for metric, column, least in (
            # The standard requires a buyer; many portals publish values only with awards.
            ("buyer_stated", "buyer_key", Decimal("0.9")),
            ("value_stated", "tender_value", HALF),
        )
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
        NEARLY_ALL,
        blocks=False,
    ),
)


def with_freshness(new_within: Mapping[str, int]) -> tuple[Floor, ...]:
    """Return the floors with the days within which each source has something new, as a rule."""
    days = {source: Decimal(number) for source, number in new_within.items()}
    return tuple(
        replace(floor, by_scope=days) if floor.metric == DAYS_SINCE_NEW else floor
        for floor in FLOORS
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
            floor=floor.of(row["scope"]),
            status=_status(floor, value, row["scope"]),
            n_checked=_count(row, "n_checked"),
            n_passed=_count(row, "n_passed"),
            measured_at=measured_at,
            data_version=snapshot.data_version,
        )


def _status(floor: Floor, value: Decimal | None, scope: str) -> QualityStatus:
    if value is None:
        return "UNMEASURED"
    return "PASS" if floor.passes(value, scope) else "FAIL"


def _value(row: dict[str, Any]) -> Decimal | None:
    if row.get("value") is not None:
        return Decimal(row["value"])
    if row.get("n_passed") is None:
        return None
    return _TEN_DIGITS.divide(Decimal(row["n_passed"]), Decimal(row["n_checked"]))


def _count(row: dict[str, Any], name: str) -> int | None:
    return None if row.get(name) is None else int(row[name])
