"""What can be searched for; the statement is in ``sql/searchable.sql``.

Only SQL: the surfaces load this module through ``tables``.
"""

from collections.abc import Mapping, Sequence
from typing import Literal, get_args

from warehouse.methodology.signals import PANELS, SIGNAL_SET
from warehouse.shared.data_files import sql_file
from warehouse.shared.errors import BadTable
from warehouse.tables import Entity, PartyMatch, Sighting, TenderParty
from warehouse.tables.column import content_of, identity_of, members_of
from warehouse.tables.entities import NAME_LISTS

#
# SQL expressions that write a row as JSON, and its key columns.
#
# The JSON of a row is written once, when a build is made. Text is escaped, a DECIMAL keeps its
# digits, dates and timestamps are ISO 8601, and JSON is taken as it is; null is ``null``.

# DuckDB types by column name, as DESCRIBE returns them.
ColumnTypes = Mapping[str, str]

# Stands for a day in the future or an unknown day: no ``as_of`` reaches it.
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
        parts += [f"'{',' if index else ''}\"{name}\":'", _or_null(types, name)]
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


def _or_null(types: ColumnTypes, name: str) -> str:
    expression = _json(types[name], f'"{name}"')
    return f"coalesce({expression}, 'null')"


def _json(kind: str, column: str) -> str:
    if kind == "JSON":
        return column
    if kind in _INTEGER_TYPES:
        return f"CAST({column} AS VARCHAR)"
    if kind == "DATE":
        return f"'\"' || {column} || '\"'"
    if kind == "TIMESTAMP WITH TIME ZONE":
        # Through microseconds: a cast to text would use the time zone of the session.
        timestamp = f"CAST(make_timestamp(epoch_us({column})) AS VARCHAR)"
        return f"'\"' || replace({timestamp}, ' ', 'T') || 'Z\"'"
    if kind.startswith("DECIMAL") and not kind.endswith("]"):
        return digits_sql(column)
    # to_json writes numbers inside lists and structs as doubles.
    if any(inexact in kind for inexact in ("DECIMAL", "DOUBLE", "FLOAT")):
        raise BadTable(f"{column}: a number inside {kind} would lose digits in JSON")
    return f"to_json({column})"


def digits_sql(column: str) -> str:
    """Return the expression for a DECIMAL in full, without the zeros that its scale adds."""
    text = f"CAST({column} AS VARCHAR)"
    trimmed = f"rtrim(rtrim({text}, '0'), '.')"
    return f"CASE WHEN contains({text}, '.') THEN {trimmed} ELSE {text} END"


#
# Rows as they are served; the statements are in ``sql/served_rows.sql``.
#
# Only SQL: the surfaces load this module through ``tables``.

# What a release states about a party; two statements that agree in all of it are one party.
SAME_PARTY = " AND ".join(
    f"matched.{name} IS NOT DISTINCT FROM party.{name}" for name in identity_of(PartyMatch)
)
PARTY_ID = "md5(concat_ws('/', source, country, party_key, role, coalesce(service_id, '-')))"

# A row of a party is about all releases that name it in a role; the other columns are taken from
# the newest of them.
_PARTY = ("source", "country", "party_key", "role", "service_id")
_SHOWN = (*content_of(TenderParty), *members_of(TenderParty, "own"), "match_method", *PROVENANCE)
_MERGED = [
    name for name in content_of(Entity) if name not in ("legal_name", "same_as", *NAME_LISTS)
]
_SQL = sql_file(
    __name__,
    "served_rows",
    fragments={
        "same_party": SAME_PARTY,
        "id_of_party": PARTY_ID,
        "shown_members": ", ".join(
            f"{name} := {name}" for name in dict.fromkeys(_SHOWN) if name not in _PARTY
        ),
        # Whose record of an organisation comes first.
        "first_record": "list_position(["
        "'gleif', 'gleif-api', 'sec-submissions', 'sec-companyfacts'], source) NULLS LAST, "
        "alias IS NOT NULL, lei IS NULL, available_at DESC NULLS LAST, source, source_ref",
        "merged_members": ", ".join(f"arg_min({name}, place) AS {name}" for name in _MERGED),
        "listed_names": " UNION ALL ".join(
            f"SELECT service_id, '{kind}' AS kind, place, "
            f"CAST(CAST({kind} AS JSON) AS VARCHAR[]) AS names "
            f"FROM records WHERE records > 1 AND {kind} IS NOT NULL"
            for kind in NAME_LISTS
        ),
        "names_of_kinds": ", ".join(
            f"first(names) FILTER (kind = '{kind}') AS {kind}" for kind in NAME_LISTS
        ),
        "replaced_members": ", ".join(
            [
                *(f"coalesce(entity.{name}, merged.{name}) AS {name}" for name in _MERGED),
                *(
                    f"CASE WHEN entity.records = 1 THEN CAST(entity.{kind} AS JSON) "
                    f"WHEN len(merged_names.{kind}) > 0 THEN to_json(merged_names.{kind}) "
                    f"END AS {kind}"
                    for kind in NAME_LISTS
                ),
            ]
        ),
    },
)
PARTIES, PARTY_HISTORY, RELEASES = _SQL["parties"], _SQL["party_history"], _SQL["releases"]
# Newest first. An undated release comes last: '' sorts before every date.
RELEASES_ORDER = (
    "country, coalesce(CAST(released_on AS VARCHAR), '') DESC, ocid DESC, release_id DESC, "
    "source DESC, vintage"
)
NAMED_ENTITIES = _SQL["named_entities"]
CURRENT_ENTITIES = _SQL["current_entities"]
CURRENT_IDENTIFIERS = _SQL["current_identifiers"]


#
# The award facts; the statements are in ``sql/award_facts.sql``.
#
# Only SQL, apart from the reader in ``awards``: the surfaces load this module.

# Tables of a snapshot: awards as releases state them, and the vintages merged from those.
STATEMENTS, VINTAGES = "award_statements", "award_vintages"

_AWARD_FACTS = sql_file(
    __name__,
    "award_facts",
    fragments={
        "same_party": SAME_PARTY,
        "named_entities": NAMED_ENTITIES,
    },
)
AWARD_VINTAGES = _AWARD_FACTS[VINTAGES]
NAMED_AWARDS, AWARD_FACTS = _AWARD_FACTS["named_awards"], _AWARD_FACTS["award_facts"]


#
# The tender facts; the statements are in ``sql/tender_facts.sql``.
#
# Only SQL: the surfaces load this module.

# Table of a snapshot: the value of each process, in every vintage.
TENDER_VINTAGES_TABLE = "tender_vintages"

_TENDER_FACTS = sql_file(__name__, "tender_facts", fragments={"releases": RELEASES})
TENDER_VINTAGES, TENDER_FACTS = _TENDER_FACTS[TENDER_VINTAGES_TABLE], _TENDER_FACTS["tender_facts"]


#
# What a build holds and what changed; the statements are in ``sql/catalogue.sql``.
#
# Only SQL: the surfaces load this module through ``tables``.

Section = Literal[
    "dataset",
    "series",
    "indicator",
    "line_item",
    "metric",
    "signal",
    "category",
    "status",
]
_CATALOGUE = sql_file(__name__, "catalogue", fragments={"named_entities": NAMED_ENTITIES})
CATALOGUE, CHANGES = _CATALOGUE["catalogue"], _CATALOGUE["changes"]


SearchKind = Literal["organisation", "series", "indicator", "panel", "buyer"]
SEARCH_KINDS: tuple[str, ...] = get_args(SearchKind)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


_SEARCHABLE = sql_file(
    __name__,
    "searchable",
    fragments={
        "parties": PARTIES,
        "current_entities": CURRENT_ENTITIES,
        "current_identifiers": CURRENT_IDENTIFIERS,
        "signal_set": SIGNAL_SET,
        "titles": ", ".join(f"({_quoted(panel.key)}, {_quoted(panel.title)})" for panel in PANELS),
    },
)
SEARCHABLE = _SEARCHABLE["searchable"]
# Among equally good matches: those that more datasets speak of, then those with shorter names.
SEARCHABLE_ORDER = "place_of_kind, len(datasets) DESC, coalesce(length(name), 0), name, id"
SEARCHABLE_MEMBERS = (
    *("kind", "id", "name", "other_names", "description", "country", "jurisdiction"),
    *("listings", "datasets"),
)
