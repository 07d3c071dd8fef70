"""What a publication takes over from the one before changes nothing: every table is the same.

The other way to make a snapshot is to compute every table at once from the whole record, without
partitions and without anything that was made before.
"""

from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from assets.derive.silent_revisions import EXTRACTS
from pipelines.stages import checks, derivations
from tests.helpers.facts import fact
from tests.helpers.nightly import times
from tests.helpers.publishing import run_all
from tests.helpers.record_rows import entity_row, party_row, release_row, series_row, sighting
from warehouse.publish.awards import add_tender_facts
from warehouse.publish.nodes import PLAN, Nodes, Plan
from warehouse.publish.snapshot import REWRITTEN, Derivation, Snapshot, use_canonical_ids
from warehouse.publish.steps import ProcessPool, run_step
from warehouse.publish.withheld import withhold_rows
from warehouse.record.append import Load, append
from warehouse.record.incoming import to_arrow
from warehouse.record.store import Record
from warehouse.record.tables import (
    ENTITIES,
    FUNDAMENTALS,
    IDENTIFIERS,
    MACRO_SERIES,
    RECORD_TABLES,
    TENDER_PARTIES,
    TENDER_RELEASES,
    RecordTable,
    arrow_schema,
)
from warehouse.record.withheld import (
    Subject,
    name_subject,
    process_subject,
    release,
    withheld_now,
    withhold,
)
from warehouse.tables.derived import DERIVED

SECRET = b"a secret of this test"
ISSUERS = ("DCA1", "DCB2", "DCC3", "DCD4")
SUPPLIERS = ("Ubuntu Fictional Mining Limited", "Mzansi Fictional Roads (Pty) Ltd")
COUNTRIES = {"za-etenders": "ZA", "ke-ppip": "KE"}
TABLES = (
    *(table.name for table in RECORD_TABLES),
    *("statements", "same_as", "party_matches", "metrics", "metrics_absent"),
    *("award_statements", "award_vintages", "tender_vintages", "silent_revisions", "left_out"),
)
Change = Callable[[Record], None]


def _append(record: Record, table: RecordTable, *rows: dict[str, Any]) -> None:
    """Append rows as an ingest does: what is stored already is not stored again."""
    arrow, _ = to_arrow(table, rows)
    append(record, table, arrow, Load("test", ("d",)))


def _moment(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, 6, tzinfo=UTC)


_days = st.dates(date(2021, 1, 1), date(2021, 12, 28))


@st.composite
def _figures(draw: st.DrawFn) -> Change:
    """A filing, which may repeat, restate or withdraw what another one said."""
    issuer, day = draw(st.sampled_from(ISSUERS)), draw(_days)
    rows = [
        fact(
            draw(st.none() | st.integers(1, 3).map(str)) if item == "profit" else str(year % 7 + 1),
            item=item,
            year=year,
            issuer=issuer,
            available_at=day,
            publication=f"{day}",
            observed_at=_moment(day),
            document=f"{issuer}{day}",
        )
        for item in ("revenue", "profit", "total_assets")
        for year in (2018, 2019)
    ]
    return lambda record: _append(record, FUNDAMENTALS, *rows)


@st.composite
def _tenders(draw: st.DrawFn) -> Change:
    source = draw(st.sampled_from(sorted(COUNTRIES)))
    number, day = draw(st.integers(0, 3)), draw(_days)
    name = draw(st.sampled_from((*SUPPLIERS, "John Smith")))
    shared = {
        "ocid": f"ocds-{number}",
        "release_id": f"r{day}",
        "source": source,
        "country": COUNTRIES[source],
        "released_on": day,
        "available_at": day,
        "publication": str(day),
        "observed_at": _moment(day),
    }
    text = (
        f'{{"awards":[{{"id":"1","value":{{"amount":{number + 1},"currency":"ZAR"}},'
        f'"suppliers":[{{"name":"{SUPPLIERS[0]}"}}]}}]}}'
    )
    released = release_row(number, **shared, release=text)
    party = party_row(**shared, name=name, role="supplier")

    def change(record: Record) -> None:
        _append(record, TENDER_RELEASES, released)
        _append(record, TENDER_PARTIES, party)

    return change


@st.composite
def _macro(draw: st.DrawFn) -> Change:
    day, base = draw(_days), draw(st.sampled_from(("2010=100", "2015=100")))
    source = draw(st.sampled_from(("ecb", "alfred")))
    times = {"available_at": day, "publication": str(day), "observed_at": _moment(day)}
    row = series_row(
        draw(st.sampled_from("123")), date(2020, 1, 1), source=source, base_period=base, **times
    )
    return lambda record: _append(record, MACRO_SERIES, row)


@st.composite
def _registers(draw: st.DrawFn) -> Change:
    """An organisation, or the evidence that joins two ids."""
    service_id, day = draw(st.sampled_from(ISSUERS)), draw(_days)
    times: dict[str, Any] = {
        **{"available_at": day, "publication": str(day), "observed_at": _moment(day)}
    }
    if draw(st.booleans()):
        name = draw(st.sampled_from(SUPPLIERS))
        row = entity_row(service_id=service_id, legal_name=name, country="ZA", **times)
        return lambda record: _append(record, ENTITIES, row)
    numbers: dict[str, Any] = {
        **{"service_id": service_id, "id_type": "lei", "id_value": "969500ABCDEFGHIJKL15"},
        **{"issuer": None, "status": None, "figi_level": None},
        **{"valid_from": None, "valid_to": None},
    }
    return lambda record: _append(record, IDENTIFIERS, sighting(**numbers, **times))


@st.composite
def _withholdings(draw: st.DrawFn) -> Change:
    subject = draw(
        st.sampled_from(
            (
                name_subject(SECRET, SUPPLIERS[0]),
                process_subject("ke-ppip", "ocds-1"),
                Subject("service_id", ISSUERS[0]),
            )
        )
    )

    def change(record: Record) -> None:
        entries = [entry for entry in withheld_now(record) if entry.withheld_id == subject.id]
        if entries:
            release(record, entries, "a test", "a test")
        else:
            withhold(record, [subject], "a test", "a test", SECRET)

    return change


_changes = st.lists(
    st.one_of(_figures(), _tenders(), _macro(), _registers(), _withholdings()),
    min_size=1,
    max_size=6,
)


def _derivations(with_signals: bool) -> list[Derivation]:
    return [
        each
        for each in derivations()
        if each.makes and (with_signals or each.makes != ("signals",))
    ]


def _rows(snapshot: Snapshot, *tables: str) -> dict[str, list[str]]:
    return {
        table: sorted(map(repr, snapshot.read(f"FROM {table}").to_pylist())) for table in tables
    }


def _at_once(record: Record, folder: Path, *, with_signals: bool) -> dict[str, list[str]]:
    """Return every table, made from the whole record."""
    loads = {table.name: record.load_seq(table) for table in RECORD_TABLES}
    with Snapshot(folder, record, loads, "20210101.1") as snapshot:
        withhold_rows(snapshot, SECRET)
        snapshot.apply_rules()
        snapshot.copy_record([table for table in RECORD_TABLES if table not in REWRITTEN])
        of_figures = [check for check in checks() if FUNDAMENTALS in check.tables]
        for check in checks():
            if check not in of_figures:
                check.leave_out(snapshot)
        snapshot.add({name: arrow_schema(row).empty_table() for name, row in DERIVED.items()})
        joins, *derived = _derivations(with_signals)
        snapshot.add(joins.derive(snapshot))
        use_canonical_ids(snapshot)
        for check in of_figures:
            check.leave_out(snapshot)
        snapshot.copy_record(REWRITTEN)
        snapshot.sql.execute(f"CREATE VIEW loads AS FROM {record.relation('loads')}")
        readings = f"SELECT * EXCLUDE (partition) FROM ({EXTRACTS['readings']})"
        snapshot.sql.execute(f"CREATE TABLE readings AS {readings}")
        for each in derived:
            snapshot.add(each.derive(snapshot))
        snapshot.add({"left_out": snapshot.left_out()})
        add_tender_facts(snapshot)
        return _rows(snapshot, *TABLES, "signals")


def _by_partition(
    record: Record, work: Path, number: int, *, with_signals: bool
) -> dict[str, list[str]]:
    """Return every table, made from the partitions that changed and from what is kept."""
    loads = {table.name: record.load_seq(table) for table in RECORD_TABLES}
    joins, *derived = _derivations(with_signals)
    plan = Plan(f"20210101.{number}", loads, None, 4, "", "")
    (work / plan.data_version).mkdir(parents=True)
    (work / plan.data_version / PLAN).write_bytes(msgspec.json.encode(plan))
    nodes = Nodes(record, work, checks(), joins, derived, SECRET.decode(), ProcessPool(1))
    run_all(nodes)
    with nodes.snapshot() as snapshot:
        return _rows(snapshot, *TABLES, "signals")


def _compare(batches: list[list[Change]]) -> None:
    with TemporaryDirectory() as home:
        record, work = Record(f"{home}/record"), Path(home, "work")
        for number, batch in enumerate(batches):
            for change in batch:
                change(record)
            is_last = number == len(batches) - 1
            expected = _at_once(record, Path(home, f"once{number}"), with_signals=is_last)
            made = _by_partition(record, work, number, with_signals=is_last)
            for table, rows in expected.items():
                assert made[table] == rows, table


@settings(
    max_examples=times(1),
    deadline=None,
    derandomize=True,
    # Making an example smaller would take minutes.
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(batches=st.lists(_changes, min_size=2, max_size=3))
def test_incremental_equals_full_table_by_table(batches: list[list[Change]]) -> None:
    _compare(batches)


@pytest.mark.nightly
def test_a_key_that_leaves_out_an_input_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def careless(step: Any, partitions: Any, *others: Any) -> Any:
        # The stored rows no longer count in the key of what is made from them.
        for inputs in partitions.values():
            for name, given_input in list(inputs.items()):
                if name.startswith("stored "):
                    inputs[name] = type(given_input)(given_input.paths, "always the same")
        return run_step(step, partitions, *others)

    monkeypatch.setattr("warehouse.publish.nodes.run_step", careless)

    def filed(value: str, day: date) -> Change:
        row = fact(value, available_at=day, publication=str(day), observed_at=_moment(day))
        return lambda record: _append(record, FUNDAMENTALS, row)

    with pytest.raises(AssertionError, match="fundamentals"):
        _compare([[filed("1", date(2021, 1, 1))], [filed("2", date(2021, 2, 1))]])
