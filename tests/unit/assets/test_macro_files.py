"""Files for download: wide tables of the World Bank, and the Fed's own download of H.10."""

import io
import zipfile
from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assets.macro import alfred, h10, sdmx_csv, worldbank
from assets.parsing.parsed import Parsed
from tests.helpers.macro import document, fits, locations, observed, page, reasons, rows
from warehouse.record.incoming import to_arrow
from warehouse.record.tables import MACRO_ANNUAL, MACRO_SERIES

BULK = """"Data Source","World Development Indicators",

"Last Updated Date","2024-03-28",

"Country Name","Country Code","Indicator Name","Indicator Code","1960","2010","2011",
"Namibia","NAM","Consumer price index (2010 = 100)","FP.CPI.TOTL","","100","105.0100",
"Africa Eastern and Southern","AFE","Consumer price index (2010 = 100)","FP.CPI.TOTL","","1","2",
"""
DATABANK = """Country Name,Country Code,Series Name,Series Code,2010 [YR2010],2011 [YR2011]
Nigeria,NGA,GDP (current US$),NY.GDP.MKTP.CD,369062464570.386,..
,,,,,
Data from database: World Development Indicators
Last Updated: 03/28/2024
"""


def bank(body: bytes, url: str = "https://example.org/d") -> Parsed:
    return worldbank.parse(document(body, url), body)


def zipped(**members: str) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        for name, text in members.items():
            archive.writestr(f"{name}.csv", text.encode("utf-8-sig"))
    return target.getvalue()


@pytest.mark.parametrize(
    "body",
    [
        BULK.encode(),
        BULK.encode("utf-8-sig"),
        zipped(Metadata_Country_API="a,b\n", API_FP=BULK, Metadata_Indicator_API="c\n"),
    ],
)
def test_a_bulk_download_is_read_with_its_own_update_indicator_and_base(body: bytes) -> None:
    parsed = bank(body)
    assert fits(MACRO_ANNUAL, parsed)
    assert [(row["period_end"].year, row["value"]) for row in rows(parsed)] == [
        (2010, Decimal(100)),
        (2011, Decimal("105.0100")),
    ]
    assert {(r["country"], r["publication"], r["base_period"]) for r in rows(parsed)} == {
        ("NA", "2024-03-28", "2010=100")
    }
    assert len(reasons(parsed)) == 1 and "aggregate" in reasons(parsed)[0]


def test_an_export_of_databank_is_dated_by_its_last_line() -> None:
    parsed = bank(DATABANK.encode())
    (row,) = rows(parsed)
    assert (row["publication"], row["unit"]) == ("2024-03-28", "current US$")
    assert row["source_ref"].endswith("#line 2, 2010")


@pytest.mark.parametrize(
    ("body", "word"),
    [
        (zipped(a=BULK, b=BULK), "one file of values"),
        (zipped(a=BULK)[:200], "damaged"),
        (BULK.replace("Last Updated", "Made").encode(), "when it was updated"),
        (b"Country,Year\nNigeria,2010\n", "no indicator and vintage"),
        (b'{"source":[{"id":"57","data":[]}]}', "by source and version"),
        (b'<?xml version="1.0"?><wb:data/>', "HTML or XML"),
    ],
)
def test_a_file_that_does_not_identify_itself_is_rejected(body: bytes, word: str) -> None:
    parsed = bank(body)
    assert rows(parsed) == [] and len(reasons(parsed)) == 1 and word in reasons(parsed)[0]


@pytest.mark.parametrize(
    ("meta", "word"),
    [
        ({"pages": 2}, "page 1 of 2"),
        ({"pages": "2", "page": "1"}, "page 1 of 2"),
        ({"total": 9}, "1 rows of 9"),
        ({"total": "900", "per_page": "50"}, "1 rows of 900"),
    ],
)
def test_a_truncated_response_is_rejected_completely(meta: dict[str, Any], word: str) -> None:
    parsed = page(observed(), **meta)
    assert rows(parsed) == [] and word in reasons(parsed)[0]


def test_the_requested_page_is_accepted_and_another_is_rejected() -> None:
    body = b"""[{"page":2,"pages":3,"per_page":1,"total":3,"lastupdated":"2024-03-28"},
        [{"indicator":{"id":"X","value":"X (%)"},"country":{"id":"NA"},"date":"2010","value":1}]]"""
    (row,) = rows(bank(body, "https://example.org/v2/country/all/indicator/X?page=2"))
    assert (row["country_iso3"], row["unit"]) == ("NAM", "%")
    assert "page 1 was asked" in reasons(bank(body, "https://example.org/X/page-1.json"))[0]


H10 = """"Series Description","EURO AREA","SOUTH AFRICA","VENEZUELA","BROAD INDEX"
"Unit:","Currency:_Per_EUR","Currency:_Per_USD","Currency:_Per_USD","Index:_1997_Jan_100"
"Multiplier:","1","1","1","1"
"Currency:","USD","ZAR","VEB","NA"
"Unique Identifier: ","H10/H10/RXI$US_N.B.EU","H10/H10/RXI_N.B.SF","H10/H10/RXI_N.B.VE","H10/H10/J"
"Time Period","RXI$US_N.B.EU","RXI_N.B.SF","RXI_N.B.VE","JRXWTFB_N.B"
2021-02-19,1.2136,14.6300,1.5,110.2
2021-02-22,ND,14.7,,1
"""


def test_the_direction_of_a_rate_is_read_from_the_feds_own_download() -> None:
    body = H10.encode()
    parsed = h10.parse(document(body), body)
    assert fits(MACRO_SERIES, parsed)
    rates = {
        (r["series"], r["country"], str(r["period_end"]), str(r["value"])) for r in rows(parsed)
    }
    assert rates == {
        ("FX.EUR.USD", None, "2021-02-19", "1.2136"),
        ("FX.USD.ZAR", "ZA", "2021-02-19", "14.6300"),
        ("FX.USD.ZAR", "ZA", "2021-02-22", "14.7"),
    }
    assert {row["available_at"] for row in rows(parsed)} == {date(2026, 2, 10)}
    assert locations(parsed) == ["column 5", "line 7, column 4"]
    assert "is no rate" in reasons(parsed)[0] and "withdrawn" in reasons(parsed)[1]


def test_a_download_with_a_multiplier_or_without_description_is_rejected() -> None:
    for body in (
        H10.replace('"1","1","1","1"', '"100","100","100","100"').encode(),
        H10.replace('"Currency:",', '"Money:",').encode(),
    ):
        parsed = h10.parse(document(body), body)
        assert rows(parsed) == [] and reasons(parsed)


STARTS = (
    (worldbank.parse, "PK\x03\x04"),
    (worldbank.parse, "Last Updated Date,2024-03-28\nCountry Code,Indicator Code,2010\nNAM,X,"),
    (h10.parse, H10),
    (alfred.parse, "observation_date,GDP\n2020-01-01,"),
    (alfred.parse, "period_start_date,GDP,realtime_start_date,realtime_end_date\n2020-01-01,"),
    (sdmx_csv.parse, "DATAFLOW;FREQ;REF_AREA;TIME_PERIOD;OBS_VALUE\nX:CPI(1);M;"),
)


@given(rest=st.binary() | st.text(st.characters(codec="utf-8")).map(str.encode))
@pytest.mark.parametrize(("parse", "start"), STARTS)
def test_no_bytes_after_a_valid_beginning_ever_raise(parse: Any, start: str, rest: bytes) -> None:
    body = start.encode() + rest
    parsed = parse(document(body), body)
    table = MACRO_ANNUAL if parse is worldbank.parse else MACRO_SERIES
    to_arrow(table, rows(parsed))
    assert all(reason and reason.isprintable() for reason in reasons(parsed))
