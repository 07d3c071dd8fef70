"""Pages without a key, and the reference as a browser shows it."""

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from api.endpoints.declarations import ENDPOINTS
from tests.helpers.browser import CHROMIUM, browser
from tests.helpers.paths import ROOT
from tests.helpers.rest_service import Served, World, make_world, served
from warehouse.contract.problems import PROBLEMS
from warehouse.methodology.metrics import FORMULA_BY_SLUG
from warehouse.methodology.signals import PANEL_BY_KEY

STATIC = ROOT / "api" / "site" / "static"
PAGES = (
    *(f"/methodology/metrics-v1/{slug}" for slug in FORMULA_BY_SLUG),
    *(f"/methodology/signals-v1/{key}" for key in PANEL_BY_KEY),
)
OURS = "https://api.sankofa.example"
THEIRS = "https://data.customer.example"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return make_world(tmp_path_factory, "pages")


@pytest.fixture(scope="module")
def server(world: World) -> Iterator[Served]:
    with served(world, "--workers", "2", "--base-url", OURS, "--base-url", THEIRS) as running:
        yield running


def test_every_methodology_ref_has_its_page(server: Served) -> None:
    for path in PAGES:
        status, headers, body = server.get(path)
        assert status == 200 and headers["Content-Type"].startswith("text/markdown")
        assert f"`{path.removeprefix('/methodology/')}`" in body.decode()
        status, headers, shown = server.get(path, Accept="text/html,*/*;q=0.8")
        assert status == 200 and headers["Content-Type"].startswith("text/html")
        assert b"<h1 id=" in shown and b"<table " in shown and b"\n#" not in shown
        assert "Accept" in headers["Vary"]


def test_the_index_names_every_page_and_other_names_are_404(server: Served) -> None:
    index = server.get("/methodology")[2].decode()
    assert set(re.findall(r"\((/methodology/[^)]+)\)", index)) == set(PAGES)
    for path in ("metrics-v1/none", "none/net_margin", "metrics-v1/procurement-demand"):
        assert server.get(f"/methodology/{path}")[0] == 404


def test_every_problem_has_its_page(server: Served) -> None:
    for code in PROBLEMS:
        assert server.get(f"/problems/{code}")[0] == 200


def test_llms_txt_names_only_addresses_that_answer(server: Served) -> None:
    status, headers, body = server.get("/llms.txt")
    text = body.decode()
    assert (status, headers["Content-Type"]) == (200, "text/plain; charset=utf-8")
    assert text.startswith("# Sankofa\n\n> ")
    addresses = re.findall(r"\[(?:(GET|POST) )?[^]]*\]\(([^)]+)\)", text)
    assert len(addresses) > len(PAGES)
    for method, address in addresses:
        assert address.startswith(f"{OURS}/")
        if "{" not in address:
            answer = server.get(address.removeprefix(OURS), method=method or "GET")
            assert answer[0] in (200, 400, 401), address


def test_addresses_follow_a_configured_host_and_no_other(server: Served, world: World) -> None:
    for host, base in (
        ("data.customer.example", THEIRS),
        ("DATA.customer.example", THEIRS),
        ("api.sankofa.example", OURS),
        ("evil.example", OURS),
        ("evil.example:8321", OURS),
    ):
        assert f"({base}/docs)" in server.get("/llms.txt", Host=host)[2].decode()
        manifest = server.get("/v1/export", world.paid, Host=host)[2].decode()
        named = set(re.findall(r'"(https?://[^/"]+)/exports/', manifest))
        assert named == {base}, host


def test_a_forwarded_host_of_anyone_is_not_believed(server: Served) -> None:
    body = server.get("/llms.txt", X_Forwarded_Host="data.customer.example")[2].decode()
    assert f"({OURS}/docs)" in body and THEIRS not in body


def test_the_reference_may_load_nothing_from_elsewhere(server: Served) -> None:
    status, headers, body = server.get("/docs")
    assert status == 200
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "http" not in policy and "unsafe" not in policy
    loaded = re.findall(r'(?:src|href)="([^"#]+)"', body.decode())
    assert loaded and all(item.startswith("/") for item in loaded)
    for item in loaded:
        assert server.get(item)[0] == 200, item


@pytest.mark.parametrize("name", ["docs.js", "usage.js"])
def test_scripts_that_handle_a_key_never_write_html(name: str) -> None:
    script = (STATIC / name).read_text()
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", script)


@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed; see .ci/run")
def test_the_reference_in_a_browser_shows_rows_of_the_sandbox_key(
    server: Served, world: World, tmp_path: Path
) -> None:
    with browser(tmp_path) as page:
        page.open(f"{server.address}/docs")
        described = page.wait_for(
            "document.querySelectorAll('#operations form button:enabled').length"
        )
        assert page.evaluate("document.getElementById('key').value") == world.sample
        page.evaluate("document.getElementById('listTenders').open = true")
        page.evaluate("document.querySelector('#listTenders [name=limit]').value = '5'")
        page.evaluate("document.querySelector('#listTenders form button').click()")
        rows = "document.querySelectorAll('#listTenders .rows tr').length"
        assert page.wait_for(rows) == 6
        status = page.evaluate("document.querySelector('#listTenders .status').textContent")
        page.evaluate("document.querySelector('#listTenders [name=limit]').value = '26'")
        page.evaluate("document.querySelector('#listTenders form button').click()")
        page.wait_for(
            "document.querySelector('#listTenders .answer').textContent.includes('row_cap')"
        )
        page.evaluate("document.querySelector('#getFundamentals [name=service_id]').value = 'DCA1'")
        page.evaluate("document.querySelector('#getFundamentals form button').click()")
        assert page.wait_for("document.querySelectorAll('#getFundamentals .rows tr').length") > 1
        requested_urls = list(page.requested_urls)

    assert described >= 17 and status.startswith("200 /v1/tenders")
    assert {urlsplit(item).netloc for item in requested_urls} == {f"127.0.0.1:{server.port}"}
    assert f"{server.address}/v1/tenders?country=ZA&limit=5" in requested_urls
    unforeseen = [
        complaint
        for complaint in page.errors
        if "402" not in complaint and "favicon" not in complaint
    ]
    assert unforeseen == []


@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed; see .ci/run")
def test_every_send_button_of_the_reference_works_as_it_comes(
    server: Served, tmp_path: Path
) -> None:
    buttons = "document.querySelectorAll('#operations form button:enabled')"
    statuses = "[...document.querySelectorAll('#operations .status')].map((p) => p.textContent)"
    with browser(tmp_path) as page:
        page.open(f"{server.address}/docs")
        count = page.wait_for(f"{buttons}.length")
        page.evaluate(f"for (const button of {buttons}) button.click()")
        page.wait_for(f"{statuses}.length === {count}")
        answered = page.evaluate(statuses)
    assert count == len(ENDPOINTS)
    assert [status for status in answered if not status.startswith("200 ")] == []
