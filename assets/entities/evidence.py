"""Find what ids of organisations share: the evidence by which they may be joined.

SQL narrows millions of identifiers and names down to the few that several ids bear. Numbers,
listings and names are compared in the forms of ``comparison_keys`` and ``legal_names``.

A claim says that an id bears a key in the records of a side. A side is a register or list, under
all the names of its sources: ``gleif`` and ``gleif-api`` are one. What a source has withdrawn stays
evidence, so that an id which was once joined never becomes unknown; but not if the same source now
gives the key to another id.
"""

from datetime import date
from typing import NamedTuple

import duckdb

from assets.entities.comparison_keys import (
    IDENTIFIER_KEYS,
    create_key_tables,
    create_listing_table,
    create_name_table,
    normalised_number_sql,
)
from assets.entities.legal_names import CRUDE_KEY, NAMES_WITH_PLACE

_SIDE = "split_part(source, '-', 1)"
# ISINs of ids that also have a ticker: no other ISIN joins organisations.
_LISTED_ISINS = f"""
SELECT number FROM ({IDENTIFIER_KEYS}) WHERE id_type = 'isin'
  AND service_id IN (SELECT service_id FROM identifiers WHERE id_type = 'ticker')
""".strip()
# Listed ISINs as they are written in the identifiers, to select rows without normalising each.
_LISTED_ISIN_VALUES = f"""
SELECT DISTINCT id_value AS value
FROM identifiers LEFT JOIN odd_numbers AS odd ON odd.value = id_value
WHERE id_type = 'isin' AND {normalised_number_sql("id_value", "odd")} IN ({_LISTED_ISINS})
""".strip()
_SHARED_NUMBERS = f"""
-- group by a hash, which is smaller than the key; a collision only adds claims of other keys
WITH keys AS (
    SELECT *, hash(id_type, register, number) AS key_hash
    FROM ({IDENTIFIER_KEYS}) WHERE id_type <> 'isin' OR number IN ({_LISTED_ISINS})
),
shared AS (
    SELECT key_hash FROM keys GROUP BY key_hash HAVING min(service_id) <> max(service_id)
)
SELECT DISTINCT CASE WHEN id_type IN ('registry', 'cik') THEN 'registry_id' ELSE id_type END,
    concat_ws('/', id_type, register, number), service_id, {_SIDE}, is_current,
    CAST(NULL AS DATE), CAST(NULL AS DATE)
FROM keys SEMI JOIN shared USING (key_hash)
""".strip()
# A listing is one ticker in one market, while it lasts. A market without a MIC may be several, and
# of a delisted security without a day nobody knows when its ticker became another's.
_SHARED_LISTINGS = f"""
WITH listings AS (
    SELECT listing, service_id, source, is_current,
        coalesce(valid_from, known_from) AS begins, coalesce(valid_to, known_until) AS ends
    FROM identifiers JOIN comparable_listings ON value = id_value
    WHERE id_type = 'ticker' AND regexp_full_match(issuer, '[A-Za-z0-9]{{4}}')
      AND (valid_to IS NOT NULL OR NOT coalesce(contains(lower(status), 'delist'), FALSE))
)
SELECT DISTINCT 'listing', listing, service_id, {_SIDE}, is_current, begins, ends
FROM listings SEMI JOIN (
    SELECT listing FROM listings GROUP BY listing HAVING min(service_id) <> max(service_id)
) USING (listing)
""".strip()
# Names that may be equal: those that agree in a crude key, in one country, on several sides.
_NAME_KEYS = f"""
CREATE OR REPLACE TEMP TABLE name_keys AS
WITH names AS (SELECT *, {_SIDE} AS side FROM ({NAMES_WITH_PLACE}))
SELECT *, {CRUDE_KEY} AS crude_key FROM names
""".strip()
_CANDIDATE_NAMES = """
CREATE OR REPLACE TEMP TABLE candidate_names AS
SELECT DISTINCT service_id, side, is_current, place, subdivision, name FROM name_keys SEMI JOIN (
    SELECT place, crude_key FROM name_keys GROUP BY ALL HAVING min(side) <> max(side)
) USING (place, crude_key)
""".strip()
_SHARED_NAMES = """
WITH bearers AS (
    SELECT concat_ws('/', place, normalised) AS key, service_id, side, is_current, subdivision
    FROM candidate_names JOIN normalised_names ON normalised_names.value = name
    WHERE normalised IS NOT NULL
)
SELECT DISTINCT 'exact_name', key, service_id, side, is_current, CAST(NULL AS DATE),
    CAST(NULL AS DATE), subdivision
FROM bearers SEMI JOIN (
    SELECT key FROM bearers GROUP BY key HAVING min(side) <> max(side)
) USING (key)
""".strip()
_NUMBERS = """
SELECT service_id, id_type, id_value, issuer FROM identifiers
WHERE service_id IN (SELECT service_id FROM candidates)
  AND (id_type <> 'isin' OR id_value IN (SELECT value FROM listed_isin_values))
UNION SELECT service_id, 'lei', lei, NULL FROM entities
WHERE service_id IN (SELECT service_id FROM candidates) AND lei IS NOT NULL
""".strip()


class Claim(NamedTuple):
    """An id bears a key, in the records of a side; a listing, from a day to a day.

    Of a name, ``subdivision`` is that under whose law its bearer is, if the record states it.
    """

    method: str
    key: str
    service_id: str
    side: str
    is_current: bool
    begins: date | None = None
    ends: date | None = None
    subdivision: str | None = None


class Number(NamedTuple):
    """An identifier of an id, as it is written in its source."""

    service_id: str
    id_type: str
    value: str
    issuer: str | None


class Evidence(NamedTuple):
    """What ids share, the identifiers of these ids, and the duplicates that registers declare."""

    claims: list[Claim]
    numbers: list[Number]
    declared: dict[str, str]


def collect_evidence(sql: duckdb.DuckDBPyConnection) -> Evidence:
    """Return what ids of the connection's ``identifiers`` and ``entities`` share."""
    create_key_tables(sql)
    create_listing_table(sql)
    sql.execute(_NAME_KEYS)
    sql.execute(_CANDIDATE_NAMES)
    create_name_table(sql, "SELECT name AS value FROM candidate_names")
    claims = [
        Claim(*row)
        for statement in (_SHARED_NUMBERS, _SHARED_LISTINGS, _SHARED_NAMES)
        for row in sql.execute(statement).fetchall()
    ]
    declared = _declared(sql)
    ids = {claim.service_id for claim in claims} | {*declared, *declared.values()}
    sql.execute("CREATE OR REPLACE TEMP TABLE candidates (service_id VARCHAR)")
    sql.execute("INSERT INTO candidates SELECT unnest(?)", [sorted(ids)])
    sql.execute(f"CREATE OR REPLACE TEMP TABLE listed_isin_values AS {_LISTED_ISIN_VALUES}")
    numbers = [Number(*row) for row in sql.execute(_NUMBERS).fetchall()]
    return Evidence(claims, numbers, declared)


def _declared(sql: duckdb.DuckDBPyConnection) -> dict[str, str]:
    """Return the duplicates that registers declare themselves; of two targets the smaller id."""
    rows = sql.execute(
        "SELECT service_id, min(same_as) FROM entities "
        "WHERE is_current AND same_as <> service_id GROUP BY service_id"
    )
    return dict(rows.fetchall())
