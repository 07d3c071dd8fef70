"""Real files of every source in the record: each record is counted once, no file overlooked."""

import gzip
import hashlib
from collections.abc import Iterator
from datetime import UTC, date, datetime
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest

from assets.filings import companyfacts, submissions, xbrl_reports
from assets.ingest.sources import SOURCES
from assets.macro import alfred, h10, sdmx_csv, worldbank
from assets.parsing.parsed import Parsed
from assets.source import Parse, Source
from assets.tenders.portal_files import read_portals
from assets.tenders.sources import portal_source
from tests.helpers.parsed_rows import untyped
from tests.helpers.paths import REAL
from tests.helpers.real_files import REAL_FILES, load, read_file
from warehouse.record.as_of import vintages_query
from warehouse.record.landing import Document
from warehouse.record.store import Record
from warehouse.record.tables import FUNDAMENTALS, MACRO_SERIES, RecordTable

WORLD_BANK_VINTAGE = {"indicator": "X", "vintage": "2020-01-01"}
FRED = "https://example.org/fred/series/observations?series_id="


@pytest.mark.shared
@pytest.mark.parametrize(
    ("folder", "parse", "headers"),
    [
        ("filings/submissions", submissions.parse, {}),
        ("macro/worldbank/api_v2", worldbank.parse, {}),
        *(
            pytest.param(*case, marks=pytest.mark.nightly)
            for case in (
                ("filings/companyfacts", companyfacts.parse, {}),
                ("filings/filings-xbrl-org", xbrl_reports.parse, {}),
                ("macro/worldbank/vintages", worldbank.parse, WORLD_BANK_VINTAGE),
                ("fx/sdmx", sdmx_csv.parse, {}),
                ("fx/fred_h10", h10.parse, {"frequency": "monthly"}),
                ("cpi/alfred", alfred.parse, {}),
                ("cpi/alfred/download", alfred.parse, {"frequency": "monthly"}),
            )
        ),
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


# Portals that are in no table of this repository


ENTRY = """[{key}]
country = "{country}"
title = "{key}"
base_url = "https://{key}.example"
licence.class = "{licence}"
licence.name = "As its publisher states"
licence.stated_at = "https://{key}.example/licence"
{words}
"""
# The words that these portals write in place of codes of OCDS.
MOLDOVAN = """
words.tender_status = ["Primirea ofertelor", "Evaluarea ofertelor", "Executarea contractului"]
words.contract_status = ["Înregistrat(ă)"]
words.procurement_method = ["Cerere a ofertelor de preţuri", "Licitaţie publică"]
"""
AGREEMENTS = """words.role = [
    "Parte de convenio de colaboración", "Contraparte de convenio de colaboración",
]"""
WORKS = """words.scheme = [
    "SERVICIOS LEGALES, DE CONTABILIDAD, AUDITORIA Y RELACIONADOS",
    "TRABAJOS DE ACABADOS EN EDIFICACIONES Y OTROS TRABAJOS ESPECIALIZADOS",
    "CONSTRUCCION DE VIAS DE COMUNICACION", "EDIFICACION NO HABITACIONAL",
]"""
PARAGUAYAN = """words.scheme = [
    "Catálogo de productos, bienes y servicios de la Dirección Nacional de Contrataciones Públicas del Paraguay",
]"""  # noqa: E501
# Folder or file, country, licence class, words, and the releases that are read.
PORTALS = {
    "pt-impic": ("ocds/portals/pt_impic", "PT", "cc-by", "", 100),
    "gb-fts": ("ocds/portals/gb_fts", "GB", "open-attribution", "", 10),
    "mx-cdmx": ("ocds/portals/mx_cdmx", "MX", "open-attribution", "", 8),
    "ua-prozorro": ("more/ocds/ua_prozorro_api_2018", "UA", "per-package", "", 11),
    "md-etenders": (
        "more/ocds/md_etenders_fetched_2017-06-29",
        "MD",
        "open-attribution",
        MOLDOVAN,
        34,
    ),
    "mx-inai": ("more/ocds/mx_inai_fetched_2017-11-07", "MX", "open-attribution", AGREEMENTS, 20),
    "mx-gacm": ("more/ocds/mx_gacm_two_releases_each", "MX", "open-attribution", WORKS, 16),
    "mx-apf": ("more/ocds/mx_apf_records_2018-01-10", "MX", "open-attribution", "", 7),
    # Seven more have no ocid of their own, only their record has one: they are quarantined.
    "py-records": (
        "more/ocds/py_dncp_record_packages_2017-01-04",
        "PY",
        "per-package",
        PARAGUAYAN,
        28,
    ),
    "ug-gpp": ("more/ocds/ug_gpp_2017-10-16", "UG", "open-attribution", "", 7),
}


@pytest.mark.shared
@pytest.mark.parametrize("key", PORTALS)
def test_a_portal_that_is_entered_as_data_gives_its_releases_with_every_code(
    key: str, tmp_path: Path
) -> None:
    folder, country, licence, words, count = PORTALS[key]
    text = ENTRY.format(key=key, country=country, licence=licence, words=words)
    if licence == "per-package":
        text = "\n".join(line for line in text.splitlines() if "stated_at" not in line)
    file = tmp_path / "portals.toml"
    file.write_text(text, "utf-8")
    source = portal_source(read_portals(file)[0])
    day = datetime(2026, 11, 14, tzinfo=UTC)
    releases, reasons = [], []
    for path in sorted((REAL / folder).iterdir()):
        url = f"{source.base_url}/{path.name}"
        document = Document("0" * 64, key, url, "cc-by", day, 200, {}, 0)
        parsed = untyped(source.parser.parse(document, path.read_bytes()))
        releases += parsed.rows.get("tender_releases", [])
        reasons += [row.reason for row in parsed.rejected.get("tender_releases", [])]
    assert len(releases) == count
    assert {row["country"] for row in releases} == {country}
    assert all(row["source_ref"].startswith(f"https://{key}.example/") for row in releases)
    assert not [reason for reason in reasons if "no code of OCDS" in reason]


# Further sources


FOLDER = REAL / "more"
# Files by pattern, and the source whose parser reads them.
READ_BY = {
    "br_cvm/cad/*.csv.gz": "cvm-register",
    "br_cvm/dfp_*/*": "cvm",
    "br_cvm/itr_2010_header_only/*": "cvm",
    "br_cvm/itr_*/*": "cvm",
    "identity/br_b3/*": "br-b3",
    "identity/brvm/cours-actions-0.html": "brvm",
    "identity/in_nse/*": "in-nse",
    "identity/kr_dart/*": "kr-dart",
    "macro/bis/*": "bis",
    "macro/br_bcb/*": "br-bcb-sgs",
    "macro/eg_cbe/Exchange*": "eg-cbe-fx",
    "macro/eg_cbe/Inflations*": "eg-cbe-inflation",
    "macro/fred_bis/*": "fred-reer",
    "macro/imf/*.csv": "imf-data",
    "macro/imf_weo/*": "imf-weo",
    "macro/ke_cbk/Monthly*": "ke-cbk-fx-monthly",
    "macro/ke_cbk/annual_gdp*": "ke-cbk-gdp",
    "macro/ke_cbk/central_bank_rate*": "ke-cbk-rate",
    "macro/ke_cbk/diaspora*": "ke-cbk-remittances",
    "macro/ke_cbk/inflation*": "ke-cbk-inflation",
    "macro/ke_cbk/*indicative*": "ke-cbk-fx",
    "macro/ke_knbs/*": "ke-knbs-survey",
    "macro/ng_cbn/Inflation*": "ng-cbn-inflation",
    "macro/ng_cbn/NFEM*": "ng-cbn-fx",
    "macro/ng_nbs/*": "ng-nbs-gdp",
    "macro/oecd/*": "oecd-rates",
    "macro/za_sarb/*": "za-sarb-rates",
    # Any portal will do: what a release is does not depend on it.
    "ocds/*": "co-secop",
    "sec/company_tickers*": "sec-tickers",
    "sec/companyfacts_2021-07/*": "sec-companyfacts",
    "sec/submissions/*": "sec-submissions",
    "xbrl/in_brsr/*": "bmv-xbrl",
    "xbrl/xbrl_json/*": "xbrl-filings",
}
# Files of no source, and why.
NOT_READ = {
    "br_cvm/cad/meta_*": "a description of columns",
    "br_cvm/meta/*": "a description of columns",
    "identity/brvm/MANIFESTE*": "somebody's list of documents",
    "identity/brvm/boc_landing.html": "a page of links",
    "identity/brvm/rapports*": "a page of links",
    "identity/mic/*": "read by tests/helpers/mic_lists.py, which no ingest runs",
    "macro/imf/Consumer*": "states neither measure nor unit",
    "macro/ng_cbn/Real_GDP*": "a workbook without a cell",
    "sec/20f/*": "inline XBRL whose contexts are elsewhere: test_xbrl_reports",
    "sec/fsds/*": "a Parquet copy of one table: test_fsds",
    "sec/index/*": "tells what is new, and gives no row: test_filings_bulk",
    "xbrl/filings_xbrl_org/*": "a page of the index, read when a report is fetched",
}
# Files that are a header alone: whoever loads them says that they have nothing.
WITHOUT_FIGURES = ("br_cvm/itr_2010_header_only/*",)
BY_KEY = {source.key: source for source in SOURCES}


def paths() -> list[Path]:
    about = ("MANIFEST.md", "NOTES.md", "_index.tsv")
    return [path for path in sorted(FOLDER.rglob("*")) if path.is_file() and path.name not in about]


def name_of(path: Path) -> str:
    return path.relative_to(FOLDER).as_posix()


def pattern_of(path: Path) -> str | None:
    return next((each for each in (*READ_BY, *NOT_READ) if fnmatch(name_of(path), each)), None)


def parsed(source: Source, path: Path) -> Parsed:
    body = path.read_bytes()
    body = gzip.decompress(body) if path.suffix == ".gz" else body
    name = path.name.removesuffix(".gz")
    # Addresses that parsers look at end in the name of the file.
    url = f"{source.base_url or 'https://example.org'}/{name}"
    read_at = datetime(2026, 11, 14, tzinfo=UTC)
    digest = hashlib.sha256(body).hexdigest()
    document = Document(digest, source.key, url, source.license_class, read_at, 200, {}, len(body))
    return untyped(source.parser.parse(document, body))


def reasons(result: Parsed) -> Iterator[str]:
    for rows in result.rejected.values():
        yield from (row.reason for row in rows)


@pytest.mark.shared
def test_no_file_is_overlooked() -> None:
    assert [name_of(path) for path in paths() if pattern_of(path) is None] == []


@pytest.mark.nightly
@pytest.mark.shared
@pytest.mark.parametrize("pattern", READ_BY)
def test_every_file_gives_rows_or_says_in_words_why_not(pattern: str) -> None:
    of_pattern = [path for path in paths() if pattern_of(path) == pattern]
    assert of_pattern
    for path in of_pattern:
        result = parsed(BY_KEY[READ_BY[pattern]], path)
        rows = sum(len(each) for each in result.rows.values())
        said = list(reasons(result))
        assert rows or said or pattern in WITHOUT_FIGURES, name_of(path)
        assert all(len(reason.split()) > 2 for reason in said), (name_of(path), said[:3])


if __name__ == "__main__":
    for path in paths():
        key = READ_BY.get(str(pattern_of(path)))
        if key is None:
            print(f"{name_of(path)}\t-\t{NOT_READ[str(pattern_of(path))]}")
            continue
        result = parsed(BY_KEY[key], path)
        rows = {table: len(each) for table, each in result.rows.items() if len(each)}
        said = list(reasons(result))
        print(f"{name_of(path)}\t{key}\t{rows}\t{len(said)} rejected", *said[:1], sep="\t")
