"""One organisation, one id: rewrite every ``service_id`` of a snapshot to the canonical one.

``same_as`` says which ids are joined, and with which of them an organisation is named. From here
on every row has the canonical id, as if it had been loaded under it; the other ids are aliases,
which readers look up in ``same_as``. The record keeps the ids as they were minted.

If an organisation has the same figure under two of its ids, their publications become vintages of
one figure, in the order in which they were known.
"""

from warehouse.publish.left_out import ROW_ID
from warehouse.publish.snapshot import Snapshot
from warehouse.record.tables import ENTITIES, FILINGS, FUNDAMENTALS, IDENTIFIERS, RecordTable
from warehouse.shared.data_files import sql_file

# The tables whose rows are rewritten, and merged where two ids have the same figure or filing.
REWRITTEN = (FUNDAMENTALS, FILINGS)
_SQL = sql_file(
    __name__,
    "canonical_ids",
    fragments={
        "row_id": ROW_ID.replace("figure", "stored.figure").replace("sighting", "stored.sighting"),
    },
)


def use_canonical_ids(snapshot: Snapshot) -> None:
    """Rewrite the ids of a snapshot by its ``same_as``.

    Call it when no more rows will be left out. Rows that were copied before are copied again.
    """
    if not show_canonical_registers(snapshot):
        return
    for table in REWRITTEN:
        _rewrite_rows(snapshot, table)


def _rewrite_rows(snapshot: Snapshot, table: RecordTable) -> None:
    merged = f"merged_{table.name}"
    identity = ", ".join(name for name in table.identity if name != "service_id")
    fill = {"rows": snapshot.remaining(table), "merged": merged, "identity": identity}
    _SQL.run(snapshot.sql, "merged_figures", fill=fill)
    rewritten = _SQL.statement("rewritten", rows="{rows}", merged=merged)
    snapshot.rewrite_rows(table, f"({rewritten})")


def show_canonical_registers(snapshot: Snapshot) -> bool:
    """Show registers under canonical ids, if the snapshot has them; return whether ids differ."""
    if not snapshot.sql.execute("FROM same_as LIMIT 1").fetchall():
        return False
    for table in (ENTITIES, IDENTIFIERS):
        if snapshot.paths(table.name):
            _rewrite_view(snapshot, table.name)
    return True


def _rewrite_view(snapshot: Snapshot, name: str) -> None:
    """Show a table under canonical ids; ``alias`` is the id under which a row was stored."""
    snapshot.sql.execute(
        f"CREATE OR REPLACE VIEW {name} AS {canonical_register(snapshot.relation(name))}"
    )


def canonical_register(relation: str) -> str:
    """Return the query of a register's rows under canonical ids."""
    return _SQL.statement("canonical_register", register=relation)
