"""Real filings and macro files in the record: every record read is counted once."""

from datetime import date
from pathlib import Path
from typing import Any

import pytest

from assets.filings import companyfacts, submissions, xbrl_reports
from assets.macro import alfred, h10, sdmx_csv, worldbank
from assets.source import Parse
from tests.helpers.real_files import REAL_FILES, load, read_file
from warehouse.record.as_of import vintages_query
from warehouse.record.store import Record
from warehouse.record.tables import FUNDAMENTALS, MACRO_SERIES, RecordTable

FRED = "https://example.org/fred/series/observations?series_id="


@pytest.mark.shared
@pytest.mark.parametrize(
    ("folder", "parse", "headers"),
    [
        ("filings/companyfacts", companyfacts.parse, {}),
        ("filings/submissions", submissions.parse, {}),
        ("filings/filings-xbrl-org", xbrl_reports.parse, {}),
        ("macro/worldbank/api_v2", worldbank.parse, {}),
        ("macro/worldbank/vintages", worldbank.parse, {"indicator": "X", "vintage": "2020-01-01"}),
        ("fx/sdmx", sdmx_csv.parse, {}),
        ("fx/fred_h10", h10.parse, {"frequency": "monthly"}),
        ("cpi/alfred", alfred.parse, {}),
        ("cpi/alfred/download", alfred.parse, {"frequency": "monthly"}),
    ],
)
def test_every_record_read_is_counted_once_and_a_second_load_appends_nothing(
    record: Record, folder: str, parse: Parse, headers: dict[str, str]
) -> None:
    for path in sorted(path for path in (REAL_FILES / folder).iterdir() if path.is_file()):
        url = f"{FRED}{path.name.split('_')[0]}" if "alfred" in folder else ""
        parsed = read_file(parse, path, url, **headers)
        names = set(parsed.rows) | set(parsed.rejected)
        # An older page of submissions lists filings and nothing of their filer.
        assert names or "-submissions-" in path.name, path
        for name in names:
            read, *counts = load(record, name, parsed)
            assert read == sum(counts) > 0, path
            _, appended, already_stored, quarantined = load(record, name, parsed)
            assert (appended, already_stored + quarantined) == (0, read), path


def vintages(record: Record, table: RecordTable, where: str) -> list[dict[str, Any]]:
    statement = vintages_query(table, record.relation(table.name), vintages="all", where=where)
    rows: list[dict[str, Any]] = record.query(statement).to_pylist()
    return sorted(rows, key=lambda row: row["vintage"])


@pytest.mark.shared
def test_tsm_has_no_second_vintage_in_dollars_and_asml_none_by_rounding(record: Record) -> None:
    for name in ("CIK0001046179.json", "CIK0000937966.json"):
        path = REAL_FILES / "filings" / "companyfacts" / name
        load(record, "fundamentals", read_file(companyfacts.parse, path))
    dollars = vintages(record, FUNDAMENTALS, "unit = 'USD'")
    assert dollars and {row["vintage"] for row in dollars} == {1}
    cash = vintages(
        record, FUNDAMENTALS, "unit = 'EUR' AND line_item = 'cash' AND period_end = '2016-12-31'"
    )
    assert [int(row["value_reported"]) for row in cash] == [2906868000]


@pytest.mark.shared
def test_the_gdp_of_1946_was_withdrawn_and_published_again(record: Record) -> None:
    path = REAL_FILES / "cpi" / "alfred" / "GDP_all_vintages.json"
    load(record, "macro_series", read_file(alfred.parse, path, f"{FRED}GDP"))
    gdp = vintages(record, MACRO_SERIES, "period_start = '1946-01-01'")
    assert [(row["available_at"], row["withdrawn"]) for row in gdp] == [
        (date(1992, 12, 22), False),
        (date(1996, 1, 19), True),
        (date(1997, 5, 7), False),
        (date(1999, 10, 28), True),
    ]


def test_a_rate_replaced_at_one_moment_has_two_vintages_and_no_gap(
    record: Record, tmp_path: Path
) -> None:
    key = "EXR.D.USD.EUR.SP00.A,D,USD,EUR,SP00,A,2015-07-27"
    path = tmp_path / "history.csv"
    path.write_text(
        "KEY,FREQ,CURRENCY,CURRENCY_DENOM,EXR_TYPE,EXR_SUFFIX,TIME_PERIOD,OBS_VALUE,"
        "ACTION,VALID_FROM,VALID_TO\n"
        f"{key},1.10,Replace,2015-07-27T15:25:34+02:00,2015-07-28T15:00:00+02:00\n"
        f"{key},,Delete,,2015-07-28T15:00:00+02:00\n"
        f"{key},1.11,Replace,2015-07-28T15:00:00+02:00,\n"
    )
    load(record, "macro_series", read_file(sdmx_csv.parse, path))
    rates = vintages(record, MACRO_SERIES, "series = 'FX.EUR.USD'")
    assert [(str(row["value"])[:4], row["withdrawn"]) for row in rates] == [
        ("1.10", False),
        ("1.11", False),
    ]
