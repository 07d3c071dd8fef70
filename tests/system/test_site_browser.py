"""The pages in a real browser: no errors, no other hosts, plots drawn, consistent with the API."""

import gzip
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.helpers.browser import CHROMIUM, Page, browser
from tests.helpers.installation import copy_of, sample_home
from tests.helpers.page_actions import DRAWN, SETTLED, choose, go, plain_host, rows_of
from tests.helpers.paths import VENDOR
from tests.helpers.rest_service import Served, World
from tests.helpers.site import MCP, addresses, often_restated, served_site, world_of

pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed; see .ci/run"),
]

AXE = VENDOR / "axe-core-4.14.0.min.js.gz"
# One page per template, and one of Great Expectations.
KINDS = (
    "",
    "datasets/macro-series/",
    "issuers/",
    "issuers/view/",
    "screen/",
    "signals/",
    "signals/procurement-demand/",
    "quality/",
    "quality/data-docs/",
)
TAB, ENTER, LEFT, DOWN = ("Tab", 9), ("Enter", 13), ("ArrowLeft", 37), ("ArrowDown", 40)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return world_of(copy_of(sample_home(tmp_path_factory), "browsed", tmp_path_factory))


@pytest.fixture(scope="module")
def server(world: World) -> Iterator[Served]:
    with served_site(world) as running:
        yield running


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with browser(tmp_path_factory.mktemp("browser")) as opened:
        yield opened


def issuer_that_restated(world: World) -> str:
    data = world.root / "docs" / world.published().latest() / "data" / "issuers.json"
    issuers = json.loads(data.read_text())
    return str(max(issuers, key=lambda issuer: issuer[4])[0])


def test_every_page_is_quiet_asks_no_other_host_and_draws_its_plots(
    page: Page, server: Served, world: World
) -> None:
    page.look(1280, "light")
    for address in addresses(world):
        go(page, f"{server.address}/{address}")
        assert page.errors == [], address
        hosts = {urlsplit(url).netloc for url in page.requested_urls if not url.startswith("data:")}
        assert hosts == {f"127.0.0.1:{server.port}"}, address
        drawn = page.evaluate(DRAWN)
        assert len(drawn) == page.evaluate("document.querySelectorAll('.plot').length"), address
        assert all(dots > 500 for dots in drawn), address
        error = page.evaluate("document.querySelector('.status.wrong')?.textContent")
        assert error is None, (address, error)


@pytest.mark.parametrize(
    ("width", "scheme", "rules", "pages"),
    [(1280, "light", "{}", KINDS), (390, "dark", "{ runOnly: ['color-contrast'] }", KINDS[1::2])],
    ids=["wide and light", "narrow and dark"],
)
def test_axe_finds_no_serious_fault_and_nothing_is_wider_than_the_screen(
    page: Page, server: Served, width: int, scheme: str, rules: str, pages: tuple[str, ...]
) -> None:
    axe = gzip.decompress(AXE.read_bytes()).decode()
    page.look(width, scheme)
    for address in pages:
        go(page, f"{server.address}/{address}")
        page.evaluate(
            "document.querySelectorAll('details').forEach((element) => { element.open = true; })"
        )
        page.evaluate(f"{axe}; undefined")
        violations = page.evaluate(
            f"axe.run({{ resultTypes: ['violations'], ...{rules} }})"
            ".then((results) => results.violations"
            ".filter((rule) => ['serious', 'critical'].includes(rule.impact))"
            ".map((rule) => `${rule.id}: ${rule.nodes.map((node) => node.html).join()}`))"
        )
        assert violations == [], address
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide <= width, address


def test_the_as_of_control_changes_the_numbers_as_the_api_does(
    page: Page, server: Served, world: World
) -> None:
    issuer = issuer_that_restated(world)
    page.look(1280, "light")
    go(page, f"{server.address}/issuers/{issuer}")
    rows_by_day = []
    for day in ("2026-11-01", "2021-01-15", "2019-06-30", "2001-01-01"):
        choose(page, "as_of", day)
        page.wait_for(f"document.getElementById('facts').dataset.asOf === '{day}'")
        facts = json.loads(
            server.get(f"/v1/fundamentals/{issuer}?as_of={day}", world.sample)[2], parse_float=str
        )["data"]
        page_rows = rows_of(page, "facts")
        assert [row[1].replace(",", "") for row in page_rows] == [
            str(fact["value_reported"]) for fact in facts
        ]
        assert [row[5] for row in page_rows] == [fact["available_at"] for fact in facts]
        assert page.evaluate("document.getElementById('known-on').textContent") == day
        rows_by_day.append(page_rows)
    assert rows_by_day[-1] == [] and len({str(rows) for rows in rows_by_day}) == 4
    assert page.errors == []


def test_the_plot_has_every_vintage_of_a_restated_figure(
    page: Page, server: Served, world: World
) -> None:
    issuer = issuer_that_restated(world)
    go(page, f"{server.address}/issuers/view/?id={issuer}")
    body = server.get(f"/v1/fundamentals/{issuer}?vintages=all", world.paid)[2]
    rows = json.loads(body)["data"]
    restated = max(rows, key=lambda row: row["vintage"])
    item, period = restated["line_item"], restated["period_type"]
    choose(page, "line_item", item)
    page.wait_for(f"document.getElementById('plot').dataset.item === '{item}'")
    choose(page, "period", period)
    wanted = sorted(
        (row["available_at"], row["vintage"])
        for row in rows
        if (row["line_item"], row["period_type"]) == (item, period)
    )
    page.wait_for(f"document.getElementById('plot').dataset.vintages === '{len(wanted)}'")
    page.evaluate("document.getElementById('vintages').closest('details').open = true")
    page.wait_for("document.querySelector('#vintages tbody tr')?.cells.length")
    page_rows = sorted((row[2], int(row[1])) for row in rows_of(page, "vintages"))
    assert page_rows == wanted and max(vintage for _, vintage in page_rows) > 1


def test_the_screen_ranks_as_the_api_does(page: Page, server: Served, world: World) -> None:
    go(page, f"{server.address}/screen/?metric=net_margin&as_of=2025-11-01&order=asc")
    path = "/v1/screen?metric=net_margin&as_of=2025-11-01&order=asc"
    response = json.loads(server.get(path, world.sample)[2], parse_float=str)
    page_rows = rows_of(page, "ranked")
    assert [(row[0], row[3]) for row in page_rows] == [
        (str(row["rank"]), str(row["value"])) for row in response["data"]
    ]
    assert page_rows and page.evaluate("document.querySelector('#universe dd').textContent") == str(
        response["universe"]["covered"]
    )


def test_the_pages_work_with_the_keyboard_alone(page: Page, server: Served, world: World) -> None:
    page.look(1280, "light")
    go(page, f"{server.address}/issuers/")

    def tab_to(script: str) -> None:
        for _ in range(40):
            page.press(*TAB)
            if page.evaluate(f"Boolean({script})"):
                return
        raise AssertionError(f"not reached by Tab: {script}")

    page.press(*TAB)
    assert page.evaluate("document.activeElement.className") == "skip"
    page.press(*ENTER)
    assert page.evaluate("location.hash") == "#main"
    tab_to("document.activeElement.name === 'search'")
    tab_to("document.activeElement.closest('#issuers a')")
    page.press(*ENTER)
    page.wait_for("location.pathname.endsWith('/view/')")
    page.wait_for(SETTLED)
    before = page.evaluate("document.querySelector('[name=as_of]').value")
    tab_to("document.activeElement.name === 'days'")
    page.press(*LEFT)
    page.wait_for(f"document.querySelector('[name=as_of]').value < '{before}'")
    tab_to("document.activeElement.matches('.key summary')")
    page.press(*ENTER)
    assert page.evaluate("document.querySelector('.key').open")
    tab_to("document.activeElement.name === 'line_item'")
    item = page.evaluate("document.activeElement.value")
    page.press(*DOWN)
    page.wait_for(f"document.querySelector('[name=line_item]').value !== '{item}'")


def test_the_folder_works_on_any_web_host_once_it_is_configured_with_the_api_url(
    page: Page, server: Served, world: World, tmp_path: Path
) -> None:
    folder = tmp_path / "below" / "a-path"
    shutil.copytree(world.root / "docs" / world.published().latest(), folder)
    config = {"api": server.address, "mcp": MCP, "sandbox_key": world.sample}
    (folder / "config.json").write_text(json.dumps(config))
    issuer = issuer_that_restated(world)
    with plain_host(tmp_path) as host:
        go(page, f"{host}/below/a-path/issuers/view/?id={issuer}")
        assert rows_of(page, "facts") and page.errors == []
        go(page, f"{host}/below/a-path/signals/single-bid-rate/")
        links = page.evaluate("[...document.querySelectorAll('a[data-api]')].map((a) => a.href)")
        code = page.evaluate("document.querySelector('.snippet code').textContent")
        requested_hosts = {f"http://{urlsplit(url).netloc}" for url in page.requested_urls}
    assert links and all(link.startswith(f"{server.address}/") for link in links)
    assert server.address in code and requested_hosts == {host}


def test_five_thousand_vintages_are_drawn_with_a_key_that_is_not_capped(
    page: Page, tmp_path: Path
) -> None:
    world = often_restated(tmp_path, figures=50, vintages=100)
    with served_site(world) as server:
        go(page, f"{server.address}/issuers/view/?id=DCTEST1")
        assert "A paid key shows more vintages" in plot_summary(page)
        page.evaluate(f"sessionStorage.setItem('key', '{world.paid}')")
        go(page, f"{server.address}/issuers/view/?id=DCTEST1")
        assert page.evaluate("document.getElementById('plot').dataset.vintages") == "5000"
        assert "5000 vintages of 50 figures, 50 of them restated" in plot_summary(page)
        assert all(dots > 5_000 for dots in page.evaluate(DRAWN))


def plot_summary(page: Page) -> str:
    text: Any = page.evaluate("document.getElementById('plotted').textContent")
    return str(text)
