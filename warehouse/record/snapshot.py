"""The record as one data_version sees it, whatever is loaded meanwhile."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from warehouse.record.as_of import Vintages, known
from warehouse.record.store import Record
from warehouse.record.tables import RecordTable


@dataclass(frozen=True)
class Snapshot:
    """A record and the last load of each table that may be read through here."""

    record: Record
    loads: Mapping[str, int]

    def known(
        self,
        table: RecordTable,
        columns: Sequence[str],
        vintages: Vintages = "latest",
        where: str = "TRUE",
    ) -> str:
        """Write the query for what is known of a table; ``where`` may name its identity only."""
        return known(
            table,
            self.record.relation(table.name),
            vintages=vintages,
            load_seq=self.loads[table.name],
            columns=columns,
            where=where,
        )
