"""Which SEC filers are followed: places, the rule, and what the setting changes."""

import json
import re
from typing import Any

import pycountry
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assets.filings.issuers import (
    ISO_OF_PLACE,
    MARKET_MEANINGS,
    MARKET_PLACES,
    MARKETS,
    REPORTS,
    ChosenIssuers,
    country_of,
    follows_rule,
    jurisdiction_of,
    may_follow,
)
from tests.helpers.sec_zips import filer
from warehouse.shared.settings import SettingError, read_settings

# Codes of EDGAR's list that name no present country.
WITHOUT_COUNTRY = {"P8", "XX"}
STATES = (
    "AL AK AZ AR CA CO CT DE DC FL GA HI ID IL IN IA KS KY LA ME MD MA MI MN MS MO MT NE NV NH NJ "
    "NM NY NC ND OH OK OR PA RI SC SD TN TX UT VT VA WA WV WI WY PR GU VI"
)
UNITED_STATES = {STATES[start : start + 2] for start in range(0, len(STATES), 3)}
SUBDIVISIONS = {subdivision.code for subdivision in pycountry.subdivisions}
# Countries that came into being after EDGAR's list, and those it lists under another's code.
NOT_LISTED = {"SS", "CW", "SX", "BQ", "AS", "GU", "MP", "PR", "UM", "VI"}


def test_every_code_is_of_a_country_a_state_or_a_province() -> None:
    for code, iso in ISO_OF_PLACE.items():
        assert re.fullmatch(r"[A-Z0-9]{2}", code)
        if code in WITHOUT_COUNTRY:
            assert iso == ""
        elif "-" in iso:
            assert iso[:2] in ("US", "CA") and iso in SUBDIVISIONS
        else:
            assert pycountry.countries.get(alpha_2=iso)


def test_every_country_and_every_state_has_one_code() -> None:
    codes = [iso for iso in ISO_OF_PLACE.values() if iso]
    assert len(set(codes)) == len(codes)
    assert {country.alpha_2 for country in pycountry.countries} - set(codes) == NOT_LISTED
    assert {code for code in ISO_OF_PLACE if code.isalpha()} - {"XX"} == UNITED_STATES
    assert all(ISO_OF_PLACE[state] == f"US-{state}" for state in UNITED_STATES)
    assert sum(iso.startswith("CA") for iso in codes) == 12


def test_a_code_that_looks_like_an_iso_code_is_not_read_as_one() -> None:
    assert (jurisdiction_of("GA"), country_of("GA")) == ("US-GA", "US")
    assert (country_of("I5"), country_of("T6"), country_of("A6")) == ("GA", "NA", "CA")
    assert country_of("XX") is None and country_of(None) is None and country_of("ZZ") is None


def test_all_of_africa_and_no_developed_country_is_a_market() -> None:
    africa = {iso for iso, because in MARKETS.items() if because == "africa"}
    assert len(africa) == 60 and {"ZA", "NG", "KE", "EG", "GH", "MU", "EH"} <= africa
    assert {"BR", "CN", "IN", "MX", "TR", "UA", "VN", "TW", "KR", "HK"} <= set(MARKETS)
    assert not {"US", "CA", "GB", "DE", "JP", "CH", "SG", "IL", "KY", "VG", "BM"} & set(MARKETS)
    assert set(MARKETS.values()) == set(MARKET_MEANINGS)
    assert all(pycountry.countries.get(alpha_2=iso) for iso in MARKETS)
    # Every market can be met, but for one that EDGAR has no code for.
    assert {country_of(code) for code in MARKET_PLACES} == set(MARKETS) - {"SS"}


@pytest.mark.parametrize(
    ("changes", "follows"),
    [
        ({}, True),
        ({"incorporated": "T3", "business": "NY"}, True),
        ({"incorporated": "DE", "business": "F4"}, True),
        ({"incorporated": "E9", "business": "F4"}, True),
        ({"incorporated": "E9", "business": "X0"}, False),
        ({"incorporated": "DE", "business": "TX"}, False),
        ({"incorporated": None, "business": None}, False),
        ({"incorporated": "XX", "business": "ZZ"}, False),
        ({"incorporated": "DE", "business": "NY", "mailing": "T3"}, False),
        ({"forms": ["6-K"]}, True),
        ({"forms": ["10-K/A"]}, True),
        ({"forms": ["40-F", "3"]}, True),
        ({"forms": ["10-Q", "8-K", "F-1"]}, False),
        ({"forms": []}, False),
        ({"xbrl": 0}, False),
        ({"xbrl": 0, "inline": 1}, True),
    ],
)
def test_a_filer_is_followed_by_its_places_and_its_reports(
    changes: dict[str, Any], follows: bool
) -> None:
    assert follows_rule(filer("1", **changes)) is follows


def test_xbrl_counts_only_in_a_report_of_the_rule() -> None:
    body = json.loads(filer("1", forms=["20-F", "8-K"]))
    body["filings"]["recent"] |= {"isXBRL": [0, 1], "isInlineXBRL": [0, 1]}
    assert not follows_rule(json.dumps(body).encode())


def test_the_country_code_of_a_foreign_address_counts() -> None:
    body = json.loads(filer("1", incorporated="2M", business=None))
    assert not follows_rule(json.dumps(body).encode())
    body["addresses"]["business"] = {"stateOrCountry": None, "countryCode": "Q5"}
    assert follows_rule(json.dumps(body).encode())


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"cik": 1}', b"\xff\xfe", b'{"filings": []}'])
def test_what_is_no_list_of_submissions_is_an_error(body: bytes) -> None:
    with pytest.raises(ValueError, match="not a list of submissions"):
        follows_rule(body)


PLACES = st.sampled_from([*sorted(ISO_OF_PLACE), None, "", "??"])


@given(PLACES, PLACES, PLACES, st.sampled_from([*sorted(REPORTS), "8-K", "4"]))
def test_the_look_at_the_undecoded_text_never_loses_an_issuer(
    incorporated: str | None, business: str | None, mailing: str | None, form: str
) -> None:
    body = filer("1", incorporated=incorporated, business=business, mailing=mailing, forms=[form])
    if follows_rule(body):
        assert may_follow(body)
        assert may_follow(body[: body.index(b'"filings"')])


def test_a_bare_list_is_the_whole_choice() -> None:
    chosen = ChosenIssuers.from_words(read_settings({"SANKOFA_CIKS": "314590, 1172724"}).ciks)
    assert chosen.only == ("0000314590", "0001172724")
    assert chosen.applied_to({"0000000007"}) == {"0000314590", "0001172724"}


def test_signs_change_what_the_rule_takes() -> None:
    chosen = ChosenIssuers.from_words(read_settings({"SANKOFA_CIKS": "+1756708 -917851"}).ciks)
    assert chosen.by_rule
    assert chosen.applied_to({"0000917851", "0000000007"}) == {"0001756708", "0000000007"}
    assert ChosenIssuers.from_words(()).applied_to({"0000000007"}) == {"0000000007"}


@pytest.mark.parametrize(
    ("text", "item"),
    [
        ("1172724 sasol", "sasol"),
        ("12345678901", "12345678901"),
        ("+", "+"),
        ("--7", "--7"),
        ("7 +8", "7"),
        ("+8 -0008", "-0008"),
        ("+7 +7", "+7"),
    ],
)
def test_a_bad_choice_names_its_item_and_what_is_allowed(text: str, item: str) -> None:
    with pytest.raises(SettingError) as refused:
        read_settings({"SANKOFA_CIKS": text})
    assert str(refused.value).startswith(f"SANKOFA_CIKS contains {item!r}; give CIKs of up to ten")
