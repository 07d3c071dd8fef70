"""One organisation, one id: rewrite every ``service_id`` of a snapshot to the canonical one.

``same_as`` says which ids are joined, and with which of them an organisation is named. From here
on every row has the canonical id, as if it had been loaded under it; the other ids are aliases,
which readers look up in ``same_as``. The record keeps the ids as they were minted.

If an organisation has the same figure under two of its ids, their publications become vintages of
one figure, in the order in which they were known.
"""

from warehouse.mart.left_out import ROW_ID
from warehouse.mart.snapshot import Snapshot
from warehouse.record.tables import ENTITIES, FUNDAMENTALS, IDENTIFIERS

_CANONICAL = "coalesce(canonical.same_as, stored.service_id) AS service_id"
_JOINED = "LEFT JOIN same_as AS canonical ON canonical.service_id = stored.service_id"
_SAME_FIGURE = "merged.figure = stored.figure AND merged.figure_check = stored.figure_check"
# A row's id stays the one under which it was stored, so that references to it stay valid.
_REWRITTEN = f"""(
    SELECT stored.* REPLACE ({_CANONICAL}), CAST(NULL AS VARCHAR) AS stored_row_id
    FROM {{rows}} AS stored {_JOINED} ANTI JOIN merged_figures AS merged ON {_SAME_FIGURE}
    UNION ALL BY NAME
    SELECT stored.* REPLACE (
        {_CANONICAL}, merged.into_figure AS figure, merged.into_check AS figure_check,
        -- two ids may state a figure in one publication, which is then one sighting, read twice
        CAST(hash(merged.into_figure, merged.into_check, stored.publication) >> 1 AS BIGINT)
            AS sighting,
        TRUE AS again
    ), {{row_id}} AS stored_row_id
    FROM {{rows}} AS stored {_JOINED} JOIN merged_figures AS merged ON {_SAME_FIGURE}
    -- one document that states it for both is read once
    QUALIFY row_number() OVER (
        PARTITION BY merged.into_figure, merged.into_check, stored.publication,
            stored.available_at, stored.document, stored.observed_at, stored.load_seq
        ORDER BY stored.service_id <> canonical.same_as NULLS FIRST, stored.service_id,
            stored.content
    ) = 1
)"""
_MERGED_FIGURES = """
CREATE OR REPLACE TABLE merged_figures AS
WITH ids AS (SELECT DISTINCT service_id FROM {rows}),
-- organisations that have figures under several ids
several AS (
    SELECT ids.service_id, coalesce(same_as, ids.service_id) AS organisation
    FROM ids LEFT JOIN same_as USING (service_id)
    QUALIFY count(*) OVER (PARTITION BY organisation) > 1
),
figures AS (
    SELECT DISTINCT organisation, several.service_id, figure, figure_check, {identity}
    FROM {rows} AS stored JOIN several ON several.service_id = stored.service_id
)
SELECT figure, figure_check, first_value(figure) OVER same_figure AS into_figure,
    first_value(figure_check) OVER same_figure AS into_check
FROM figures
WINDOW same_figure AS (
    PARTITION BY organisation, {identity}
    ORDER BY service_id <> organisation, service_id, figure, figure_check
)
QUALIFY count(*) OVER (PARTITION BY organisation, {identity}) > 1
"""


def use_canonical_ids(snapshot: Snapshot) -> None:
    """Rewrite the ids of a snapshot by its ``same_as``.

    Call it when no more rows will be left out. Figures that were copied before are copied again.
    """
    if not show_canonical_registers(snapshot):
        return
    rows = snapshot.remaining(FUNDAMENTALS)
    identity = ", ".join(name for name in FUNDAMENTALS.identity if name != "service_id")
    statement = _MERGED_FIGURES.replace("{rows}", rows).replace("{identity}", identity)
    snapshot.sql.execute(statement)
    row_id = ROW_ID.replace("figure", "stored.figure").replace("sighting", "stored.sighting")
    snapshot.rewrite_rows(FUNDAMENTALS, _REWRITTEN.replace("{row_id}", row_id))


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
    snapshot.sql.execute(f"""
CREATE OR REPLACE VIEW {name} AS
SELECT stored.* REPLACE ({_CANONICAL}),
    canonical.service_id AS alias, canonical.match_method
FROM {snapshot.relation(name)} AS stored
{_JOINED}
""")
