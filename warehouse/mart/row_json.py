"""The served form of a row as SQL: its members in order, each written as its type says.

JSON is made where the rows are, once, when a build is written. Text is escaped, a DECIMAL
keeps its digits, days and moments are ISO 8601, and JSON is taken as it is; null is ``null``.
"""

from collections.abc import Mapping, Sequence

from warehouse.errors import BadTable

Columns = Mapping[str, str]

# What stands for a day that has not come, or is not known: no ``as_of`` reaches it.
NEVER = "9999-12-31"
# The same in days since 1970, and what stands for the end of a row that is known now.
NEVER_DAY = 2_932_896
LATEST_DAY = NEVER_DAY + 1
_ENDS = ("available_at", "superseded_at", "answers_until", "holds_until")
_WHOLE = ("BIGINT", "INTEGER", "SMALLINT", "HUGEINT", "UBIGINT", "BOOLEAN")

PROVENANCE = (
    "source_ref",
    "license_class",
    "observed_at",
    "method",
    "extraction_confidence",
    "provenance_id",
)


def row_json_sql(columns: Columns, members: Sequence[str], inside: Sequence[str] = ()) -> str:
    """Write the expression for a row as a JSON object.

    The object in the column ``release`` has none but the members ``inside``; they are taken
    over byte for byte, and those it lacks are null.
    """
    written = ["'{'"]
    for place, name in enumerate(members):
        written += [f"'{',' if place else ''}\"{name}\":'", _or_null(columns, name)]
    for name in inside:
        lacking = f"NOT coalesce(list_contains(release_members, '{name}'), FALSE)"
        written.append(f"CASE WHEN {lacking} THEN ',\"{name}\":null' ELSE '' END")
    if inside:
        empty = "coalesce(release, '{}') = '{}'"
        written.append(f"CASE WHEN {empty} THEN '}}' ELSE ',' || ltrim(release, '{{') END")
    else:
        written.append("'}'")
    return f"concat({', '.join(written)})"


def key_column_sql(columns: Columns, name: str) -> str:
    """Write the expression for a column that is asked by; an unknown text is empty."""
    kind, column = columns[name], f'"{name}"'
    if name in _ENDS:
        return f"coalesce(CAST({column} AS VARCHAR), '{NEVER}')"
    if is_integer_column(columns, name):
        return f"CAST({column} AS INTEGER)"
    if kind.startswith("DECIMAL"):
        return f"coalesce({_digits(column)}, '')"
    # PostgreSQL keeps no text with a NUL in it.
    return f"coalesce(replace(CAST({column} AS VARCHAR), chr(0), chr(9216)), '')"


def is_integer_column(columns: Columns, name: str) -> bool:
    """Say whether a column that is asked by holds whole numbers; the others hold text."""
    return columns[name] in _WHOLE


def _or_null(columns: Columns, name: str) -> str:
    written = _json(columns[name], f'"{name}"')
    return f"coalesce({written}, 'null')"


def _json(kind: str, column: str) -> str:
    if kind == "JSON":
        return column
    if kind in _WHOLE:
        return f"CAST({column} AS VARCHAR)"
    if kind == "DATE":
        return f"'\"' || {column} || '\"'"
    if kind == "TIMESTAMP WITH TIME ZONE":
        moment = f"CAST(make_timestamp(epoch_us({column})) AS VARCHAR)"
        return f"'\"' || replace({moment}, ' ', 'T') || 'Z\"'"
    if kind.startswith("DECIMAL") and not kind.endswith("]"):
        return _digits(column)
    if any(inexact in kind for inexact in ("DECIMAL", "DOUBLE", "FLOAT")):
        raise BadTable(f"{column}: a number inside {kind} would lose digits in JSON")
    return f"to_json({column})"


def _digits(column: str) -> str:
    """Write a DECIMAL in full, without the zeros that its type adds."""
    text = f"CAST({column} AS VARCHAR)"
    trimmed = f"rtrim(rtrim({text}, '0'), '.')"
    return f"CASE WHEN contains({text}, '.') THEN {trimmed} ELSE {text} END"
