"""Real vintages of FRED, the World Bank and the IMF: what was known on a day is what they say.

The files are read a second time here, with nothing of the product.
"""

import csv
import gzip
import json
import re
import zipfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import date, timedelta
from decimal import Decimal
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from assets.filings.cross_checks import scale_of
from assets.macro import alfred, h10, sdmx_csv, weo, worldbank
from assets.parsing.parsed import Parsed, to_table
from tests.helpers.macro import document, reasons, rows
from tests.helpers.paths import REAL
from tests.helpers.real_files import REAL_FILES, load, read_file
from warehouse.publish.snapshot import Snapshot
from warehouse.record.append import Load, append
from warehouse.record.as_of import vintages_query
from warehouse.record.store import Record
from warehouse.record.tables import MACRO_SERIES
from warehouse.record.versions import load_seqs_of, name_version

pytestmark = pytest.mark.shared

FRED = "https://api.stlouisfed.org/fred/series/observations?series_id="
# Codes of countries as older files of the World Bank have them.
OLD_CODES = {"ADO": "AND", "IMY": "IMN", "KSV": "XKX", "ROM": "ROU", "TMP": "TLS"}
OLD_CODES |= {"WBG": "PSE", "ZAR": "COD"}
# Period, first day, last day, and the value; "." if there was none.
Interval = tuple[str, date, date, str]


def known_rows(record: Record, folder: Path, table: str) -> list[dict[str, Any]]:
    """Return every vintage of a table, as a build has it."""
    version = name_version(record)
    with Snapshot(folder / "snapshot", record, load_seqs_of(record, version), version) as snapshot:
        snapshot.copy_record()
        rows: list[dict[str, Any]] = snapshot.read(
            f"SELECT *, CAST(value AS VARCHAR) AS digits FROM {table}"
        ).to_pylist()
        return rows


def alfred_intervals(path: Path) -> Iterator[Interval]:
    if path.suffix == ".csv":
        with path.open(newline="") as lines:
            for period, value, start, end in list(csv.reader(lines))[1:]:
                until = date.fromisoformat(end) if end else date.max
                yield period, date.fromisoformat(start), until, value
        return
    for entry in json.loads(path.read_text()).get("observations", []):
        first, last = (date.fromisoformat(entry[f"realtime_{side}"]) for side in ("start", "end"))
        yield entry["date"], first, last, entry["value"]


def test_on_the_first_and_last_day_of_every_interval_of_alfred_its_value_is_the_answer(
    record: Record, tmp_path: Path
) -> None:
    folder = REAL_FILES / "cpi" / "alfred"
    files = [path for path in sorted(folder.rglob("*_*")) if path.is_file()]
    intervals: dict[str, list[Interval]] = defaultdict(list)
    for path in files:
        found = list(alfred_intervals(path)) if path.suffix in (".json", ".csv") else []
        if not found:
            continue
        name = path.name.split("_")[0]
        headers = {} if name == "GDP" else {"frequency": "monthly", "units": "as published"}
        intervals[f"FRED.{name}"] += found
        load(record, "macro_series", read_file(alfred.parse, path, f"{FRED}{name}", **headers))
    vintages: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for row in known_rows(record, tmp_path, "macro_series"):
        vintages[row["series"], row["period_start"].isoformat()].append(row)
    by_period: dict[tuple[str, str], list[Interval]] = defaultdict(list)
    for series, found in intervals.items():
        for interval in found:
            by_period[series, interval[0]].append(interval)
    compared, different = 0, []
    for series, found in intervals.items():
        for period, start, end, value in found:
            # What was open in an older file ends where a newer one states another value.
            later = [other[1] for other in by_period[series, period] if other[1] > start]
            last = min([end, *(day - timedelta(days=1) for day in later)])
            for day in {start, last}:
                known = [
                    row
                    for row in vintages[series, period]
                    if not row["withdrawn"]
                    and row["available_at"] <= day
                    and (row["superseded_at"] is None or row["superseded_at"] > day)
                ]
                stated = [] if value == "." else [Decimal(value)]
                compared += 1
                if [Decimal(row["digits"]) for row in known] != stated:
                    different.append((series, period, day, value, known))
    assert compared > 20_000
    assert different == []


def worldbank_values(path: Path) -> Iterator[tuple[str, str, str, Decimal]]:
    """Return indicator, country, year and value of every line."""
    if path.suffix == ".json":
        page = json.loads(path.read_text(), parse_float=Decimal, parse_int=Decimal)
        for row in page[1]:
            if row["value"] is not None:
                code = row["countryiso3code"] or row["country"]["id"]
                yield row["indicator"]["id"], code, row["date"], Decimal(row["value"])
        return
    indicator = {"gdp": "NY.GDP.MKTP.CD", "cpi": "FP.CPI.TOTL"}[path.name[:3]]
    if path.name >= "cpi_2024" and indicator == "FP.CPI.TOTL":
        indicator = "FP.CPI.TOTL.ZG"
    with path.open(newline="", encoding="utf-8-sig") as lines:
        for line in csv.DictReader(lines):
            *_, value = line.values()
            if value:
                yield indicator, line["Country Code"], line["Year"], Decimal(value)


@pytest.mark.nightly
def test_a_year_of_the_world_bank_has_one_value_that_of_the_newest_file_which_states_it(
    record: Record, tmp_path: Path
) -> None:
    folder = REAL_FILES / "macro" / "worldbank"
    editions: list[tuple[str, Path, dict[str, str]]] = []
    for path in sorted((folder / "api_v2").glob("*.json")):
        page = json.loads(path.read_text())
        if "lastupdated" in page[0]:
            editions.append((page[0]["lastupdated"], path, {}))
    for path in sorted((folder / "vintages").glob("*.csv")):
        day = path.stem.split("_")[1]
        indicator = next(worldbank_values(path))[0]
        editions.append((day, path, {"indicator": indicator, "vintage": day}))
    newest: dict[tuple[str, str, str], Decimal] = {}
    # Files arrive in any order; here the newest edition comes first.
    for _, path, headers in sorted(editions, reverse=True, key=lambda edition: edition[0]):
        url = f"https://api.worldbank.org/v2/{path.name}?page=1"
        parsed = read_file(worldbank.parse, path, url, **headers)
        for row in parsed.rows["macro_annual"]:
            row["source"] = "worldbank"  # the helper names the source after the folder
        load(record, "macro_annual", parsed)
        for indicator, code, year, value in worldbank_values(path):
            newest.setdefault((indicator, OLD_CODES.get(code, code), year), value)
    rows = known_rows(record, tmp_path, "macro_annual")
    served = [row for row in rows if row["latest"]]
    answers = {
        (row["indicator"], row["country_iso3"], str(row["period_end"].year)): Decimal(row["digits"])
        for row in served
    }
    assert len(answers) == len(served) > 15_000
    assert {figure: newest[figure] for figure in answers} == answers
    bases: dict[tuple[str, str], set[str | None]] = defaultdict(set)
    for row in served:
        bases[row["indicator"], row["country_iso3"]].add(row["base_period"])
    assert {len(of_series) for of_series in bases.values()} == {1}
    # 2005=100 until 2013; the edition on 2010=100 does not carry China's 1992 over.
    assert bases["FP.CPI.TOTL", "CHN"] == {"2010=100"}
    assert ("FP.CPI.TOTL", "CHN", "1992") not in answers
    in_billions = [
        round(Decimal(row["digits"]) / 10**9, 1)
        for row in sorted(rows, key=lambda row: row["publication"])
        if row["indicator"] == "NY.GDP.MKTP.CD"
        and (row["country_iso3"], row["period_end"]) == ("NGA", date(2010, 12, 31))
        and not row["withdrawn"]
    ]
    assert in_billions[:3] == [Decimal("196.8"), Decimal("228.6"), Decimal("369.1")]
    assert len({round(value) for value in in_billions[2:]}) == 1


@pytest.mark.nightly
def test_the_rates_of_h10_have_the_direction_that_those_of_the_ecb_confirm(
    record: Record, tmp_path: Path
) -> None:
    with zipfile.ZipFile(REAL_FILES / "fx" / "ecb" / "eurofxref-hist.zip") as archive:
        lines = archive.read("eurofxref-hist.csv").decode().splitlines()
    months: dict[str, list[Decimal]] = defaultdict(list)
    for line in csv.DictReader(lines):
        months[line["Date"][:7]].append(Decimal(line["USD"]))
    for path in sorted((REAL_FILES / "fx" / "fred_h10").glob("monthly*.csv")):
        load(record, "macro_series", read_file(h10.parse, path, frequency="monthly"))
    compared = 0
    for row in known_rows(record, tmp_path, "macro_series"):
        rates = months.get(row["period_start"].isoformat()[:7], [])
        if row["series"] == "FX.USD.EUR" and row["latest"] and len(rates) > 15:
            product = Decimal(row["digits"]) * sum(rates) / len(rates)
            assert abs(product - 1) < Decimal("0.01"), row
            compared += 1
    assert compared > 200


# The IMF


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


@pytest.mark.nightly
@pytest.mark.parametrize("name", [*(FIRST, LATER), "IMF_MFS_BroadMoney.csv", "IMF_MFS_STR.csv"])
def test_every_value_of_the_portal_is_a_row(name: str) -> None:
    parsed, stated = portal(name)
    found = {
        (row["series"].partition(".")[2], str(row["period_end"].year)): row["value"]
        for row in rows(parsed)
    }
    # The record has 18 decimals: a rate of binary arithmetic can have more, and is quarantined.
    too_fine = {key for key, value in stated.items() if scale_of(value) < -18}
    fitting = {key: value for key, value in stated.items() if key not in too_fine}
    assert found == fitting and len(rows(parsed)) == len(fitting) > 3900
    assert len(reasons(parsed)) == len(too_fine)
    assert all("does not fit" in reason for reason in reasons(parsed))


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


@pytest.mark.nightly
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
