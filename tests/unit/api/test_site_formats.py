"""Values as people read them."""

from decimal import Decimal

import pytest

from api.site.formats import (
    amount,
    change,
    country_name,
    day,
    decimals_of,
    digits,
    headline,
    indicator_title,
    number,
    percent,
    scale_of,
    series_title,
    words,
)


@pytest.mark.parametrize(
    ("value", "scale", "text"),
    [
        (None, 1, "–"),
        (0, 1, "0"),
        (5186846000, 10**6, "5,187"),
        (69_500_000, 10**6, "69.5"),
        (Decimal("-1234567.891"), 1, "-1,234,568"),
        (Decimal("30.5064"), 1, "30.51"),
        (Decimal("0.7363771158"), 1, "0.7364"),
    ],
)
def test_an_amount_has_separators_and_no_more_decimals_than_it_needs(
    value: Decimal | int | None, scale: int, text: str
) -> None:
    assert amount(value, scale) == text


@pytest.mark.parametrize(
    "text", ["0", "-0.5", "1234567.8901", "100", "0.0000001", "123456789012345678901234567890"]
)
def test_every_digit_of_a_number_is_kept(text: str) -> None:
    assert digits(Decimal(text)) == text
    assert number(Decimal(text)).replace(",", "") == text


def test_absent_values_are_a_dash_and_never_zero() -> None:
    assert [number(None), amount(None), percent(None), day(None)] == ["–"] * 4


def test_names_are_those_that_readers_look_for() -> None:
    assert country_name("TZ") == country_name("TZA") == "Tanzania"
    assert (country_name("XX"), country_name(None)) == ("XX", "no country")
    assert words("profit_before_tax") == "Profit before tax"
    assert words("procuringEntity") == "Procuring entity"
    assert words("buyer_hhi") == "Concentration of buyers (HHI)"
    assert words("cfo") == "Cash flow from operations"
    assert percent(Decimal("0.18104")) == "18.1 %"


def test_the_numbers_of_a_column_have_the_same_decimals() -> None:
    column = [Decimal("146.2"), Decimal("146"), None, Decimal("145.25")]
    assert decimals_of(column, 6) == 2
    assert [amount(value, 1, 2) for value in column] == ["146.20", "146.00", "–", "145.25"]
    assert decimals_of([Decimal("6.2237912")], 2) == 2
    assert decimals_of([], 2) == 0


def test_only_a_table_with_large_numbers_is_in_millions() -> None:
    assert scale_of([None, Decimal("99999999.9")]) == scale_of([]) == 1
    assert scale_of([1, -(10**8)]) == 10**6


def test_a_change_has_its_sign() -> None:
    assert [change(Decimal("0.23")), change(Decimal("-0.011")), change(None)] == [
        "+23.0 %",
        "-1.1 %",
        "–",
    ]


def test_a_tender_is_called_by_words_and_not_by_its_number() -> None:
    assert headline({"title": "FIC166", "description": "Repair of classrooms"}, "o") == (
        "Repair of classrooms"
    )
    assert headline({"title": "A new road", "description": "Long text"}, "o") == "A new road"
    assert headline({"title": "FIC166"}, "o") == "FIC166"
    assert headline({}, "o") == "o"


def test_a_series_without_a_known_title_is_called_by_its_key() -> None:
    entry = {"name": "FRED.X", "type": "cpi", "unit": "Index", "country": "KE"}
    assert series_title(entry) == "Consumer prices, Kenya"
    assert series_title({**entry, "type": "macro"}) == "FRED.X"
    assert series_title({**entry, "type": "fx", "unit": "ZAR per EUR"}) == (
        "Exchange rate, ZAR per EUR"
    )
    assert (indicator_title("SP.POP.TOTL"), indicator_title("X")) == ("Population, total", "X")
