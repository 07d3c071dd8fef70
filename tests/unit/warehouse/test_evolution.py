"""A row class gains a column: tables follow by a commit of metadata, stored rows read as null."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlmodel import SQLModel

from tests.helpers.evolution import opened, wider_table, with_columns, without_columns
from tests.helpers.facts import fact, facts
from tests.helpers.nightly import times
from tests.helpers.record_rows import FIRST, SECOND, load, restated, sighting
from warehouse.record import ledger
from warehouse.record.append import Load, append
from warehouse.record.as_of import vintages_query
from warehouse.record.incoming import to_arrow
from warehouse.record.merge import CompleteScope, Rereading
from warehouse.record.quarantine import quarantined_rows
from warehouse.record.row_index import content_hashes
from warehouse.record.store import ROWS, Record, commit_entries
from warehouse.record.tables import FUNDAMENTALS, RECORD_TABLES, RecordTable
from warehouse.record.upkeep import compact
from warehouse.record.versions import load_seqs_of, name_version
from warehouse.shared.errors import SankofaError
from warehouse.tables.fundamentals import Fundamental
from warehouse.tables.operations import LoadEntry

pytestmark = pytest.mark.slow

WIDER = wider_table(FUNDAMENTALS, note=str | None)
EVERY_TYPE: dict[str, tuple[Any, Any]] = {
    "text": (str | None, "a"),
    "number": (int | None, 3),
    "flag": (bool | None, True),
    "day": (date | None, date(2020, 1, 1)),
    "moment": (datetime | None, datetime(2020, 1, 1, tzinfo=UTC)),
    "amount": (Decimal | None, Decimal("1.000000000000000001")),
    "texts": (list[str] | None, ["a", "b"]),
}


def rows_of(record: Record, table: RecordTable, **options: Any) -> list[dict[str, Any]]:
    statement = vintages_query(table, record.relation(table.name), vintages="all", **options)
    rows = record.query(statement).to_pylist()
    return sorted(rows, key=lambda row: (row["period_end"], row["vintage"]))


def versions(record: Record, name: str) -> int:
    delta = record.stored_table(name)
    assert delta is not None
    return delta.version()


def test_rows_stored_before_read_as_null_and_new_rows_have_their_value(record: Record) -> None:
    restated(record)
    before = rows_of(record, FUNDAMENTALS)
    newer = opened(record, WIDER)
    load(newer, WIDER, fact("3", year=2019, note="stated"))
    after = rows_of(newer, WIDER)
    assert [row["note"] for row in after] == [None, None, "stated"]
    assert rows_of(newer, WIDER, load_seq=1, columns=tuple(FUNDAMENTALS.row.model_fields)) == before


def test_columns_of_every_type_can_be_added(record: Record) -> None:
    table = wider_table(FUNDAMENTALS, **{name: kind for name, (kind, _) in EVERY_TYPE.items()})
    values = {name: value for name, (_, value) in EVERY_TYPE.items()}
    restated(record)
    newer = opened(record, table)
    load(newer, table, fact("3", year=2019, **values))
    # The second is opened afresh, by a process that only reads.
    for reader in (newer, opened(record, table)):
        rows = rows_of(reader, table)
        for name, value in values.items():
            assert [row[name] for row in rows] == [None, None, value]


@pytest.mark.parametrize("table", RECORD_TABLES, ids=lambda table: table.name)
def test_every_table_of_sightings_gains_a_column(record: Record, table: RecordTable) -> None:
    record.table(table.name)
    wider = wider_table(table, note=str | None)
    newer = opened(record, wider)
    assert newer.query(f"SELECT note FROM {newer.relation(table.name)}").to_pylist() == []
    assert "note" in [field.name for field in newer.table(table.name).schema().fields]


def test_a_reader_writes_nothing_and_reads_the_column_as_null(record: Record) -> None:
    restated(record)
    version = versions(record, "fundamentals")
    reader = opened(record, WIDER)
    assert [row["note"] for row in rows_of(reader, WIDER)] == [None, None]
    assert versions(record, "fundamentals") == version


def test_a_reader_creates_no_table(tmp_path: Path) -> None:
    reader = Record(str(tmp_path / "record"))
    for name in ROWS:
        assert len(reader.query(f"FROM {reader.relation(name)}")) == 0
    assert [reader.load_seq(table) for table in RECORD_TABLES] == [0] * len(RECORD_TABLES)
    assert not (tmp_path / "record").exists()


def test_the_column_is_added_once_and_rewrites_no_file(record: Record) -> None:
    restated(record)
    files, version = record.files("fundamentals"), versions(record, "fundamentals")
    for _ in range(3):
        opened(record, WIDER).table("fundamentals")
    assert versions(record, "fundamentals") == version + 1
    assert [file.path for file in record.files("fundamentals")] == [file.path for file in files]


def test_loading_the_same_rows_again_appends_nothing(record: Record) -> None:
    restated(record)
    newer = opened(record, WIDER)
    rows, _ = to_arrow(WIDER, [fact("10", available_at=FIRST, publication="a-1")])
    entry = append(newer, WIDER, rows, Load("test", ("d",)))
    assert (entry.appended, entry.held) == (0, 1)
    # Nor if other code has read the document before: a null is what was stored.
    entry = append(newer, WIDER, rows, Load("test", ("d",)), reread=Rereading([]))
    assert (entry.appended, entry.held) == (0, 1)


def test_reading_a_document_again_fills_the_column_of_stored_rows(record: Record) -> None:
    restated(record)
    newer = opened(record, WIDER)
    read_again = [
        fact("10", available_at=FIRST, publication="a-1", note="first"),
        fact("12.50", available_at=SECOND, publication="a-2", document="d1", note="second"),
    ]
    rows, _ = to_arrow(WIDER, read_again)
    assert append(newer, WIDER, rows, Load("test", ("d",)), reread=Rereading([])).appended == 2
    assert [(row["note"], row["vintage"]) for row in rows_of(newer, WIDER)] == [
        ("first", 1),
        ("second", 2),
    ]
    # What was pinned before has no such value, and has the vintages it had.
    assert [row["note"] for row in rows_of(newer, WIDER, load_seq=1)] == [None, None]


def test_a_withdrawal_of_a_row_without_the_column_is_stored(record: Record) -> None:
    load(record, FUNDAMENTALS, fact("1", year=2018), fact("2", year=2019))
    newer = opened(record, WIDER)
    scope = CompleteScope(
        {"service_id": "DCTEST1"}, datetime(2026, 2, 1, tzinfo=UTC), "d9", "d9#", None
    )
    rows, _ = to_arrow(WIDER, [fact("1", year=2018, document="d9", observed_at=scope.observed_at)])
    assert append(newer, WIDER, rows, Load("test", ("d9",)), complete=scope).withdrawn == 1
    assert [row["withdrawn"] for row in rows_of(newer, WIDER)] == [False, False, True]


def test_compaction_keeps_every_value(record: Record) -> None:
    restated(record)
    newer = opened(record, WIDER)
    load(newer, WIDER, fact("3", year=2019, note="stated"))
    before = rows_of(newer, WIDER)
    compact(newer, "fundamentals", max_small_files=1)
    assert len(newer.files("fundamentals")) == 1
    assert rows_of(newer, WIDER) == before
    rows, _ = to_arrow(WIDER, [fact("3", year=2019, note="stated")])
    assert append(newer, WIDER, rows, Load("test", ("d",)), reread=Rereading([])).held == 1


def test_columns_are_added_one_after_the_other(record: Record) -> None:
    restated(record)
    widest = wider_table(WIDER, rank=int | None)
    load(opened(record, WIDER), WIDER, fact("3", year=2019, note="stated"))
    load(opened(record, widest), widest, fact("4", year=2020, note="again", rank=7))
    rows = rows_of(opened(record, widest), widest)
    assert [(row["note"], row["rank"]) for row in rows] == [
        *[(None, None)] * 2,
        ("stated", None),
        ("again", 7),
    ]


def test_tables_without_added_columns_are_read_without_comparing_their_files(
    record: Record,
) -> None:
    """Reading the footer of every file first costs time that an unchanged table need not pay."""
    restated(record)
    assert "union_by_name" not in record.relation("fundamentals")
    load(opened(record, WIDER), WIDER, fact("3", year=2019, note="stated"))
    assert "union_by_name" in opened(record, WIDER).relation("fundamentals")


def test_writers_that_add_a_column_at_once_all_succeed(record: Record) -> None:
    restated(record)

    def write(number: int) -> int:
        rows, _ = to_arrow(WIDER, [fact("1", year=1950 + number, note=f"n{number}")])
        # A record of its own: as in another process, only the commits order the writers.
        return append(opened(record, WIDER), WIDER, rows, Load("test", (f"{number}",))).appended

    with ThreadPoolExecutor(6) as threads:
        assert list(threads.map(write, range(6))) == [1] * 6
    rows = rows_of(opened(record, WIDER), WIDER)
    assert [row["note"] for row in rows] == [*(f"n{number}" for number in range(6)), None, None]


def test_a_writer_that_opened_the_table_before_the_column_was_added_goes_on(record: Record) -> None:
    older = opened(record, WIDER)
    older.table("loads")
    entry = LoadEntry(
        load_id="l",
        table_name="fundamentals",
        load_seq=1,
        source="test",
        documents=["d"],
        read=1,
        appended=0,
        held=1,
        quarantined=0,
        withdrawn=0,
        code_version="0",
        loaded_at=datetime(2026, 1, 1, tzinfo=UTC),
    )
    wider = with_columns(LoadEntry, note=str | None)
    newer = opened(record, loads=wider)
    commit_entries(newer, "loads", [wider(**entry.model_dump(), note="n")])
    # The class of a running process does not change, so it is told that it is too old.
    with pytest.raises(SankofaError, match=r"'note'.*newer version"):
        commit_entries(older, "loads", [entry])
    notes = newer.query(f"SELECT note FROM {newer.relation('loads')}")["note"].to_pylist()
    assert notes == ["n"]


def test_the_ledger_is_completed_from_commits_made_before_a_column_was_added(
    record: Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as killed:
        killed.setattr(ledger, "write_missing_entries", lambda *_: None)
        restated(record)
    wider = with_columns(LoadEntry, note=str | None)
    wider.model_fields["note"].default = ...
    monkeypatch.setattr(ledger, "LoadEntry", wider)
    newer = opened(record, loads=wider)
    ledger.write_missing_entries(newer, [FUNDAMENTALS])
    loads = newer.query(f"SELECT load_seq, note FROM {newer.relation('loads')}").to_pylist()
    assert loads == [{"load_seq": 1, "note": None}]


def test_versions_and_quarantine_are_read_from_tables_that_lack_a_column(record: Record) -> None:
    rows, _ = to_arrow(FUNDAMENTALS, [fact("1", license_class="restricted"), fact("2", year=2019)])
    append(record, FUNDAMENTALS, rows, Load("test", ("d",)))
    name = name_version(record)
    wider = {
        table: with_columns(ROWS[table], note=str | None)
        for table in ("quarantine", "retries", "versions", "loads", "quality")
    }
    newer = opened(record, **wider)
    assert load_seqs_of(newer, name)["fundamentals"] == 1
    assert [row.reason for row in quarantined_rows(newer)] == [
        "row 0, license_class: 'restricted' may not be served"
    ]
    assert list(ledger.readings(newer, "test", FUNDAMENTALS)) == ["d"]
    for table in wider:
        newer.table(table)
    assert load_seqs_of(newer, name)["fundamentals"] == 1
    assert len(quarantined_rows(newer)) == 1


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A record of two vintages, which nothing changes."""
    record = Record(str(tmp_path_factory.mktemp("stored") / "record"))
    restated(record)
    return record.root


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (
            without_columns(Fundamental, "fiscal_label"),
            "fundamentals: column 'fiscal_label' is stored as string and no longer declared;",
        ),
        (
            with_columns(without_columns(Fundamental, "fiscal_label"), year_label=str | None),
            "'fiscal_label' is stored as string and no longer declared; .*never removed or ren",
        ),
        (
            with_columns(Fundamental, fiscal_label=int | None),
            r"column 'fiscal_label' is stored as string and declared as int64; .*add a nullable ",
        ),
        (
            with_columns(Fundamental, unit=str | None),
            "column 'unit' is stored as string not null and declared as string;",
        ),
        (
            with_columns(Fundamental, rank=int),
            r"column 'rank' is new \(int64 not null\).*declare it as nullable",
        ),
        (
            with_columns(Fundamental, part=(str | None, {"identity": 9})),
            r"column 'part' is new \(string\).*without identity",
        ),
        (
            with_columns(Fundamental, note=(str | None, {"content": True})),
            r"column 'note' is new \(string\).*as content only with since=",
        ),
    ],
    ids=["removed", "renamed", "another type", "nullable", "required", "identity", "content"],
)
def test_any_other_change_of_columns_is_refused_with_its_name(
    stored: str, row: type[SQLModel], words: str
) -> None:
    record = Record(stored)
    version = versions(record, "fundamentals")
    changed = opened(record, fundamentals=row)
    with pytest.raises(SankofaError, match=words):
        changed.table("fundamentals")
    with pytest.raises(SankofaError, match=words):
        append(changed, FUNDAMENTALS, facts(fact("2", year=2020)), Load("test", ("d",)))
    assert versions(record, "fundamentals") == version
    assert len(rows_of(record, FUNDAMENTALS)) == 2


def test_a_reader_refuses_another_type_and_reads_past_a_column_it_does_not_know(
    record: Record,
) -> None:
    restated(record)
    with pytest.raises(SankofaError, match="'fiscal_label' is stored as string"):
        opened(record, fundamentals=with_columns(Fundamental, fiscal_label=int | None)).relation(
            "fundamentals"
        )
    # A column of a newer version: the rows can be read, and nothing can be written.
    load(opened(record, WIDER), WIDER, fact("3", year=2019, note="stated"))
    assert len(rows_of(record, FUNDAMENTALS)) == 3
    with pytest.raises(SankofaError, match="newer version"):
        load(record, FUNDAMENTALS, fact("4", year=2020))


def test_sightings_of_every_table_have_the_writers_columns_after_a_column_was_added(
    record: Record,
) -> None:
    """The writer's columns are found by name: an added column comes after them."""
    table = next(table for table in RECORD_TABLES if table.name == "identifiers")
    row: dict[str, Any] = {
        "service_id": "DCTEST1",
        "id_type": "lei",
        "id_value": "x",
        "issuer": None,
    }
    load(record, table, sighting(**row, status="a"))
    wider = wider_table(table, note=str | None)
    newer = opened(record, wider)
    load(newer, wider, sighting(**(row | {"id_value": "y"}), status="a", note="n"))
    stored = newer.table(table.name).to_pyarrow_table().to_pylist()
    assert sorted((row["load_seq"], row["note"]) for row in stored) == [(1, None), (2, "n")]


LATER = {"content": True, "since": "1.1.0"}


def test_a_content_column_added_later_leaves_stored_hashes_as_they_are(record: Record) -> None:
    restated(record)
    table = wider_table(FUNDAMENTALS, note=(str | None, LATER))
    newer = opened(record, table)
    # Read again without a value, it is what is stored; with one, it is another content.
    rows, _ = to_arrow(table, [fact("10", available_at=FIRST, publication="a-1")])
    assert append(newer, table, rows, Load("test", ("d",))).held == 1
    later = datetime(2026, 1, 2, tzinfo=UTC)
    load(
        newer,
        table,
        fact("12.50", available_at=SECOND, publication="a-3", observed_at=later, note="audited"),
    )
    assert [(row["vintage"], row["note"]) for row in rows_of(newer, table)] == [
        (1, None),
        (2, None),
        (3, "audited"),
    ]


def test_content_columns_added_later_are_told_apart_in_any_order_of_the_class() -> None:
    both = {"first": (str | None, LATER), "second": (str | None, LATER)}
    tables = [
        wider_table(FUNDAMENTALS, **both),
        wider_table(FUNDAMENTALS, **dict(reversed(both.items()))),
    ]
    values = [(None, None), ("a", None), (None, "a"), ("a", "a"), ("a", "b"), ("b", "a")]
    hashes = []
    for table in tables:
        rows, _ = to_arrow(
            table, [fact("1", first=first, second=second) for first, second in values]
        )
        hashes.append(content_hashes(table, rows).to_pylist())
    assert hashes[0] == hashes[1]
    assert len(set(hashes[0])) == len(values)
    plain, _ = to_arrow(FUNDAMENTALS, [fact("1")])
    assert content_hashes(FUNDAMENTALS, plain).to_pylist() == hashes[0][:1]


# Columns are added, rows loaded and versions pinned in any order


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
        role = {"content": is_content, "since": "0.2.0"}
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


@settings(max_examples=times(4), suppress_health_check=[HealthCheck.too_slow])
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
