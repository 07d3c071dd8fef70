"""Lists of ISO 10383 of any year: markets with vintages, dated by the lists."""

import gzip
from datetime import date
from pathlib import Path

import pytest

from assets.entities.identifiers import doubt_of
from tests.helpers.mic_lists import Market, read_list, vintages, with_list, write
from tests.helpers.paths import REAL

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
