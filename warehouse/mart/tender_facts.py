"""The tender facts; the statements are in ``sql/tender_facts.sql``.

Only SQL: the surfaces load this module.
"""

from warehouse.mart.served_rows import RELEASES
from warehouse.sql_files import sql_file

# Table of a snapshot: the value of each process, in every vintage.
TENDER_VINTAGES_TABLE = "tender_vintages"

_SQL = sql_file(__name__, "tender_facts", fragments={"releases": RELEASES})
TENDER_VINTAGES, TENDER_FACTS = _SQL[TENDER_VINTAGES_TABLE], _SQL["tender_facts"]
