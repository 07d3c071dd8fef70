"""SDMX-CSV of other sources than the ECB, and the IMF's portal: read if clear, else rejected."""

import csv
import gzip
from collections import Counter
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from io import BytesIO, StringIO
from zipfile import ZipFile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assets.filings.cross_checks import scale_of
from assets.ingest.sources import SOURCES
from assets.macro import sdmx_csv
from assets.parsing.parsed import Parsed
from assets.source import refuse_restricted
from tests.helpers.macro import VERSIONS, document, fits, locations, reasons, rows, sdmx
from tests.helpers.paths import REAL
from warehouse.record.tables import MACRO_SERIES
from warehouse.shared.errors import LicenceError

EUROSTAT = "DATAFLOW,LAST UPDATE,freq,unit,coicop,geo,TIME_PERIOD,OBS_VALUE,OBS_FLAG"
BIS = (
    "STRUCTURE,STRUCTURE_ID,ACTION,FREQ:Frequency,REF_AREA:Reference area,CURRENCY:Currency,"
    "COLLECTION:Collection,TIME_PERIOD:Time period or range,OBS_VALUE:Observation Value,"
    "UNIT_MULT:Unit Multiplier,OBS_STATUS:Observation Status"
)
OECD = (
    "STRUCTURE,STRUCTURE_ID,ACTION,REF_AREA,FREQ,METHODOLOGY,MEASURE,UNIT_MEASURE,EXPENDITURE,"
    "ADJUSTMENT,TRANSFORMATION,TIME_PERIOD,OBS_VALUE,OBS_STATUS,UNIT_MULT,BASE_PER"
)
IMF = (
    "STRUCTURE,STRUCTURE_ID,ACTION,COUNTRY,INDEX_TYPE,COICOP_1999,TYPE_OF_TRANSFORMATION,"
    "FREQUENCY,TIME_PERIOD,OBS_VALUE"
)
NORGES = (
    "FREQ;Frequency;BASE_CUR;Base Currency;QUOTE_CUR;Quote Currency;TENOR;Tenor;UNIT_MULT;"
    "Unit Multiplier;TIME_PERIOD;OBS_VALUE"
)


def test_the_series_key_of_eurostat_does_not_depend_on_the_last_update() -> None:
    line = "ESTAT:PRC_HICP_MIDX(1.0),{},M,I15,CP00,EL,2024-01,117.35,p"
    first, second = (
        rows(sdmx(line.format(day), header=EUROSTAT)) for day in ("15/02/24", "15/03/24")
    )
    assert first[0]["series"] == second[0]["series"] == "PRC_HICP_MIDX.M.I15.CP00.EL"
    assert (first[0]["country"], first[0]["unit"], first[0]["obs_status"]) == ("GR", "I15", "p")


def test_bis_rates_are_per_dollar_and_available_from_the_day_they_were_read() -> None:
    line = (
        "dataflow,BIS:WS_XRU(1.0): Exchange rates,I,{},KE: Kenya,KES: Shilling,{},{},129.1,"
        "0: Units,A: Normal value"
    )
    parsed = sdmx(
        line.format("M: Monthly", "A: Average", "2025-12"),
        line.format("M: Monthly", "E: End of period", "2025-12"),
        line.format("D: Daily", "A: Average", "2025-12-01"),
        header=BIS,
    )
    monthly, daily = rows(parsed)
    assert fits(MACRO_SERIES, parsed)
    assert (monthly["series"], monthly["unit"], monthly["country"]) == (
        "FX.USD.KES",
        "KES per USD",
        "KE",
    )
    assert daily["available_at"] == date(2026, 2, 10)
    assert locations(parsed) == ["line 3"] and "no spot rate" in reasons(parsed)[0]


def test_prices_of_the_oecd_and_the_imf_keep_unit_base_and_country() -> None:
    flow = "OECD.SDD.TPS:DSD_PRICES@DF_PRICES_ALL(1.0)"
    (oecd,) = rows(
        sdmx(f"DATAFLOW,{flow},I,ZAF,M,N,CPI,IX,_T,N,_Z,2024-01,112.3,A,0,2015", header=OECD)
    )
    assert (oecd["country"], oecd["unit"], oecd["base_period"]) == ("ZA", "IX", "2015")
    (imf,) = rows(sdmx("dataflow,IMF.STA:CPI(5.0.0),R,NGA,CPI,_T,IX,M,2024-M01,620.1", header=IMF))
    assert (imf["country"], imf["period_end"]) == ("NG", date(2024, 1, 31))
    assert imf["series"] == "CPI.NGA.CPI._T.IX.M"


def test_a_rate_per_hundred_units_is_rejected() -> None:
    parsed = sdmx(
        "B;Business;USD;US dollar;NOK;Krone;SP;Spot;0;Units;2024-01-15;10.31",
        "B;Business;JPY;Yen;NOK;Krone;SP;Spot;2;Hundreds;2024-01-15;7.1",
        header=NORGES,
    )
    (row,) = rows(parsed)
    assert (row["series"], row["available_at"]) == ("FX.USD.NOK", date(2026, 2, 10))
    assert "10^2" in reasons(parsed)[0]


@pytest.mark.parametrize(
    ("header", "line", "word"),
    [
        (IMF, "dataflow,IMF.STA:ER(4.0.1),R,NGA,X,Y,PA,M,2024-M01,620.1", "neither"),
        (IMF, "dataflow,IMF.STA:CPI(5.0.0),R,,,,,,,", "frequency ''"),
        (IMF, "dataflow,IMF.STA:CPI(5.0.0),X,NGA,CPI,_T,IX,M,2024-01,1", "no action"),
        (IMF, "dataflow,IMF.STA:CPI(5.0.0),R,NGA,CPI,_T,IX,W,2024-W05,1", "are not stored"),
        (EUROSTAT, "ESTAT:PRC_HICP_MIDX(1.0),x,M,I15,CP00,EL,2024-01,:,", "no value"),
        (OECD, "DATAFLOW,OECD:DF_QNA(1.0),I,ZAF,Q,N,X,Y,_T,N,_Z,2024-Q1,1,A,0,", "neither"),
        (OECD, "DATAFLOW,A:CPI(1.0),I,ZAF,M,N,X,Y,_T,N,_Z,2024-01,1,A,many,", "power of ten"),
    ],
)
def test_an_ambiguous_line_is_rejected_with_a_reason(header: str, line: str, word: str) -> None:
    parsed = sdmx(line, header=header)
    assert rows(parsed) == [] and word in reasons(parsed)[0]


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("quote", ["", '"'])
def test_any_delimiter_is_recognised(delimiter: str, quote: str) -> None:
    cells = (
        ("KEY", "FREQ", "CURRENCY", "CURRENCY_DENOM", "EXR_TYPE", "EXR_SUFFIX", "TIME_PERIOD"),
        ("EXR.D", "D", "ZAR", "EUR", "SP00", "A", "2024-01-15"),
    )
    header, line = (
        delimiter.join(f"{quote}{cell}{quote}" for cell in (*row, last))
        for row, last in zip(cells, ("OBS_VALUE", "20.5"), strict=True)
    )
    body = f"{header}\n{line}\n\n".encode("utf-8-sig")
    parsed = sdmx_csv.parse(document(body), body)
    assert [row["series"] for row in rows(parsed)] == ["FX.EUR.ZAR"] and reasons(parsed) == []


def test_a_key_shared_by_two_series_is_rejected_for_both() -> None:
    header = "DATAFLOW,FREQ,REF_AREA,TIME_PERIOD,OBS_VALUE,ITEM"
    parsed = sdmx("X:CPI(1.0),M,ZA,2024-01,1,00", "X:CPI(1.0),M,ZA,2024-01,2,01", header=header)
    assert rows(parsed) == [] and len(reasons(parsed)) == 2


def test_a_deleted_observation_that_is_never_replaced_is_withdrawn() -> None:
    key = "EXR.D.USD.EUR.SP00.A,D,USD,EUR,SP00,A,2015-07-27"
    parsed = sdmx(
        f"{key},1.10,Replace,2015-07-27T15:25:34.000+02:00,2015-07-28T15:00:00.000+02:00",
        f"{key},,Delete,,2015-07-28T15:00:00.000+02:00",
        header=VERSIONS,
    )
    assert [row["withdrawn"] for row in rows(parsed)] == [False, True]


@given(
    actions=st.lists(
        st.tuples(st.sampled_from(["Replace", "Delete"]), st.integers(0, 3), st.integers(1, 9)),
        max_size=8,
    )
)
def test_one_action_counts_per_timestamp_and_every_line_is_a_row_or_a_rejection(
    actions: list[tuple[str, int, int]],
) -> None:
    key = "EXR.D.USD.EUR.SP00.A,D,USD,EUR,SP00,A,2015-07-27"
    lines = [
        f"{key},{value if action == 'Replace' else ''},{action},2015-07-27T1{hour}:00:00Z,"
        for action, hour, value in actions
    ]
    parsed = sdmx(*lines, header=VERSIONS)
    assert len(rows(parsed)) + len(reasons(parsed)) == len(lines)
    values_by_timestamp = {
        (row["publication"][:19], row["withdrawn"], row["value"]) for row in rows(parsed)
    }
    assert len(values_by_timestamp) == len({hour for _, hour, _ in actions})


WIDE = (
    "FREQ,Frequency,REF_AREA,Reference area,UNIT_MEASURE,Unit of measure,Series,1899,2024,2024-01"
)


def wide(*lines: str, flow: str = "WS_LONG_CPI") -> Parsed:
    url = f"https://data.bis.org/static/bulk/{flow}_csv_col.zip"
    return sdmx_csv.parse(replace(document(b""), url=url), "\n".join([WIDE, *lines]).encode())


def test_a_line_of_a_wide_file_is_a_series_with_a_value_for_each_period() -> None:
    parsed = wide(
        'A,Annual,KE,Kenya,628,"Index, 2010 = 100",A:KE:628,9.1,210.5,',
        'M,Monthly,KE,Kenya,771,"Change, percent",M:KE:771,,,6.9',
        'M,Monthly,KE,Kenya,628,"Index, 2010 = 100",M:KE:628,,,NaN',
    )
    annual, monthly = rows(parsed)
    assert fits(MACRO_SERIES, parsed)
    assert (annual["series"], annual["frequency"], annual["unit"]) == (
        "WS_LONG_CPI.A.KE.628",
        "annual",
        "628",
    )
    assert (monthly["country"], str(monthly["period_end"]), str(monthly["value"])) == (
        "KE",
        "2024-01-31",
        "6.9",
    )
    assert reasons(parsed) == [
        "WS_LONG_CPI.A.KE.628: 1 observations before 1900 are not stored",
    ]


def test_a_zip_is_its_only_file_and_another_is_refused() -> None:
    body = BytesIO()
    with ZipFile(body, "w") as archive:
        archive.writestr(
            "WS_LONG_CPI_csv_col.csv", f"{WIDE}\nA,Annual,KE,Kenya,628,x,A:KE:628,,1,\n"
        )
    at = replace(document(b""), url="https://data.bis.org/static/bulk/WS_LONG_CPI_csv_col.zip")
    (row,) = rows(sdmx_csv.parse(at, body.getvalue()))
    assert row["series"] == "WS_LONG_CPI.A.KE.628"
    with ZipFile(body, "a") as archive:
        archive.writestr("second.csv", "")
    assert "one is expected" in reasons(sdmx_csv.parse(at, body.getvalue()))[0]
    assert "not a zip" in reasons(sdmx_csv.parse(at, b"PK\x03\x04damaged"))[0]


@pytest.mark.nightly
@pytest.mark.shared
def test_the_wide_files_of_the_bis_give_every_value_that_fits() -> None:
    for name in ("WS_LONG_CPI_csv_col", "WS_CREDIT_GAP_csv_col"):
        body = gzip.decompress((REAL / "more" / "macro" / "bis" / f"{name}.csv.gz").read_bytes())
        at = replace(
            document(b""),
            url=f"https://data.bis.org/static/bulk/{name}.zip",
            observed_at=datetime(2026, 9, 1, tzinfo=UTC),
        )
        parsed = sdmx_csv.parse(at, body)
        header, *lines = csv.reader(StringIO(body.decode()))
        periods = [place for place, column in enumerate(header) if column[:2] in ("19", "20")]
        stated = [
            Decimal(line[place])
            for line in lines
            for place in periods
            if line[place] not in ("", "NaN")
        ]
        # Index values before a hyperinflation can have more than the 18 decimals of the record.
        too_fine = [value for value in stated if scale_of(value) < -18]
        assert Counter(row["value"] for row in rows(parsed)) == Counter(stated) - Counter(too_fine)
        assert len([reason for reason in reasons(parsed) if "does not fit" in reason]) == len(
            too_fine
        )
        assert all("before 1900" in each or "does not fit" in each for each in reasons(parsed))


# CSV files of the IMF's data portal: wide or long, in words or in codes.

COLUMNS = '"DATASET","SERIES_CODE","OBS_MEASURE","COUNTRY","INDICATOR","UNIT","FREQUENCY","SCALE"'
MONEY = (
    '"IMF.STA:MFS_MA(10.0.1)","{code}","OBS_VALUE","{country}","Broad Money","Domestic currency",'
)


def portal_wide(
    *lines: str, header: str = f'{COLUMNS},"2023","2024"', read: str = "2026-07-01"
) -> Parsed:
    body = "\r\n".join([header, *lines]).encode("utf-8-sig")
    return sdmx_csv.parse(document(body, read=read), body)


def money(code: str = "KEN.BM_MAI.XDC.A", country: str = "Kenya") -> str:
    return MONEY.format(code=code, country=country)


def test_a_line_of_a_wide_file_is_a_series_with_the_scale_in_its_unit() -> None:
    parsed = portal_wide(f'{money()}"Annual","Millions","5.10",""')
    assert fits(MACRO_SERIES, parsed) and reasons(parsed) == []
    (row,) = rows(parsed)
    assert (row["series"], row["country"], row["unit"]) == (
        "MFS_MA.KEN.BM_MAI.XDC.A",
        "KE",
        "Domestic currency, Millions",
    )
    assert (row["value"], row["period_end"]) == (Decimal("5.10"), date(2023, 12, 31))
    assert (row["available_at"], row["publication"]) == (date(2026, 7, 1), "as shown")


def test_a_new_version_of_the_structure_is_no_new_series() -> None:
    line = f'{money()}"Annual","Units","5.1",""'
    first, second = (
        rows(portal_wide(each))[0] for each in (line, line.replace("10.0.1", "11.0.0"))
    )
    assert first["series"] == second["series"]
    assert first["unit"] == "Domestic currency"


def test_months_and_quarters_are_columns_as_the_portal_names_them() -> None:
    parsed = portal_wide(
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
    (row,) = rows(portal_wide(f'{money()}"Annual","Millions","5.1",""'))
    long = sdmx(
        f'{money()}"Annual","Millions","2023","5.1"',
        header=f'{COLUMNS},"TIME_PERIOD","OBS_VALUE"',
        read="2026-07-01",
    )
    (same,) = rows(long)
    assert {name for name in row if row[name] != same[name]} == {"document"}


def test_a_group_has_no_country_and_kosovo_is_told_by_its_name() -> None:
    parsed = portal_wide(
        f'{money("G163.BM_MAI.EUR.A", "Euro Area (EA)")}"Annual","Millions","1",""',
        f'{money("KOS.BM_MAI.EUR.A", "Kosovo, Republic of")}"Annual","Millions","1",""',
    )
    assert [row["country"] for row in rows(parsed)] == [None, "XK"]


def test_a_flow_without_a_column_of_units_has_that_of_its_series() -> None:
    header = '"DATASET","SERIES_CODE","OBS_MEASURE","COUNTRY","INDICATOR","FREQUENCY","SCALE"'
    parsed = portal_wide(
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
        (f'{money()}"Weekly","Millions","1",""', "are not stored"),
        (f'{money()}"Monthly","Millions","1",""', "no monthly period"),
        (f'{money()}"Annual","Millions","many",""', "not a number"),
        (f'{money("")}"Annual","Millions","1",""', "no code"),
        (f'{money()}"Annual","Millions","1"', "more or fewer cells"),
        (f'{money().replace("OBS_VALUE", "SHARE")}"Annual","Millions","1",""', "no measure"),
        (f'{money().replace("MFS_MA", "WEO")}"Annual","Millions","1",""', "estimates"),
    ],
)
def test_a_line_that_is_not_clear_is_rejected_with_a_reason(line: str, word: str) -> None:
    parsed = portal_wide(line)
    assert rows(parsed) == [] and locations(parsed) == ["line 2"] and word in reasons(parsed)[0]


def test_what_a_file_states_twice_and_differently_is_not_believed() -> None:
    parsed = portal_wide(
        f'{money()}"Annual","Millions","1","2"', f'{money()}"Annual","Millions","1","3"'
    )
    assert {row["value"] for row in rows(parsed)} == {Decimal(1)}
    assert [reason for reason in reasons(parsed) if "neither is believed" in reason]


def test_it_is_refused_until_its_licence_is_cleared() -> None:
    (source,) = (each for each in SOURCES if each.key == "imf-data")
    with pytest.raises(LicenceError):
        refuse_restricted(source)
