"""The upkeep of the record: merge small files, delete old ones. One process does it at a time."""

from collections.abc import Iterator
from dataclasses import dataclass

from warehouse.record.compaction import MAX_SMALL_FILES, Compaction, compact, is_fragmented
from warehouse.record.store import Record
from warehouse.record.vacuum import Vacuum, vacuum


@dataclass(frozen=True)
class Upkeep:
    """What was done to one table."""

    table: str
    compaction: Compaction | None
    vacuum: Vacuum | None

    @property
    def words(self) -> str:
        """What was done, in one line."""
        done = []
        if self.compaction is not None:
            before, after = self.compaction.files_before, self.compaction.files_after
            done.append(f"{before:,} files became {after:,}, {self.compaction.rows:,} rows")
        if self.vacuum is not None:
            done.append(
                f"{self.vacuum.files:,} old files deleted, {self.vacuum.bytes / 1e6:,.1f} MB"
            )
        return "; ".join(done)


def fragmented_tables(record: Record) -> list[str]:
    """Return the tables with so many small files that merging them pays."""
    return [name for name in record.schemas if is_fragmented(record, name)]


def keep_up(
    record: Record, vacuum_hours: float, max_small_files: int = MAX_SMALL_FILES
) -> Iterator[Upkeep]:
    """Merge the small files of every table that has many, and delete files that nobody needs.

    It waits until no other process, on whatever machine, does this or erases. Loads and
    publications go on.
    """
    with record.upkeep() as check:
        for name in record.schemas:
            done = Upkeep(
                name,
                compact(record, name, check, max_small_files),
                vacuum(record, name, vacuum_hours, check),
            )
            if done.compaction or done.vacuum:
                yield done
