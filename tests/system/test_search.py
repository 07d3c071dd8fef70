"""Search over everything that is served."""

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.helpers.installation import sample_home, settings_of
from tests.helpers.publishing import publish
from tests.helpers.reads import entities_found, search
from tests.helpers.record_rows import entity_row, load, party_row, release_row
from tests.helpers.whole_tables import query as query_tables
from tests.helpers.withheld_key import WITHHELD_KEY
from warehouse.names.search_words import name_key, terms
from warehouse.publish.mart_files import SqliteLoader
from warehouse.record.store import Record
from warehouse.record.tables import ENTITIES, TENDER_PARTIES, TENDER_RELEASES
from warehouse.record.withheld import name_subject, withhold
from warehouse.serve.build import Mart
from warehouse.serve.engines import FileReader, OpenFiles
from warehouse.serve.search import text_matches

Row = dict[str, Any]


@pytest.fixture(scope="module")
def mart(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mart]:
    """Return the published sample world."""
    with closing(Mart(settings_of(sample_home(tmp_path_factory)).marts)) as published:
        yield published


def found(mart: Mart, query: str, **filters: Any) -> list[Row]:
    return [json.loads(row) for row in search(mart, query, **filters).rows]


def rows_of(mart: Mart, table: str) -> list[Row]:
    return [json.loads(row) for (row,) in query_tables(mart.build(), f"SELECT row FROM {table}")]


def test_every_organisation_is_found_first_by_its_legal_name_and_by_its_lei(mart: Mart) -> None:
    organisations = rows_of(mart, "entities")
    assert len(organisations) > 20
    names = [name_key(row["legal_name"]) for row in organisations]
    for row in organisations:
        by_name = found(mart, row["legal_name"], limit=names.count(name_key(row["legal_name"])))
        assert {"exact"} >= {each["match"] for each in by_name}
        assert row["service_id"] in [each["id"] for each in by_name]
        (by_id,) = found(mart, f"the organisation {row['service_id']}")
        assert (by_id["id"], by_id["match"]) == (row["service_id"], "identifier")
        if row["lei"] is not None:
            (by_lei,) = found(mart, f"LEI {row['lei'].lower()}")
            assert (by_lei["id"], by_lei["match"]) == (row["service_id"], "identifier")
            assert by_lei["matched"] == row["lei"]


def test_a_ticker_is_found_with_and_without_its_exchange(mart: Mart) -> None:
    row, ticker = next(
        (row, listing["ticker"])
        for row in rows_of(mart, "entities")
        for listing in row["listings"]
        if listing["mic"] == "XJSE"
    )
    for query in (ticker, f"XJSE:{ticker}", f"jse:{ticker}", f"{ticker} JSE", f"ticker {ticker}"):
        first, *_ = found(mart, query)
        assert (first["id"], first["match"]) == (row["service_id"], "identifier"), query
        assert first["matched"].endswith(f":{ticker}") and f"XJSE:{ticker}" in first["listings"]
    for listing in first["listings"]:
        assert found(mart, listing)[0]["matched"] == listing


def test_an_isin_is_found_and_a_number_of_the_paid_crosswalk_is_not(mart: Mart) -> None:
    identifiers = rows_of(mart, "identifiers")
    isin = next(row for row in identifiers if row["id_type"] == "isin")
    number = next(row for row in identifiers if row["id_type"] == "registry")
    assert found(mart, isin["id_value"])[0]["matched"] == isin["id_value"]
    assert "identifier" not in {row["match"] for row in found(mart, number["id_value"])}


def test_an_exchange_finds_what_is_listed_there(mart: Mart) -> None:
    for query in ("Nigerian stock exchange", "NGX", "XNSA"):
        rows = found(mart, query, kinds=("organisation",), limit=100)
        assert rows and all(any("XNSA" in each for each in row["listings"]) for row in rows)


@pytest.mark.parametrize(
    "query",
    [
        "Harmatan brewery, somewhere in Namibia",
        "harmattan breweries",
        "Harmattan Brewery",
        "HARMATTAN FICTIONAL BREWERIES PLC",
        "Hârmattan Fictional Breweries Limited",
        "The Harmattan Fictional Breweries (Proprietary) Limited",
    ],
)
def test_a_name_is_found_however_it_is_spelled(query: str, mart: Mart) -> None:
    first, *_ = found(mart, query)
    assert (first["kind"], first["country"]) == ("organisation", "NA")
    assert first["name"].startswith("Harmattan Fictional Breweries")


def test_how_a_row_matches_is_said_and_better_matches_come_first(mart: Mart) -> None:
    name = "Harmattan Fictional Breweries"
    assert found(mart, f"{name} Ltd")[0]["match"] == "exact"
    assert found(mart, name)[0]["match"] == "prefix"
    assert found(mart, "breweries harmattan")[0]["match"] == "words"
    assert found(mart, "Harmatan brewery")[0]["match"] == "near"
    assert found(mart, "Harmattan", limit=1)[0]["matched"].startswith("Harmattan")
    order = ["identifier", "exact", "prefix", "words", "near"]
    for query in ("ubuntu", "bank", "fictional", "XNYS", "kenya"):
        places = [order.index(row["match"]) for row in found(mart, query)]
        assert places == sorted(places) and places, query


def test_nothing_is_found_twice_and_pages_give_the_same_rows(mart: Mart) -> None:
    for query in ("fictional", "south africa", "harmatan brewery", "kenya"):
        whole = search(mart, query)
        ids = [(row["kind"], row["id"]) for row in map(json.loads, whole.rows)]
        assert len(set(ids)) == len(ids) > 0
        paged, after = list[bytes](), None
        while True:
            page = search(mart, query, limit=3, after=after)
            paged += page.rows
            if not page.truncated:
                break
            after = page.key_of(len(page.rows))
        assert paged == list(whole.rows)


def test_kinds_and_countries_narrow_a_search(mart: Mart) -> None:
    everything = found(mart, "south africa")
    assert {row["kind"] for row in everything} >= {"organisation", "series", "indicator"}
    for kind in ("organisation", "series", "indicator"):
        rows = [row for row in everything if row["kind"] == kind]
        assert found(mart, "south africa", kinds=(kind,)) == rows
    for code in ("ke", "KEN"):
        rows = found(mart, "fictional", kinds=("organisation",), country=code)
        assert rows and {row["country"] for row in rows} == {"KE"}
    assert found(mart, "fictional", country="XXX") == []


def test_series_indicators_panels_and_buyers_are_found(mart: Mart) -> None:
    assert found(mart, "FX.EUR.ZAR")[0]["kind"] == "series"
    assert found(mart, "fx South Africa")[0]["kind"] == "series"
    assert found(mart, "NY.GDP.MKTP.CD")[0]["match"] == "identifier"
    assert found(mart, "single bid", kinds=("panel",))[0]["id"] == "single-bid-rate"
    parties = [row for row in rows_of(mart, "tender_parties") if row["role"] == "buyer"]
    assert parties
    for party in parties:
        wanted = ("organisation", party["service_id"]) if party["service_id"] else ("buyer",)
        rows = found(mart, party["name"])
        matching = [row for row in rows if (row["kind"], row["id"])[: len(wanted)] == wanted]
        assert "exact" in {row["match"] for row in matching}, party["name"]


@pytest.mark.parametrize(
    ("query", "id_part"),
    [
        ("inflation", "CPI"),
        ("Inflation rate in Kenya", "FICKENCPI"),
        ("consumer prices", "CPI"),
        ("gross domestic product", "GDP"),
        ("exchange rate South Africa", "ZAR"),
        ("population", "SP.POP"),
    ],
)
def test_series_are_found_by_their_subject(query: str, id_part: str, mart: Mart) -> None:
    rows = [row for kind in ("series", "indicator") for row in found(mart, query, kinds=(kind,))]
    rows = [row for row in rows if row["match"] != "near"]
    assert any(id_part in row["id"] for row in rows)
    assert {row["match"] for row in rows} == {"words"}


def test_only_what_is_served_can_be_found(mart: Mart) -> None:
    served = {
        name
        for row in rows_of(mart, "entities")
        for name in (row["legal_name"], *(row["other_names"] or ()))
    }
    served |= {row["name"] for row in rows_of(mart, "tender_parties") if row["role"] == "buyer"}
    rows = rows_of(mart, "search")
    named = [row for row in rows if row["kind"] in ("organisation", "buyer")]
    found_by = {name for row in named for name in (row["name"], *row["other_names"])}
    assert found_by and found_by <= served


def test_a_withheld_name_is_found_by_nobody(tmp_path: Path) -> None:
    record, secret = Record(str(tmp_path / "record")), WITHHELD_KEY.encode()
    load(record, ENTITIES, entity_row(service_id="DCA1", legal_name="Alpha Fictional Works Ltd"))
    for number, name in enumerate(("City of Nowhere", "City of Somewhere"), 1):
        release = {"buyer": {"name": name}, "tender": {"title": "Grading of roads"}}
        buyer = release_row(number, country="ZA", ocid=f"o{number}", release=json.dumps(release))
        load(record, TENDER_RELEASES, buyer)
        party = party_row(
            ocid=f"o{number}",
            release_id=buyer["release_id"],
            country="ZA",
            role="buyer",
            name=name,
            party_key=f"k{number}",
        )
        load(record, TENDER_PARTIES, party)
    withhold(record, [name_subject(secret, "City of Nowhere")], "reported", "op", secret)
    publish(record, tmp_path / "mart")
    with closing(Mart(tmp_path / "mart")) as mart:
        rows = found(mart, "city of nowhere")
        assert [row["name"] for row in rows] == ["City of Somewhere"]
        words = query_tables(mart.build(), "SELECT word FROM vocabulary")
        assert ("somewhere",) in words and ("nowhere",) not in words


def test_organisations_found_are_their_records_with_how_they_match(mart: Mart) -> None:
    rows = found(mart, "harmattan", kinds=("organisation",))
    records = [json.loads(row) for row in entities_found(mart, "harmattan").rows]
    assert [record["service_id"] for record in records] == [row["id"] for row in rows]
    assert [record.pop("match") for record in records] == [row["match"] for row in rows]
    own = {row["service_id"]: row for row in rows_of(mart, "entities")}
    assert records and all(record == own[record["service_id"]] for record in records)


ODD_TEXTS = (
    "Grading of rural roads",
    "Société d'Électricité n° 5/2024 (S.A.)",
    "⑴ ﷺ ½ ① Ⅷ ﬁre İstanbul Straße",
    "日本 العربية हिन्दी Ελλάδα",
    "x\" OR name:y* -z 'a' & b | c:* \\ \0",
    "w" * 300,
    "",
    "!!",
)


def test_a_text_is_found_by_each_of_its_words_and_by_no_other(tmp_path: Path) -> None:
    vocabulary = {word for text in ODD_TEXTS for word in terms(text)}
    rows = [(number, " ".join(terms(text)), "more") for number, text in enumerate(ODD_TEXTS, 1)]
    columns = [pa.array(column) for column in zip(*rows, strict=True)]
    words = pa.table(columns, names=["row_number", "name", "more"])
    with SqliteLoader(tmp_path, "0" * 32) as file:
        file.load_words(words.to_reader())
    path, files = str(tmp_path / file.written("search", "", 1).path), OpenFiles()
    reader = FileReader("", lambda statement, values: files.query(path, statement, values))
    for word in sorted(vocabulary):
        wanted = [
            n
            for n, text in enumerate(ODD_TEXTS, 1)
            if any(
                each == word or (len(word) > 2 and each.startswith(word)) for each in terms(text)
            )
        ]
        assert _rows(reader, word, only_names=True) == wanted, word
    for number, text in enumerate(ODD_TEXTS, 1):
        assert (number in _rows(reader, text, only_names=True)) == bool(terms(text))
    assert _rows(reader, "more", only_names=True) == []
    assert len(_rows(reader, "more", only_names=False)) == len(ODD_TEXTS)


def _rows(reader: FileReader, text: str, only_names: bool) -> list[int]:
    condition = text_matches(text, "name" if only_names else "")
    numbers = ", ".join(f"({number})" for number in range(1, len(ODD_TEXTS) + 1))
    rows = reader.run(
        f"SELECT row_number FROM (SELECT column1 AS row_number FROM (VALUES {numbers}) AS listed) "
        f"AS numbered WHERE {condition.sql}",
        condition.values,
    )
    return sorted(int(number) for (number,) in rows)
