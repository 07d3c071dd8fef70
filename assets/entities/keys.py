"""Who bears which identifier, as it compares, in SQL.

All statements here read the tables ``identifiers`` and ``entities`` of a connection, which hold
what stands: nothing that was withdrawn.
"""

import duckdb

from assets.entities.folded import fold_codes, fold_numbers, number, numbered

# Kinds of identifiers that tell organisations apart.
_COMPARED = "('lei', 'registry', 'isin')"
_VALUES = f"""
SELECT id_value AS value FROM identifiers WHERE id_type IN {_COMPARED}
UNION ALL SELECT lei FROM entities
""".strip()
_CODES = "SELECT issuer AS value FROM identifiers WHERE id_type = 'registry'"


def fold(sql: duckdb.DuckDBPyConnection, stated: str = "", schemes: str = "") -> None:
    """Make what ``BORNE`` joins; ``stated`` and ``schemes`` add values of others."""
    fold_numbers(sql, f"{_VALUES} UNION ALL {stated}" if stated else _VALUES)
    fold_codes(sql, f"{_CODES} UNION ALL {schemes}" if schemes else _CODES)


BORNE = f"""
SELECT service_id, id_type AS kind,
    CASE WHEN id_type = 'registry' THEN codes.register END AS register,
    {number("id_value", "odd")} AS number
FROM identifiers
LEFT JOIN odd_numbers AS odd ON odd.value = id_value
LEFT JOIN codes ON codes.value = issuer
WHERE id_type IN {_COMPARED} AND {number("id_value", "odd")} IS NOT NULL
  AND (id_type <> 'registry' OR (codes.register IS NOT NULL AND {numbered("id_value", "odd")}))
UNION ALL
SELECT service_id, 'lei', NULL, {number("lei", "odd")}
FROM entities LEFT JOIN odd_numbers AS odd ON odd.value = lei
WHERE {number("lei", "odd")} IS NOT NULL
""".strip()
