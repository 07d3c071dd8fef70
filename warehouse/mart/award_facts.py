"""The award facts; the statements are in ``sql/award_facts.sql``.

Only SQL, apart from the reader in ``awards``: the surfaces load this module.
"""

from warehouse.mart.served_rows import NAMED_ENTITIES, SAME_PARTY
from warehouse.sql_files import sql_file

# Tables of a snapshot: awards as releases state them, and the vintages merged from those.
STATEMENTS, VINTAGES = "award_statements", "award_vintages"

_SQL = sql_file(
    __name__,
    "award_facts",
    fragments={
        "same_party": SAME_PARTY,
        "named_entities": NAMED_ENTITIES,
    },
)
AWARD_VINTAGES = _SQL[VINTAGES]
NAMED_AWARDS, AWARD_FACTS = _SQL["named_awards"], _SQL["award_facts"]
