"""Real files of Brazil's CVM: compared line by line with a reading that shares no code."""

import gzip
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import product
from pathlib import Path

import pytest

from assets.filings import cvm
from assets.filings.cvm import account_of
from assets.filings.sources import SOURCES
from assets.parsing.parsed import Parsed, to_table
from tests.helpers.paths import REAL
from warehouse.record.append import Load, append
from warehouse.record.as_of import vintages_query
from warehouse.record.landing import Document
from warehouse.record.store import Record
from warehouse.record.tables import FILINGS, FUNDAMENTALS

pytestmark = pytest.mark.shared

FOLDER = REAL / "more" / "br_cvm"
SOURCE = next(source for source in SOURCES if source.key == "cvm")
DOWNLOADS = {
    "dfp_2022_downloaded_2024-01-26": date(2024, 1, 26),
    "dfp_2022_downloaded_2024-06-16": date(2024, 6, 16),
    "dfp_2023_downloaded_2023-10-02_or_before": date(2023, 10, 2),
    "dfp_2023_earlier_download_committed_2023-12-18": date(2023, 12, 18),
    "itr_2010_header_only": date(2020, 3, 12),
    "itr_2011_downloaded_2020-03-12": date(2020, 3, 12),
}
# Line, company, period and whether of the group; the value in units.
Figures = dict[tuple[str, str, str, str, str, str], set[Decimal]]


def body_of(path: Path) -> bytes:
    body = path.read_bytes()
    return gzip.decompress(body) if path.suffix == ".gz" else body


def files_of(download: str) -> list[Path]:
    return sorted((FOLDER / download).iterdir())


def parsed(path: Path) -> Parsed:
    day = DOWNLOADS[path.parent.name]
    moment = datetime(day.year, day.month, day.day, 6, tzinfo=UTC)
    url = f"{SOURCE.base_url}/dados/{path.parent.name}/{path.name}"
    document = Document(
        f"{abs(hash(path)):064x}", "cvm", url, "open-share-alike", moment, 200, {}, 1
    )
    return cvm.parse(document, body_of(path))


def stated(path: Path) -> Iterator[dict[str, str]]:
    header, *lines = body_of(path).decode("latin-1").splitlines()
    for line in lines:
        yield dict(zip(header.split(";"), line.split(";"), strict=True))


def independent_figures(path: Path) -> Figures:
    """Read the file with nothing of the parser but its table of accounts."""
    figures: Figures = {}
    for cells in stated(path):
        account = account_of(cells.get("CD_CONTA", ""), cells.get("DS_CONTA", ""))
        if account is None:
            continue
        scale = {"MIL": 1000, "UNIDADE": 1}[cells["ESCALA_MOEDA"]]
        key = (
            account.item.name,
            cells["CNPJ_CIA"],
            f"{int(cells['CD_CVM'])}/{cells['DT_REFER']}/{int(cells['VERSAO']):04}",
            cells.get("DT_INI_EXERC", ""),
            cells["DT_FIM_EXERC"],
            "consolidated" if "Consolidado" in cells["GRUPO_DFP"] else "individual",
        )
        figures.setdefault(key, set()).add(Decimal(cells["VL_CONTA"]) * scale * account.sign)
    return figures


@pytest.mark.nightly
@pytest.mark.parametrize("download", DOWNLOADS)
def test_every_line_is_the_figure_it_states_or_is_rejected_with_a_reason(download: str) -> None:
    for path in files_of(download):
        result = parsed(path)
        numbers = {
            row["service_id"]: row["id_value"]
            for row in result.rows.get("identifiers", [])
            if row["issuer"] == "BR-CNPJ"
        }
        expected = independent_figures(path)
        read = set()
        for row in result.rows.get("fundamentals", []):
            start = "" if row["period_start"] is None else str(row["period_start"])
            key = (
                *(row["line_item"], numbers[row["service_id"]], row["publication"]),
                *(start, str(row["period_end"]), row["basis"].partition("/")[0]),
            )
            # All borrowings are the sum of those of less and of more than a year.
            if row["line_item"] == "total_borrowings" and key not in expected:
                parts = ("borrowings_current", "borrowings_non_current")
                added = product(*(expected[(part, *key[1:])] for part in parts))
                assert {sum(each) for each in added} == {row["value_reported"]}
                continue
            # An account that is listed twice with one value is the same figure twice.
            assert expected[key] == {row["value_reported"]}
            read.add(key)
        # What is left was not filled in: zeros alone.
        assert not any(any(expected[key]) for key in expected.keys() - read), path.name
        reasons = {each.reason for each in result.rejected.get("fundamentals", [])}
        assert all("filled in" in each or "goes to anybody" in each for each in reasons), reasons
        assert read or not expected


@pytest.mark.nightly
@pytest.mark.parametrize("year", ["2022", "2023"])
@pytest.mark.parametrize("newest_first", [False, True])
def test_two_downloads_give_the_same_vintages_in_either_order(
    record: Record, year: str, newest_first: bool
) -> None:
    downloads = sorted(
        (name for name in DOWNLOADS if name.startswith(f"dfp_{year}")),
        key=lambda name: DOWNLOADS[name],
        reverse=newest_first,
    )
    assert len(downloads) == 2
    expected: dict[tuple[object, ...], set[Decimal]] = {}
    for download in downloads:
        for path in files_of(download):
            rows, rejected = to_table(FUNDAMENTALS, [parsed(path)])
            append(record, FUNDAMENTALS, rows, Load("cvm", (str(path),)), rejected=rejected)
            for row in rows.to_pylist():
                figure = tuple(row[name] for name in FUNDAMENTALS.identity)
                expected.setdefault(figure, set()).add(row["value_reported"])
    stored = record.relation("fundamentals", record.table("fundamentals"))
    vintages = record.query(vintages_query(FUNDAMENTALS, stored, vintages="all")).to_pylist()
    kept: dict[tuple[object, ...], list[tuple[date, Decimal]]] = {}
    for row in vintages:
        figure = tuple(row[name] for name in FUNDAMENTALS.identity)
        kept.setdefault(figure, []).append((row["available_at"], row["value_reported"]))
    assert {figure: {value for _, value in each} for figure, each in kept.items()} == expected
    restated = {figure: sorted(each) for figure, each in kept.items() if len(each) > 1}
    assert all(len(each) == 2 for each in restated.values())
    if year == "2022":
        assert [
            (DOWNLOADS["dfp_2022_downloaded_2024-01-26"], Decimal(-11016000)),
            (DOWNLOADS["dfp_2022_downloaded_2024-06-16"], Decimal(-8031000)),
        ] in restated.values()


# What the index says of a version: number, form, period, version and day of receipt.
Listed = tuple[str, str, str, int, str]
_INDEX_FILES = sorted(FOLDER.glob("*_*/*_cia_aberta_[0-9]*"))


def independent_index_line(cells: dict[str, str]) -> Listed:
    """Return what a line of the index says, with nothing of the parser."""
    return (
        *(cells["ID_DOC"], cells["CATEG_DOC"], cells["DT_REFER"], int(cells["VERSAO"])),
        cells["DT_RECEB"],
    )


def listed(row: dict[str, object]) -> Listed:
    return (
        *(str(row["document_id"]), str(row["form"]), str(row["period_end"])),
        *(int(str(row["version"])), str(row["received_on"])),
    )


@pytest.mark.parametrize("path", _INDEX_FILES, ids=lambda path: path.parent.name)
def test_every_line_of_an_index_is_a_filing(path: Path) -> None:
    result = parsed(path)
    rows = result.rows.get("filings", [])
    assert {listed(row) for row in rows} == set(map(independent_index_line, stated(path)))
    assert len(rows) == sum(1 for _ in stated(path)) and not result.rejected
    assert {row["available_at"] for row in rows} <= {DOWNLOADS[path.parent.name]}
    assert to_table(FILINGS, [result])[1] == []


def test_minervas_eight_versions_are_filings_with_the_days_of_their_receipt() -> None:
    (path,) = files_of("itr_2011_downloaded_2020-03-12")
    expected = {
        int(cells["VERSAO"]): cells["DT_RECEB"]
        for cells in stated(path)
        if int(cells["CD_CVM"]) == 20931 and cells["DT_REFER"] == "2011-03-31"
    }
    versions = {
        row["version"]: str(row["received_on"])
        for row in parsed(path).rows["filings"]
        if row["publication"].startswith("20931/2011-03-31/")
    }
    assert versions == expected
    # Two of them on one day.
    assert len(versions) == 8 and versions[2] == versions[3] == "2011-05-02"


@pytest.mark.nightly
@pytest.mark.parametrize("newest_first", [False, True])
def test_a_version_is_known_since_the_first_index_that_shows_it(
    record: Record, newest_first: bool
) -> None:
    paths = [path for path in _INDEX_FILES if path.parent.name.startswith("dfp_2022")]
    assert len(paths) == 2
    expected: dict[tuple[str, Listed], date] = {}
    for path in sorted(paths, reverse=True):
        for cells in stated(path):
            key = f"{int(cells['CD_CVM'])} {cells['CNPJ_CIA']}"
            of_line = independent_index_line(cells)
            expected[key, of_line] = DOWNLOADS[path.parent.name]
    numbers = {}
    for path in sorted(paths, reverse=newest_first):
        result = parsed(path)
        rows, rejected = to_table(FILINGS, [result])
        entry = append(record, FILINGS, rows, Load("cvm", (str(path),)), rejected=rejected)
        assert entry.quarantined == 0
        for row in result.rows["identifiers"]:
            numbers[row["service_id"], row["issuer"]] = row["id_value"]
    stored = record.relation("filings", record.table("filings"))
    vintages = record.query(vintages_query(FILINGS, stored, vintages="all")).to_pylist()
    found = {
        (
            " ".join(numbers[row["service_id"], issuer] for issuer in ("BR-CVM", "BR-CNPJ")),
            listed(row),
        ): row["available_at"]
        for row in vintages
    }
    assert found == expected and len(vintages) == len(found)
    # Fifteen versions are new in the later download, and one company has another number there.
    later = DOWNLOADS["dfp_2022_downloaded_2024-06-16"]
    assert sum(day == later for day in found.values()) == 16
    of_serena = sorted(
        (of_line[3], of_line[4], str(day))
        for (numbers_of, of_line), day in found.items()
        if numbers_of.startswith("26441 ")
    )
    assert [day for _, _, day in of_serena] == ["2024-01-26"] * 4 + ["2024-06-16"]
    assert of_serena[-1][:2] == (5, "2024-03-18")
