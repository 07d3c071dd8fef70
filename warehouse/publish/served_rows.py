"""Rows as they are served: statements for facts, the catalogue and what can be searched for.

Only SQL: the surfaces load this module through ``tables``.
"""

from typing import Literal, get_args

from warehouse.methodology.signals import PANELS, SIGNAL_SET
from warehouse.publish.row_json import NEVER_DAY, PROVENANCE, moment_sql
from warehouse.shared.data_files import sql_file
from warehouse.tables.column import content_of, identity_of, members_of
from warehouse.tables.derived import PartyMatch
from warehouse.tables.entities import NAME_LISTS, Entity
from warehouse.tables.tenders import TenderParty

# What a release states about a party; two statements that agree in all of it are one party.
SAME_PARTY = " AND ".join(
    f"matched.{name} IS NOT DISTINCT FROM party.{name}" for name in identity_of(PartyMatch)
)
PARTY_ID = "md5(concat_ws('/', source, country, party_key, role, coalesce(service_id, '-')))"

# A row of a party is about all releases that name it in a role; the other columns are taken from
# the newest of them.
_PARTY = ("source", "country", "party_key", "role", "service_id")
_SHOWN = (*content_of(TenderParty), *members_of(TenderParty, "own"), "match_method", *PROVENANCE)
# The provenance that differs from one release of a portal to the next.
CITED = ("source_ref", "observed_at", "license_class", "provenance_id")
_MERGED = [
    name for name in content_of(Entity) if name not in ("legal_name", "same_as", *NAME_LISTS)
]
# Whose record of an organisation comes first.
_FIRST_RECORD = (
    "list_position(['gleif', 'gleif-api', 'sec-submissions', 'sec-companyfacts'], source) "
    "NULLS LAST, alias IS NOT NULL, lei IS NULL, available_at DESC NULLS LAST, source, source_ref"
)
_SQL = sql_file(
    __name__,
    "served_rows",
    fragments={
        "same_party": SAME_PARTY,
        "id_of_party": PARTY_ID,
        "never_day": str(NEVER_DAY),
        "shown_members": ", ".join(
            f"{name} := {name}" for name in dict.fromkeys(_SHOWN) if name not in _PARTY
        ),
        # Of each release that names a party; see CITED.
        "cited_members": f"source_ref, {moment_sql('observed_at')}, license_class, provenance_id",
        "first_record": _FIRST_RECORD,
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
NAMED_ENTITIES = _SQL["named_entities"]
CURRENT_ENTITIES = _SQL["current_entities"]
CURRENT_IDENTIFIERS = _SQL["current_identifiers"]

# Every state of every listing.
UNIVERSE = sql_file(__name__, "universe", fragments={"first_record": _FIRST_RECORD})["universe"]

# Tables of a snapshot: awards as releases state them, and the vintages merged from those.
STATEMENTS, VINTAGES = "award_statements", "award_vintages"

_AWARD_FACTS = sql_file(
    __name__,
    "award_facts",
    fragments={
        "same_party": SAME_PARTY,
        "named_entities": NAMED_ENTITIES,
        "id_of_party": PARTY_ID,
        "releases": RELEASES,
    },
)
AWARD_VINTAGES, NAMED_AWARDS = _AWARD_FACTS[VINTAGES], _AWARD_FACTS["named_awards"]
AWARD_FACTS = _AWARD_FACTS.statement("award_facts", named_awards=NAMED_AWARDS)

# Table of a snapshot: the value of each process, in every vintage.
TENDER_VINTAGES_TABLE = "tender_vintages"

_TENDER_FACTS = sql_file(__name__, "tender_facts", fragments={"releases": RELEASES})
TENDER_VINTAGES, TENDER_FACTS = _TENDER_FACTS[TENDER_VINTAGES_TABLE], _TENDER_FACTS["tender_facts"]

# What a build has and what changed.
Section = Literal[
    "dataset", "series", "indicator", "line_item", "metric", "signal", "category", "status"
]
_CATALOGUE = sql_file(__name__, "catalogue", fragments={"named_entities": NAMED_ENTITIES})
CATALOGUE, CHANGES = _CATALOGUE["catalogue"], _CATALOGUE["changes"]


SearchKind = Literal["organisation", "series", "indicator", "panel", "buyer", "supplier"]
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
SEARCHABLE_MEMBERS = (
    *("kind", "id", "name", "other_names", "description", "country", "jurisdiction"),
    *("listings", "datasets"),
)
