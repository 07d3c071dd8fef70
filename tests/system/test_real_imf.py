"""Real files of the IMF: every cell is accounted for, and silent revisions are vintages."""

import csv
import gzip
import re
from collections import Counter
from datetime import date
from decimal import Decimal
from io import StringIO
from pathlib import Path

import pytest

from assets.macro import sdmx_csv, weo
from assets.parsing.parsed import Parsed, to_table
from tests.helpers.macro import document, reasons, rows
from tests.helpers.paths import REAL
from warehouse.record.append import Load, append
from warehouse.record.as_of import vintages_query
from warehouse.record.store import Record
from warehouse.record.tables import MACRO_SERIES

pytestmark = pytest.mark.shared

FOLDER = REAL / "more" / "macro"
FIRST, LATER = "NetAssets_IMF_MFS_2026-07-01.csv", "NetAssets_IMF_MFS_later.csv"
READ = {FIRST: "2026-07-01"}
# Encoding, edition and decimal mark of each selection of the World Economic Outlook.
SELECTIONS = {
    "WEO_2016-Oct_selection.xls.gz": ("utf-16-le", date(2016, 10, 31), "."),
    "WEO_2023-Apr_selection.xls": ("utf-8", date(2023, 4, 30), "."),
    "WEO_2024-Oct_selection_world.xls": ("latin-1", date(2024, 10, 31), ","),
}


def body_of(path: Path) -> bytes:
    return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()


def portal(name: str) -> tuple[Parsed, dict[tuple[str, str], Decimal]]:
    """Return what the parser reads, and what a plain loop finds, by code and year."""
    body = (FOLDER / "imf" / name).read_bytes()
    header, *lines = csv.reader(StringIO(body.decode("utf-8-sig"), newline=""))
    code = header.index("SERIES_CODE")
    stated = {
        (line[code], year): Decimal(line[place])
        for line in lines
        for place, year in enumerate(header)
        if year.isdigit() and line[place]
    }
    at = document(body, read=READ.get(name, "2026-07-21"))
    return sdmx_csv.parse(at, body), stated


@pytest.mark.parametrize("name", [*(FIRST, LATER), "IMF_MFS_BroadMoney.csv", "IMF_MFS_STR.csv"])
def test_every_value_of_the_portal_is_a_row(name: str) -> None:
    parsed, stated = portal(name)
    found = {
        (row["series"].partition(".")[2], str(row["period_end"].year)): row["value"]
        for row in rows(parsed)
    }
    assert found == stated and len(rows(parsed)) == len(stated) > 3900
    assert reasons(parsed) == []


def test_what_the_imf_revised_in_silence_is_a_vintage_of_the_day_of_reading(
    record: Record,
) -> None:
    (first, before), (later, after) = portal(FIRST), portal(LATER)
    for name, parsed in ((FIRST, first), (LATER, later)):
        table, rejected = to_table(MACRO_SERIES, [parsed])
        append(record, MACRO_SERIES, table, Load("imf-data", (name,)), rejected=rejected)
    query = vintages_query(
        MACRO_SERIES, record.relation("macro_series", record.table("macro_series")), vintages="all"
    )
    kept: dict[tuple[str, str], list[tuple[date, Decimal]]] = {}
    for row in record.query(query).to_pylist():
        figure = (row["series"].partition(".")[2], str(row["period_end"].year))
        kept.setdefault(figure, []).append((row["available_at"], row["value"]))
    revised = {key for key in before.keys() & after.keys() if before[key] != after[key]}
    assert revised
    assert {key for key, each in kept.items() if len(each) > 1} == revised
    for key in revised:
        days = [(date(2026, 7, 1), before[key]), (date(2026, 7, 21), after[key])]
        assert sorted(kept[key]) == days
    # What the second file no longer has was not withdrawn: another selection may leave it out.
    assert kept.keys() == before.keys() | after.keys()


@pytest.mark.parametrize("name", SELECTIONS)
def test_every_cell_of_an_edition_is_a_row_or_counted(name: str) -> None:
    encoding, last_day, mark = SELECTIONS[name]
    body = body_of(FOLDER / "imf_weo" / name)
    parsed = weo.parse(document(body, read="2026-09-01"), body)
    header, *lines = (
        line.strip("\r\n").split("\t") for line in body.decode(encoding).split("\n") if line.strip()
    )
    cells = Counter(
        line[place].strip()
        for line in lines
        if len(line) == len(header) and line[1]
        for place, year in enumerate(header)
        if re.fullmatch("[0-9]{4}", year)
    )
    absent = {text: cells.pop(text) for text in ("", "n/a", "--") if text in cells}
    values: Counter[Decimal] = Counter()
    for text, count in cells.items():
        values[Decimal(text.replace(",", "" if mark == "." else "."))] += count
    assert Counter(row["value"] for row in rows(parsed)) == values
    (counted,) = reasons(parsed)
    assert counted.startswith(f"{sum(absent.values())} cells have no value")
    assert {row["available_at"] for row in rows(parsed)} == {last_day}
    assert all(row["country"] for row in rows(parsed))


def test_estimates_of_an_edition_begin_after_the_year_that_each_line_states() -> None:
    body = body_of(FOLDER / "imf_weo" / "WEO_2023-Apr_selection.xls")
    parsed = weo.parse(document(body, read="2026-09-01"), body)
    status = {
        (row["country"], row["period_end"].year): row["obs_status"]
        for row in rows(parsed)
        if row["series"].endswith(".NGDPD.A")
    }
    assert [status["KE", year] for year in (2020, 2021, 2022, 2027)] == ["A", "A", "E", "E"]
    assert [status["NG", year] for year in (2022, 2023)] == ["A", "E"]
