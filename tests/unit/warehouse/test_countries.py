"""Countries are known by any code or name that sources write, in one table for all of them."""

import pycountry
import pytest
from hypothesis import given
from hypothesis import strategies as st

from warehouse.shared.countries import area_named, area_of, country_code

NAMES = [
    (name, country.alpha_2)
    for country in pycountry.countries
    for key in ("name", "common_name", "official_name", "alpha_2", "alpha_3")
    if (name := getattr(country, key, None))
]


@given(st.sampled_from(NAMES), st.sampled_from([str, str.upper, str.lower, str.title]))
def test_every_country_is_known_by_the_codes_and_names_of_iso_in_any_case(
    named: tuple[str, str], written: type[str]
) -> None:
    name, code = named
    assert country_code(written(name)) == code


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("Turkey", "TR"),
        ("turkiye", "TR"),
        ("Cote d\u2019Ivoire", "CI"),
        ("Ivory Coast", "CI"),
        ("São Tomé and Príncipe", "ST"),
        ("Congo, Democratic Republic of the", "CD"),
        ("Kosovo", "XK"),
        ("UK", "GB"),
        ("NA", "NA"),
    ],
)
def test_names_and_codes_that_others_write_are_known_everywhere(name: str, code: str) -> None:
    assert country_code(name) == code


@pytest.mark.parametrize("name", ["", "World", "Euro area", "Turkei", "Guine", "001", "112", "ZZ"])
def test_nothing_is_known_by_likeness(name: str) -> None:
    assert country_code(name) is None


@given(st.text())
def test_any_text_is_a_country_or_none(text: str) -> None:
    code = country_code(text)
    assert code is None or area_of(code) == (area_of(text) or area_named(text))
