"""Real tables of central banks and statistics offices: what they rewrote comes out as vintages."""

import csv
import gzip
import re
from collections import Counter
from datetime import UTC, date, datetime
from decimal import Decimal
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from python_calamine import CalamineWorkbook

from assets.macro import published_tables
from assets.macro.table_files import ENTRIES
from assets.parsing.parsed import Parsed, to_table
from tests.helpers.paths import REAL
from warehouse.record.append import Load, append
from warehouse.record.as_of import vintages_query
from warehouse.record.landing import Document
from warehouse.record.store import Record
from warehouse.record.tables import MACRO_SERIES

pytestmark = pytest.mark.shared

FOLDER = REAL / "more" / "macro"
BY_KEY = {entry.key: entry for entry in ENTRIES}
# Files by source, and the figures that each must give at least.
FILES = {
    "br-bcb-sgs": ("br_bcb/bcdata.sgs.*", 180),
    "za-sarb-rates": ("za_sarb/HistoricalRateDetail*", 100),
    "ke-cbk-inflation": ("ke_cbk/inflation_rates_*", 390),
    "ke-cbk-gdp": ("ke_cbk/annual_gdp_*", 57),
    "ke-cbk-remittances": ("ke_cbk/diaspora_remittances_*", 200),
    "ke-cbk-rate": ("ke_cbk/central_bank_rate_*", 100),
    "ke-cbk-fx": ("ke_cbk/*_indicative_*rates_*", 3339),
    "ke-cbk-fx-monthly": ("ke_cbk/Monthly-Exchange-rate*", 3000),
    "ke-knbs-survey": ("ke_knbs/*", 70),
    "ng-cbn-inflation": ("ng_cbn/Inflation_Data*", 800),
    "ng-cbn-fx": ("ng_cbn/NFEM*", 300),
    "ng-nbs-gdp": ("ng_nbs/*", 12),
    "eg-cbe-inflation": ("eg_cbe/Inflations*", 240),
    "eg-cbe-fx": ("eg_cbe/Exchange_Rates*", 2000),
    "oecd-rates": ("oecd/*", 3000),
    "fred-reer": ("fred_bis/*", 300),
}
# The day of each workbook of the statistics office: its releases, and the rebasing of July 2025.
RELEASED = {"Q3": date(2024, 11, 25), "Q4": date(2025, 2, 25), "20": date(2025, 7, 21)}


def day_of(path: Path) -> date:
    match = re.search(r"([0-9]{4})-([0-9]{2})(?:-([0-9]{2}))?", path.name)
    if path.parent.name == "ng_nbs":
        return RELEASED[path.name[:2]]
    return date(int(match[1]), int(match[2]), int(match[3] or 1)) if match else date(2026, 9, 1)


def parsed(key: str, path: Path) -> Parsed:
    day = day_of(path)
    moment = datetime(day.year, day.month, day.day, 12, tzinfo=UTC)
    url = f"{BY_KEY[key].base_url}/{path.name}"
    document = Document(f"{abs(hash(path)):064x}", key, url, "licensed", moment, 200, {}, 1)
    return published_tables.parse(document, body_of(path), entry=BY_KEY[key])


def body_of(path: Path) -> bytes:
    return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()


def cells_of(path: Path) -> list[list[Any]]:
    """Return the cells of a CSV or of all sheets of a workbook, by no code of ours."""
    if ".csv" in path.suffixes:
        return list(csv.reader(StringIO(body_of(path).decode("utf-8-sig"), newline="")))
    book = CalamineWorkbook.from_path(str(path))
    return [
        line
        for name in book.sheet_names
        for line in book.get_sheet_by_name(name).to_python(skip_empty_area=False)
    ]


def values_of(key: str, pattern: str) -> Counter[Decimal]:
    (path,) = FOLDER.glob(pattern)
    found = parsed(key, path).rows["macro_series"]
    return Counter(row["value"] for row in found)


def vintages(
    record: Record, key: str
) -> dict[tuple[str, date, str | None], list[tuple[date, Decimal]]]:
    """Load all files of a source; return its vintages by series, period and base."""
    for path in sorted(FOLDER.glob(FILES[key][0]), key=day_of):
        rows, rejected = to_table(MACRO_SERIES, [parsed(key, path)])
        append(record, MACRO_SERIES, rows, Load(key, (path.name,)), rejected=rejected)
    stored = record.relation("macro_series", record.table("macro_series"))
    found: dict[tuple[str, date, str | None], list[tuple[date, Decimal]]] = {}
    query = vintages_query(MACRO_SERIES, stored, vintages="all")
    for row in record.query(query).to_pylist():
        figure = (row["series"], row["period_end"], row["base_period"])
        found.setdefault(figure, []).append((row["available_at"], row["value"]))
    return {figure: sorted(each) for figure, each in found.items()}


@pytest.mark.nightly
@pytest.mark.parametrize("key", FILES)
def test_every_file_gives_its_figures_and_says_what_it_could_not_read(key: str) -> None:
    pattern, least = FILES[key]
    paths = sorted(FOLDER.glob(pattern))
    assert paths
    for path in paths:
        result = parsed(key, path)
        assert len(result.rows["macro_series"]) >= least, path.name
        reasons = [each.reason for each in result.rejected.get("macro_series", [])]
        # One file of the central bank of Kenya has a year 0.
        assert reasons in ([], ["'0' is no period in any form that is declared"]), path.name


def test_what_nigeria_rewrote_is_kept_with_the_days_on_which_it_was_read(record: Record) -> None:
    kept = vintages(record, "ng-cbn-inflation")
    assert kept["NG.CBN.CPI.12M", date(2025, 10, 31), None] == [
        (date(2025, 11, 25), Decimal("16.05")),
        (date(2026, 2, 13), Decimal("18.97")),
    ]
    assert [value for _, value in kept["NG.CBN.CPI.12M", date(2024, 12, 31), None]] == [
        Decimal("15.44"),
        Decimal("34.80"),
    ]
    rewritten = {
        period
        for (series, period, _), each in kept.items()
        if series == "NG.CBN.CPI.12M" and len(each) > 1
    }
    assert len([period for period in rewritten if period.year == 2025]) >= 10
    assert not any(period.year < 2024 for period in rewritten)


def test_what_kenya_revised_is_kept(record: Record) -> None:
    prices = vintages(record, "ke-cbk-inflation")
    revised = {
        period
        for (series, period, _), each in prices.items()
        if len({value for _, value in each}) > 1
    }
    assert {date(2021, 2, 28), date(2021, 7, 31)} <= revised
    gdp = vintages(record, "ke-cbk-gdp")["KE.CBK.GDP.NOMINAL", date(2023, 12, 31), None]
    assert gdp == [
        (date(2024, 10, 8), Decimal("15108806.00")),
        (date(2025, 11, 13), Decimal(15033612)),
    ]


def test_a_rebasing_makes_figures_of_another_base_and_no_restatement(record: Record) -> None:
    kept = vintages(record, "ng-nbs-gdp")
    real = {
        figure: each
        for figure, each in kept.items()
        # The year ends on the day on which its last quarter ends.
        if figure[0] == "NG.NBS.GDP.REAL" and figure[1].month != 12
    }
    yearly = {figure[2]: each for figure, each in kept.items() if figure[1] == date(2019, 12, 31)}
    assert yearly["2019"] == [(RELEASED["20"], Decimal("204343987.47235954"))]
    assert {base for _, _, base in real} == {"2010"}
    assert all(len(each) == 1 for each in real.values())


def test_every_mean_rate_of_kenya_is_a_row() -> None:
    pattern = "ke_cbk/key_cbk_indicative_exchange_rates_*"
    (path,) = FOLDER.glob(pattern)
    header, *lines = cells_of(path)
    stated = Counter(Decimal(line[header.index("Mean")]) for line in lines)
    assert values_of("ke-cbk-fx", pattern) == stated and stated.total() == 6000


def test_every_monthly_average_of_a_declared_currency_is_a_row() -> None:
    pattern = "ke_cbk/Monthly-Exchange-rate*"
    (path,) = FOLDER.glob(pattern)
    _, header, *lines = cells_of(path)
    columns = {name for each in BY_KEY["ke-cbk-fx-monthly"].series for name in each.column or ()}
    places = [place for place, name in enumerate(header) if " ".join(name.split()) in columns]
    assert len(places) == len(columns)
    stated = Counter(
        Decimal(line[place]) for line in lines for place in places if line[0] and line[place]
    )
    assert values_of("ke-cbk-fx-monthly", pattern) == stated


def test_both_rates_of_every_day_and_currency_of_egypt_are_rows() -> None:
    pattern = "eg_cbe/Exchange_Rates*"
    (path,) = FOLDER.glob(pattern)
    lines = [line for line in cells_of(path) if isinstance(line[0], date)]
    stated = Counter(Decimal(str(cell)) for line in lines for cell in line[2:4])
    assert values_of("eg-cbe-fx", pattern) == stated and stated.total() == 2 * len(lines)


def test_every_rate_of_the_oecd_is_a_row_with_its_country() -> None:
    (path,) = FOLDER.glob("oecd/*")
    lines = [line for line in cells_of(path) if "interest rates" in str(line[1:2])]
    stated = Counter(Decimal(str(cell)) for line in lines for cell in line[3:] if cell != "")
    assert values_of("oecd-rates", "oecd/*") == stated
    found = parsed("oecd-rates", path).rows["macro_series"]
    assert len({row["series"] for row in found}) == len(lines)


def test_the_base_of_a_workbook_of_fred_is_the_one_that_it_states() -> None:
    (path,) = FOLDER.glob("fred_bis/*")
    lines = [line for line in cells_of(path) if isinstance(line[0], date)]
    assert values_of("fred-reer", "fred_bis/*") == Counter(Decimal(str(line[1])) for line in lines)
    found = parsed("fred-reer", path).rows["macro_series"]
    assert {(row["country"], row["base_period"]) for row in found} == {("RU", "2010=100")}


def test_what_kenyas_office_marks_as_provisional_has_that_status() -> None:
    (path,) = FOLDER.glob("ke_knbs/*")
    found = parsed("ke-knbs-survey", path).rows["macro_series"]
    status = {(row["series"], row["period_end"].year): row["obs_status"] for row in found}
    assert status["KE.KNBS.EMPLOYMENT", 2022] is None
    assert status["KE.KNBS.EMPLOYMENT", 2023] == "provisional"
    prices = {row["period_end"]: row for row in found if row["series"] == "KE.KNBS.CPI"}
    assert len(prices) == 60
    assert prices[date(2023, 11, 30)]["value"] == Decimal("137.03")
    assert {row["base_period"] for row in prices.values()} == {"February 2019=100"}


def test_a_workbook_without_cells_says_so() -> None:
    (path,) = FOLDER.glob("ng_cbn/Real_GDP*")
    assert cells_of(path) == []
    (rejected,) = parsed("ng-cbn-inflation", path).rejected["macro_series"]
    assert "no table" in rejected.reason
