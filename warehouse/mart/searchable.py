"""What can be searched for; the statement is in ``sql/searchable.sql``.

Only SQL: the surfaces load this module through ``tables``.
"""

from typing import Literal, get_args

from warehouse.mart.served_rows import CURRENT_ENTITIES, CURRENT_IDENTIFIERS, PARTIES
from warehouse.methodology.signals import PANELS, SIGNAL_SET
from warehouse.sql_files import sql_file

SearchKind = Literal["organisation", "series", "indicator", "panel", "buyer"]
SEARCH_KINDS: tuple[str, ...] = get_args(SearchKind)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


_SQL = sql_file(
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
SEARCHABLE = _SQL["searchable"]
# Among equally good matches: those that more datasets speak of, then those with shorter names.
SEARCHABLE_ORDER = "place_of_kind, len(datasets) DESC, coalesce(length(name), 0), name, id"
SEARCHABLE_MEMBERS = (
    *("kind", "id", "name", "other_names", "description", "country", "jurisdiction"),
    *("listings", "datasets"),
)
