"""Pages about the service: the reference with its answers, tiers, usage, texts, errors."""

import html
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from falcon.testing import Result, TestClient

from api.app import create_app
from api.endpoints.declarations import ENDPOINTS
from api.site.render import FOOTER, NAVIGATION
from pipelines.guides import generated_guides
from tests.helpers.browser import CHROMIUM, Page, browser
from tests.helpers.paths import ROOT
from tests.helpers.rest_service import Served, World, make_world, served
from tests.helpers.stored_builds import nothing_published
from warehouse.control.keys import KeyStore
from warehouse.serve.build import Mart
from warehouse.shared.tiers import TIERS, configured_tiers

BROWSER = {"Accept": "text/html,*/*;q=0.8"}
HOST = "data.example"
TEXTS = ("/docs", "/docs/mcp", "/pricing", "/usage", "/methodology", "/problems/not_found")
RENDERED = (*TEXTS, "/guides", "/guides/rest", "/changes", "/exports/", "/nosuch")
_ANSWER = re.compile(r'aria-label="Example answer of ([^"]+)"><code>(.*?)</code>', re.DOTALL)
_CURL = re.compile(r'<span class="sent-url">([^<]+)</span>')
_FIELD = re.compile(
    r'<tr><th scope="row"><code>(\w+)</code>(?:(?!</tr>).)*?data-location.*?</tr>', re.DOTALL
)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return make_world(tmp_path_factory, "service_pages", guides=generated_guides())


def client(world: World, **options: Any) -> TestClient:
    return TestClient(
        create_app(
            Mart(world.marts),
            KeyStore(world.keys),
            mcp_url="http://127.0.0.1:8322",
            **options,
        )
    )


@pytest.fixture(scope="module")
def visitor(world: World) -> TestClient:
    return client(world, exports=world.published())


def opened(visitor: TestClient, path: str) -> Result:
    return visitor.simulate_get(path, headers={**BROWSER, "Host": HOST})


def rows_of(body: dict[str, Any]) -> list[Any]:
    return next((value for value in body.values() if isinstance(value, list)), [])


def test_every_endpoint_shows_what_its_request_answers_before_it_is_sent(
    visitor: TestClient, world: World
) -> None:
    page = html.unescape(opened(visitor, "/docs").text)
    answers = dict(_ANSWER.findall(page))
    assert list(answers) and set(answers) == {endpoint.path for endpoint in ENDPOINTS}
    sections = page.split('<details class="operation"')[1:]
    urls = {
        re.findall('data-path="([^"]+)"', section)[0]: _CURL.findall(section)[0]
        for section in sections
    }
    for endpoint in ENDPOINTS:
        shown = json.loads(answers[endpoint.path], parse_float=str)
        path = urls[endpoint.path].removeprefix(f"http://{HOST}")
        headers = {"X-API-Key": world.sample, "Host": HOST}
        body = json.dumps(endpoint.body_example) if endpoint.in_body else None
        answer = visitor.simulate_request(endpoint.method.upper(), path, headers=headers, body=body)
        assert answer.status_code == 200, path
        body = json.loads(answer.text, parse_float=str)
        # The description is shown in part only.
        assert set(shown) == set(body) or endpoint.name == "getDescription"
        if endpoint.needs_key and endpoint.listing is not None:
            assert rows_of(shown) and len(rows_of(shown)) <= 2
            assert set(rows_of(shown)[0]) == set(rows_of(body)[0])
            assert shown["data_version"] == body["data_version"]
        if endpoint.name == "getStatus":
            assert (shown["build"], shown["data_version"]) == (body["build"], body["data_version"])
        if endpoint.name == "getUsage":
            sample = TIERS["sample"]
            assert shown["tier"] == body["tier"] == sample.name
            assert [limit["quota"] for limit in shown["limits"]] == [
                sample.per_minute,
                sample.per_month,
            ]


def test_every_parameter_says_what_a_value_looks_like(visitor: TestClient) -> None:
    page = html.unescape(opened(visitor, "/docs").text)
    fields = [(field[1], field[0]) for field in _FIELD.finditer(page)]
    assert len(fields) == sum(len(endpoint.parameters) for endpoint in ENDPOINTS)
    shown = ("Example: ", "such as", "<code>true</code>: ")
    without = [name for name, row in fields if not any(words in row for words in shown)]
    # Two come from an answer, the third is a list of ids, which the form has filled in.
    assert set(without) <= {"cursor", "data_version", "id"}


def test_the_reference_is_written_while_there_is_no_build(world: World) -> None:
    visitor = client(world)
    with nothing_published(world.marts):
        page = opened(visitor, "/docs")
    assert page.status_code == 200 and page.text.count("What an answer looks like") > 20
    assert "What it answers in this build" in opened(visitor, "/docs").text


def test_the_first_key_in_the_reference_is_the_sandbox_key(
    visitor: TestClient, world: World
) -> None:
    found = re.search("sk_live_[A-Za-z0-9_-]*", visitor.simulate_get("/docs").text)
    assert found is not None and found[0] == world.sample


def test_who_needs_more_is_led_to_the_prices_of_the_host_that_was_asked(world: World) -> None:
    too_much = "/v1/tenders?limit=26"
    for visitor, expected in (
        (client(world), f"http://{HOST}/pricing"),
        (
            client(world, base_urls=("https://api.example/below",)),
            "https://api.example/below/pricing",
        ),
        (client(world, upgrade_url="https://shop.example"), "https://shop.example"),
    ):
        refused = visitor.simulate_get(too_much, headers={"X-API-Key": world.sample, "Host": HOST})
        assert refused.status_code == 402
        assert refused.json["upgrade_url"] == refused.headers["X-Upgrade-URL"] == expected
        prices = opened(visitor, "/pricing").text
        assert "Get a key" in prices and ("shop.example" in prices) is ("shop" in expected)


def test_prices_contact_and_what_a_licence_allows_are_those_of_the_operator(
    world: World, tmp_path: Path
) -> None:
    said = {"starter": {"price": "USD 90 a month", "allows": "Use within one company."}}
    file = tmp_path / "tiers.json"
    file.write_text(json.dumps(said))
    tiers = configured_tiers(file)
    keys = KeyStore(world.keys, tiers)
    service = create_app(Mart(world.marts), keys, pricing_contact="sales@fictional.example")
    prices = opened(TestClient(service), "/pricing").text
    assert all(words in prices for words in said["starter"].values())
    assert 'href="mailto:sales@fictional.example"' in prices and "on request" in prices


def test_a_version_of_the_files_is_a_page_to_a_browser_and_a_manifest_to_a_program(
    visitor: TestClient, world: World
) -> None:
    version = world.published().latest()
    for address, up in (("/exports/latest", "./"), (f"/exports/{version}/", "../")):
        to_page = opened(visitor, address)
        assert to_page.headers["Location"] == f"{up}?data_version={version}"
        to_manifest = visitor.simulate_get(address)
        assert to_manifest.headers["Location"] == f"{up}{version}/manifest.json"
        assert to_page.headers["Vary"] == to_manifest.headers["Vary"] == "Accept"
    assert version in opened(visitor, f"/exports/?data_version={version}").text


def test_a_guide_leads_to_the_one_before_and_the_one_after_it(visitor: TestClient) -> None:
    page = opened(visitor, "/guides/concepts").text
    around = re.findall(r'<a rel="(prev|next)" href="/guides/([a-z-]+)"', page)
    assert around == [("prev", "quick-start"), ("next", "glossary")]


def test_every_page_has_the_same_navigation(visitor: TestClient) -> None:
    for path in RENDERED:
        page = opened(visitor, path).text
        links = re.findall(
            r'<nav aria-label="(?:Pages|About this service)">(.*?)</nav>', page, re.S
        )
        found = [re.findall(r'href="([^"]+)"', part) for part in links]
        assert found == [[f"/{to}" for to, _ in part] for part in (NAVIGATION, FOOTER)], path
        assert 'type="application/atom+xml"' in page, path


def test_files_are_linked_only_where_they_are_served(world: World) -> None:
    for options, linked in (({}, False), ({"exports": world.published()}, True)):
        visitor = client(world, **options)
        for path in ("/", "/quality/", "/changes", "/docs"):
            assert ('exports/"' in opened(visitor, path).text) is linked, path
        assert opened(visitor, "/exports/").status_code == (200 if linked else 404)
        assert ("/exports/" in visitor.simulate_get("/sitemap.xml").text) is linked


def test_links_to_files_lead_to_where_they_are(world: World) -> None:
    visitor = client(world, exports_url="https://files.example/sankofa")
    version = world.published().latest()
    page = opened(visitor, "/exports/").text
    assert f'href="https://files.example/sankofa/{version}/manifest.json"' in page


def test_texts_are_kept_and_count_as_pages(world: World) -> None:
    visitor = client(world, pages_per_minute=len(TEXTS))
    for _ in range(3):
        for path in TEXTS:
            assert opened(visitor, path).status_code == 200
    refused = opened(visitor, "/problems/key_missing")
    assert refused.status_code == 429 and int(refused.headers["Retry-After"]) > 0


def test_a_page_with_the_address_of_one_host_is_not_sent_to_another(world: World) -> None:
    visitor = client(world, base_urls=("https://api.example",))
    for host in ("evil.example", HOST):
        page = visitor.simulate_get("/docs/mcp", headers={**BROWSER, "Host": host}).text
        assert f"http://{host}:8322/mcp" in page and ("evil" in page) is ("evil" in host)


def test_an_id_in_other_letters_leads_to_the_page_of_the_company(visitor: TestClient) -> None:
    moved = visitor.simulate_get("/issuers/dca1?as_of=2024-06-30")
    assert (moved.status_code, moved.headers["Location"]) == (301, "DCA1?as_of=2024-06-30")


def test_a_browser_gets_an_error_as_a_page_and_a_program_as_json(world: World) -> None:
    visitor = client(world)

    def check(path: str, status: int) -> None:
        page, problem = opened(visitor, path), visitor.simulate_get(path)
        assert page.status_code == problem.status_code == status
        assert problem.headers["Content-Type"] == "application/problem+json"
        assert page.headers["Content-Type"] == "text/html; charset=utf-8"
        assert 'role="search"' in page.text and 'href="/guides"' in page.text
        assert "`" not in page.text
        assert "Accept" in page.headers["Vary"] and "Accept" in problem.headers["Vary"]

    check("/nosuch", 404)
    check("/issuers/DCNOBODY", 404)
    check("/tenders?colour=red", 400)
    check("/methodology?colour=red", 400)
    with nothing_published(world.marts):
        check("/issuers/DCA1/lines/revenue", 503)


def test_lists_of_pages_take_a_country_by_its_name(visitor: TestClient) -> None:
    for path in ("/series", "/indicators", "/tenders", "/buyers", "/suppliers"):
        by_code = opened(visitor, f"{path}?country=ZA")
        assert by_code.status_code == 200
        for name in ("South Africa", "south%20africa", "zaf"):
            assert opened(visitor, f"{path}?country={name}").text == by_code.text, (path, name)
        unknown = visitor.simulate_get(f"{path}?country=Kenia")
        assert (unknown.status_code, unknown.json["nearest"][0]) == (400, "KE")
    moved = visitor.simulate_get("/countries/South Africa")
    assert (moved.status_code, moved.headers["Location"]) == (301, "ZA")


def test_a_path_that_is_no_page_is_refused_with_the_nearest(visitor: TestClient) -> None:
    for path, near in (("/guide", "/guides"), ("/guide/rest", "/guides"), ("/issuer", "/issuers")):
        assert near in visitor.simulate_get(path).json["nearest"]
        assert near in opened(visitor, path).text


def test_every_link_within_the_guides_leads_to_a_heading(visitor: TestClient) -> None:
    names = {*generated_guides(), *(path.stem for path in (ROOT / "docs").glob("*.md"))}
    pages = {name: opened(visitor, f"/guides/{name}").text for name in names}
    ids = {name: set(re.findall(r'\bid="([^"]+)"', page)) for name, page in pages.items()}
    for name, page in pages.items():
        assert "&lt;!--" not in page, name
        links = re.findall(rf'href="(?:(?:http://{HOST})?/guides/([a-z-]+))?#([^"]+)"', page)
        for target, anchor in links:
            assert anchor in ids[target or name], (name, target, anchor)
    index = opened(visitor, "/guides").text
    listed = set(re.findall(rf'href="(?:http://{HOST})?/guides/([a-z-]+)"', index))
    assert listed == set(names) - {"index"}
    contents = pages["rest"].partition("On this page")[2].partition("</nav>")[0]
    assert contents.count("<li>") == pages["rest"].count("<h2 id=")


def test_guides_name_the_service_that_shows_them(visitor: TestClient) -> None:
    page = opened(visitor, "/guides/rest").text
    assert f"http://{HOST}/v1/" in page and "127.0.0.1:8321" not in page
    assert f'href="http://{HOST}/guides/data-dictionary#filing"' in page


@pytest.fixture(scope="module")
def server(world: World) -> Iterator[Served]:
    usage = str(world.root / "usage.lmdb")
    with served(world, "--workers", "1", "--usage", usage) as running:
        yield running


@pytest.fixture
def page(server: Served, tmp_path: Path) -> Iterator[Page]:
    with browser(tmp_path) as opened_page:
        opened_page.open(f"{server.address}/usage")
        opened_page.wait_for("document.readyState === 'complete'")
        yield opened_page


SHOWN = (
    "document.getElementById('usage')?.hidden === false && "
    "document.getElementById('tier').textContent"
)


def ask(page: Page, key: str | None = None) -> None:
    if key is not None:
        page.evaluate(f"document.getElementById('key').value = '{key}'")
    page.evaluate("document.querySelector('#ask button').click()")


@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed; see .ci/run")
def test_a_visitor_sees_the_limits_of_a_key_which_never_leaves_the_tab(
    page: Page, server: Served, world: World
) -> None:
    assert page.evaluate("document.getElementById('key').value") == world.sample
    ask(page)
    assert page.wait_for(SHOWN) == "sample"
    assert page.evaluate("sessionStorage.length") == 0
    ask(page, world.paid)
    page.wait_for("document.getElementById('tier').textContent === 'professional'")
    limits = page.evaluate("document.getElementById('limits').innerText")
    assert "600" in limits and "1,000,000" in limits and "UTC" in limits
    # It is there after a reload, and nowhere but in this tab.
    page.open(f"{server.address}/usage")
    assert page.wait_for(SHOWN) == "professional"
    assert page.evaluate("document.cookie + location.href + localStorage.length") == (
        f"{server.address}/usage0"
    )
    page.evaluate("document.getElementById('forget').click()")
    assert page.evaluate("sessionStorage.length") == 0
    assert page.evaluate("document.getElementById('key').value") == world.sample
    assert not any(world.paid in url for url in page.requested_urls)
    assert {urlsplit(url).netloc for url in page.requested_urls} == {f"127.0.0.1:{server.port}"}
    assert page.errors == [] and world.paid not in server.log.read_text()


@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed; see .ci/run")
def test_a_key_that_is_none_is_answered_in_words(page: Page) -> None:
    status = "document.getElementById('status')"
    ask(page, "sk_live_nobody")
    page.wait_for(f"{status}.classList.contains('wrong')")
    assert "unknown" in page.evaluate(f"{status}.textContent")
    ask(page, "schlüssel")
    assert "no API key" in page.evaluate(f"{status}.textContent")
    assert page.evaluate("document.getElementById('usage').hidden")
