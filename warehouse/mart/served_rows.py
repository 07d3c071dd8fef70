"""Rows as they are served; the statements are in ``sql/served_rows.sql``.

Only SQL: the surfaces load this module through ``tables``.
"""

from warehouse.mart.row_json import PROVENANCE
from warehouse.sql_files import sql_file
from warehouse.tables import Entity, PartyMatch, TenderParty
from warehouse.tables.column import content_of, identity_of, members_of
from warehouse.tables.entities import NAME_LISTS

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
