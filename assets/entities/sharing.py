"""The few ids that share anything, found in SQL among as many as there are."""

import duckdb
import pyarrow as pa

from assets.entities.claims import ENTITY
from assets.entities.folded import number
from assets.entities.keys import BORNE, fold
from assets.entities.same import same_as

_LISTED = f"""
SELECT number FROM ({BORNE}) WHERE kind = 'isin'
  AND service_id IN (SELECT service_id FROM identifiers WHERE id_type = 'ticker')
""".strip()
_INVOLVED = f"""
WITH compared AS (
    SELECT service_id, hash(kind, register, number) AS mark
    FROM ({BORNE}) WHERE kind <> 'isin' OR number IN ({_LISTED})
)
SELECT service_id FROM compared WHERE mark IN (
    SELECT mark FROM compared GROUP BY mark HAVING min(service_id) <> max(service_id)
)
UNION SELECT service_id FROM entities WHERE same_as IS NOT NULL
UNION SELECT same_as FROM entities WHERE same_as IS NOT NULL
""".strip()
_AS_WRITTEN = f"""
SELECT DISTINCT id_value AS value
FROM identifiers LEFT JOIN odd_numbers AS odd ON odd.value = id_value
WHERE id_type = 'isin' AND {number("id_value", "odd")} IN ({_LISTED})
""".strip()
_THEIRS = """
SELECT service_id, id_type, id_value, issuer FROM identifiers
WHERE service_id IN (SELECT service_id FROM involved)
  AND (id_type <> 'isin' OR id_value IN (SELECT value FROM listed))
""".strip()


def find_same(sql: duckdb.DuckDBPyConnection) -> pa.Table:
    """Find ids that are one organisation among ``identifiers`` and ``entities``.

    These are tables of the connection, of any size: SQL looks for the few ids that share an
    identifier or that a register points from or to, and only their rows are read one by one.
    """
    fold(sql)
    sql.register("involved", sql.sql(_INVOLVED).to_arrow_table())
    sql.register("listed", sql.sql(_AS_WRITTEN).to_arrow_table())
    identifiers = sql.sql(_THEIRS).to_arrow_table()
    theirs = f"SELECT {', '.join(ENTITY)} FROM entities SEMI JOIN involved USING (service_id)"
    rows = same_as(identifiers, sql.sql(theirs).to_arrow_table())
    names = ("service_id", "same_as", "evidence")
    return pa.Table.from_pylist(rows, pa.schema([(name, pa.string()) for name in names]))
