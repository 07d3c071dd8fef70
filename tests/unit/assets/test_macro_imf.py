"""CSV files of the IMF's data portal: wide or long, in words or in codes."""

from datetime import date
from decimal import Decimal

import pytest

from assets.ingest.sources import SOURCES
from assets.macro import sdmx_csv
from assets.parsing.parsed import Parsed
from assets.source import refuse_restricted
from tests.helpers.macro import document, fits, locations, reasons, rows, sdmx
from warehouse.record.tables import MACRO_SERIES
from warehouse.shared.errors import LicenceError

COLUMNS = '"DATASET","SERIES_CODE","OBS_MEASURE","COUNTRY","INDICATOR","UNIT","FREQUENCY","SCALE"'
MONEY = (
    '"IMF.STA:MFS_MA(10.0.1)","{code}","OBS_VALUE","{country}","Broad Money","Domestic currency",'
)


def wide(*lines: str, header: str = f'{COLUMNS},"2023","2024"', read: str = "2026-07-01") -> Parsed:
    body = "\r\n".join([header, *lines]).encode("utf-8-sig")
    return sdmx_csv.parse(document(body, read=read), body)


def money(code: str = "KEN.BM_MAI.XDC.A", country: str = "Kenya") -> str:
    return MONEY.format(code=code, country=country)


def test_a_line_of_a_wide_file_is_a_series_with_the_scale_in_its_unit() -> None:
    parsed = wide(f'{money()}"Annual","Millions","5.10",""')
    assert fits(MACRO_SERIES, parsed) and reasons(parsed) == []
    (row,) = rows(parsed)
    assert (row["series"], row["country"], row["unit"]) == (
        "MFS_MA.KEN.BM_MAI.XDC.A",
        "KE",
        "Domestic currency, Millions",
    )
    assert (row["value"], row["period_end"]) == (Decimal("5.10"), date(2023, 12, 31))
    assert (row["available_at"], row["publication"]) == (date(2026, 7, 1), "2026-07-01")


def test_a_new_version_of_the_structure_is_no_new_series() -> None:
    line = f'{money()}"Annual","Units","5.1",""'
    first, second = (rows(wide(each))[0] for each in (line, line.replace("10.0.1", "11.0.0")))
    assert first["series"] == second["series"]
    assert first["unit"] == "Domestic currency"


def test_months_and_quarters_are_columns_as_the_portal_names_them() -> None:
    parsed = wide(
        f'{money("KEN.BM_MAI.XDC.M")}"Monthly","Millions","1","",""',
        f'{money("KEN.BM_MAI.XDC.Q")}"Quarterly","Millions","","2",""',
        f'{money("KEN.BM_MAI.XDC.A")}"A","6","","","3"',
        header=f'{COLUMNS},"2023-M02","2023-Q1","2023"',
    )
    assert [(row["frequency"], row["period_end"], row["unit"]) for row in rows(parsed)] == [
        ("monthly", date(2023, 2, 28), "Domestic currency, Millions"),
        ("quarterly", date(2023, 3, 31), "Domestic currency, Millions"),
        ("annual", date(2023, 12, 31), "10^6 Domestic currency"),
    ]


def test_a_long_file_gives_the_same_rows_as_a_wide_one() -> None:
    (row,) = rows(wide(f'{money()}"Annual","Millions","5.1",""'))
    long = sdmx(
        f'{money()}"Annual","Millions","2023","5.1"',
        header=f'{COLUMNS},"TIME_PERIOD","OBS_VALUE"',
        read="2026-07-01",
    )
    (same,) = rows(long)
    assert {name for name in row if row[name] != same[name]} == {"document"}


def test_a_group_has_no_country_and_kosovo_is_told_by_its_name() -> None:
    parsed = wide(
        f'{money("G163.BM_MAI.EUR.A", "Euro Area (EA)")}"Annual","Millions","1",""',
        f'{money("KOS.BM_MAI.EUR.A", "Kosovo, Republic of")}"Annual","Millions","1",""',
    )
    assert [row["country"] for row in rows(parsed)] == [None, "XK"]


def test_a_flow_without_a_column_of_units_has_that_of_its_series() -> None:
    header = '"DATASET","SERIES_CODE","OBS_MEASURE","COUNTRY","INDICATOR","FREQUENCY","SCALE"'
    parsed = wide(
        '"IMF.STA:MFS_IR(9.0.0)","ZMB.MMRT.A","OBS_VALUE","Zambia","Money market","Annual","Units",'
        '"9.5"',
        header=f'{header},"2023"',
    )
    assert [row["unit"] for row in rows(parsed)] == ["Percent per annum"]


@pytest.mark.parametrize(
    ("line", "word"),
    [
        (f'{money(country="Uganda")}"Annual","Millions","1",""', "another country"),
        (f'{money()}"Annual","Dozens","1",""', "no scale"),
        (f'{money()}"Weekly","Millions","1",""', "are not held"),
        (f'{money()}"Monthly","Millions","1",""', "no monthly period"),
        (f'{money()}"Annual","Millions","many",""', "not a number"),
        (f'{money("")}"Annual","Millions","1",""', "no code"),
        (f'{money()}"Annual","Millions","1"', "more or fewer cells"),
        (f'{money().replace("OBS_VALUE", "SHARE")}"Annual","Millions","1",""', "no measure"),
        (f'{money().replace("MFS_MA", "WEO")}"Annual","Millions","1",""', "estimates"),
    ],
)
def test_a_line_that_is_not_clear_is_rejected_with_a_reason(line: str, word: str) -> None:
    parsed = wide(line)
    assert rows(parsed) == [] and locations(parsed) == ["line 2"] and word in reasons(parsed)[0]


def test_what_a_file_states_twice_and_differently_is_not_believed() -> None:
    parsed = wide(f'{money()}"Annual","Millions","1","2"', f'{money()}"Annual","Millions","1","3"')
    assert {row["value"] for row in rows(parsed)} == {Decimal(1)}
    assert [reason for reason in reasons(parsed) if "neither is believed" in reason]


def test_it_is_refused_until_its_licence_is_cleared() -> None:
    (source,) = (each for each in SOURCES if each.key == "imf-data")
    with pytest.raises(LicenceError):
        refuse_restricted(source)
