"""Why a vintage differs from the one before is worked out from the two, and from nothing later."""

import tempfile
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.facts import fact, facts
from tests.helpers.nightly import times
from warehouse.publish.snapshot import Snapshot
from warehouse.record.append import Load, append
from warehouse.record.store import Record
from warehouse.record.tables import FUNDAMENTALS, RECORD_TABLES

pytestmark = pytest.mark.slow

SALES, OTHER = "ifrs-full:Revenue", "ifrs-full:RevenueFromContractsWithCustomers"
FIRST_DAY = date(2019, 3, 29)


def kinds(
    *stated: dict[str, Any], item: str = "revenue", shown: str = "restatement_kind"
) -> list[str | None]:
    """Return the kinds of the vintages that filings make, one filing a year.

    Of several figures of a filing, those of one ``item``; ``also`` is another figure.
    """
    rows = [
        fact(
            available_at=FIRST_DAY + timedelta(days=365 * number),
            publication=f"a-{number}",
            **{"element": SALES, **{name: columns[name] for name in columns if name != "also"}},
        )
        for number, filing in enumerate(stated)
        for columns in (filing, filing.get("also"))
        if columns is not None
    ]
    with tempfile.TemporaryDirectory() as temporary:
        record = Record(str(Path(temporary, "record")))
        append(record, FUNDAMENTALS, facts(*rows), Load("test", ("d",)))
        loads = {table.name: record.load_seq(table) for table in RECORD_TABLES}
        with Snapshot(Path(temporary, "stage"), record, loads, "20990101.1") as snapshot:
            snapshot.copy_record([FUNDAMENTALS])
            answer = snapshot.read(
                f"SELECT {shown} FROM fundamentals WHERE line_item = '{item}' ORDER BY vintage"
            )
    return list(answer[shown].to_pylist())


def at(day: str, value: str) -> dict[str, Any]:
    return {"value": value, "measuring_unit_date": date.fromisoformat(day)}


@pytest.mark.parametrize(
    ("stated", "expected"),
    [
        pytest.param([{"value": "762.4"}, {"value": "732.0"}], "restatement", id="another value"),
        pytest.param([{"value": "-75"}, {"value": "75"}], "correction", id="another sign"),
        pytest.param(
            [{"value": "31900000"}, {"value": "-31941000"}], "correction", id="and not rounded"
        ),
        pytest.param(
            [{"value": "5042.4"}, {"value": "5042400000"}], "correction", id="in millions"
        ),
        pytest.param([{"value": "1164100000"}, {"value": "1164"}], "correction", id="without them"),
        pytest.param([{"value": "88857028"}, {"value": "8885703"}], "restatement", id="a split"),
        pytest.param([{"value": "0"}, {"value": "5"}], "restatement", id="from nothing"),
        pytest.param(
            [{"value": "610"}, {"value": "590", "element": OTHER}], "element", id="another element"
        ),
        pytest.param(
            [at("2018-12-31", "100"), at("2019-12-31", "153.8")], "measuring_unit", id="a later day"
        ),
        pytest.param(
            [{"value": "100"}, at("2018-12-31", "147.6")], "measuring_unit", id="the first under it"
        ),
        pytest.param(
            [at("2018-12-31", "100"), at("2018-12-31", "101")], "restatement", id="the same day"
        ),
        pytest.param(
            [{"value": "1", "element": None}, {"value": "2"}], None, id="read before elements were"
        ),
        pytest.param([{"value": None}, {"value": "2"}], None, id="after a withdrawal"),
        pytest.param([{"value": "2"}, {"value": None}], None, id="a withdrawal"),
    ],
)
def test_a_second_vintage_says_why_it_differs(
    stated: list[dict[str, Any]], expected: str | None
) -> None:
    assert kinds(*stated) == [None, expected]


def test_another_element_that_had_stated_the_value_before_is_a_restatement() -> None:
    repeated = {"value": "8596", "element": OTHER}
    assert kinds({"value": "8596"}, repeated, {"value": "6390", "element": OTHER}) == [
        None,
        "restatement",
    ]


@pytest.mark.parametrize(
    ("shares", "expected"),
    [
        pytest.param(("168000000", "28600000"), "split", id="fewer shares, each earns more"),
        pytest.param(("28600000", "168000000"), "restatement", id="both become more"),
        pytest.param(("168000000", "168000000"), "restatement", id="as many shares"),
    ],
)
def test_shares_and_earnings_per_share_that_move_inversely_in_one_filing_were_split(
    shares: tuple[str, str], expected: str
) -> None:
    def filing(earned: str, number: str) -> dict[str, Any]:
        of_shares = {"value": number, "item": "shares_outstanding", "unit": "shares"}
        return {"value": earned, "item": "eps_basic", "unit": "USD/shares", "also": of_shares}

    stated = [
        filing(earned, number) for earned, number in zip(("0.019", "0.11"), shares, strict=True)
    ]
    assert kinds(*stated, item="eps_basic") == [None, expected]
    other = kinds(*stated, item="shares_outstanding")
    assert other == ([None] if len(set(shares)) == 1 else [None, expected])


@pytest.mark.parametrize(
    ("shares", "earned", "ratio"),
    [
        pytest.param(("88857028", "8885703"), ("-0.04", "-0.41"), "1:10", id="a consolidation"),
        pytest.param(("104425102", "156637653"), ("0.93", "0.62"), "3:2", id="three for two"),
        pytest.param(("168142740", "28600000"), ("0.019", "0.11"), None, id="no whole ratio"),
        pytest.param(("50000", "50000000"), ("0.90", "0.0009"), None, id="another scale"),
        pytest.param(("100000000", "115000000"), ("0.90", "0.78"), None, id="less than a fifth"),
    ],
)
def test_a_ratio_is_stated_where_it_is_the_only_whole_one(
    shares: tuple[str, str], earned: tuple[str, str], ratio: str | None
) -> None:
    stated = [
        {
            "value": value,
            "item": "eps_basic",
            "unit": "USD/shares",
            "also": {"value": number, "item": "shares_outstanding", "unit": "shares"},
        }
        for value, number in zip(earned, shares, strict=True)
    ]
    for item in ("eps_basic", "shares_outstanding"):
        assert kinds(*stated, item=item, shown="split_ratio") == [None, ratio]


STATED = st.fixed_dictionaries(
    {
        "value": st.sampled_from(["1", "-1", "2", "1000"]),
        "element": st.sampled_from([SALES, OTHER, None]),
        "measuring_unit_date": st.sampled_from([None, date(2018, 12, 31), date(2019, 12, 31)]),
    }
)


@settings(max_examples=times(4))
@given(st.lists(STATED, min_size=2, max_size=5))
def test_what_is_filed_later_never_changes_the_kind_of_an_earlier_vintage(
    stated: list[dict[str, Any]],
) -> None:
    whole = kinds(*stated)
    assert whole[0] is None
    before = kinds(*stated[:-1])
    assert whole[: len(before)] == before
    repeated = Decimal(stated[-1]["value"]) == Decimal(stated[-2]["value"])
    assert len(whole) == len(before) + (not repeated)
