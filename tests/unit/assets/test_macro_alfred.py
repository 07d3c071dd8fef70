"""FRED and ALFRED in all their shapes: values, withdrawals, and units that change."""

import json
from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assets.macro import alfred
from assets.macro.alfred import country_in, unit_and_base
from assets.parsing.parsed import Parsed
from tests.helpers.macro import (
    FRED,
    document,
    fits,
    locations,
    real,
    reasons,
    rows,
    vintage,
    vintages,
)
from warehouse.record.tables import MACRO_SERIES


def current_values(parsed: Parsed) -> list[tuple[str, str | None, bool]]:
    return [
        (row["publication"], None if row["value"] is None else str(row["value"]), row["withdrawn"])
        for row in rows(parsed)
    ]


def test_a_point_after_a_value_withdraws_it() -> None:
    parsed = vintages(
        vintage("1992-12-22", "199.7"), vintage("1996-01-19", "."), vintage("1997-05-07", "210.4")
    )
    assert fits(MACRO_SERIES, parsed)
    assert current_values(parsed) == [
        ("1992-12-22", "199.7", False),
        ("1996-01-19", None, True),
        ("1997-05-07", "210.4", False),
    ]


def test_an_interval_that_ends_with_nothing_after_it_withdraws_the_value() -> None:
    ended = vintage("2020-01-30", "5") | {"realtime_end": "2020-03-31"}
    parsed = vintages(ended, vintage("2020-01-30", "6", day="1946-04-01"))
    assert [(row["value"], str(row["available_at"]), row["withdrawn"]) for row in rows(parsed)] == [
        (Decimal(5), "2020-01-30", False),
        (None, "2020-04-01", True),
        (Decimal(6), "2020-01-30", False),
    ]
    assert not reasons(parsed)


def test_an_interval_that_ends_with_the_question_withdraws_nothing() -> None:
    today = [vintage("2020-01-30", "5", day) for day in ("1946-01-01", "1946-04-01")]
    until_then = [entry | {"realtime_end": "2020-01-30"} for entry in today]
    answer = {"realtime_end": "2020-01-30", "count": 2, "observations": until_then}
    for members in (answer, {"observations": until_then}):
        body = json.dumps(members).encode()
        parsed = alfred.parse(document(body, f"{FRED}GDP"), body)
        assert [row["withdrawn"] for row in rows(parsed)] == [False, False]


def test_a_page_of_several_withdraws_nothing_of_the_periods_where_it_was_cut() -> None:
    periods = ("1946-01-01", "1946-04-01", "1946-07-01")
    ended = [vintage("2020-01-30", "5", day) | {"realtime_end": "2020-03-31"} for day in periods]
    answer = {"realtime_end": "9999-12-31", "count": 10, "observations": ended}
    body = json.dumps(answer).encode()
    parsed = alfred.parse(document(body, f"{FRED}GDP"), body)
    withdrawn = [str(row["period_start"]) for row in rows(parsed) if row["withdrawn"]]
    assert withdrawn == ["1946-04-01"]


def test_a_point_before_any_value_is_rejected() -> None:
    parsed = vintages(vintage("1992-12-22", "."), vintage("1997-05-07", "210.4"))
    assert current_values(parsed) == [("1997-05-07", "210.4", False)]
    assert reasons(parsed) == ["no value given"]


def versions(*units: tuple[str, str], title: str = "Consumer Price Index for Kenya") -> str:
    return json.dumps(
        [
            {"realtime_start": since, "units": unit, "frequency_short": "M", "title": title}
            for since, unit in units
        ]
    )


REBASED = versions(("2015-01-01", "Index 2010=100"), ("2020-06-01", "Index 2015=100"))


def rebased(*entries: Any) -> Parsed:
    return vintages(*entries, series="KENCPI", **{"series-versions": REBASED})


def test_another_base_is_another_figure_and_not_a_restatement() -> None:
    parsed = rebased(
        vintage("2019-03-01", "150.1", "2019-01-01") | {"realtime_end": "2020-05-31"},
        vintage("2020-06-01", "120.2", "2019-01-01"),
    )
    assert fits(MACRO_SERIES, parsed)
    assert [(row["unit"], row["base_period"], row["value"]) for row in rows(parsed)] == [
        ("Index", "2010=100", Decimal("150.1")),
        ("Index", "2015=100", Decimal("120.2")),
    ]
    assert {(row["country"], row["series_type"]) for row in rows(parsed)} == {("KE", "cpi")}


def test_a_value_that_outlives_its_base_is_known_in_the_new_one_too() -> None:
    parsed = rebased(vintage("2019-03-01", "100", "2019-01-01"))
    assert [(row["base_period"], row["publication"]) for row in rows(parsed)] == [
        ("2010=100", "2019-03-01"),
        ("2015=100", "2020-06-01"),
    ]


def test_a_withdrawal_in_one_base_withdraws_nothing_in_the_next() -> None:
    parsed = rebased(
        vintage("2019-03-01", "100", "2019-01-01") | {"realtime_end": "2020-01-31"},
        vintage("2020-02-01", ".", "2019-01-01"),
    )
    assert current_values(parsed) == [("2019-03-01", "100", False), ("2020-02-01", None, True)]


@pytest.mark.parametrize(
    ("units", "unit", "base"),
    [
        ("Index 2017=100", "Index", "2017=100"),
        ("Index 1982-1984=100", "Index", "1982-1984=100"),
        ("Index 1982-84=100", "Index", "1982-1984=100"),
        ("Index Dec 1999=100", "Index", "Dec 1999=100"),
        ("Billions of Chained 2017 Dollars", "Billions of Chained 2017 Dollars", None),
        ("Percent", "Percent", None),
        ("", None, None),
    ],
)
def test_the_base_of_an_index_is_taken_from_its_unit(
    units: str, unit: str | None, base: str | None
) -> None:
    assert unit_and_base(units) == (unit, base)


def test_a_country_is_taken_from_a_title_that_ends_in_its_name_and_never_guessed() -> None:
    assert country_in("Consumer Price Index: Total for South Africa") == ("ZA", "ZAF")
    assert country_in("Consumer Price Index for All Urban Consumers: All Items") is None
    assert country_in("Real GDP for Euro Area") is None


def test_values_by_their_vintages_are_read_where_they_change() -> None:
    wide = {
        "date": "1946-01-01",
        "GDP_19921222": "199.7",
        "GDP_19930128": "199.7",
        "GDP_19960119": ".",
        "GDP_19970507": "210.4",
    }
    parsed = vintages(wide)
    assert current_values(parsed) == [
        ("1992-12-22", "199.7", False),
        ("1996-01-19", None, True),
        ("1997-05-07", "210.4", False),
    ]
    assert rows(parsed)[2]["source_ref"].endswith("#/observations/0/GDP_19970507")


@given(values=st.lists(st.sampled_from(["1", "2", "3"]), min_size=1, max_size=6))
def test_intervals_and_columns_of_vintages_give_the_same_rows(values: list[str]) -> None:
    days = [f"199{index}-01-01" for index in range(len(values))]
    wide = {"date": "1946-01-01"}
    wide |= {f"GDP_{day.replace('-', '')}": value for day, value in zip(days, values, strict=True)}
    changes = [
        vintage(day, value)
        for index, (day, value) in enumerate(zip(days, values, strict=True))
        if index == 0 or values[index - 1] != value
    ]
    assert current_values(vintages(wide)) == current_values(vintages(*changes))


def csv_of(text: str, **headers: str) -> Parsed:
    body = text.encode()
    return alfred.parse(document(body, "https://example.org/d.csv", **headers), body)


def test_a_download_of_alfred_names_its_series_and_the_days_it_was_known() -> None:
    parsed = csv_of(
        "period_start_date,CPIAUCSL,realtime_start_date,realtime_end_date\n"
        "2024-01-01,308.4,2024-02-13,2025-02-11\n2024-01-01,309.7,2025-02-12,\n"
    )
    assert fits(MACRO_SERIES, parsed)
    assert current_values(parsed) == [
        ("2024-02-13", "308.4", False),
        ("2025-02-12", "309.7", False),
    ]
    assert rows(parsed)[0]["series"] == "FRED.CPIAUCSL"


def test_a_graph_of_fred_is_known_from_the_day_it_was_read() -> None:
    (row,) = rows(csv_of("observation_date,GDP\n2024-01-01,28000.5\n\n"))
    assert row["available_at"] == date(2026, 2, 10)
    assert len(reasons(csv_of("observation_date,GDP,CPIAUCSL\n2024-01-01,1,2\n"))) == 1


def test_values_that_fred_aggregated_are_not_as_published() -> None:
    parsed = vintages(vintage("2020-01-01", "1"), series="GDP&frequency=a")
    assert rows(parsed) == [] and "aggregated" in reasons(parsed)[0]


def test_a_projection_is_not_a_reported_value() -> None:
    parsed = vintages(vintage("2020-01-01", "1", "2030-01-01"))
    assert rows(parsed) == [] and "projection" in reasons(parsed)[0]


def test_series_versions_that_are_not_a_list_are_rejected() -> None:
    parsed = vintages(vintage("2020-01-01", "1"), **{"series-versions": "{}"})
    assert len(reasons(parsed)) == 1 and locations(parsed) == [""]


def test_an_unsupported_frequency_is_rejected_with_a_reason() -> None:
    parsed = vintages(
        vintage("2020-01-01", "1"), series="ICSA", frequency="Weekly, Ending Saturday"
    )
    assert "are not stored" in reasons(parsed)[0]


@pytest.mark.shared
def test_every_real_vintage_of_gdp_is_a_row_and_its_points_are_withdrawals() -> None:
    for path, body in real("cpi/alfred", "GDP_all_vintages*.json"):
        parsed = alfred.parse(document(body, f"{FRED}GDP", "2026-11-14"), body)
        observations = json.loads(body)["observations"]
        assert len(rows(parsed)) + len(reasons(parsed)) == len(observations), path
        withdrawn = sum(row["withdrawn"] for row in rows(parsed))
        points = sum(entry["value"] == "." for entry in observations)
        assert withdrawn + reasons(parsed).count("no value given") == points > 0
        assert withdrawn > 0
