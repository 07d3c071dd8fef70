"""The rule book: every rule has a row that fails it, at the append and in an older record."""

from pathlib import Path

import pytest

from tests.helpers.audited import staged
from tests.helpers.failing_rows import GOOD, failing_rows
from tests.helpers.unchecked import append_unchecked
from warehouse.publish.left_out import figures_left_out
from warehouse.publish.snapshot import Snapshot
from warehouse.record import rules
from warehouse.record.append import Load, append
from warehouse.record.incoming import to_arrow
from warehouse.record.rules import RowRule, rules_of, rules_version
from warehouse.record.store import Record
from warehouse.record.tables import FUNDAMENTALS, RECORD_TABLES, TENDER_RELEASES, RecordTable

pytestmark = pytest.mark.slow

each_table = pytest.mark.parametrize("table", RECORD_TABLES, ids=lambda table: table.name)


@each_table
def test_no_two_rules_of_a_table_have_the_same_words(table: RecordTable) -> None:
    words = [rule.words for rule in rules_of(table)]
    assert len(set(words)) == len(words)


@each_table
def test_a_row_that_fails_a_rule_is_quarantined_with_the_reason_and_the_others_go_on(
    table: RecordTable, record: Record
) -> None:
    failing = list(failing_rows(table))
    rows, rejected = to_arrow(table, [*(row for _, row in failing), GOOD[table]])
    assert not rejected

    entry = append(record, table, rows, Load("test", ("d0",)))

    assert (entry.quarantined, entry.appended) == (len(failing), 1)
    quarantined = record.query(f"SELECT reason FROM {record.relation('quarantine')}")
    columns = {}
    for reason in quarantined["reason"].to_pylist():
        row, _, words = reason.removeprefix("row ").partition(", ")
        columns[int(row)] = words.partition(":")[0]
    assert columns == {number: rule.column for number, (rule, _) in enumerate(failing)}


@each_table
def test_a_row_that_an_older_rule_book_let_in_is_left_out_and_counted(
    table: RecordTable, record: Record, tmp_path: Path
) -> None:
    failing = [(rule, row) for rule, row in failing_rows(table) if "snapshot" in rule.stages]
    append_unchecked(record, table, *(row for _, row in failing), GOOD[table])
    loads = {other.name: record.load_seq(other) for other in RECORD_TABLES}

    with Snapshot(tmp_path / "stage", record, loads, "20261115.1") as snapshot:
        snapshot.apply_rules()
        snapshot.copy_record([table])

        (served,) = snapshot.read(f"FROM {table.name}").to_pylist()
        left_out = {row["rule"]: row for row in snapshot.left_out().to_pylist()}
    assert (served["publication"], served["vintage"]) == (GOOD[table]["publication"], 1)
    assert left_out.keys() == {rule.words for rule, _ in failing}
    for rule, row in failing:
        counted = left_out[rule.words]
        assert counted["source"] == row["source"]
        assert (counted["rows_left_out"], counted["rows_stored"]) == (1, len(failing) + 1)
        assert counted["example"].startswith(row["source_ref"])


@pytest.mark.parametrize("currency", ["kes", "Rand", "", "KES ", "US$", "EURO", "KES\n", "ĶES"])
def test_a_currency_that_is_no_code_is_named(currency: str, record: Record) -> None:
    row = GOOD[TENDER_RELEASES] | {"tender_currency": currency}
    append(record, TENDER_RELEASES, to_arrow(TENDER_RELEASES, [row])[0], Load("test", ("d0",)))

    [reason] = record.query(f"FROM {record.relation('quarantine')}")["reason"].to_pylist()

    assert reason == (
        f"row 0, tender_currency: {currency!r} is not a currency code "
        "(three capital letters, ISO 4217)"
    )


@pytest.mark.parametrize("release", ["", "no JSON", "[]", '"text"', "{", '{"parties":[]}', " {}"])
def test_a_release_that_is_no_object_of_known_members_is_refused(
    release: str, record: Record
) -> None:
    row = GOOD[TENDER_RELEASES] | {"release": release}
    rows, _ = to_arrow(TENDER_RELEASES, [row])
    entry = append(record, TENDER_RELEASES, rows, Load("test", ("d0",)))
    assert entry.quarantined == 1


def test_the_version_of_the_rules_is_made_from_their_content(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = rules_version()
    assert rules_version() == before
    stricter = RowRule("unit", "unit <> 'GBX'", "no amount is in pence", "{!r} is not a unit")
    monkeypatch.setattr(rules, "_LISTED", [*rules._LISTED, (["fundamentals"], stricter)])
    rules_of.cache_clear()
    try:
        assert rules_version() != before
    finally:
        monkeypatch.undo()
        rules_of.cache_clear()
    assert rules_version() == before


def test_nothing_is_left_out_of_a_good_record(record: Record, tmp_path: Path) -> None:
    rows, _ = to_arrow(FUNDAMENTALS, [GOOD[FUNDAMENTALS]])
    append(record, FUNDAMENTALS, rows, Load("test", ("d0",)))
    with staged(record, tmp_path / "stage") as snapshot:
        snapshot.apply_rules()
        assert snapshot.left_out().num_rows == 0
        assert figures_left_out(snapshot.sql, "fundamentals") == {}
