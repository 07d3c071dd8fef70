"""Files of portals: what is read, and that every mistake is named with its file and member."""

from datetime import date
from pathlib import Path

import pycountry
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assets.declared_files import DeclaredFileError
from assets.fetching.fetchers import Window
from assets.ingest.sources import SOURCES, sources_of
from assets.tenders.portal_files import (
    ENTRIES,
    Portal,
    Quirks,
    read_portals,
)
from assets.tenders.requests import RECENT, PeriodKind, periods_of
from assets.tenders.sources import portal_source
from tests.helpers.tenders import PORTALS
from warehouse.shared.data_files import HOME_CURRENCY
from warehouse.shared.settings import read_settings

LEAST = """[xx-test]
country = "UG"
title = "A portal"
base_url = "https://portal.example"
licence.class = "cc0"
licence.name = "CC0"
licence.stated_at = "https://portal.example/terms"
"""
LINKS = 'request = { shape = "links", address = "/a" }'


def written(folder: Path, text: str) -> Path:
    file = folder / "own.toml"
    file.write_text(text, "utf-8")
    return file


def problem(folder: Path, text: str) -> str:
    file = written(folder, text)
    with pytest.raises(DeclaredFileError) as refused:
        read_portals(file)
    message = str(refused.value)
    assert message.startswith(f"{file}: ")
    return message.removeprefix(f"{file}: ")


def test_a_portal_needs_no_more_than_country_title_address_and_licence(tmp_path: Path) -> None:
    (entry,) = read_portals(written(tmp_path, LEAST))
    source = portal_source(entry)
    assert (source.key, source.license_class, source.license_url) == (
        "xx-test",
        "cc0",
        "https://portal.example/terms",
    )
    assert (source.fetch, source.tried, source.world) == (None, None, "real")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[xx-test", "not TOML"),
        (LEAST.replace("xx-test", "XX_Test"), "XX_Test: a key is lower-case letters"),
        ("xx-test = 3", "begin a table for each source: [xx-test]"),
        (LEAST + 'key = "x"', "xx-test: key: the key is the name of the table"),
        (LEAST.replace("country", "contry"), "xx-test: contry: there is no such member here; did"),
        (LEAST + "quirks.zero_is_unknow = true", "did you mean zero_is_unknown?"),
        (
            LEAST + 'quirks.zero_is_unknown = "yes"',
            "quirks.zero_is_unknown: must be a valid boolean, not 'yes'",
        ),
        (
            LEAST + 'quirks.sentinel_dates = ["1 Jan"]',
            "quirks.sentinel_dates[0]: must be a valid date",
        ),
        (
            LEAST + 'words.award_state = ["Adjudecado"]',
            "words.award_state: there is no such member",
        ),
        (LEAST + 'words.award_status = [""]', "words.award_status[0]: must have at least 1 char"),
        (LEAST + 'words.tag = ["Tender Update"]', "words.tag: 'Tender Update' is read as 'tenderU"),
        (LEAST + 'words.role = ["A-b", "AB"]', "words.role: 'AB' is read as 'A-b' already; leave"),
        (LEAST.replace('title = "A portal"', ""), "xx-test: title: is missing"),
        (LEAST.replace('"A portal"', '""'), "xx-test: title: must have at least 1 character"),
        (LEAST.replace('"UG"', '"Uganda"'), "xx-test: country: "),
        (LEAST.replace('"UG"', '"QQ"'), "xx-test: country: QQ is not the code of a country"),
        (LEAST.replace('licence.class = "cc0"\n', ""), "xx-test: licence.class: is missing"),
        (
            LEAST.replace('"cc0"', '"free"'),
            "xx-test: licence.class: must be 'public-domain', 'cc0'",
        ),
        (
            LEAST.replace('licence.stated_at = "https://portal.example/terms"', ""),
            "xx-test: licence.stated_at: give the address of the page that states this licence",
        ),
        (
            LEAST.replace("https://portal.example/terms", "on paper"),
            "licence.stated_at: 'on paper'",
        ),
        (LEAST.replace('portal.example"\n', 'portal.example/"\n'), "base_url: leave out the slash"),
        (
            LEAST.replace("https://portal.example", "portal.example", 1),
            "base_url: 'portal.example'",
        ),
        (LEAST + "since = 2024", "xx-test: since: must be a valid date"),
        (
            LEAST + 'cadence = "weekly"',
            "cadence: must be 'daily' or 'monthly', not 'weekly'",
        ),
        (LEAST + 'release_url = "/{id}"', "release_url: {id} is not known here; possible: {ocid}"),
        (LEAST + 'request = { address = "/a" }', "xx-test: request.shape: is missing"),
        (
            LEAST + 'request = { shape = "rss", address = "/a" }',
            "request.shape: invalid value 'rss'",
        ),
    ],
)
def test_every_mistake_is_named_with_its_file_portal_and_member(
    tmp_path: Path, text: str, says: str
) -> None:
    assert says in problem(tmp_path, text)


@pytest.mark.parametrize(
    ("request_", "says"),
    [
        ('shape = "links"', "request.address: is missing"),
        ('shape = "links"\naddress = "a"', "request.address: must begin with /"),
        ('shape = "links"\naddress = "/{year}"', "request.address: {year} is not known here"),
        ('shape = "links"\naddress = "/{page.x}"', "request.address: {page.x} is not known here"),
        ('shape = "links"\naddress = "/{page"', "request.address: '/{page': expected '}'"),
        ('shape = "files"\naddress = "/{month:zz}"\nperiod = "month"', "{month:zz} cannot be"),
        ('shape = "files"\naddress = "/{page}"', "request.ends_on: {page} needs the status"),
        ('shape = "links"\naddress = "/a"\nitems = "x"', "request.items: there is no such member"),
        (
            'shape = "files"\naddress = "/a"\nends_on = [404]\nrepeats_on = [404]',
            "404 is in ends_on",
        ),
        ('shape = "files"\naddress = "/a"\nends_on = [200]', "request.ends_on[0]: must be gr"),
        ('shape = "files"\naddress = "/a"\nperiod = "financial-year"', "request.year_starts: give"),
        ('shape = "files"\naddress = "/a"\nyear_starts = 7', "request.year_starts: give"),
        ('shape = "files"\naddress = "/a"\neach = { x = ["1"] }', "no pattern uses {x}"),
        ('shape = "files"\naddress = "/a"\ndelay = 0', "request.delay: must be greater than 0"),
        (
            'shape = "files"\naddress = "/{x}"\neach = { x = [] }',
            "request.each.x: must have at least 1 item, not []",
        ),
        ('shape = "index"\naddress = "/a"', "request.pattern: say what names a document"),
        (
            'shape = "index"\naddress = "/a"\nname = "i"\npattern = "(x)"',
            "request.pattern: say what",
        ),
        ('shape = "index"\naddress = "/a"\npattern = "x"', "request.pattern: needs one group"),
        ('shape = "index"\naddress = "/a"\npattern = "("', "request.pattern: not a regular"),
        ('shape = "index"\naddress = "/a"\nitems = "i"\ndated = "(x)"', "request.dated: needs the"),
        ('shape = "index"\naddress = "/a"\nitems = "i"\ndocument = "/b"', "request.document: the "),
        ('shape = "index"\naddress = "/a"\nitems = "i"\nnext = "n"', "request.next: paging needs"),
        ('shape = "index"\naddress = "/{cursor}"\nitems = "i"', "request.cursor: {cursor} needs"),
        (
            'shape = "index"\naddress = "/{offset}"\nitems = "i"',
            "request.page_size: {offset} needs",
        ),
        (
            'shape = "index"\naddress = "/a"\nitems = "i"\nbody = { x = "{pag}" }',
            "request.body.x: {pag} is not known here",
        ),
    ],
)
def test_a_request_that_cannot_work_is_refused_before_it_is_sent(
    tmp_path: Path, request_: str, says: str
) -> None:
    assert says in problem(tmp_path, f"{LEAST}[xx-test.request]\n{request_}")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(DeclaredFileError, match=r"none\.toml: cannot be read \(No such file"):
        read_portals(tmp_path / "none.toml")


def test_a_key_that_exists_is_refused_whether_built_in_or_of_another_file(tmp_path: Path) -> None:
    own = written(tmp_path, LEAST)
    again = tmp_path / "again.toml"
    again.write_text(LEAST)
    built_in = tmp_path / "built-in.toml"
    built_in.write_text(LEAST.replace("xx-test", "za-etenders"))
    for files in (f"{own},{again}", str(built_in)):
        with pytest.raises(DeclaredFileError, match="already a source of this key"):
            sources_of(read_settings({"SANKOFA_PORTALS": files}))


def test_portals_of_own_files_are_sources_beside_the_built_in_ones(tmp_path: Path) -> None:
    quirks = "quirks.sentinel_dates = [1900-01-01]\n"
    own = written(tmp_path, LEAST + quirks + LINKS)
    spaced = tmp_path / "my portals.toml"
    spaced.write_text(LEAST.replace("xx-test", "xx-other"))
    settings = read_settings({"SANKOFA_PORTALS": f"{own}, {spaced}"})
    sources = sources_of(settings)
    assert [source.key for source in sources[len(SOURCES) :]] == ["xx-test", "xx-other"]
    assert sources[: len(SOURCES)] == SOURCES
    assert sources_of(read_settings({})) == SOURCES
    assert '"sentinel_dates":["1900-01-01"]' in (sources[-2].parser.variant or "")


def test_quirks_are_part_of_what_decides_how_documents_are_read(tmp_path: Path) -> None:
    plain = portal_source(read_portals(written(tmp_path, LEAST))[0])
    renamed = portal_source(read_portals(written(tmp_path, LEAST + 'notes = "x"'))[0])
    changed = LEAST + "quirks.zero_is_unknown = true"
    quirky = portal_source(read_portals(written(tmp_path, changed))[0])
    assert plain.parser.variant == renamed.parser.variant != quirky.parser.variant


def test_every_quirk_of_an_entry_reaches_the_parser() -> None:
    assert set(Quirks.model_fields) <= set(Portal.__dataclass_fields__)


def test_a_licence_that_nobody_stated_is_refused_or_left_to_each_package(tmp_path: Path) -> None:
    text = LEAST.replace('"cc0"', '"{}"').replace(
        'licence.stated_at = "https://portal.example/terms"\n', ""
    )
    unknown = portal_source(read_portals(written(tmp_path, text.format("not-stated")))[0])
    each = portal_source(read_portals(written(tmp_path, text.format("per-package")))[0])
    assert not unknown.permitted
    assert each.permitted
    assert each.license_class == "licensed"


def test_every_built_in_portal_without_a_stated_licence_accepts_no_package_without_one() -> None:
    for entry in ENTRIES:
        stated = entry.licence.stated_at is not None
        assert stated == (entry.licence.license_class != "per-package"), entry.key
        assert (PORTALS[entry.key].license_class is None) == (not stated)


def test_every_country_has_a_currency() -> None:
    countries = {country.alpha_2 for country in pycountry.countries}
    # Antarctica has none, and no one lives on South Georgia.
    assert countries - {"AQ", "GS"} == HOME_CURRENCY.keys() - {"XK"}
    assert set(HOME_CURRENCY.values()) <= {money.alpha_3 for money in pycountry.currencies}
    assert {entry.country for entry in ENTRIES} <= HOME_CURRENCY.keys()


DAYS = st.dates(date(2000, 1, 1), date(2030, 12, 31))


@given(
    kind=st.sampled_from(["day", "month", "year", "financial-year", "window"]),
    first=DAYS,
    days=st.integers(0, 800),
    year_starts=st.integers(1, 12),
)
def test_the_periods_of_a_window_cover_each_of_its_days_once(
    kind: PeriodKind, first: date, days: int, year_starts: int
) -> None:
    last = date.fromordinal(first.toordinal() + days)
    found = periods_of(kind, Window(first, last), last, year_starts=year_starts)
    covered = [
        day
        for period in found
        for day in range(period.first.toordinal(), period.last.toordinal() + 1)
    ]
    assert covered == sorted(set(covered))
    assert covered == list(range(covered[0], covered[-1] + 1))
    assert covered[0] <= first.toordinal()
    assert last.toordinal() <= covered[-1]
    assert found[0].last >= first
    assert found[-1].first <= last


@given(kind=st.sampled_from(["day", "month", "year", "financial-year"]), today=DAYS, since=DAYS)
def test_without_a_window_the_recent_periods_are_asked_but_none_before_a_portal_began(
    kind: PeriodKind, today: date, since: date
) -> None:
    found = periods_of(kind, Window(), today, since, 7)
    if since > today:
        assert found == []
        return
    assert found[-1].first <= today <= found[-1].last
    assert 1 <= len(found) <= RECENT[kind] + 1
    assert all(period.last >= since for period in found)
