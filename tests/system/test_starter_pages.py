"""The pages of the starter world: each has rows or says why not, and its story is told by links."""

import re
from collections.abc import Iterator
from urllib.parse import urljoin

import pytest

from tests.helpers.installation import starter_home
from tests.helpers.made_once import copy_of
from tests.helpers.rest_service import Served, world_of
from tests.helpers.site import SERVICE_PAGES, addresses, served_site

_LISTS = (
    *("issuers", "screen", "screen?as_of=2019-12-31", "search?q=gold", "tenders", "buyers"),
    *("suppliers", "series", "indicators", "countries", "issuers?sort=restated"),
)
_TABLE = re.compile(r"<table\b.*?</table>", re.DOTALL)
# Why there is nothing: what this installation lacks, or what it needs first.
_REASON = re.compile(r"This installation has no|The filings in this installation|None so far")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    home = copy_of(starter_home(tmp_path_factory), "starter-pages", tmp_path_factory)
    with served_site(world_of(home)) as running:
        yield running


def opened(server: Served, path: str) -> str:
    status, _, body = server.get(path, Accept="text/html")
    assert status == 200, path
    return body.decode()


def test_every_page_has_rows_or_says_why_not(server: Served) -> None:
    for address in (*_LISTS, *SERVICE_PAGES, *addresses()):
        page = opened(server, f"/{address}").partition("<main")[2].partition("</main>")[0]
        # The usage of a key is requested when the visitor wants it.
        if address == "usage" or "data-docs" in address or _REASON.search(page):
            continue
        for table in _TABLE.findall(page):
            assert "<td" in table and "no country" not in table, (address, table[:300])


def test_a_list_of_companies_without_countries_has_no_column_for_them(server: Served) -> None:
    for address in ("/issuers", "/screen"):
        page = opened(server, address)
        assert ">Country<" not in page and 'name="country"' not in page, address


def test_links_lead_from_the_first_page_to_a_figure_that_was_restated_and_its_filings(
    server: Served,
) -> None:
    """Gold Fields' operating cash flow of 2017: 762.4 million, a year later 732.0 million."""
    address = "/"
    for words in ("Companies", "GOLD FIELDS LTD", "Cash flow from operations"):
        page = opened(server, address)
        links = re.findall(r'<a\b[^>]*href="([^"]+)"[^>]*>([^<]+)</a>', page)
        address = urljoin(address, next(to for to, text in links if text == words))
    page = opened(server, address)
    row = page.partition('>FY2017</th><td class="said">')[2].partition("</tr>")[0]
    assert row.startswith("Cut by 4.0 % on 2020-04-06, 20-F<")
    cells = re.findall(r'<a class="(then|now)" href="([^"]+)"[^>]*><data value="(\d+)"', row)
    assert [(tone, value) for tone, _, value in cells][-2:] == [
        ("then", "762400000"),
        ("now", "732000000"),
    ]
    assert all("/edgar/data/1172724/" in to for _, to, _ in cells)
