"""Contract awards that a known organisation won, each value as a fact of its own."""

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import duckdb
import msgspec
import pyarrow as pa

from warehouse.mart.parties import RESOLVED
from warehouse.wire import number

_BATCH = 10_000
_KEPT = ("source", "ocid", "release_id", "row_id", "award_id", "service_id", "value", "unit")
_SCHEMA = pa.schema([*((name, pa.string()) for name in _KEPT), ("awarded_on", pa.string())])

# Releases in which an organisation that is known is a supplier, with those suppliers.
_WON = f"""
WITH won AS (
    SELECT source, ocid, release_id, list({{'name': name, 'service_id': service_id}}) AS suppliers
    FROM ({RESOLVED}) WHERE role = 'supplier' AND service_id IS NOT NULL GROUP BY ALL
)
SELECT source, ocid, release_id, row_id, release, suppliers
FROM tender_releases JOIN won USING (source, ocid, release_id)
WHERE NOT withdrawn AND contains(release, '"awards"')
"""

_WINDOW = (
    "PARTITION BY source, ocid, award_id, service_id "
    "ORDER BY available_at NULLS FIRST, released_on NULLS FIRST, release_id, release_vintage"
)

# An award that several releases state is one fact; another value of it is another vintage.
AWARD_FACTS = f"""
WITH stated AS (
    SELECT awarded.*, released.* EXCLUDE (source, ocid, release_id, row_id, vintage, superseded_at,
        latest), released.vintage AS release_vintage
    FROM awarded JOIN tender_releases AS released USING (row_id)
),
neighbours AS (
    SELECT *, lag(value || ' ' || unit) OVER ({_WINDOW}) AS before FROM stated
),
vintages AS (
    SELECT *, row_number() OVER ({_WINDOW}) AS vintage,
        lead(available_at) OVER ({_WINDOW}) AS superseded_at,
        lead(row_id) OVER ({_WINDOW}) IS NULL AS latest
    FROM neighbours WHERE before IS NULL OR before <> value || ' ' || unit
)
SELECT vintages.* REPLACE (CAST(value AS JSON) AS value),
    md5(concat_ws('/', row_id, award_id, vintages.service_id)) AS fact_id,
    vintages.service_id AS entity_id, named.legal_name AS entity_name, countries.country_iso3,
    'AF-TENDER' AS dataset, 'award_value' AS measure,
    coalesce(TRY_CAST(left(awarded_on, 10) AS DATE), released_on) AS period_end,
    'INSTANT' AS period_type
FROM vintages
LEFT JOIN (
    SELECT service_id, any_value(legal_name ORDER BY lei IS NULL, source) AS legal_name
    FROM entities WHERE latest GROUP BY 1
) AS named ON named.service_id = vintages.service_id
LEFT JOIN countries ON countries.country = vintages.country
""".strip()


class _Money(msgspec.Struct):
    amount: Decimal | None = None
    currency: str | None = None


class _Named(msgspec.Struct):
    name: str | None = None


class _Award(msgspec.Struct):
    id: str | int | None = None
    date: str | None = None
    value: _Money | None = None
    suppliers: list[_Named] | None = None


class _Release(msgspec.Struct):
    awards: list[_Award] | None = None


_RELEASE = msgspec.json.Decoder(_Release)


def awarded(sql: duckdb.DuckDBPyConnection) -> pa.Table:
    """Read who was awarded what from the releases; an award without a value is no fact."""
    found = [row for batch in sql.sql(_WON).to_arrow_reader(_BATCH) for row in _read(batch)]
    return pa.Table.from_pylist(found, _SCHEMA)


def _read(batch: pa.RecordBatch) -> Iterator[dict[str, Any]]:
    for row in batch.to_pylist():
        winners = {each["name"]: each["service_id"] for each in row["suppliers"]}
        for place, award in enumerate(_RELEASE.decode(row["release"]).awards or ()):
            money = award.value
            if money is None or money.amount is None or money.currency is None:
                continue
            named = {each.name for each in award.suppliers or ()}
            for service_id in sorted({winners[name] for name in named if name in winners}):
                yield {
                    **{name: row[name] for name in ("source", "ocid", "release_id", "row_id")},
                    "award_id": str(place if award.id is None else award.id),
                    "service_id": service_id,
                    "value": number(money.amount).decode(),
                    "unit": money.currency,
                    "awarded_on": award.date,
                }
