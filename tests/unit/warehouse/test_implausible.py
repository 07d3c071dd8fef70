"""Numbers that cannot be: which are marked, and that no mark depends on what came later."""

import json
from collections.abc import Iterable, Mapping
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.nightly import times
from tests.helpers.record_rows import release_row
from warehouse.methodology.signals import AMOUNT_TIMES, FEWEST_AMOUNTS
from warehouse.publish.implausible import with_implausible
from warehouse.record.tables import TENDER_RELEASES, arrow_schema

FIRST = date(2020, 1, 1)
# The 99.9th percentile of the usual amounts, 1 to 1,000, is 999: the largest but one.
LIMIT = AMOUNT_TIMES * (FEWEST_AMOUNTS - 1)
Row = dict[str, Any]


def stating(number: int, day: date, body: Row | None = None, **columns: Any) -> Row:
    """Return a release of a process of its own."""
    return release_row(number, release=json.dumps(body or {}), available_at=day, **columns)


def tender(number: int, day: date, amount: int, currency: str | None = "ZAR") -> Row:
    """Return a release that states the value of its tender."""
    return stating(number, day, tender_value=Decimal(amount), tender_currency=currency)


USUAL = [tender(number, FIRST, number) for number in range(1, FEWEST_AMOUNTS + 1)]


def marks(rows: Iterable[Row]) -> list[list[str] | None]:
    """Return the marks of releases, in their order."""
    ordered = [row | {"place": place} for place, row in enumerate(rows)]
    schema = arrow_schema(TENDER_RELEASES.row).append(pa.field("place", pa.int64()))
    with duckdb.connect() as sql:
        sql.register("releases", pa.Table.from_pylist(ordered, schema))
        marked = with_implausible(sql, "releases", "FROM releases")
        return [
            row
            for (row,) in sql.execute(
                f"SELECT implausible FROM ({marked}) ORDER BY place"
            ).fetchall()
        ]


def value(amount: float) -> Mapping[str, Any]:
    return {"value": {"amount": amount, "currency": "ZAR"}}


@pytest.mark.parametrize(
    ("release", "marked"),
    [
        (stating(1, FIRST, number_of_tenderers=1_000), None),
        (stating(1, FIRST, number_of_tenderers=0), None),
        (stating(1, FIRST, number_of_tenderers=1_001), ["tender.numberOfTenderers"]),
        (stating(1, FIRST, number_of_tenderers=2**62), ["tender.numberOfTenderers"]),
        (stating(1, FIRST, {"tender": {"numberOfTenderers": -3}}), ["tender.numberOfTenderers"]),
        (tender(1, FIRST, 1), None),
        (tender(1, FIRST, 0), ["tender.value.amount"]),
        (tender(1, FIRST, -5, None), ["tender.value.amount"]),
        (tender(1, FIRST, 10**18 - 1), None),
        (tender(1, FIRST, 10**18), ["tender.value.amount"]),
        (
            stating(
                1,
                FIRST,
                {
                    "awards": [value(5), {"id": "a"}, value(-5)],
                    "contracts": [value(1e300), value(7)],
                },
            ),
            ["awards[2].value.amount", "contracts[0].value.amount"],
        ),
    ],
)
def test_a_number_is_marked_by_its_path(release: Row, marked: list[str] | None) -> None:
    assert marks([release]) == [marked]


def test_an_amount_is_compared_with_those_of_its_portal_and_currency_in_months_before() -> None:
    next_month = date(2020, 2, 1)
    rows = [
        tender(2_001, next_month, LIMIT),
        tender(2_002, next_month, LIMIT + 1),
        tender(2_003, next_month, LIMIT + 1, "USD"),
        tender(2_004, next_month, LIMIT + 1) | {"source": "another"},
        stating(2_005, next_month, {"awards": [value(LIMIT), value(LIMIT + 1)]}),
    ]

    assert marks(USUAL + rows)[-len(rows) :] == [
        *(None, ["tender.value.amount"], None, None, ["awards[1].value.amount"]),
    ]
    assert marks([*USUAL, tender(2_000, date(2020, 1, 31), LIMIT + 1)])[-1] is None


def test_fewer_amounts_than_a_percentile_needs_mark_none() -> None:
    assert marks([*USUAL[1:], tender(2_000, date(2020, 2, 1), 10**15)])[-1] is None


def test_an_error_that_is_repeated_for_months_stays_one() -> None:
    errors = [
        tender(number, FIRST + timedelta(31 * month), 10**15)
        for month in range(1, 9)
        # Releases of one process, and other processes with the same error.
        for number in (2_000, 2_000 + month)
    ]

    assert marks(USUAL + errors)[-len(errors) :] == [["tender.value.amount"]] * len(errors)


DAYS = st.integers(0, 200).map(lambda days: FIRST + timedelta(days))
AMOUNTS = st.sampled_from((-5, 0, 7, 10**5, LIMIT, LIMIT + 1, 10**9, 10**12, 10**18))


@pytest.mark.slow
@settings(max_examples=times(5))
@given(
    added=st.lists(st.tuples(st.integers(1, 2_000), DAYS, AMOUNTS), max_size=12),
    usual=st.lists(DAYS, min_size=4, max_size=4),
    until=DAYS,
)
def test_what_becomes_known_later_changes_no_mark(
    added: list[tuple[int, date, int]], usual: list[date], until: date
) -> None:
    dated = [row | {"available_at": usual[place % len(usual)]} for place, row in enumerate(USUAL)]
    rows = dated + [tender(*stated) for stated in added]
    known = [row["available_at"] <= until for row in rows]

    then = marks(row for row, is_known in zip(rows, known, strict=True) if is_known)

    now = marks(rows)
    assert then == [mark for mark, is_known in zip(now, known, strict=True) if is_known]
