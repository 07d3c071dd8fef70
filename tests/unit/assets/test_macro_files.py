"""Files for download: wide tables of the World Bank, and the Fed's own download of H.10."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assets.macro import alfred, h10, sdmx_csv, worldbank
from assets.parsing.parsed import Parsed
from tests.helpers.macro import document, observed, page, reasons, rows
from warehouse.record.incoming import to_arrow
from warehouse.record.tables import MACRO_ANNUAL, MACRO_SERIES


def bank(body: bytes, url: str = "https://example.org/d") -> Parsed:
    return worldbank.parse(document(body, url), body)


@pytest.mark.parametrize(
    ("body", "word"),
    [
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
    assert "page 1 was requested" in reasons(bank(body, "https://example.org/X/page-1.json"))[0]


STARTS = (
    (worldbank.parse, "Country Code,Year,Value\nNAM,2010,"),
    (h10.parse, "Date,Country,Exchange rate\n2020-01-01,South Africa,"),
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
