"""Pages are rendered once, and only so many per network: no visitor can keep the service busy."""

import html
import re
from collections.abc import Iterator
from datetime import date

import falcon
import pytest
from falcon.testing import Result, TestClient

from api.app import create_app
from api.site.render import Page, Site
from api.site.routes import RenderLimit
from api.site.sample import Sample
from tests.helpers.rest_service import World, make_world
from warehouse.contract.problems import Problem
from warehouse.control.keys import KeyStore
from warehouse.serve.build import Mart

PAGE = "/issuers/DCA1/lines/revenue"
LIMIT = 5
ISSUERS = [[f"DCB{number}", f"C{number:03}", "KE", 1, 0] for number in range(130)]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return make_world(tmp_path_factory, "page_limits", issuers=ISSUERS)


@pytest.fixture
def visitor(world: World) -> TestClient:
    return TestClient(
        create_app(
            Mart(world.marts),
            KeyStore(world.keys),
            pages_per_minute=LIMIT,
        )
    )


@pytest.fixture
def rendered(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The templates that were rendered."""
    names: list[str] = []
    render = Site.render

    def counted(self: Site, req: falcon.Request, page: Page) -> str:
        names.append(page.template)
        return render(self, req, page)

    monkeypatch.setattr(Site, "render", counted)
    yield names


def _days(visitor: TestClient, count: int, **headers: str) -> list[Result]:
    paths = [f"{PAGE}?as_of=2024-01-{day:02}" for day in range(1, count + 1)]
    return [visitor.simulate_get(path, headers=headers) for path in paths]


def test_a_page_is_rendered_once_however_often_it_is_asked_for(
    visitor: TestClient, rendered: list[str]
) -> None:
    pages = [visitor.simulate_get(PAGE) for _ in range(3 * LIMIT)]
    assert {page.status_code for page in pages} == {200} and rendered == ["line.html"]
    assert len({page.content for page in pages}) == 1
    assert len({page.headers["Content-Security-Policy"] for page in pages}) == 1


def test_a_page_is_rendered_again_for_another_build_host_or_query(
    visitor: TestClient, world: World, rendered: list[str]
) -> None:
    visitor.simulate_get(PAGE)
    visitor.simulate_get(PAGE, headers={"Host": "elsewhere.example"})
    visitor.simulate_get(PAGE, query_string="period_type=FY")
    before = visitor.simulate_get(PAGE).text
    assert len(rendered) == 3
    first, second = world.builds.names()
    world.builds.switch(first)
    page = visitor.simulate_get(PAGE).text
    world.builds.switch(second)
    assert len(rendered) == 4 and first in page and first not in before


def test_a_csv_that_is_kept_is_still_a_download(visitor: TestClient) -> None:
    first, second = (visitor.simulate_get(f"{PAGE}?format=csv") for _ in range(2))
    assert first.content == second.content
    assert second.headers["Content-Type"] == "text/csv; charset=utf-8"
    assert "attachment" in second.headers["Content-Disposition"]


def test_the_csv_of_a_page_of_companies_has_the_companies_of_that_page(
    visitor: TestClient,
) -> None:
    page = visitor.simulate_get("/issuers?country=KE&page=2").text
    (link,) = re.findall(r'href="([^"]*format=csv)"', page)
    lines = visitor.simulate_get(f"/issuers{html.unescape(link)}").text.splitlines()
    assert [line.split(",")[0] for line in lines[1:]] == [f"DCB{n}" for n in range(100, 130)]


def test_a_kept_page_is_compressed_as_its_reader_accepts_it(visitor: TestClient) -> None:
    for coding in ("gzip", "zstd", "gzip", None):
        accepted = {} if coding is None else {"Accept-Encoding": coding}
        page = visitor.simulate_get(PAGE, headers=accepted)
        assert page.headers.get("Content-Encoding") == coding
        again = visitor.simulate_get(
            PAGE, headers={**accepted, "If-None-Match": page.headers["ETag"]}
        )
        assert again.status_code == 304


def test_a_network_that_opens_too_many_pages_is_told_in_words_when_to_come_back(
    visitor: TestClient,
) -> None:
    *allowed, refused = _days(visitor, LIMIT + 1, Accept="text/html")
    assert {page.status_code for page in allowed} == {200}
    assert refused.status_code == 429 and 0 < int(refused.headers["Retry-After"]) <= 60
    assert refused.headers["Content-Type"] == "text/html; charset=utf-8"
    assert "Try again in" in refused.text and "`" not in refused.text


def test_pages_that_are_kept_stay_open_to_a_network_that_opened_too_many(
    visitor: TestClient,
) -> None:
    visitor.simulate_get(PAGE)
    assert _days(visitor, LIMIT)[-1].status_code == 429
    assert visitor.simulate_get(PAGE).status_code == 200


def test_the_limit_is_that_of_a_network_and_ends_with_the_minute() -> None:
    now = [100.0]
    limit = RenderLimit(2, lambda: now[0])
    for address in ("192.0.2.1", "192.0.2.77", "198.51.100.1"):
        limit.take(address)
    with pytest.raises(Problem) as refused:
        limit.take("192.0.2.200")
    now[0] += refused.value.members["retry_after"]
    limit.take("192.0.2.200")


def test_without_a_limit_any_number_of_pages_is_rendered() -> None:
    limit = RenderLimit(0)
    for _ in range(1_000):
        limit.take("192.0.2.1")


def test_a_page_of_yesterday_is_not_sent_today(
    visitor: TestClient, rendered: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    visitor.simulate_get(PAGE)
    monkeypatch.setattr(Sample, "today", date(2999, 1, 1))
    visitor.simulate_get(PAGE)
    assert len(rendered) == 2
