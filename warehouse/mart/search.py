"""The tables that searches read: names of organisations, and words with their places."""

from collections.abc import Iterator

import duckdb
import pyarrow as pa

from warehouse.mart.postings import Postings
from warehouse.mart.releases import RELEASES_ORDER
from warehouse.mart.words import folded

NAMES, WORDS = "names", "words"
NAMES_SCHEMA = pa.schema(
    [("folded", pa.string()), ("country", pa.string()), ("entity", pa.int32())]
)
WORDS_SCHEMA = pa.schema(
    [("field", pa.string()), ("word", pa.string()), ("places", pa.large_binary())]
)
_BATCH = 50_000
# Of a description its beginning says what is bought.
_LONGEST = 400

_NAMED = """
WITH held AS (SELECT row_number() OVER (ORDER BY service_id) AS entity, * FROM ({entities}))
SELECT entity, coalesce(country, '') AS country, legal_name AS name FROM held
WHERE legal_name IS NOT NULL
UNION SELECT entity, coalesce(country, ''), unnest(CAST(other_names AS VARCHAR[])) FROM held
"""


# Of a release its buyer, its title and its description.
_SAID = f"""
WITH placed AS (
    SELECT CAST(row_number() OVER (ORDER BY {RELEASES_ORDER}) AS INTEGER) AS place, latest,
        json_extract_string(release, ['$.buyer.name', '$.tender.title', '$.tender.description'])
            AS texts
    FROM tender_releases
)
SELECT place, coalesce(texts[1], '') AS buyer,
    concat_ws(' ', texts[1], texts[2], left(texts[3], {_LONGEST})) AS tender
FROM placed WHERE latest AND texts IS NOT NULL
"""


def names(sql: duckdb.DuckDBPyConnection, entities: str) -> pa.Table:
    """Give every name of every organisation, folded, with the place of its record."""
    found = sql.sql(_NAMED.format(entities=entities)).to_arrow_table()
    told = pa.array(folded(found["name"].to_pylist()), pa.string())
    table = pa.Table.from_arrays(
        [told, found["country"].cast(pa.string()), found["entity"].cast(pa.int32())],
        schema=NAMES_SCHEMA,
    )
    return table.sort_by([("folded", "ascending"), ("entity", "ascending")])


def postings(sql: duckdb.DuckDBPyConnection, named: pa.Table) -> Iterator[pa.RecordBatch]:
    """Give each word of a field with the places of the rows that have it, sorted."""
    fields = {name: Postings() for name in ("buyer", "entity", "tender")}
    fields["entity"].add(named["entity"].to_numpy(), named["folded"].to_pylist())
    for batch in sql.sql(_SAID).to_arrow_reader(_BATCH):
        for name in ("buyer", "tender"):
            fields[name].add(batch["place"].to_numpy(), batch[name].to_pylist())
    for name, held in fields.items():
        for asked, packed in held.packed(_BATCH):
            columns = [pa.repeat(name, len(asked)), pa.array(asked, pa.string()), packed]
            yield pa.RecordBatch.from_arrays(columns, schema=WORDS_SCHEMA)
