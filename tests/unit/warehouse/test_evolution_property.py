"""Columns are added, rows loaded and versions pinned in any order: no pinned answer changes."""

from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.helpers.evolution import opened, wider_table
from tests.helpers.facts import fact
from tests.helpers.thoroughness import times
from warehouse.record.append import Load, append
from warehouse.record.as_of import vintages_query
from warehouse.record.compaction import compact
from warehouse.record.incoming import to_arrow
from warehouse.record.merge import CompleteScope
from warehouse.record.retractions import Rereading
from warehouse.record.store import Record
from warehouse.record.tables import FUNDAMENTALS, RecordTable
from warehouse.record.versions import load_seqs_of, name_version
from warehouse.tables import LoadEntry

VALUES: dict[Any, list[Any]] = {
    str | None: ["a", "b"],
    int | None: [1, 2],
    Decimal | None: [Decimal(1), Decimal("2.5")],
    date | None: [date(2020, 1, 1), date(2021, 1, 1)],
}
# An added column: its type, whether it is content, and its place in the class.
ADDITIONS = st.tuples(
    st.just("add"), st.sampled_from(list(VALUES)), st.booleans(), st.sampled_from("abcdefgh")
)
# A load: which figures with which values, how the added columns are filled, and how it is made.
LOADS = st.tuples(
    st.just("load"),
    st.lists(
        st.tuples(st.integers(2015, 2018), st.integers(1, 3), st.integers(0, 2)),
        min_size=1,
        max_size=3,
        unique_by=lambda row: row[0],
    ),
    st.sampled_from(["first", "again", "complete"]),
)
OTHERS = st.sampled_from([("pin",), ("compact",), ("open",)])
STEPS = st.lists(st.one_of(ADDITIONS, LOADS, LOADS, OTHERS), min_size=3, max_size=10)


@dataclass
class World:
    """A record while columns are added to it, and what was answered for each pinned version."""

    record: Record
    table: RecordTable = FUNDAMENTALS
    # Of each added column: the last load before it.
    added: dict[str, int] = field(default_factory=dict)
    kinds: dict[str, Any] = field(default_factory=dict)
    pinned: dict[str, tuple[tuple[str, ...], list[dict[str, Any]]]] = field(default_factory=dict)
    loads: int = 0
    last: tuple[list[dict[str, Any]], bool, CompleteScope | None] | None = None

    def add(self, kind: Any, is_content: bool, letter: str) -> None:
        name = f"{letter}{len(self.added)}"
        role = {"content": is_content, "since": "1.1.0"}
        self.table = wider_table(self.table, **{name: (kind, role)})
        self.added[name], self.kinds[name] = self.record.load_seq(self.table), kind
        self.open()
        self.repeat()

    def open(self) -> None:
        self.record = opened(self.record, self.table)

    def load(self, figures: list[tuple[int, int, int]], how: str) -> None:
        self.loads += how != "again"
        observed_at = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=self.loads)
        rows = [
            fact(
                str(value),
                year=year,
                publication=f"p{value}",
                document=f"d{self.loads}",
                observed_at=observed_at,
                available_at=date(2019, value, 1),
                **{name: (None, *VALUES[kind])[fill] for name, kind in self.kinds.items()},
            )
            for year, value, fill in figures
        ]
        scope = CompleteScope({"service_id": "DCTEST1"}, observed_at, f"d{self.loads}", "d#")
        self.last = rows, how == "again", scope if how == "complete" else None
        entry = self._append()
        assert entry.read == entry.appended + entry.held + entry.quarantined == len(rows)

    def repeat(self) -> None:
        """Load the last rows again: whatever columns were added since, they are stored."""
        if self.last is not None:
            entry = self._append()
            assert (entry.appended, entry.withdrawn, entry.held) == (0, 0, len(self.last[0]))

    def _append(self) -> LoadEntry:
        assert self.last is not None
        rows, reread, complete = self.last
        incoming, rejected = to_arrow(self.table, rows)
        assert not rejected
        load = Load("test", (f"{self.loads}",))
        rereading = Rereading([]) if reread else None
        return append(self.record, self.table, incoming, load, reread=rereading, complete=complete)

    def pin(self) -> None:
        version = name_version(self.record)
        columns = tuple(self.table.row.model_fields)
        self.pinned[version] = (columns, self.answer(version, columns))

    def compact(self) -> None:
        compact(self.record, "fundamentals", max_small_files=1)

    def answer(self, version: str, columns: tuple[str, ...]) -> list[dict[str, Any]]:
        load_seq = load_seqs_of(self.record, version)["fundamentals"]
        statement = vintages_query(
            self.table,
            self.record.relation("fundamentals"),
            vintages="all",
            load_seq=load_seq,
            columns=columns,
        )
        return sorted(self.record.query(statement).to_pylist(), key=str)

    def check(self) -> None:
        for version, (columns, answer) in self.pinned.items():
            assert self.answer(version, columns) == answer
        stored = self.record.query(f"FROM {self.record.relation('fundamentals')}").to_pylist()
        for name, last_load in self.added.items():
            before = [row[name] for row in stored if row["load_seq"] <= last_load]
            assert before == [None] * len(before)


@pytest.mark.slow
@settings(max_examples=times(8), suppress_health_check=[HealthCheck.too_slow])
@given(STEPS)
def test_no_pinned_answer_changes_and_older_rows_read_as_null(
    steps: list[tuple[Any, ...]],
) -> None:
    with TemporaryDirectory() as folder:
        world = World(Record(str(Path(folder, "record"))))
        for name, *arguments in steps:
            getattr(world, name)(*arguments)
            world.check()
        # A process that has only ever read, with the columns of today.
        world.open()
        world.check()
