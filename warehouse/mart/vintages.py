"""Every vintage of a table as SQL, with its ids and whether it is the one known now."""

from collections.abc import Callable

from warehouse.record.as_of import known
from warehouse.record.schema import record_schema
from warehouse.record.tables import RecordTable

VintagesOf = Callable[[RecordTable], str]


def all_vintages(table: RecordTable, relation: str, load_seq: int) -> str:
    """Write the query for every vintage that had been loaded by ``load_seq``.

    ``latest`` is true for the last vintage of a figure unless that was a withdrawal.
    ``row_id`` is the same as long as the figure, the publication and its day are; a place in
    a document has one ``provenance_id``.
    """
    columns = record_schema(table).names
    vintages = known(table, relation, vintages="all", load_seq=load_seq, columns=columns)
    return f"""
SELECT *,
    vintage = max(vintage) OVER (PARTITION BY figure, figure_check) AND NOT withdrawn AS latest,
    md5(concat_ws('/', figure, figure_check, sighting, available_at)) AS row_id,
    md5(concat_ws('#', document, source_ref)) AS provenance_id
FROM ({vintages})
""".strip()
