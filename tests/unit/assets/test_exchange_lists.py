"""Exchange lists: one reader, a declaration for each list, and markets dated by ISO 10383."""

import gzip
import re
from collections import Counter
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assets.declared_files import DeclaredFileError, own_entries, read_entries
from assets.entities.identifiers import (
    comparable_listing,
    doubt_of,
    mint,
    operating_mic,
)
from assets.entities.list_files import BUILT_IN, ENTRIES, ListEntry
from assets.entities.sources import LIST_PARSER_VERSION, list_source
from assets.ingest.load import load_source
from assets.ingest.sources import SOURCES, source_of
from assets.parsing.parsed import Parsed
from assets.source import refuse_restricted
from tests.helpers.gleif import LEI, document
from tests.helpers.mic_lists import Market, read_list, vintages, with_list, write
from tests.helpers.parsed_rows import has_columns
from tests.helpers.paths import REAL
from tests.helpers.real_recordings import real_lists
from warehouse.record.as_of import vintages_query
from warehouse.record.incoming import to_arrow
from warehouse.record.landing import FetchedResponse, Landing
from warehouse.record.store import Record
from warehouse.record.tables import ENTITIES, IDENTIFIERS
from warehouse.shared.errors import LicenceError
from warehouse.shared.settings import read_settings

READ_ON = document().observed_at.date()
LEAST = """
[xx-list]
title = "A list"
licence.class = "cc0"
licence.name = "CC0"
everywhere.mic = "XNAM"
columns.ticker = "Code"
"""


def parse_list(declaration: str, body: str | bytes, folder: Path) -> Parsed:
    file = folder / "lists.toml"
    file.write_text(declaration, "utf-8")
    (entry,) = read_entries(file, ListEntry)
    return list_source(entry).parser.parse(
        document(), body.encode() if isinstance(body, str) else body
    )


def listings(body: str) -> Parsed:
    return next(s for s in SOURCES if s.key == "listings").parser.parse(document(), body.encode())


def identifiers(parsed: Parsed, *columns: str) -> list[tuple[Any, ...]]:
    return [tuple(row.get(name) for name in columns) for row in parsed.rows["identifiers"]]


def reasons(parsed: Parsed) -> list[str]:
    return [row.reason for rows in parsed.rejected.values() for row in rows]


def test_a_listing_is_a_ticker_of_the_issuer_of_its_isin() -> None:
    parsed = listings(
        "mic,ticker,isin,name,currency,status\n"
        "XJSE,UFM,US0378331005,Ubuntu Fictional Mining Ltd,ZAC,listed\n"
        "JSE,BAD,US0378331005,No Mic Ltd,ZAC,listed\n"
    )

    issuer = mint("isin", "US0378331005")
    columns = ("service_id", "id_type", "id_value", "issuer", "status", "currency")
    assert identifiers(parsed, *columns) == [
        (issuer, "isin", "US0378331005", None, None, None),
        (issuer, "ticker", "XJSE:UFM", "XJSE", "listed", "ZAR"),
    ]
    assert reasons(parsed) == ["no MIC or no ticker"]


def test_an_issuer_of_which_only_the_listing_is_known_is_an_organisation_too() -> None:
    parsed = listings("mic,ticker,isin,name\nXNAI,SCOM,,Fictional Telecoms Plc\n")

    (row,) = parsed.rows["entities"]
    assert row["service_id"] == mint("ticker", "XNAI:SCOM")
    assert (row["legal_name"], row["country"], row["jurisdiction"]) == (
        "Fictional Telecoms Plc",
        None,
        None,
    )


def test_a_list_names_organisations_but_no_persons() -> None:
    parsed = listings(
        "mic,ticker,isin,name,lei\n"
        "XJSE,UFM,US0378331005,Ubuntu Fictional Mining Ltd,\n"
        "XJSE,JNF,US5949181045,Jane Fictional,\n"
        "XJSE,MRF,US0231351067,Mr Jacob Fictional,\n"
        f"XJSE,LEI,US4592001014,Known Fictional Ltd,{LEI}\n"
    )

    (row,) = parsed.rows["entities"]
    assert row["service_id"] == mint("isin", "US0378331005")
    assert row["legal_name"] == "Ubuntu Fictional Mining Ltd"
    # Their listings are no personal data, and GLEIF's record names an issuer with an LEI.
    assert len(parsed.rows["identifiers"]) == 9
    assert reasons(parsed) == [
        "the name is withheld: no evidence",
        "the name is withheld: personal title",
    ]
    assert "Jane" not in str(parsed) and "Jacob" not in str(parsed)


@pytest.mark.parametrize(
    ("columns", "country"), [('columns.country = "Country"\n', "ZA"), ("", None)]
)
def test_the_prefix_of_an_isin_is_no_jurisdiction(
    columns: str, country: str | None, tmp_path: Path
) -> None:
    declaration = LEAST + 'columns.name = "Name"\ncolumns.isin = "ISIN"\n' + columns
    body = "Code,Name,ISIN,Country\nUFM,Ubuntu Fictional Mining Ltd,US0378331005,South Africa\n"

    (row,) = parse_list(declaration, body, tmp_path).rows["entities"]
    assert (row["jurisdiction"], row["country"]) == (None, country)


def test_shares_of_one_name_are_of_one_issuer() -> None:
    parsed = listings(
        "mic,ticker,isin,name\n"
        "BVMF,FIC3,US5949181045,FICTIONAL  OIL S.A.\n"
        "BVMF,FIC4,US0378331005,Fictional Oil S.A.\n"
        "BVMF,FIC11,,Fictional Oil S.A.\n"
    )

    assert {row["service_id"] for row in parsed.rows["identifiers"]} == {
        mint("isin", "US0378331005")
    }
    assert len(parsed.rows["entities"]) == 1


def test_an_isin_on_the_lines_of_two_issuers_identifies_neither() -> None:
    parsed = listings(
        "mic,ticker,isin,name\n"
        "XJSE,INL,GB00B17BBQ50,Fictional Bank Limited\n"
        "XJSE,INP,GB00B17BBQ50,Fictional Bank plc\n"
    )

    assert identifiers(parsed, "service_id", "id_type") == [
        (mint("ticker", "XJSE:INL"), "ticker"),
        (mint("ticker", "XJSE:INP"), "ticker"),
    ]
    assert reasons(parsed) == ["GB00B17BBQ50: the list gives it to issuers of different names"] * 2


def test_a_figi_is_kept_with_the_level_that_joins_the_most(tmp_path: Path) -> None:
    declaration = LEAST + (
        'columns.figi = "figi"\ncolumns.composite_figi = "composite"\n'
        'columns.share_class_figi = "class"\n'
    )
    body = (
        "Code,figi,composite,class\nUFM,BBG000BLNNH6,BBG000BLNNH6,BBG001S5S399\nX,BBG000BLNNH7,,\n"
    )

    parsed = parse_list(declaration, body, tmp_path)
    figis = [row for row in parsed.rows["identifiers"] if row["id_type"] == "figi"]
    assert {row["id_value"]: row["figi_level"] for row in figis} == {
        "BBG000BLNNH6": "composite",
        "BBG001S5S399": "share_class",
    }
    assert reasons(parsed) == ["'BBG000BLNNH7' is not a FIGI: its check digits are wrong"]


def test_a_daily_list_is_dated_by_its_day_and_any_other_by_the_day_it_was_read(
    tmp_path: Path,
) -> None:
    declaration = LEAST + 'columns.date = "Day"\ndate_formats = ["%d/%m/%Y"]\noptional = ["date"]\n'

    daily = parse_list(declaration, "Day,Code\n02/07/2019,UFM\n01/07/2099,GFM\n", tmp_path)
    undated = parse_list(declaration, "Code\nUFM\n", tmp_path)
    assert identifiers(daily, "available_at", "publication") == [
        (date(2019, 7, 2), "2019-07-02"),
        # No day after that of the reading: it was public then, whatever it says.
        (READ_ON, READ_ON.isoformat()),
    ]
    assert identifiers(undated, "available_at") == [(READ_ON,)]


def test_suffixes_marks_statuses_and_open_ends_are_read_as_declared(tmp_path: Path) -> None:
    declaration = LEAST + (
        "ticker_without = '\\.JO$|\\*+'\ndate_formats = [\"%d-%b-%y\"]\n"
        'columns.status = "gone"\nstatuses = { True = "delisted", False = "active" }\n'
        'columns.listed_from = "from"\ncolumns.listed_to = "to"\n'
    )
    body = (
        "Code,gone,from,to\nUFM.JO,True,06-OCT-08,2020-01-31\n**GFM**,False,,9999-12-31\n"
        "HFM,other,2020-01-02,2020-01-01\nIFM,,soon,\n"
    )

    parsed = parse_list(declaration, body, tmp_path)
    assert identifiers(parsed, "id_value", "status", "valid_from", "valid_to") == [
        ("XNAM:UFM", "delisted", date(2008, 10, 6), date(2020, 1, 31)),
        ("XNAM:GFM", "active", None, None),
        ("XNAM:HFM", "other", date(2020, 1, 2), None),
        ("XNAM:IFM", None, None, None),
    ]
    assert reasons(parsed) == [
        "listed until 2020-01-01, before 2020-01-02",
        "listed_from: 'soon' is no day in any form that is declared",
    ]


def test_what_is_no_share_is_left_out_and_counted(tmp_path: Path) -> None:
    declaration = LEAST + (
        'only.Segment = ["CASH"]\nleft_out.name = \'\\bETN\\b\'\ncolumns.name = "Name"\n'
    )
    body = (
        "Code,Name,Segment\nUFM,Fictional Mines Ltd,Cash\nA,An ETN on gold,CASH\n"
        "B,Fictional Bond,BONDS\nC,Fictional Bond,BONDS\n"
    )

    parsed = parse_list(declaration, body, tmp_path)
    assert identifiers(parsed, "id_value") == [("XNAM:UFM",)]
    assert reasons(parsed) == [
        "no shares of an issuer, by left_out.name of its declaration: 1 row",
        "no shares of an issuer, by only.Segment of its declaration: 2 rows",
    ]
    # Neither hides a share that seems to be missing, so what is missing can be withdrawn.
    assert all(row.partial for row in parsed.rejected["identifiers"])


def test_a_register_of_companies_is_evidence_unless_the_name_speaks_for_a_person(
    tmp_path: Path,
) -> None:
    declaration = LEAST + (
        'columns.register_number = "no"\nregister = "KR-DART"\ncolumns.name = "Name"\n'
    )
    body = (
        "Code,no,Name\n1,00434003,Fictonia\n2,00434004,Mr John Smith\n3,00000000,Other Fictonia\n"
    )

    open_to_all = parse_list(declaration, body, tmp_path)
    companies = parse_list(f"{declaration}companies_only = true\n", body, tmp_path)
    community = parse_list(
        f'{declaration}companies_only = true\nrank = "community"\n', body, tmp_path
    )
    assert "entities" not in open_to_all.rows

    def named(parsed: Parsed) -> list[tuple[str, str]]:
        return [(row["legal_name"], row["entity_type"]) for row in parsed.rows["entities"]]

    assert named(companies) == [("Fictonia", "company"), ("Other Fictonia", "company")]
    # Of a list that others put together, a ticker alone is no evidence.
    assert named(community) == [("Fictonia", "company")]
    assert "'00000000' is no number of a register" in reasons(companies)


def test_turkey_is_a_country_of_a_list(tmp_path: Path) -> None:
    declaration = LEAST + 'columns.name = "Name"\ncolumns.country = "Country"\n'
    names = ("Turkey", "TURKEY", "Türkiye", "TUR")
    body = "Code,Name,Country\n" + "".join(
        f"{number},Kurgu {number} Ltd,{name}\n" for number, name in enumerate(names)
    )

    parsed = parse_list(declaration, body, tmp_path)
    assert [row["country"] for row in parsed.rows["entities"]] == ["TR"] * len(names)
    assert reasons(parsed) == []


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ("licence = 3", "licence: must be an object, not 3"),
        ('columns.tickr = "Code"', "columns.tickr: there is no such member here; did you mean"),
        ('columns.register_number = "no"', "register: say which register the numbers are of"),
        ("ticker_without = '('", "ticker_without: not a regular expression"),
        ('optional = ["isni"]', "optional: isni is none of the members of columns"),
        ('addresses = ["/a"]', "addresses: needs base_url"),
        ('base_url = "x"', "base_url: 'x' is not a web address"),
    ],
)
def test_a_mistake_in_a_declaration_is_named(tmp_path: Path, change: str, says: str) -> None:
    declared = LEAST.replace('licence.class = "cc0"\nlicence.name = "CC0"\n', "")
    licence = "" if change.startswith("licence") else 'licence = { class = "cc0", name = "CC0" }\n'
    with pytest.raises(DeclaredFileError) as refused:
        parse_list(f"{declared}{licence}{change}\n", "", tmp_path)
    assert f"lists.toml: xx-list: {says}" in str(refused.value)
    assert "See docs/add-an-exchange-list.md" in str(refused.value)


def test_a_ticker_needs_a_market(tmp_path: Path) -> None:
    with pytest.raises(DeclaredFileError, match=r"everywhere\.mic: a ticker needs its market"):
        parse_list(LEAST.replace('everywhere.mic = "XNAM"\n', ""), "", tmp_path)


def test_a_licence_that_is_not_cleared_is_refused_until_a_file_says_that_it_is(
    tmp_path: Path,
) -> None:
    cleared = tmp_path / "cleared.toml"
    cleared.write_text('[in-nse]\nlicence = { class = "licensed", name = "Agreement of 2026" }\n')

    with pytest.raises(LicenceError, match="in-nse is refused: its licence"):
        refuse_restricted(source_of(read_settings({}), "in-nse"))
    source = source_of(read_settings({"SANKOFA_EXCHANGE_LISTS": str(cleared)}), "in-nse")
    refuse_restricted(source)
    built_in = source_of(read_settings({}), "in-nse")
    # Only the licence differs: its documents are not read again.
    assert (source.license_class, source.license_name) == ("licensed", "Agreement of 2026")
    assert source.parser.variant == built_in.parser.variant


def test_an_own_list_takes_no_key_of_another_source(tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    file.write_text(LEAST.replace("xx-list", "gleif"))

    with pytest.raises(DeclaredFileError, match="there is already a source of this key"):
        own_entries([file], ListEntry, {"gleif"})


def test_every_list_that_is_not_open_is_refused_by_default() -> None:
    open_lists = {entry.key for entry in ENTRIES if entry.licence.license_class != "restricted"}
    assert open_lists == {"listings", "finance-database", "cvm-register", "sec-tickers"}
    assert BUILT_IN.name == "exchange_lists.toml" and LIST_PARSER_VERSION > 1


def test_a_listing_at_a_segment_is_one_at_the_exchange() -> None:
    assert [operating_mic(mic) for mic in ("XNGS", "arcx", "XKOS", "XJSE", "ZZZ9")] == [
        *("XNAS", "XNYS", "XKRX", "XJSE", "ZZZ9")
    ]
    assert comparable_listing("XNGS:aapl") == comparable_listing("XNAS:AAPL") == "XNAS:AAPL"


def test_a_share_that_a_complete_list_no_longer_shows_was_delisted(tmp_path: Path) -> None:
    source = source_of(read_settings({}), "in-nse")
    source = replace(source, license_class="licensed", base_url="https://exchange.example")
    landing, record = Landing(str(tmp_path / "landing")), Record(str(tmp_path / "record"))
    header = "SYMBOL,NAME OF COMPANY, SERIES, DATE OF LISTING, ISIN NUMBER\n"
    stays = "UFM,Ubuntu Fictional Mining Limited,EQ,06-OCT-2008,US0378331005\n"
    # Its name is withheld, and that must not keep the other from being delisted.
    withheld = "DRF,Dr. Fictional Labs Limited,EQ,06-OCT-2008,US5949181045\n"
    goes = "KFB,Kalahari Fictional Breweries Limited,EQ,03-MAY-1995,US4592001014\n"
    for day, rows in ((1, stays + withheld + goes), (2, stays + withheld)):
        observed_at = datetime(2026, 7, day, tzinfo=UTC)
        url, body = "https://exchange.example/EQUITY_L.csv", (header + rows).encode()
        landing.land(FetchedResponse("in-nse", url, body, "licensed", observed_at, 200, {}))
    load_source(record, landing, source)

    def tickers(as_of: date) -> set[str]:
        relation = record.relation("identifiers")
        rows = record.query(vintages_query(IDENTIFIERS, relation, as_of=as_of)).to_pylist()
        return {row["id_value"] for row in rows if row["id_type"] == "ticker"}

    assert tickers(date(2026, 7, 1)) == {"XNSE:UFM", "XNSE:DRF", "XNSE:KFB"}
    assert tickers(date(2026, 7, 2)) == {"XNSE:UFM", "XNSE:DRF"}


@given(st.binary())
def test_any_bytes_are_rows_or_rejections(body: bytes) -> None:
    parse = next(s for s in SOURCES if s.key == "listings").parser.parse
    assert_rows_fit(parse(document(), b"mic,ticker,isin\n" + body))


def assert_rows_fit(parsed: Parsed) -> None:
    for table in (ENTITIES, IDENTIFIERS):
        rows = parsed.rows.get(table.name, [])
        assert all(has_columns(row, table) for row in rows)
        assert to_arrow(table, rows)[1] == []
    assert parsed.rows or parsed.rejected


# What may be refused in a real list, and nothing else.
_EXPLAINED = re.compile(
    r"the name is withheld: \w+ \w+"
    r"|no shares of an issuer, by \S+ of its declaration: \d+ rows?"
    r"|[A-Z0-9]{12}: the list gives it to issuers of different names"
    r"|'\w+' is not an ISIN: its check digits are wrong"
)


@pytest.mark.nightly
@pytest.mark.shared
def test_every_real_list_is_read_and_every_rejection_is_explained(
    capsys: pytest.CaptureFixture[str],
) -> None:
    by_key = {source.key: source for source in SOURCES}
    table = ["list                 organisations named  listings ISINs  FIGIs  refused"]
    for recording in real_lists():
        body = recording.path.read_bytes()
        body = gzip.decompress(body) if recording.path.suffix == ".gz" else body
        parsed = by_key[recording.source].parser.parse(document(), body)
        assert_rows_fit(parsed)
        unexplained = [each for each in reasons(parsed) if not _EXPLAINED.fullmatch(each)]
        assert unexplained == []
        kinds = Counter(row["id_type"] for row in parsed.rows["identifiers"])
        issuers = {row["service_id"] for row in parsed.rows["identifiers"]}
        table.append(
            f"{recording.path.name:20.20} {len(issuers):>13}"
            f" {len(parsed.rows.get('entities', ())):>5}"
            f" {kinds['ticker']:>9} {kinds['isin']:>5} {kinds['figi']:>6} {len(reasons(parsed)):>8}"
        )
    with capsys.disabled():
        print("", *table, sep="\n")
    assert len(table) > 12


BEFORE = (
    '"COUNTRY","ISO COUNTRY CODE (ISO 3166)","MIC","OPERATING MIC","O/S","ACRONYM","STATUS DATE",'
    '"STATUS","CREATION DATE"\n'
    '"SOUTH AFRICA","ZA","XFIC","XFIC","O","FSE","MARCH 2011","ACTIVE","BEFORE JUNE 2005"\n'
    '"SOUTH AFRICA","ZA","XFIS","XFIC","S","","MARCH 2011","ACTIVE","JUNE 2005"\n'
)
SINCE = (
    "MIC,OPERATING MIC,OPRT/SGMT,LEI,ACRONYM,ISO COUNTRY CODE (ISO 3166),STATUS,CREATION DATE,"
    "LAST UPDATE DATE,EXPIRY DATE\n"
    "XFIC,XFIC,OPRT,213800FICTIONAL00144,FSE,ZA,ACTIVE,20050627,20110328,\n"
    "XFIS,XFIC,SGMT,,,ZA,EXPIRED,20050627,20240102,20240102\n"
)
XML = """<dataroot><ISO10383_MIC><MIC>XFIS</MIC><OPERATING_x0020_MIC>XFIC</OPERATING_x0020_MIC>
<OPRT_x002F_SGMT>SGMT</OPRT_x002F_SGMT><STATUS>EXPIRED</STATUS>
<ISO_x0020_COUNTRY_x0020_CODE_x0020__x0028_ISO_x0020_3166_x0029_>ZA</ISO_x0020_COUNTRY_x0020_CODE_x0020__x0028_ISO_x0020_3166_x0029_>
<CREATION_x0020_DATE>20050627</CREATION_x0020_DATE><EXPIRY_x0020_DATE>20240102</EXPIRY_x0020_DATE>
<LAST_x0020_UPDATE_x0020_DATE>20240102</LAST_x0020_UPDATE_x0020_DATE>
</ISO10383_MIC></dataroot>"""
FIRST, SECOND, THIRD = date(2021, 5, 18), date(2025, 1, 29), date(2026, 1, 9)


def test_lists_of_before_and_since_2022_have_the_same_markets() -> None:
    (old, old_segment), no_problems = read_list(BEFORE.encode(), FIRST)
    (new, new_segment), _ = read_list(SINCE.encode(), SECOND)

    assert no_problems == []
    assert (old.kind, old.acronym, old.created, old.updated) == ("operating", "FSE", "", "2011-03")
    assert (new.kind, new.created, new.lei) == ("operating", "2005-06-27", "213800FICTIONAL00144")
    assert (old_segment.status, old_segment.created) == ("active", "2005-06")
    assert (new_segment.status, new_segment.expired) == ("expired", "2024-01-02")


def test_a_market_has_a_vintage_for_each_list_that_says_something_new() -> None:
    known: list[Market] = []
    for body, day in ((BEFORE, FIRST), (SINCE, SECOND), (XML, THIRD)):
        known = with_list(known, read_list(body.encode(), day)[0])

    days = [each.listed_on for each in known if each.mic == "XFIS"]
    assert days == ["2021-05-18", "2025-01-29"]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (("XFIS,XFIC", "XFI,XFIC"), "'XFI' is no MIC"),
        (("XFIC,SGMT", "XFIC,OTHER"), "neither operating nor a segment"),
        (("00144", "00145"), "is no LEI"),
        (("20240102\n", "20241302\n"), "month must be in"),
        (("XFIS,", "XFIC,"), "more than once"),
    ],
)
def test_a_row_that_is_no_market_has_a_reason(change: tuple[str, str], reason: str) -> None:
    markets, problems = read_list(SINCE.replace(*change).encode(), SECOND)

    assert len(markets) < 2
    assert [reason in problem for problem in problems] == [True]


def test_a_market_is_known_as_the_last_list_up_to_a_day_had_it() -> None:
    # The list of 2021 has it as active, that of 2025 as expired.
    assert doubt_of("XOCH", SECOND) == "XOCH expired on 2021-08-23"
    assert doubt_of("XOCH", date(2021, 8, 22)) is None
    assert doubt_of("ZZZZ", SECOND) == "ZZZZ is on no list of ISO 10383"
    assert doubt_of("xjse", SECOND) is None


@pytest.mark.shared
def test_the_declared_markets_are_those_of_the_real_lists(tmp_path: Path) -> None:
    mic = REAL / "more/identity/mic"
    bodies = {
        FIRST: gzip.decompress((mic / "ISO10383_MIC_2021-05.csv.gz").read_bytes()),
        SECOND: gzip.decompress((mic / "ISO10383_MIC_2025-01.csv.gz").read_bytes()),
        THIRD: (REAL / "iso/ISO10383_MIC_2026-01.xml").read_bytes(),
    }
    markets: list[Market] = []
    for day, body in bodies.items():
        listed, problems = read_list(body, day)
        assert len(listed) > 2_000 and problems == []
        markets = with_list(markets, listed)
    assert tuple(markets) == vintages()
    write(markets, tmp_path / "mics.csv")
    assert (tmp_path / "mics.csv").read_bytes().count(b"\n") == len(markets) + 1
