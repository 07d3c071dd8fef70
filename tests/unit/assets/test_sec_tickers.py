"""The SEC's list of tickers: a complete exchange list whose days are the only history it has."""

import gzip
import json
import re
from collections.abc import Iterable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest

from assets.entities.identifiers import mint
from assets.filings.submissions import MICS
from assets.ingest.load import load_source
from assets.ingest.sources import source_of
from assets.parsing.parsed import Parsed
from tests.helpers.gleif import document
from tests.helpers.paths import REAL
from warehouse.record.as_of import vintages_query
from warehouse.record.landing import FetchedResponse, Landing
from warehouse.record.store import Record
from warehouse.record.tables import ENTITIES, IDENTIFIERS, RecordTable
from warehouse.shared.settings import read_settings

SOURCE = source_of(read_settings({}), "sec-tickers")
URL = "https://www.sec.gov/files/company_tickers_exchange.json"
FIELDS = ["cik", "name", "ticker", "exchange"]
UBUNTU = (1000001, "Ubuntu Fictional Mining Ltd", "UFM", "NYSE")
KALAHARI = ("0001000002", "Kalahari Fictional Breweries Inc.", "KFB", "Nasdaq")


def listed(*rows: tuple[object, ...]) -> bytes:
    return json.dumps({"fields": FIELDS, "data": rows}).encode()


def parse(*rows: tuple[object, ...]) -> Parsed:
    return SOURCE.parser.parse(document(), listed(*rows))


def reasons(parsed: Parsed) -> list[str]:
    return [row.reason for rows in parsed.rejected.values() for row in rows]


class Days:
    """A record that has read the list on some days."""

    def __init__(self, folder: Path, bodies: Iterable[tuple[date, bytes]]) -> None:
        self._record = Record(str(folder / "record"))
        landing = Landing(str(folder / "landing"))
        for day, body in bodies:
            moment = datetime(day.year, day.month, day.day, 6, tzinfo=UTC)
            landing.land(
                FetchedResponse("sec-tickers", URL, body, "public-domain", moment, 200, {})
            )
        load_source(self._record, landing, SOURCE)

    def rows(self, table: RecordTable, as_of: date) -> list[dict[str, Any]]:
        query = vintages_query(table, self._record.relation(table.name), as_of=as_of)
        rows: list[dict[str, Any]] = self._record.query(query).to_pylist()
        return rows

    def stored(self, table: RecordTable) -> int:
        """Return how many rows of a table are stored."""
        return len(self._record.query(f"SELECT 1 FROM {self._record.relation(table.name)}"))

    def tickers(self, as_of: date) -> set[tuple[str, str]]:
        """Return filer and listing of every ticker that was listed on a day."""
        return {
            (row["service_id"], row["id_value"])
            for row in self.rows(IDENTIFIERS, as_of)
            if row["id_type"] == "ticker" and not row["withdrawn"]
        }


def test_a_ticker_is_a_listing_of_the_filer_of_its_cik() -> None:
    parsed = parse(UBUNTU, KALAHARI, (1000001, "Ubuntu Fictional Mining Ltd", "UFMWF", "OTC"))

    found = [
        (row["service_id"], row["id_type"], row["id_value"], row["issuer"])
        for row in parsed.rows["identifiers"]
    ]
    ubuntu, kalahari = mint("cik", "0001000001"), mint("cik", "0001000002")
    assert found == [
        (ubuntu, "cik", "0001000001", None),
        (ubuntu, "ticker", "XNYS:UFM", "XNYS"),
        (ubuntu, "cik", "0001000001", None),
        # No market of its own: it keeps its name.
        (ubuntu, "ticker", "OTC:UFMWF", None),
        (kalahari, "cik", "0001000002", None),
        (kalahari, "ticker", "XNAS:KFB", "XNAS"),
    ]
    assert reasons(parsed) == []


def test_both_files_of_edgar_mean_the_same_markets() -> None:
    assert (MICS["NASDAQ"], MICS["NYSE"], MICS["CBOE"]) == ("XNAS", "XNYS", "XCBO")
    assert "OTC" not in MICS


@pytest.mark.parametrize("exchange", [None, ""])
def test_a_ticker_without_an_exchange_is_left_out_and_hides_nothing(exchange: str | None) -> None:
    parsed = parse(UBUNTU, (1000003, "Namib Fictional Salt Corp", "NFS", exchange))

    assert reasons(parsed) == ["'NFS': a ticker needs its market"]
    assert all(row.partial for row in parsed.rejected["identifiers"])
    assert len(parsed.rows["entities"]) == 2


def test_persons_are_not_named_and_funds_are_counted() -> None:
    parsed = parse(
        UBUNTU,
        (1000004, "Fictional Jane", "FJN", "OTC"),
        (1000005, "Fictional Gold ETF Trust", "FGT", "NYSE"),
    )

    assert [row["legal_name"] for row in parsed.rows["entities"]] == [UBUNTU[1]]
    assert sorted(reasons(parsed)) == [
        "no shares of an issuer, by left_out.name of its declaration: 1 row",
        "the name is withheld: no evidence",
    ]
    assert "Jane" not in str(parsed)


@pytest.mark.parametrize(
    "name",
    [
        "3M CO",
        "ABBOTT LABORATORIES",
        "NOVO NORDISK A S",
        "PROCTER & GAMBLE Co",
        "JOHNSON & JOHNSON",
        "GOODYEAR TIRE & RUBBER CO /OH/",
        "MARRIOTT INTERNATIONAL INC /MD/",
        "Adyen N.V./ADR",
        "BANK OF CHILE",
    ],
)
def test_a_filer_with_a_ticker_is_named_whatever_its_name_lacks(name: str) -> None:
    (row,) = parse((1000007, name, "FIC", "NYSE")).rows["entities"]
    assert (row["legal_name"], row["entity_type"]) == (name, "company")


@pytest.mark.parametrize(
    "name", ["SMITH JOHN A", "John Smith", "Mr J Doe", "Acme / John Smith", "John Smith & Acme Inc"]
)
def test_a_ticker_names_no_person(name: str) -> None:
    parsed = parse((1000007, name, "FIC", "NYSE"))
    assert "entities" not in parsed.rows
    assert "John" not in str(parsed) and "Doe" not in str(parsed)


def test_a_ticker_that_looks_like_no_value_is_a_ticker() -> None:
    parsed = parse((1000006, "Fictional Quality Fund Inc.", "NAN", "NYSE"))
    assert "XNYS:NAN" in {row["id_value"] for row in parsed.rows["identifiers"]}


def test_a_row_without_a_cik_is_refused_only_if_nothing_else_identifies_it() -> None:
    parsed = parse(("CIK1", "Fictional Mining Ltd", "FIC", None))
    assert reasons(parsed) == [
        "no identifier of an issuer or its share: 'FIC': a ticker needs its market; "
        "'CIK1' is not a CIK"
    ]


def test_what_changed_or_vanished_is_dated_by_the_day_it_was_first_read_so(tmp_path: Path) -> None:
    ubuntu, kalahari = mint("cik", "0001000001"), mint("cik", "0001000002")
    renamed = (1000002, "Kalahari Fictional Spirits Inc.", "KFS", "NYSE")
    first, second, third = date(2026, 7, 1), date(2026, 7, 2), date(2026, 7, 3)
    days = Days(
        tmp_path,
        [
            (first, listed(UBUNTU, KALAHARI)),
            # Another order is no change.
            (second, listed(renamed, UBUNTU)),
            (third, listed(renamed)),
        ],
    )

    assert days.tickers(first) == {(ubuntu, "XNYS:UFM"), (kalahari, "XNAS:KFB")}
    assert days.tickers(second) == {(ubuntu, "XNYS:UFM"), (kalahari, "XNYS:KFS")}
    assert days.tickers(third) == {(kalahari, "XNYS:KFS")}
    names = {
        day: {row["legal_name"] for row in days.rows(ENTITIES, day) if not row["withdrawn"]}
        for day in (first, second)
    }
    assert names[first] == {UBUNTU[1], KALAHARI[1]}
    assert names[second] == {UBUNTU[1], renamed[1]}


def test_what_is_shown_again_is_not_stored_again_and_what_returns_is(tmp_path: Path) -> None:
    bodies = [listed(UBUNTU, KALAHARI), listed(KALAHARI), listed(KALAHARI, UBUNTU)]
    days = [date(2026, 7, number) for number in (1, 2, 3)]
    read = Days(tmp_path, zip(days, bodies, strict=True))

    assert [len(read.tickers(day)) for day in days] == [2, 1, 2]
    # Two numbers and two tickers, of which one each was withdrawn and returned.
    assert read.stored(IDENTIFIERS) == 4 + 2 + 2


def test_an_empty_or_damaged_list_withdraws_nothing(tmp_path: Path) -> None:
    days = [date(2026, 7, number) for number in (1, 2, 3)]
    read = Days(
        tmp_path,
        zip(days, [listed(UBUNTU, KALAHARI), listed(), listed(UBUNTU)[:-9]], strict=True),
    )
    assert [len(read.tickers(day)) for day in days] == [2, 2, 2]


# Counted without the parser: what each day shows, and nothing of the code under test.
_REAL = sorted((REAL / "more" / "sec").glob("company_tickers_exchange_*.json.gz"))
_MARKETS = {"Nasdaq": "XNAS", "NYSE": "XNYS", "CBOE": "XCBO", "OTC": "OTC"}
_FUNDS = re.compile(r"\b(ETF|ETN|ETP)s?\b", re.IGNORECASE)


def _shown(body: bytes) -> set[tuple[str, str]]:
    return {
        (mint("cik", f"{int(cik):010}"), f"{_MARKETS[exchange]}:{ticker}")
        for cik, name, ticker, exchange in json.loads(body)["data"]
        if exchange and not _FUNDS.search(name)
    }


@pytest.mark.nightly
@pytest.mark.shared
def test_eight_real_days_give_the_history_that_each_of_them_shows(tmp_path: Path) -> None:
    bodies = {
        date.fromisoformat(path.name[25:35]): gzip.decompress(path.read_bytes()) for path in _REAL
    }
    shown = {day: _shown(body) for day, body in bodies.items()}
    assert len(shown) == 8 and all(len(listings) > 9_000 for listings in shown.values())

    days = Days(tmp_path, bodies.items())
    for day, listings in shown.items():
        assert days.tickers(day) == listings
    # Between two days nothing changes: the last reading counts.
    assert days.tickers(date(2023, 12, 31)) == shown[date(2023, 2, 17)]
    meta = mint("cik", "0001326801")
    assert (meta, "XNAS:FB") in days.tickers(date(2022, 5, 19))
    assert {listing for filer, listing in days.tickers(date(2026, 8, 1)) if filer == meta} == {
        "XNAS:META"
    }
