"""The promises of the record, for all histories, in any order of arrival."""

import tempfile
from collections import defaultdict
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from random import Random

import duckdb
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.helpers.arrivals import DAYS, MODES, arrivals, row
from tests.helpers.facts import fact, facts
from tests.helpers.nightly import times
from tests.helpers.record_rows import series_row
from tests.models.record_model import Answer, ModelSighting, answer
from warehouse.publish.rebasing import with_rebasings
from warehouse.record.append import Load, append
from warehouse.record.as_of import Vintages, vintages_query
from warehouse.record.incoming import to_arrow
from warehouse.record.store import Record
from warehouse.record.tables import FUNDAMENTALS, MACRO_SERIES
from warehouse.record.versions import load_seqs_of, name_version
from warehouse.tables.operations import LoadEntry
from warehouse.tables.sighting import AS_SHOWN

few_examples = settings(
    max_examples=times(2), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)


def load(record: Record, batch: list[ModelSighting]) -> LoadEntry:
    entry = append(record, FUNDAMENTALS, facts(*map(row, batch)), Load("test", ("d",)))
    assert entry.read == len(batch)
    assert entry.read == entry.appended + entry.held + entry.quarantined
    return entry


def query_answer(
    record: Record, as_of: date | None, vintages: Vintages, load_seq: int | None = None
) -> Answer:
    statement = vintages_query(
        FUNDAMENTALS,
        record.relation("fundamentals"),
        as_of=as_of,
        vintages=vintages,
        load_seq=load_seq,
        columns=["line_item", "value_reported", "available_at"],
    )
    rows = record.query(statement).to_pylist()
    distinct = {
        (row["line_item"], row["value_reported"], row["vintage"], row["available_at"])
        for row in rows
    }
    assert len(distinct) == len(rows)
    return distinct


def with_record(work: Callable[[Record], None]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        work(Record(str(Path(folder))))


@few_examples
@given(arrivals())
def test_any_arrival_order_ends_in_the_same_answers(
    arrived: tuple[list[ModelSighting], list[list[ModelSighting]]],
) -> None:
    history, batches = arrived

    def work(record: Record) -> None:
        for batch in batches:
            load(record, batch)
        for as_of in (None, DAYS[1], DAYS[3]):
            for mode in MODES:
                assert query_answer(record, as_of, mode) == answer(history, as_of, mode)

    with_record(work)


@few_examples
@given(arrivals(), st.sampled_from(DAYS))
def test_what_arrives_after_as_of_never_changes_the_answer(
    arrived: tuple[list[ModelSighting], list[list[ModelSighting]]], as_of: date
) -> None:
    _, batches = arrived

    def work(record: Record) -> None:
        for batch in batches:
            before = [sighting for sighting in batch if sighting.available_at <= as_of]
            if before:
                load(record, before)
        answers_before = {mode: query_answer(record, as_of, mode) for mode in MODES}
        for batch in batches:
            load(record, batch)
            assert {mode: query_answer(record, as_of, mode) for mode in MODES} == answers_before

    with_record(work)


@few_examples
@given(arrivals())
def test_loading_everything_twice_appends_nothing(
    arrived: tuple[list[ModelSighting], list[list[ModelSighting]]],
) -> None:
    _, batches = arrived

    def work(record: Record) -> None:
        for batch in batches:
            load(record, batch)
        for batch in reversed(batches):
            entry = load(record, batch)
            assert (entry.appended, entry.held) == (0, len(batch))

    with_record(work)


@few_examples
@given(arrivals())
def test_a_pinned_version_answers_the_same_after_any_number_of_later_loads(
    arrived: tuple[list[ModelSighting], list[list[ModelSighting]]],
) -> None:
    _, batches = arrived

    def work(record: Record) -> None:
        answers_of: dict[str, list[Answer]] = {}
        for batch in batches:
            load(record, batch)
            version = name_version(record)
            answers_of[version] = [query_answer(record, None, mode) for mode in MODES]
        for version, answers in answers_of.items():
            load_seq = load_seqs_of(record, version)["fundamentals"]
            assert [query_answer(record, None, mode, load_seq) for mode in MODES] == answers

    with_record(work)


readings = st.lists(
    st.tuples(st.integers(0, 5), st.sampled_from(["1", "2", "3"])), min_size=1, max_size=6
)


@few_examples
@given(readings)
def test_a_silent_edit_is_known_from_the_day_we_read_it_and_not_before(
    read: list[tuple[int, str]],
) -> None:
    """One publication, dated 2019, is read on several days with different values."""

    def work(record: Record) -> None:
        last_of_day: dict[date, str] = {}
        for number, (day, value) in enumerate(sorted(read, key=lambda item: item[0])):
            observed_at = datetime(2026, 3, 1, tzinfo=UTC) + timedelta(days=day, minutes=number)
            reading = fact(value, observed_at=observed_at, document=f"read {number}")
            append(record, FUNDAMENTALS, facts(reading), Load("test", (f"{number}",)))
            last_of_day[observed_at.date()] = value
        first_value = sorted(read, key=lambda item: item[0])[0][1]
        for as_of in (date(2019, 3, 28), date(2019, 3, 29), date(2026, 2, 28), *last_of_day):
            read_by_then = [value for day, value in last_of_day.items() if day <= as_of]
            expected = (read_by_then or [first_value])[-1:] if as_of >= date(2019, 3, 29) else []
            values = [
                str(item[1].normalize())
                for item in query_answer(record, as_of, "latest")
                if item[1]
            ]
            assert values == expected

    with_record(work)


@few_examples
@given(st.lists(st.sampled_from("12"), min_size=2, max_size=5).map(sorted), st.randoms())
def test_of_equal_readings_of_a_day_the_first_is_cited_in_any_order_of_arrival(
    values: list[str], random: Random
) -> None:
    day = datetime(2026, 3, 1, tzinfo=UTC)
    read = [
        fact(
            value,
            available_at=day.date(),
            observed_at=day + timedelta(minutes=number),
            document=f"read {number}",
        )
        for number, value in enumerate(values)
    ]
    arrived = random.sample(read, len(read))

    def work(record: Record) -> None:
        for reading in arrived:
            append(record, FUNDAMENTALS, facts(reading), Load("test", (reading["document"],)))
        statement = vintages_query(FUNDAMENTALS, record.relation("fundamentals"), vintages="all")
        documents = [row["document"] for row in record.query(statement).to_pylist()]
        assert documents == [f"read {values.index(values[-1])}"]

    with_record(work)


PERIODS = [date(2025, month, 28) for month in (1, 2, 3)]
tables = st.lists(
    st.tuples(
        st.integers(1, 28),
        st.sampled_from(["2010=100", "2015=100"]),
        st.dictionaries(st.sampled_from(PERIODS), st.integers(1, 3), min_size=1),
    ),
    min_size=1,
    max_size=6,
    unique_by=lambda table: table[0],
)


@few_examples
@given(tables)
def test_a_table_that_is_read_again_appends_what_changed_and_nothing_else(
    tables: list[tuple[int, str, dict[date, int]]],
) -> None:
    """A publisher shows a table without a day, on one base or the other."""

    def work(record: Record) -> None:
        stated: dict[str, dict[date, int]] = defaultdict(dict)
        known: dict[date, dict[date, int]] = {}
        base_of_day = ""
        for number, base, values in sorted(tables, key=lambda table: table[0]):
            day = date(2026, 3, number)
            changed = {key for key, value in values.items() if stated[base].get(key) != value}
            for hour, appended in ((6, len(changed)), (7, 0)):
                read_at = datetime(2026, 3, number, hour, tzinfo=UTC)
                columns = {"available_at": day, "observed_at": read_at, "document": str(read_at)}
                columns |= {"publication": AS_SHOWN, "available_at_evidence": "first_read"}
                rows = [
                    series_row(str(value), period, base_period=base, **columns)
                    for period, value in values.items()
                ]
                arrow, _ = to_arrow(MACRO_SERIES, rows)
                entry = append(record, MACRO_SERIES, arrow, Load("test", (str(read_at),)))
                assert (entry.appended, entry.read) == (appended, len(values))
            # On a base that it had before a table has what it had.
            base_of_day = base if changed else base_of_day
            stated[base] |= values
            known[day] = dict(stated[base_of_day])
        with duckdb.connect() as sql:
            sql.execute("SET GLOBAL TimeZone = 'UTC'")
            record.let_read(sql)
            relation = with_rebasings(sql, MACRO_SERIES, record.relation(MACRO_SERIES.name))
            for day, expected in known.items():
                rows = sql.sql(vintages_query(MACRO_SERIES, relation, as_of=day)).to_arrow_table()
                found = [(row["period_end"], int(row["value"])) for row in rows.to_pylist()]
                assert sorted(found) == sorted(expected.items())

    with_record(work)
