"""The storage format rejects updates and deletes; every statement can be read from it."""

from datetime import date

import pytest
from deltalake import write_deltalake
from deltalake.exceptions import CommitFailedError

from tests.helpers.facts import fact, facts
from warehouse.record.append import Load, append
from warehouse.record.as_of import statements_query, vintages_query
from warehouse.record.merge import Rereading
from warehouse.record.store import Record
from warehouse.record.tables import FUNDAMENTALS, RECORD_TABLES, record_schema
from warehouse.record.upkeep import compact

pytestmark = pytest.mark.slow


@pytest.fixture
def filled(record: Record) -> Record:
    for year in range(2010, 2014):
        append(record, FUNDAMENTALS, facts(fact("1", year=year)), Load("test", (f"{year}",)))
    return record


def all_vintages(record: Record) -> list[dict[str, object]]:
    statement = vintages_query(FUNDAMENTALS, record.relation("fundamentals"), vintages="all")
    return sorted(record.query(statement).to_pylist(), key=lambda row: str(row["period_end"]))


def test_delete_is_refused(filled: Record) -> None:
    with pytest.raises(CommitFailedError, match="append-only"):
        filled.table("fundamentals").delete("service_id = 'DCTEST1'")


def test_update_is_refused(filled: Record) -> None:
    with pytest.raises(CommitFailedError, match="append-only"):
        filled.table("fundamentals").update(updates={"unit": "'USD'"})


def test_overwrite_is_refused(filled: Record) -> None:
    with pytest.raises(CommitFailedError, match="append-only"):
        write_deltalake(
            filled.table("fundamentals"),
            record_schema(FUNDAMENTALS).empty_table(),
            mode="overwrite",
        )


def test_a_merge_that_updates_is_refused(filled: Record) -> None:
    delta = filled.table("fundamentals")
    merge = delta.merge(delta.to_pyarrow_table(), "s.figure = t.figure", "s", "t")
    with pytest.raises(CommitFailedError, match="append-only"):
        merge.when_matched_update({"unit": "'USD'"}).execute()


def test_compaction_is_allowed_and_changes_no_row(filled: Record) -> None:
    before, files = all_vintages(filled), len(filled.table("fundamentals").file_uris())
    compact(filled, "fundamentals", max_small_files=1)
    assert len(filled.table("fundamentals").file_uris()) == 1 < files
    assert all_vintages(filled) == before
    entry = append(filled, FUNDAMENTALS, facts(fact("1", year=2010)), Load("test", ("2010",)))
    assert (entry.appended, entry.held) == (0, 1)


@pytest.mark.parametrize("name", [*(table.name for table in RECORD_TABLES), "loads", "quarantine"])
def test_every_table_of_the_record_is_append_only(record: Record, name: str) -> None:
    assert record.table(name).metadata().configuration["delta.appendOnly"] == "true"


def test_statements_repeat_what_vintages_do_not(record: Record) -> None:
    days = [date(2020, 1, 1), date(2021, 1, 1), date(2022, 1, 1)]
    for number, (day, value) in enumerate(zip(days, ("1", "1", "2"), strict=True)):
        row = fact(value, available_at=day, publication=f"p{number}")
        append(record, FUNDAMENTALS, facts(row), Load("test", (f"d{number}",)))
    corrected = fact("3", available_at=days[2], publication="p2")
    append(record, FUNDAMENTALS, facts(corrected), Load("test", ("d2",)), reread=Rereading([]))
    relation, columns = record.relation("fundamentals"), ["publication", "value_reported"]

    statements = record.query(statements_query(FUNDAMENTALS, relation, columns=columns))
    before = record.query(statements_query(FUNDAMENTALS, relation, columns=columns, load_seq=2))
    vintages = record.query(vintages_query(FUNDAMENTALS, relation, vintages="all", columns=columns))

    assert sorted(statements.to_pydict()["publication"]) == ["p0", "p1", "p2"]
    assert sorted(map(int, statements.to_pydict()["value_reported"])) == [1, 1, 3]
    assert sorted(before.to_pydict()["publication"]) == ["p0", "p1"]
    assert sorted(vintages.to_pydict()["publication"]) == ["p0", "p2"]
