"""SQL expressions that write a row as JSON, and its key columns.

The JSON of a row is written once, when a build is made. Text is escaped, a DECIMAL keeps its
digits, dates and timestamps are ISO 8601, and JSON is taken as it is; null is ``null``.
"""

from collections.abc import Mapping, Sequence
from typing import Literal

from warehouse.shared.errors import BadTable
from warehouse.tables.column import members_of
from warehouse.tables.sighting import Sighting

# DuckDB types by column name, as DESCRIBE returns them.
ColumnTypes = Mapping[str, str]

# Takes the place of a future or unknown day: no ``as_of`` reaches it.
NEVER = "9999-12-31"
# The same in days since 1970, and the end of a row that is the latest known.
NEVER_DAY = 2_932_896
LATEST_DAY = NEVER_DAY + 1
_END_DATES = ("available_at", "superseded_at", "answers_until", "holds_until")
_INTEGER_TYPES = ("BIGINT", "INTEGER", "SMALLINT", "HUGEINT", "UBIGINT", "BOOLEAN")

PROVENANCE = (*members_of(Sighting, "provenance"), "provenance_id")


def row_json_sql(types: ColumnTypes, members: Sequence[str], inside: Sequence[str] = ()) -> str:
    """Return the expression for a row as a JSON object.

    The object in the column ``release`` has no members but ``inside``; they are taken over byte
    for byte, and those it lacks are null.
    """
    parts = ["'{'"]
    for index, name in enumerate(members):
        value = _json(types[name], f'"{name}"')
        parts += [f"'{',' if index else ''}\"{name}\":'", f"coalesce({value}, 'null')"]
    for name in inside:
        is_absent = f"NOT coalesce(list_contains(release_members, '{name}'), FALSE)"
        parts.append(f"CASE WHEN {is_absent} THEN ',\"{name}\":null' ELSE '' END")
    if inside:
        # Splice: our members, a comma, and the release without its opening brace.
        empty = "coalesce(release, '{}') = '{}'"
        parts.append(f"CASE WHEN {empty} THEN '}}' ELSE ',' || ltrim(release, '{{') END")
    else:
        parts.append("'}'")
    return f"concat({', '.join(parts)})"


def key_column_sql(types: ColumnTypes, name: str) -> str:
    """Return the expression for a key column; unknown text is stored as empty text."""
    kind, column = types[name], f'"{name}"'
    if name in _END_DATES:
        return f"coalesce(CAST({column} AS VARCHAR), '{unknown_day(name)}')"
    if key_column_kind(types, name) == "integer":
        return f"CAST({column} AS INTEGER)"
    if kind == "DOUBLE":
        return column
    if kind.startswith("DECIMAL"):
        return f"coalesce({digits_sql(column)}, '')"
    # SQLite's functions end a text at a NUL; U+2400 is its visible symbol.
    return f"coalesce(replace(CAST({column} AS VARCHAR), chr(0), chr(9216)), '')"


def unknown_day(name: str) -> str:
    """Return what a key column has for a day that is not known."""
    return NEVER if name in _END_DATES else ""


def key_column_kind(types: ColumnTypes, name: str) -> Literal["text", "integer", "real"]:
    """Return how a key column is stored: an integer or a double as such, all others as text."""
    if types[name] in _INTEGER_TYPES:
        return "integer"
    return "real" if types[name] == "DOUBLE" else "text"


def _json(kind: str, column: str) -> str:
    if kind == "JSON":
        return column
    if kind in _INTEGER_TYPES:
        return f"CAST({column} AS VARCHAR)"
    if kind == "DATE":
        return f"'\"' || {column} || '\"'"
    if kind == "TIMESTAMP WITH TIME ZONE":
        return f"'\"' || {moment_sql(column)} || '\"'"
    if kind.startswith("DECIMAL") and not kind.endswith("]"):
        return digits_sql(column)
    # to_json writes numbers inside lists and structs as doubles.
    if any(inexact in kind for inexact in ("DECIMAL", "DOUBLE", "FLOAT")):
        raise BadTable(f"{column}: a number inside {kind} would lose digits in JSON")
    return f"to_json({column})"


def moment_sql(column: str) -> str:
    """Return the expression for a timestamp as text, in UTC."""
    # Through microseconds: a cast to text would use the time zone of the session.
    return f"replace(CAST(make_timestamp(epoch_us({column})) AS VARCHAR), ' ', 'T') || 'Z'"


def digits_sql(column: str) -> str:
    """Return the expression for a DECIMAL in full, without the zeros that its scale adds."""
    text = f"CAST({column} AS VARCHAR)"
    trimmed = f"rtrim(rtrim({text}, '0'), '.')"
    return f"CASE WHEN contains({text}, '.') THEN {trimmed} ELSE {text} END"
