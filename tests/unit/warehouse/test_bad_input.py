"""Bad input is named by column and row, and the record stays as it was."""

from datetime import UTC, date, datetime
from decimal import Decimal

import pyarrow as pa
import pytest

from tests.helpers.facts import fact, facts
from warehouse.record.append import Load, append
from warehouse.record.incoming import to_arrow
from warehouse.record.store import Record
from warehouse.record.tables import FUNDAMENTALS, RECORD_TABLES
from warehouse.shared.errors import BadTable
from warehouse.tables.operations import LoadEntry

pytestmark = pytest.mark.slow

SIXTY_DIGITS = Decimal("1" * 60)


def load(record: Record, table: pa.Table) -> LoadEntry:
    return append(record, FUNDAMENTALS, table, Load("test", ("d0",)))


def reasons(record: Record) -> list[str]:
    rows = record.query(f"SELECT reason FROM {record.relation('quarantine')} ORDER BY reason")
    return list(rows["reason"].to_pylist())


def with_column(table: pa.Table, name: str, values: pa.Array) -> pa.Table:
    return table.set_column(table.schema.get_field_index(name), table.field(name), values)


def is_empty(record: Record) -> bool:
    return not any(record.table(table.name).file_uris() for table in RECORD_TABLES)


@pytest.mark.parametrize(
    ("other", "named"),
    [
        (facts(fact()).drop_columns(["period_end"]), "period_end"),
        (facts(fact()).append_column("fiscal_year", pa.array([2018])), "fiscal_year"),
        (facts(fact()).drop_columns(["unit"]).append_column("unit", pa.array([7])), "unit"),
    ],
)
def test_a_table_with_other_columns_is_refused_and_they_are_named(
    record: Record, other: pa.Table, named: str
) -> None:
    with pytest.raises(BadTable, match=rf"its columns are not those of the record \({named}\)"):
        load(record, other)
    assert is_empty(record)


@pytest.mark.parametrize("name", ["service_id", "publication", "period_end", "license_class"])
def test_a_null_key_is_quarantined_with_its_row(record: Record, name: str) -> None:
    table = facts(fact("1", year=2017), fact("2", year=2018))
    with_null = pa.array([table[name][0].as_py(), None], table.schema.field(name).type)
    entry = load(record, with_column(table, name, with_null))
    assert (entry.read, entry.appended, entry.quarantined) == (2, 1, 1)
    assert reasons(record) == [f"row 1, {name}: is missing"]


@pytest.mark.parametrize("day", [date(1, 1, 1), date(2922, 1, 1)])
@pytest.mark.parametrize("name", ["period_end", "period_start", "available_at"])
def test_an_impossible_date_is_quarantined(record: Record, name: str, day: date) -> None:
    entry = load(record, facts(fact("1"), fact("2", item="profit") | {name: day}))
    assert (entry.read, entry.appended, entry.quarantined) == (2, 1, 1)
    assert reasons(record) == [
        f"row 1, {name}: {day} is not a date between 1800-01-01 and 2199-12-31"
    ]


def test_a_publication_date_after_the_reading_is_quarantined(record: Record) -> None:
    read = datetime(2026, 1, 1, 23, 59, tzinfo=UTC)
    load(record, facts(fact("1", observed_at=read, available_at=date(2026, 1, 2))))
    assert reasons(record) == [
        "row 0, available_at: 2026-01-02 lies after the day on which the document was read"
    ]


def test_a_parsed_row_that_does_not_fit_is_named_and_the_others_go_on() -> None:
    rows = [fact("1"), fact(str(SIXTY_DIGITS), item="profit"), fact("0.1", item="tax")]
    table, rejected = to_arrow(FUNDAMENTALS, rows)
    assert table["line_item"].to_pylist() == ["revenue", "tax"]
    assert [(row.row, row.reason.split(":")[0]) for row in rejected] == [(1, "value_reported")]
    assert rejected[0].source_ref == "d0#/profit/2018"


def test_a_float_never_becomes_a_reported_value() -> None:
    table, [rejected] = to_arrow(FUNDAMENTALS, [fact() | {"value_reported": 0.1}])
    assert len(table) == 0
    assert rejected.reason.startswith("value_reported: 0.1")


def test_a_row_whose_licence_forbids_redistribution_is_quarantined(record: Record) -> None:
    load(record, facts(fact("1", license_class="restricted")))
    assert reasons(record) == ["row 0, license_class: 'restricted' may not be served"]
    assert is_empty(record)


def test_two_values_for_one_figure_in_one_document_are_both_quarantined(record: Record) -> None:
    first = fact("1") | {"source_ref": "d0#/1"}
    second = fact("2") | {"source_ref": "d0#/2"}
    entry = load(record, facts(first, second, fact("3", item="profit")))
    assert (entry.read, entry.appended, entry.quarantined) == (3, 1, 2)
    assert all("nothing in it says which of them counts" in reason for reason in reasons(record))


def test_the_same_rejection_is_quarantined_once(record: Record) -> None:
    for _ in range(2):
        assert load(record, facts(fact("1", license_class="restricted"))).quarantined == 1
    assert len(reasons(record)) == 1


@pytest.mark.parametrize("digits", ["0.1", "1234567890123456.78", "-0.000000000000000001", "100"])
def test_reported_digits_survive(record: Record, digits: str) -> None:
    load(record, facts(fact(digits)))
    [value] = record.query(f"SELECT value_reported FROM {record.relation('fundamentals')}")[
        "value_reported"
    ].to_pylist()
    assert value == Decimal(digits)


def test_an_empty_load_gets_a_ledger_entry_and_appends_nothing(record: Record) -> None:
    entry = load(record, facts())
    assert (entry.read, entry.appended, entry.load_seq) == (0, 0, 0)
    assert is_empty(record)


def test_a_date_or_time_outside_the_calendar_is_quarantined(record: Record) -> None:
    instants = [fact(item=item, period_type="INSTANT") for item in ("assets", "debt", "equity")]
    table = facts(*instants)
    days = pa.array([17000, 2**31 - 1, 17000], pa.int32()).cast(pa.date32())
    timestamps = pa.array([1_767_000_000_000_000, 1_767_000_000_000_000, 2**60], pa.int64())
    table = with_column(table, "period_end", days)
    table = with_column(table, "period_start", pa.nulls(3, pa.date32()))
    entry = load(
        record, with_column(table, "observed_at", timestamps.cast(pa.timestamp("us", "UTC")))
    )
    assert (entry.appended, entry.quarantined) == (1, 2)
    assert [reason.split(":")[0] for reason in reasons(record)] == [
        "row 1, period_end",
        "row 2, observed_at",
    ]


def test_a_withdrawal_with_a_value_and_a_backward_period_are_quarantined(record: Record) -> None:
    entry = load(
        record,
        facts(fact("1", withdrawn=True), fact("2", item="tax", period_start=date(2019, 2, 1))),
    )
    assert entry.quarantined == 2
    assert "is stated in a withdrawal" in reasons(record)[0]
    assert reasons(record)[1] == (
        "row 1, period_end: 2018-12-31 lies before the start of the period"
    )


def test_rows_keep_their_number_and_none_is_dropped(record: Record) -> None:
    rows = facts(fact("0", license_class="restricted"), fact("1"), fact("2"))
    assert load(record, rows).quarantined == 3
    assert [reason.split(",")[0] for reason in reasons(record)] == ["row 0", "row 1", "row 2"]


def test_a_column_that_the_table_does_not_have_is_always_refused() -> None:
    table, [rejected] = to_arrow(FUNDAMENTALS, [fact("1") | {"fiscal_year": 2018}])
    assert len(table) == 0
    assert rejected.reason == "fiscal_year: no such column"
