"""Every file of the further sources goes through its parser: rows, or a reason in words."""

import gzip
import hashlib
from collections.abc import Iterator
from datetime import UTC, datetime
from fnmatch import fnmatch
from pathlib import Path

import pytest

from assets.ingest.sources import SOURCES
from assets.parsing.parsed import Parsed
from assets.source import Source
from tests.helpers.parsed_rows import untyped
from tests.helpers.paths import REAL
from warehouse.record.landing import Document

pytestmark = pytest.mark.shared

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
    "identity/mic/*": "read by assets/entities/mic_lists.py, which no ingest runs",
    "macro/imf/Consumer*": "states neither measure nor unit",
    "macro/ng_cbn/Real_GDP*": "a workbook without a cell",
    "sec/20f/*": "inline XBRL whose contexts are elsewhere: test_xbrl_reports",
    "sec/fsds/*": "a Parquet copy of one table: test_fsds",
    "sec/index/*": "tells what is new, and gives no row: test_daily_index",
    "xbrl/filings_xbrl_org/*": "a page of the index, read when a report is fetched",
}
# Files that are a header alone, and reports on sustainability, which state none of our lines.
WITHOUT_FIGURES = ("br_cvm/itr_2010_header_only/*", "xbrl/in_brsr/*")
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


def test_no_file_is_overlooked() -> None:
    assert [name_of(path) for path in paths() if pattern_of(path) is None] == []


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
