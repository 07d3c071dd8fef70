"""Identifiers and names in comparable form, in SQL.

The rules are Python functions of ``identifiers`` and ``legal_names``. Each is applied once to every
distinct value that needs it, and the result is registered as a small lookup table that SQL joins:

* ``odd_numbers``: value, normalised number, whether it has digits
* ``normalised_names``: value, normalised name
* ``comparable_listings``: ticker, the same under the operating MIC of its market
* ``registers``: code of a scheme or authority, main code of the register, identifier type

All statements read the tables ``identifiers`` and ``entities`` of a connection, without withdrawn
rows.
"""

from collections.abc import Callable, Mapping

import duckdb
import pyarrow as pa

from assets.entities.identifiers import (
    CNPJ_FORM,
    CNPJ_REGISTER,
    LEI_SCHEMES,
    has_digits,
    normalise_number,
    register_of,
)
from assets.entities.markets import comparable_listing
from warehouse.legal_names import normalise_name

# Printable ASCII without blanks and lower case: already normalised. Nearly all values are, and
# are never handed to Python.
NORMALISED_NUMBER = "[!-`{-~]+"

_BATCH_ROWS = 1 << 16
_TEXT = pa.string()
# Types of identifiers that tell organisations apart.
_COMPARED_TYPES = "('lei', 'registry', 'cik', 'isin', 'figi')"
_NUMBERS = f"""
SELECT id_value AS value FROM identifiers WHERE id_type IN {_COMPARED_TYPES}
UNION ALL SELECT lei FROM entities
""".strip()
_REGISTER_CODES = "SELECT issuer AS value FROM identifiers WHERE id_type = 'registry'"


def normalised_number_sql(column: str, odd: str) -> str:
    """Return the SQL of a normalised number; ``odd`` is the alias of the joined ``odd_numbers``."""
    return f"CASE WHEN {odd}.value IS NULL THEN {column} ELSE {odd}.normalised END"


def has_digits_sql(column: str, odd: str) -> str:
    """Return the SQL of ``has_digits`` for a number; ``odd`` as in ``normalised_number_sql``."""
    of_itself = f"regexp_matches({column}, '[1-9]')"
    return f"CASE WHEN {odd}.value IS NULL THEN {of_itself} ELSE {odd}.has_digits END"


_NUMBER = normalised_number_sql("id_value", "odd")
# One row for each identifier of an id that can be compared: id_type, register, number. Needs the
# tables of ``create_key_tables``; ``joined_ids`` applies the same rules to single rows.
IDENTIFIER_KEYS = f"""
SELECT service_id, identifiers.id_type,
    CASE WHEN identifiers.id_type = 'registry' THEN
        -- as register_of_number does
        CASE WHEN regexp_full_match({_NUMBER}, '{CNPJ_FORM}') THEN '{CNPJ_REGISTER}'
            ELSE registers.register END
    END AS register,
    -- the zeros before a CIK are written or not
    CASE WHEN identifiers.id_type = 'cik' THEN ltrim({_NUMBER}, '0') ELSE {_NUMBER} END AS number,
    source, is_current
FROM identifiers
LEFT JOIN odd_numbers AS odd ON odd.value = id_value
LEFT JOIN registers ON registers.value = issuer
WHERE identifiers.id_type IN {_COMPARED_TYPES} AND {_NUMBER} IS NOT NULL
  -- of FIGIs only that of the share class names one security everywhere
  AND (identifiers.id_type <> 'figi' OR figi_level = 'share_class')
  -- zeros alone are a placeholder, not a CIK
  AND (identifiers.id_type <> 'cik' OR ltrim({_NUMBER}, '0') <> '')
  -- a register's number compares only within a register, and a placeholder not at all
  AND (identifiers.id_type <> 'registry'
       OR (registers.register IS NOT NULL AND {has_digits_sql("id_value", "odd")}))
UNION ALL
-- the LEI that an entity's own record states
SELECT service_id, 'lei', NULL, {normalised_number_sql("lei", "odd")}, source, is_current
FROM entities LEFT JOIN odd_numbers AS odd ON odd.value = lei
WHERE {normalised_number_sql("lei", "odd")} IS NOT NULL
""".strip()


def create_key_tables(
    sql: duckdb.DuckDBPyConnection, more_numbers: str = "", more_codes: str = ""
) -> None:
    """Register ``odd_numbers`` and ``registers``, which ``IDENTIFIER_KEYS`` joins.

    ``more_numbers`` and ``more_codes`` are queries for further values to include.
    """
    numbers = f"{_NUMBERS} UNION ALL {more_numbers}" if more_numbers else _NUMBERS
    _register_lookup(
        sql,
        "odd_numbers",
        f"SELECT DISTINCT value FROM ({numbers})"
        f" WHERE NOT regexp_full_match(value, '{NORMALISED_NUMBER}')",
        {
            "normalised": (normalise_number, _TEXT),
            "has_digits": (_has_digits_normalised, pa.bool_()),
        },
    )
    codes = f"{_REGISTER_CODES} UNION ALL {more_codes}" if more_codes else _REGISTER_CODES
    _register_lookup(
        sql,
        "registers",
        f"SELECT DISTINCT value FROM ({codes})",
        {"register": (register_of, _TEXT), "id_type": (_id_type_of_scheme, _TEXT)},
    )


def create_name_table(sql: duckdb.DuckDBPyConnection, names: str) -> None:
    """Register ``normalised_names`` for the values of the query ``names``."""
    query = f"SELECT DISTINCT value FROM ({names})"
    _register_lookup(sql, "normalised_names", query, {"normalised": (normalise_name, _TEXT)})


def create_listing_table(sql: duckdb.DuckDBPyConnection) -> None:
    """Register ``comparable_listings`` for the tickers of ``identifiers``."""
    query = "SELECT DISTINCT id_value AS value FROM identifiers WHERE id_type = 'ticker'"
    columns = {"listing": (comparable_listing, _TEXT)}
    _register_lookup(sql, "comparable_listings", query, columns)


def _register_lookup(
    sql: duckdb.DuckDBPyConnection,
    name: str,
    values: str,
    columns: Mapping[str, tuple[Callable[[str], object], pa.DataType]],
) -> None:
    fields = ((column, data_type) for column, (_, data_type) in columns.items())
    schema = pa.schema([("value", _TEXT), *fields])
    batches = []
    reader = sql.sql(f"SELECT value FROM ({values}) WHERE value IS NOT NULL")
    # In batches: a register has millions of names, which must not be Python objects at once.
    for batch in reader.to_arrow_reader(_BATCH_ROWS):
        raw = batch.column(0).to_pylist()
        computed = [pa.array(map(rule, raw), data_type) for rule, data_type in columns.values()]
        batches.append(pa.RecordBatch.from_arrays([pa.array(raw, _TEXT), *computed], schema=schema))
    sql.register(name, pa.Table.from_batches(batches, schema))


def _has_digits_normalised(value: str) -> bool:
    return has_digits(normalise_number(value) or "")


def _id_type_of_scheme(code: str) -> str:
    return "lei" if code.strip().upper() in LEI_SCHEMES else "registry"
