"""Macro sources are parsed exactly, with the day on which a value could be read."""

import json
import re
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assets.macro import alfred, h10, sdmx_csv, worldbank
from assets.macro.iso_codes import area_of_currency, require_currency
from assets.macro.periods import period_of
from assets.parsing.parsed import Parsed
from tests.helpers.macro import (
    FRED,
    VERSIONS,
    document,
    fits,
    locations,
    observed,
    page,
    real,
    reasons,
    rows,
    sdmx,
    vintage,
    vintages,
)
from warehouse.record.incoming import to_arrow
from warehouse.record.landing import Document
from warehouse.record.tables import MACRO_ANNUAL, MACRO_SERIES, RecordTable
from warehouse.shared.countries import area_of

PARSERS = (alfred.parse, h10.parse, sdmx_csv.parse, worldbank.parse)
HEADERS = {"indicator": "NY.GDP.MKTP.CD", "vintage": "2012-09-20", "frequency": "monthly"}


# World Bank


def test_an_annual_value_has_the_last_update_as_publication_and_no_available_at() -> None:
    parsed = page(observed())
    (row,) = rows(parsed)
    assert fits(MACRO_ANNUAL, parsed)
    assert (row["country"], row["country_iso3"]) == ("NG", "NGA")
    assert (row["available_at"], row["publication"]) == (None, "2024-03-28")
    assert row["value"] == Decimal("369062464570.386")
    assert (row["period_start"], row["period_end"]) == (date(2010, 1, 1), date(2010, 12, 31))
    assert (row["unit"], row["base_period"], row["obs_status"]) == ("current US$", None, None)


def test_aggregates_and_absent_values_are_rejected() -> None:
    france = {"id": "FR", "value": "France"}
    parsed = page(
        observed("AFE"), observed(value=None), observed("", country={"id": "XD", "value": "High"})
    )
    assert rows(parsed) == []
    assert [reason.split(":")[0] for reason in reasons(parsed)] == [
        "aggregate, not a country",
        "no value given",
        "aggregate, not a country",
    ]
    assert locations(parsed) == ["/1/0", "/1/1", "/1/2"]
    assert rows(page(observed("", country=france)))[0]["country_iso3"] == "FRA"


def test_na_is_namibia_and_kosovo_is_a_country() -> None:
    assert area_of("na") == area_of("NAM") == ("NA", "NAM")
    assert area_of("XKX") == area_of("KSV") == ("XK", "XKX")
    assert [row["country"] for row in rows(page(observed("NAM"), observed("XKX")))] == ["NA", "XK"]


def test_another_base_of_an_index_is_another_figure() -> None:
    names = [f"Consumer price index ({year} = 100)" for year in (2005, 2010)]
    parsed = page(*(observed(indicator={"id": "FP.CPI.TOTL", "value": name}) for name in names))
    assert [row["base_period"] for row in rows(parsed)] == ["2005=100", "2010=100"]


@pytest.mark.parametrize("year", ["2010Q1", "1066", "20100", None])
def test_a_period_that_is_not_a_year_is_rejected(year: object) -> None:
    assert rows(page(observed(date=year))) == []


def test_an_error_with_status_200_is_one_rejection() -> None:
    body = b'[{"message":[{"id":"120","key":"Invalid value","value":"no such code"}]}]'
    parsed = worldbank.parse(document(body), body)
    assert len(reasons(parsed)) == 1 and "no such code" in reasons(parsed)[0]


def test_a_dated_file_is_a_vintage_of_the_indicator_its_headers_name() -> None:
    body = b"Country Name,Country Code,Year,Value\nNigeria,NGA,2010,196.84\nWorld,WLD,2010,1\n"
    parsed = worldbank.parse(document(body, **HEADERS), body)
    assert fits(MACRO_ANNUAL, parsed)
    assert rows(parsed)[0]["publication"] == "2012-09-20"
    assert rows(parsed)[0]["available_at"] is None
    assert locations(parsed) == ["line 3"]
    assert len(reasons(worldbank.parse(document(body), body))) == 1


def test_a_file_of_an_index_states_its_base_by_the_year_in_which_countries_stand_at_100() -> None:
    codes = "AFG ALB DZA AGO ARG ARM AUS AUT AZE BHS BHR BGD BRB BLR BEL BLZ BEN BTN BOL BWA"
    lines = [
        f"x,{code},{year},{value}"
        for code in codes.split()
        for year, value in ((2004, "89.5"), (2005, "100"), (2006, "112"))
    ]
    # Indonesia is on another base, and Brazil has no value of the year.
    lines += ["x,IDN,2005,57.1", "x,IDN,2006,64", "x,BRA,2006,104"]
    body = "\n".join(["Country Name,Country Code,Year,CPI", *lines]).encode()
    headers = {"indicator": "FP.CPI.TOTL", "vintage": "2013-05-27"}
    found = rows(worldbank.parse(document(body, **headers), body))
    based = {row["country_iso3"]: (row["unit"], row["base_period"]) for row in found}
    assert based.pop("IDN") == based.pop("BRA") == (None, None)
    assert set(based.values()) == {("2005 = 100", "2005=100")}
    stated = document(body, **headers, **{"base-period": "2010=100"})
    assert {row["base_period"] for row in rows(worldbank.parse(stated, body))} == {"2010=100"}


def test_percentages_that_stay_at_100_for_years_are_no_index() -> None:
    codes = "AFG ALB DZA AGO ARG ARM AUS AUT AZE BHS BHR BGD BRB BLR BEL BLZ BEN BTN BOL BWA"
    lines = [f"x,{code},{year},100" for code in codes.split() for year in (2019, 2020, 2021)]
    body = "\n".join(["Country Name,Country Code,Year,Access", *lines]).encode()
    headers = {"indicator": "EG.ELC.ACCS.ZS", "vintage": "2023-05-27"}
    found = rows(worldbank.parse(document(body, **headers), body))
    assert len(found) == 60
    assert {(row["unit"], row["base_period"]) for row in found} == {(None, None)}


# SDMX-CSV


def test_a_daily_rate_is_quoted_as_published_and_available_that_day() -> None:
    parsed = sdmx("EXR.D.ZAR.EUR.SP00.A,D,ZAR,EUR,SP00,A,2024-01-15,20.5103,A")
    (row,) = rows(parsed)
    assert fits(MACRO_SERIES, parsed)
    assert (row["series"], row["unit"], row["series_type"]) == ("FX.EUR.ZAR", "ZAR per EUR", "fx")
    assert (row["country"], row["frequency"], row["obs_status"]) == ("ZA", "daily", "A")
    assert (row["available_at"], row["publication"]) == (date(2024, 1, 15), "as shown")
    assert (row["value"], row["source_ref"][-7:]) == (Decimal("20.5103"), "#line 2")


def test_versions_have_their_timestamp_and_a_deletion_withdraws() -> None:
    key = "EXR.D.USD.EUR.SP00.A,D,USD,EUR,SP00,A,2015-07-27"
    parsed = sdmx(
        f"{key},,Delete,,2015-07-27T15:25:34.000+02:00",
        f"{key},1.1058,Replace,2015-07-28T00:16:04.000+02:00,",
        header=VERSIONS,
    )
    deleted, replaced = rows(parsed)
    assert fits(MACRO_SERIES, parsed)
    assert (deleted["withdrawn"], deleted["value"]) == (True, None)
    assert deleted["available_at"] == date(2015, 7, 27)
    assert (replaced["withdrawn"], replaced["value"]) == (False, Decimal("1.1058"))
    assert replaced["publication"] == "2015-07-27T22:16:04+00:00 replace"
    assert replaced["available_at"] == date(2015, 7, 27)
    assert deleted["publication"] < replaced["publication"]


@pytest.mark.parametrize("reversed_order", [False, True])
def test_a_value_replaced_at_one_moment_was_never_withdrawn(reversed_order: bool) -> None:
    key = "EXR.D.USD.EUR.SP00.A,D,USD,EUR,SP00,A,2015-07-27"
    first, moment = "2015-07-27T15:25:34.000+02:00", "2015-07-28T17:20:44.000+02:00"
    replacement = [f"{key},,Delete,,{moment}", f"{key},1.11,Replace,2015-07-28T15:20:44Z,"]
    lines = [
        f"{key},1.10,Replace,{first},{moment}",
        *(replacement[::-1] if reversed_order else replacement),
    ]
    parsed = sdmx(*lines, header=VERSIONS)
    assert [(str(row["value"]), row["withdrawn"]) for row in rows(parsed)] == [
        ("1.10", False),
        ("1.11", False),
    ]
    assert reasons(parsed) == ["another action at the same moment takes its place"]


def test_the_average_of_the_current_month_is_available_from_the_day_it_was_read() -> None:
    line = "EXR.M.ZAR.EUR.SP00.A,M,ZAR,EUR,SP00,A,2026-02,19.1,P"
    first, second = (rows(sdmx(line, read=day))[0] for day in ("2026-02-10", "2026-02-20"))
    assert first["available_at"] == date(2026, 2, 10)
    assert (second["available_at"], second["obs_status"]) == (date(2026, 2, 20), "P")
    identity = [tuple(row[name] for name in MACRO_SERIES.identity) for row in (first, second)]
    assert identity[0] == identity[1]


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("K,D,ZAR,EUR,SP00,A,2024-01-15,,A", "no value given"),
        ("K,D,ZAR,EUR,SP00,A,2024-01-15,NaN,A", "no value given"),
        ("K,D,ZAR,EUR,SP00,A,2024-01-15,1;2,A", "not a number"),
        ("K,D,ZWL,EUR,SP00,A,2024-06-14,14.3,A", "withdrawn"),
        ("K,D,HRK,EUR,SP00,A,2023-01-02,7.5,A", "withdrawn"),
        ("K,D,E03,EUR,SP00,A,2024-01-15,1,A", "ISO 4217"),
        ("K,M,ZAR,EUR,SP00,E,2024-01,1,A", "no spot rate"),
        ("K,M,ZAR,EUR,SP00,A,2024-01-15,1,A", "no monthly period"),
        ("K,H,ZAR,EUR,SP00,A,2024-S1,1,A", "are not stored"),
        ("K,D,ZAR,EUR,SP00,A,2024-02-30,1,A", "calendar"),
        ("K,D,ZAR,EUR,SP00,A,2027-01-15,1,A", "after it was read"),
        ("K,D,ZAR", "cells"),
    ],
)
def test_a_line_that_is_not_a_rate_is_rejected_with_a_reason(line: str, word: str) -> None:
    parsed = sdmx(line, "K,D,USD,EUR,SP00,A,2024-01-15,1.1,A")
    assert len(rows(parsed)) == 1
    assert locations(parsed) == ["line 2"] and word in reasons(parsed)[0]


def test_a_withdrawn_currency_is_valid_before_its_end() -> None:
    require_currency("ZWL", date(2024, 3, 6))
    assert rows(sdmx("K,D,HRK,EUR,SP00,A,2022-12-30,7.5,A")) != []


def test_currencies_of_several_countries_have_no_country() -> None:
    assert area_of_currency("XOF") is None and area_of_currency("EUR") is None
    assert area_of_currency("NAD") == ("NA", "NAM")


def test_consumer_prices_in_sdmx_3_keep_the_key_of_the_source() -> None:
    header = (
        "STRUCTURE,STRUCTURE_ID,ACTION,FREQ: Frequency,REF_AREA: Area,ITEM: Item,"
        "TIME_PERIOD: Time,OBS_VALUE,OBS_STATUS: Status,UNIT_MEASURE,BASE_PER"
    )
    line = 'dataflow,SAMPLE:CPI(1.0),R,M: Monthly,ZA: "South Africa",00: All,2024-01,112.3,A: N,IX'
    parsed = sdmx(f"{line},2021=100", header=header)
    (row,) = rows(parsed)
    assert fits(MACRO_SERIES, parsed)
    assert (row["series"], row["series_type"]) == ("CPI.M.ZA.00", "cpi")
    assert (row["country_iso3"], row["unit"], row["base_period"]) == ("ZAF", "IX", "2021=100")
    assert row["obs_status"] == "A"


@pytest.mark.parametrize(
    ("text", "first", "last", "cadence"),
    [
        ("2024", "2024-01-01", "2024-12-31", "annual"),
        ("2024-Q1", "2024-01-01", "2024-03-31", "quarterly"),
        ("2024-S2", "2024-07-01", "2024-12-31", "half-yearly"),
        ("2024-02", "2024-02-01", "2024-02-29", "monthly"),
        ("2024-A1", "2024-01-01", "2024-12-31", "annual"),
        ("2024-M02", "2024-02-01", "2024-02-29", "monthly"),
        ("2024-W05", "2024-01-29", "2024-02-04", "weekly"),
        ("2024-D366", "2024-12-31", "2024-12-31", "daily"),
        ("2024-01-15T00:00:00", "2024-01-15", "2024-01-15", "daily"),
        ("2024-01-15", "2024-01-15", "2024-01-15", "daily"),
    ],
)
def test_sdmx_periods_are_parsed(text: str, first: str, last: str, cadence: str) -> None:
    span = (date.fromisoformat(first), date.fromisoformat(last))
    assert period_of(text) == (span, cadence)


@pytest.mark.parametrize(
    "text",
    (
        *("", "2024-Q5", "2024-13", "2024-S0", "2024-W54", "2023-D366", "2024-D000", "9999"),
        *("٢٠٢٤", "2024-01-15T12:00:00", "2024-01-01/P1M", "2024-T1"),
    ),
)
def test_an_invalid_period_is_rejected(text: str) -> None:
    with pytest.raises(ValueError, match=r"period|date|calendar"):
        period_of(text)


# ALFRED


def test_a_vintage_is_available_from_the_start_of_its_interval() -> None:
    parsed = vintages(vintage("1992-12-22", "199.70"), vintage("1997-05-07", "210.4"))
    first, second = rows(parsed)
    assert fits(MACRO_SERIES, parsed)
    assert (first["series"], first["country"]) == ("FRED.GDP", "US")
    assert (first["period_start"], first["period_end"]) == (date(1946, 1, 1), date(1946, 3, 31))
    assert (first["available_at"], first["publication"]) == (date(1992, 12, 22), "1992-12-22")
    assert (str(first["value"]), second["value"]) == ("199.70", Decimal("210.4"))


@pytest.mark.parametrize(
    ("entry", "word"),
    [
        (vintage("1996-01-19", ".", "1946-04-01"), "no value given"),
        (vintage("1996-01-19", "1.2.3"), "not a number"),
        (vintage("1996-01-19", "NaN"), "not a number"),
        (vintage("1996-01-19", "1", "1946-02-01"), "not the first day"),
        (vintage("soon", "1"), "not a date"),
        (vintage("1945-12-31", "1"), "projection"),
        (vintage("1992-12-22", "2"), "another value"),
        ({"date": "1946-01-01", "GDP_latest": "199.7"}, "by their vintages"),
        ("text", "not an object"),
    ],
)
def test_an_unreadable_observation_is_rejected_with_a_reason(entry: Any, word: str) -> None:
    parsed = vintages(vintage("1992-12-22", "1"), entry)
    assert len(rows(parsed)) == 1
    assert locations(parsed) == ["/observations/1"] and word in reasons(parsed)[0]


def test_a_series_without_a_description_is_rejected() -> None:
    entry = vintage("2020-01-01", "1")
    assert "add the series to the table" in reasons(vintages(entry, series="NEW1"))[0]
    (row,) = rows(vintages(entry, series="NEW1", frequency="Daily"))
    assert (row["series"], row["frequency"]) == ("FRED.NEW1", "daily")


def test_the_series_id_is_read_from_the_url() -> None:
    assert alfred.series_id("https://x.org/fred/series/observations/GDP.json") == "GDP"
    assert alfred.series_id(f"{FRED}CPIAUCSL&file_type=json") == "CPIAUCSL"
    with pytest.raises(ValueError, match="names no series"):
        alfred.series_id("https://x.org/fred/series")


def test_transformed_values_and_errors_are_not_observations() -> None:
    for body in (
        b'{"units":"pch","observations":[]}',
        b'{"error_code":400,"error_message":"Bad Request."}',
    ):
        assert len(reasons(alfred.parse(document(body, f"{FRED}GDP"), body))) == 1


# H.10


def h10_file(*lines: str) -> Parsed:
    body = "\n".join(["Date,Country,Exchange rate", *lines]).encode()
    return h10.parse(document(body, read="2018-10-10", frequency="monthly"), body)


def test_the_collection_of_h10_rates_quotes_every_currency_for_one_dollar() -> None:
    parsed = h10_file("2018-09-01,South Africa,14.7504", "2018-09-01,Euro,0.8571")
    assert fits(MACRO_SERIES, parsed)
    assert [row["series"] for row in rows(parsed)] == ["FX.USD.ZAR", "FX.USD.EUR"]
    assert rows(parsed)[0]["available_at"] == date(2018, 10, 10)


def test_a_file_with_dollars_for_one_pound_quotes_as_the_federal_reserve_does() -> None:
    fed = h10_file("2018-09-01,United Kingdom,1.3066", "2018-09-01,Euro,1.1667")
    assert [row["series"] for row in rows(fed)] == ["FX.GBP.USD", "FX.EUR.USD"]
    mixed = h10_file("2018-09-01,United Kingdom,1.3066", "2018-08-01,United Kingdom,0.7765")
    assert rows(mixed) == [] and "both ways round" in reasons(mixed)[0]


def test_a_line_with_a_cell_too_many_or_too_few_does_not_fail_the_file() -> None:
    parsed = h10_file(
        "2018-08-01,United Kingdom,,0.78",
        "2018-08-01,United Kingdom",
        "2018-09-01,United Kingdom,0.7653",
    )
    assert [row["series"] for row in rows(parsed)] == ["FX.USD.GBP"]
    assert reasons(parsed) == ["4 cells under 3 columns", "2 cells under 3 columns"]


def test_a_rate_that_somebody_inverted_and_did_not_round_is_not_as_published() -> None:
    parsed = h10_file("2018-09-01,Euro,0.8571183680466272")
    assert rows(parsed) == [] and "more digits than H.10 publishes" in reasons(parsed)[0]


def test_h10_does_not_guess_which_bolivar() -> None:
    body = b"Date,Country,Exchange rate\n2018-08-01,Venezuela,2495016.1501\n"
    parsed = h10.parse(document(body, frequency="monthly"), body)
    assert rows(parsed) == [] and "Venezuela" in reasons(parsed)[0]


# All parsers


@pytest.mark.parametrize("body", [b"", b"<html>busy</html>", b"\xff\xfe", b"[" * 90_000, b"{"])
@pytest.mark.parametrize("parse", PARSERS)
def test_a_body_of_another_format_is_one_rejection(parse: Any, body: bytes) -> None:
    parsed = parse(document(body, f"{FRED}GDP", **HEADERS), body)
    assert rows(parsed) == []
    assert len(reasons(parsed)) == 1 and locations(parsed) == [""]


@given(body=st.binary() | st.text().map(str.encode))
@pytest.mark.parametrize("parse", PARSERS)
def test_no_bytes_ever_raise(parse: Any, body: bytes) -> None:
    parsed = parse(document(body, f"{FRED}GDP", **HEADERS), body)
    assert len(reasons(parsed)) == 1


CELL = st.text(st.characters(codec="utf-8", exclude_characters='",\r\n;'), max_size=12)


@given(cells=st.lists(CELL, min_size=9, max_size=9), valid=st.sets(st.integers(0, 8)))
def test_any_line_is_a_row_or_a_rejection(cells: list[str], valid: set[int]) -> None:
    valid_cells = ["K", "D", "ZAR", "EUR", "SP00", "A", "2024-01-15", "20.5", "A"]
    line = [valid_cells[index] if index in valid else cell for index, cell in enumerate(cells)]
    parsed = sdmx(",".join(line))
    accepted, misfits = to_arrow(MACRO_SERIES, rows(parsed))
    assert accepted.num_rows + len(misfits) + len(reasons(parsed)) == 1


@given(value=st.decimals(allow_nan=False, allow_infinity=False, places=6))
def test_any_number_survives(value: Decimal) -> None:
    (row,) = rows(vintages(vintage("2020-01-01", f"{value:f}")))
    (rate,) = rows(sdmx(f"K,D,ZAR,EUR,SP00,A,2024-01-15,{value:f},A"))
    assert row["value"] == rate["value"] == value


# The real files


def real_document(path: Path, body: bytes) -> Document:
    day = re.search(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", path.name)
    vintage_day = day[0] if day else "2026-01-01"
    frequency = "annual" if path.name == "annual.csv" else "monthly"
    headers = HEADERS | {"vintage": vintage_day, "frequency": frequency}
    url = f"{FRED}{path.name.split('_')[0]}"
    return document(body, url, "2026-11-14", **headers)


@pytest.mark.shared
@pytest.mark.parametrize(
    ("folder", "pattern", "parse", "table"),
    [
        ("macro/worldbank/api_v2", "*", worldbank.parse, MACRO_ANNUAL),
        pytest.param(
            "macro/worldbank/vintages",
            "*",
            worldbank.parse,
            MACRO_ANNUAL,
            marks=pytest.mark.nightly,
        ),
        pytest.param(
            "macro/worldbank/pydeflate",
            "*.csv",
            worldbank.parse,
            MACRO_ANNUAL,
            marks=pytest.mark.nightly,
        ),
        ("fx/sdmx", "*", sdmx_csv.parse, MACRO_SERIES),
        ("fx/fred_h10", "*", h10.parse, MACRO_SERIES),
        ("cpi/alfred", "*.json", alfred.parse, MACRO_SERIES),
        ("cpi/alfred/download", "*.csv", alfred.parse, MACRO_SERIES),
    ],
)
def test_every_row_of_a_real_file_fits_its_table(
    folder: str, pattern: str, parse: Any, table: RecordTable
) -> None:
    for path, body in real(folder, pattern):
        parsed = parse(real_document(path, body), body)
        assert len(rows(parsed)) + len(reasons(parsed)) > 0, path
        _, misfits = to_arrow(table, rows(parsed))
        # Only a value with more than 18 decimals has no exact form in the record.
        assert all("data loss" in rejected.reason for rejected in misfits), path
        assert len(misfits) < 0.05 * max(len(rows(parsed)), 1), path


@pytest.mark.shared
def test_the_gdp_of_nigeria_in_2010_has_a_value_in_every_vintage() -> None:
    values = {}
    for path, body in real("macro/worldbank/vintages", "gdp_*.csv"):
        for row in rows(worldbank.parse(real_document(path, body), body)):
            if (row["country"], row["period_end"].year) == ("NG", 2010):
                values[row["publication"]] = row["value"]
    billions = {day: int(value / 10**8) for day, value in values.items()}
    assert [billions[day] for day in sorted(billions)][:3] == [1968, 2286, 3690]


@pytest.mark.shared
def test_na_in_a_real_file_is_namibia() -> None:
    ((path, body),) = real("macro/worldbank/api_v2", "CPTOTNSXN.json")
    parsed_rows = rows(worldbank.parse(real_document(path, body), body))
    assert {row["country_iso3"] for row in parsed_rows if row["country"] == "NA"} == {"NAM"}


@pytest.mark.shared
def test_a_real_truncated_response_of_the_world_bank_is_rejected() -> None:
    ((path, body),) = real("macro/worldbank/api_v2", "NY.GDP.MKTP.CD.json")
    parsed = worldbank.parse(real_document(path, body), body)
    assert rows(parsed) == [] and "page 1 of 2" in reasons(parsed)[0]
    first = worldbank.parse(document(body, "https://example.org/v2?page=1", "2026-11-14"), body)
    assert len(rows(first)) > 5000


@pytest.mark.shared
def test_a_later_download_of_gdp_only_adds_vintages() -> None:
    files = dict(real("cpi/alfred", "GDP_all_vintages*.json"))
    earlier, later = (
        {
            (row["period_start"], row["available_at"], row["value"])
            for row in rows(alfred.parse(document(body, f"{FRED}GDP"), body))
        }
        for _, body in sorted(files.items())
    )
    assert earlier < later and len(later - earlier) == 8


@pytest.mark.shared
def test_zwl_rates_after_the_currency_ended_are_rejected() -> None:
    for path, body in real("fx/currency-api", "*.eur.json"):
        day = date.fromisoformat(path.name[:10])
        rate = json.loads(body, parse_float=str)["eur"].get("zwl")
        parsed = sdmx(f"K,D,ZWL,EUR,SP00,A,{day},{rate},A", read="2026-11-14")
        assert bool(rows(parsed)) == (rate is not None and day <= date(2024, 4, 5)), path
