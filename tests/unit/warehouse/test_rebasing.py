"""A series has one base on each day, whatever arrives when."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from random import Random
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.nightly import times
from tests.helpers.record_rows import series_row
from warehouse.publish.rebasing import with_rebasings
from warehouse.record.as_of import vintages_query
from warehouse.record.incoming import to_arrow
from warehouse.record.row_index import add_row_hashes
from warehouse.record.tables import MACRO_ANNUAL, MACRO_SERIES, RecordTable
from warehouse.tables.sighting import AS_SHOWN

FIRST_DAY = date(2020, 1, 1)
PERIODS = [date(2019, month, 1) for month in (1, 2, 3, 4)]
Base = tuple[str | None, str | None]
OLD, NEW, NEWEST = ("Index", "2010=100"), ("Index", "2015=100"), ("Index", "2020=100")
NOT_STATED, DOLLARS, EUROS = (None, None), ("US$", None), ("EUR", None)


@dataclass(frozen=True)
class Edition:
    """What a publisher shows of a series on a day: values by period, on one base."""

    day: date
    base: Base
    values: dict[date, int]


def rows_of(edition: Edition, **others: Any) -> list[dict[str, Any]]:
    read = datetime.combine(edition.day, datetime.min.time(), UTC) + timedelta(days=1)
    columns = {
        "series": "CPI",
        "series_type": "cpi",
        "frequency": "monthly",
        "available_at": edition.day,
        "publication": edition.day.isoformat(),
        "unit": edition.base[0],
        "base_period": edition.base[1],
        "document": edition.day.isoformat(),
        "observed_at": read,
    } | others
    return [series_row(str(value), period, **columns) for period, value in edition.values.items()]


def stored(table: RecordTable, loads: Sequence[list[dict[str, Any]]]) -> pa.Table:
    """Return the rows as a record stores them, one load after the other."""
    parts: list[pa.Table] = []
    for number, rows in enumerate(loads, start=1):
        arrow, rejected = to_arrow(table, rows)
        assert not rejected
        part = add_row_hashes(table, arrow)
        part = part.append_column("again", pa.repeat(pa.scalar(False), len(part)))
        part = part.append_column("load_id", pa.repeat(pa.scalar(f"load {number}"), len(part)))
        parts.append(part.append_column("load_seq", pa.repeat(pa.scalar(number), len(part))))
    return pa.concat_tables(parts)


class Series:
    """Stored rows, and what they say on a day."""

    def __init__(self, *loads: list[dict[str, Any]], table: RecordTable = MACRO_SERIES) -> None:
        self._sql, self._table = duckdb.connect(), table
        self._sql.execute("SET GLOBAL TimeZone = 'UTC'")
        self._sql.register("all_rows", stored(table, loads))
        self._sql.execute("CREATE TABLE stored_rows AS FROM all_rows")
        relation = with_rebasings(self._sql, table, "stored_rows")
        self._vintages = self._sql.sql(
            vintages_query(table, relation, vintages="all")
        ).to_arrow_table()

    def known(self, as_of: date | None) -> list[dict[str, Any]]:
        """Return the rows that an answer for a day has; None is now."""
        rows = self.vintages()
        last = {_figure(row): row["vintage"] for row in sorted(rows, key=lambda r: r["vintage"])}
        return [
            row
            for row in rows
            if not row["withdrawn"]
            and (
                row["vintage"] == last[_figure(row)]
                if as_of is None
                else row["available_at"] <= as_of
                and (row["superseded_at"] is None or row["superseded_at"] > as_of)
            )
        ]

    def vintages(self) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = self._vintages.to_pylist()
        return rows

    def values(self, as_of: date | None = None) -> dict[date, tuple[int, str | None, str | None]]:
        rows = self.known(as_of)
        answer = {
            row["period_end"]: (int(row["value"]), row["unit"], row["base_period"]) for row in rows
        }
        assert len(answer) == len(rows), "one value for each period"
        return answer


def _figure(row: dict[str, Any]) -> tuple[Any, ...]:
    return row["period_end"], row["unit"], row["base_period"]


def expected(
    editions: Sequence[Edition], as_of: date
) -> dict[date, tuple[int, str | None, str | None]]:
    """Say what was known, one edition after the other: a new base begins with nothing."""
    current: Base | str | None = None
    known: dict[date, tuple[int, str | None, str | None]] = {}
    for edition in sorted(editions, key=lambda edition: edition.day):
        if edition.day > as_of:
            break
        base: Base | str | None = edition.base
        if base == NOT_STATED:
            is_index = current == "not stated" or (isinstance(current, tuple) and current[1])
            base = "not stated" if is_index else current
        begins = base != current and not (current is None and edition.base[1] is None)
        known = {} if begins else known
        current = base
        known |= {period: (value, *edition.base) for period, value in edition.values.items()}
    return known


@st.composite
def histories(draw: st.DrawFn, bases: Sequence[Base]) -> list[Edition]:
    days = draw(st.lists(st.integers(0, 20), min_size=1, max_size=7, unique=True))
    return [
        Edition(
            FIRST_DAY + timedelta(days=day),
            draw(st.sampled_from(bases)),
            draw(st.dictionaries(st.sampled_from(PERIODS), st.integers(1, 4), min_size=1)),
        )
        for day in days
    ]


few_examples = settings(max_examples=times(6), deadline=None)


@pytest.mark.slow
@few_examples
@given(histories([OLD, NEW, NEWEST]), st.randoms(use_true_random=False))
def test_on_every_day_a_series_has_one_base_and_a_period_one_value_in_any_order_of_arrival(
    editions: list[Edition], order: Random
) -> None:
    arrived = [rows_of(edition) for edition in editions]
    order.shuffle(arrived)
    series = Series(*arrived)
    for number in range(22):
        day = FIRST_DAY + timedelta(days=number)
        known = series.values(day)
        assert len({(unit, base) for _, unit, base in known.values()}) <= 1
        assert known == expected(editions, day)
    assert series.values() == expected(editions, date.max)


@few_examples
@given(histories([NOT_STATED, DOLLARS, EUROS, OLD]))
def test_what_states_no_base_is_on_the_base_of_the_series_unless_that_is_an_index(
    editions: list[Edition],
) -> None:
    series = Series(*map(rows_of, editions))
    for number in range(22):
        day = FIRST_DAY + timedelta(days=number)
        assert series.values(day) == expected(editions, day)


@pytest.mark.slow
@few_examples
@given(histories([OLD, NEW, NOT_STATED]), st.integers(0, 20))
def test_what_is_published_after_a_day_changes_nothing_of_it(
    editions: list[Edition], number: int
) -> None:
    day = FIRST_DAY + timedelta(days=number)
    by_then = [rows_of(edition) for edition in editions if edition.day <= day]
    if by_then:
        assert Series(*map(rows_of, editions)).values(day) == Series(*by_then).values(day)


def history() -> Iterator[Edition]:
    january, february, march, _ = PERIODS
    yield Edition(date(2020, 2, 1), OLD, {january: 110, february: 112})
    yield Edition(date(2020, 3, 1), NEW, {february: 51, march: 52})


def test_a_period_that_is_not_carried_over_is_withdrawn_from_the_day_of_the_new_base() -> None:
    series = Series(*map(rows_of, history()))
    january, february, march, _ = PERIODS
    before = {january: (110, *OLD), february: (112, *OLD)}
    assert series.values(date(2020, 2, 29)) == before
    assert series.values(date(2020, 3, 1)) == {february: (51, *NEW), march: (52, *NEW)}
    withdrawn = [row for row in series.vintages() if row["withdrawn"]]
    assert {row["period_end"] for row in withdrawn} == {january, february}
    # By the publication that replaced the base, which is the evidence of it.
    assert {(row["available_at"], row["document"]) for row in withdrawn} == {
        (date(2020, 3, 1), "2020-03-01")
    }
    assert all(row["value"] is None and row["base_period"] == OLD[1] for row in withdrawn)


def test_an_old_base_that_comes_back_counts_again_with_the_periods_it_comes_back_with() -> None:
    january, february, *_ = PERIODS
    again = Edition(date(2020, 4, 1), OLD, {february: 112})
    series = Series(*map(rows_of, [*history(), again]))
    assert series.values() == {february: (112, *OLD)}
    assert series.values(date(2020, 2, 1))[january] == (110, *OLD)


def test_of_two_bases_in_one_publication_that_of_the_last_reading_counts() -> None:
    january = PERIODS[0]
    first, second = (Edition(date(2020, 2, 1), base, {january: 1}) for base in (OLD, NEW))
    later = datetime(2021, 1, 1, tzinfo=UTC)
    for rows in ([first, second], [second, first]):
        series = Series(
            *(rows_of(each, **({"observed_at": later} if each is second else {})) for each in rows)
        )
        assert series.values(date(2020, 2, 1)) == {january: (1, *NEW)} == series.values()


def test_annual_indicators_have_one_base_although_no_day_is_known() -> None:
    year = {"period_start": date(2010, 1, 1), "period_end": date(2010, 12, 31)}

    def annual(value: int, updated: str, base: Base) -> list[dict[str, Any]]:
        edition = Edition(date.fromisoformat(updated), base, {date(2010, 12, 31): value})
        (row,) = rows_of(edition, available_at=None, **year)
        del row["series"], row["series_type"], row["frequency"]
        return [row | {"indicator": "FP.CPI.TOTL"}]

    old, new = (
        annual(95, "2014-01-01", ("2005 = 100", "2005=100")),
        annual(100, "2016-01-01", ("2010 = 100", "2010=100")),
    )
    for loads in ([old, new], [new, old]):
        assert Series(*loads, table=MACRO_ANNUAL).values() == {
            date(2010, 12, 31): (100, "2010 = 100", "2010=100")
        }


def shown(day: date, base: Base, values: dict[date, int]) -> list[dict[str, Any]]:
    """Return rows of a table that is shown without a day of publication, as it was read."""
    read = {"observed_at": datetime.combine(day, datetime.min.time(), UTC), "available_at": day}
    undated = {"publication": AS_SHOWN, "available_at_evidence": "first_read"}
    return rows_of(Edition(day, base, values), **read, **undated)


def test_a_table_that_is_on_a_base_again_has_all_that_it_showed_on_it_before() -> None:
    """Of a table that shows its present state only what changes is stored."""
    january, february, march, _ = PERIODS
    series = Series(
        shown(date(2020, 2, 1), OLD, {january: 110, february: 112}),
        shown(date(2020, 3, 1), NEW, {january: 50, february: 51}),
        shown(date(2020, 4, 1), OLD, {march: 113}),
        shown(date(2020, 5, 1), NEW, {march: 52}),
    )
    on_old = {january: (110, *OLD), february: (112, *OLD)}
    on_new = {january: (50, *NEW), february: (51, *NEW)}
    assert series.values(date(2020, 3, 31)) == on_new
    assert series.values(date(2020, 4, 1)) == on_old | {march: (113, *OLD)}
    assert series.values() == on_new | {march: (52, *NEW)}


def rate(value: str, read: int, published: int, publication: str, **others: Any) -> dict[str, Any]:
    """Return a rate of the first of February, read and published on days of that month."""
    read_at = datetime(2020, 2, read, 18, tzinfo=UTC)
    day = {"available_at": date(2020, 2, published), "available_at_evidence": "published"}
    told = {"publication": publication, "observed_at": read_at, "document": f"{read} {publication}"}
    return series_row(value, date(2020, 2, 1), **day, **told, **others)


def test_a_file_without_versions_neither_revises_nor_repeats_those_that_another_dates() -> None:
    first, corrected = "2020-02-01T15:00:00+00:00 replace", "2020-02-04T15:00:00+00:00 replace"
    versions = [rate("30", 10, 1, first), rate("31", 10, 4, corrected)]
    for read, value in ((2, "30"), (4, "30"), (4, "31"), (9, "31")):
        # Its status is not in the file with versions.
        plain = rate(value, read, 1, AS_SHOWN, obs_status="A")
        for loads in ([versions, [plain]], [[plain], versions]):
            rows = sorted(Series(*loads).vintages(), key=lambda row: row["vintage"])
            found = [(int(row["value"]), row["available_at"].day) for row in rows]
            assert found == [(30, 1), (31, 4)]
    later = rate("32", 12, 1, AS_SHOWN, obs_status="A")
    rows = sorted(Series(versions, [later]).vintages(), key=lambda row: row["vintage"])
    assert [int(row["value"]) for row in rows] == [30, 31, 32]
    assert (rows[-1]["available_at"].day, rows[-1]["available_at_evidence"]) == (12, "first_read")
    # Alone, it is dated by the rule of its publisher.
    (alone,) = Series([rate("31", 9, 1, AS_SHOWN)]).vintages()
    assert (alone["available_at"].day, alone["available_at_evidence"]) == (1, "published")


def test_an_indicator_has_one_figure_whether_or_not_a_file_states_its_unit() -> None:
    year = {"period_start": date(2010, 1, 1), "period_end": date(2010, 12, 31)}

    def annual(value: int, updated: str, unit: str | None) -> list[dict[str, Any]]:
        edition = Edition(date.fromisoformat(updated), (unit, None), {date(2010, 12, 31): value})
        (row,) = rows_of(edition, available_at=None, **year)
        del row["series"], row["series_type"], row["frequency"]
        return [row | {"indicator": "NY.GDP.MKTP.CD"}]

    editions = [
        annual(196, "2012-09-20", None),
        annual(369, "2015-08-16", None),
        annual(367, "2024-03-28", "current US$"),
        annual(367, "2024-12-11", None),
    ]
    for loads in (editions, editions[::-1]):
        rows = Series(*loads, table=MACRO_ANNUAL).vintages()
        found = [(row["vintage"], int(row["value"]), row["unit"]) for row in rows]
        dollars = [(1, 196), (2, 369), (3, 367)]
        assert sorted(found) == [(*vintage, "current US$") for vintage in dollars]


@pytest.mark.parametrize("other", [{"country": None, "country_iso3": None}, {"frequency": "daily"}])
def test_another_country_or_frequency_is_another_series(other: dict[str, Any]) -> None:
    old, new = history()
    series = Series(rows_of(old), rows_of(new, **other))
    assert len(series.known(None)) == 4
