"""The pages in a real browser: no errors, no other hosts, plots drawn, consistent with the API."""

import gzip
import json
from collections.abc import Iterator
from itertools import product
from urllib.parse import urlsplit

import pytest

from api.site.browse import issuers_of
from tests.helpers.browser import CHROMIUM, Page, browser
from tests.helpers.installation import sample_home
from tests.helpers.made_once import copy_of
from tests.helpers.nightly import is_nightly
from tests.helpers.page_actions import DRAWN, SETTLED, choose, go, rows_of
from tests.helpers.paths import VENDOR
from tests.helpers.rest_service import Served, World, world_of
from tests.helpers.site import (
    SERVICE_PAGES,
    addresses,
    issuer_that_restated,
    rendered_pages,
    served_site,
)
from warehouse.serve.build import Mart
from warehouse.shared.settings import PAGES_PER_MINUTE

pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed; see .ci/run"),
    # A browser on a shared machine may halt for longer than a page waits.
    pytest.mark.flaky(reruns=1),
]

AXE = VENDOR / "axe-core-4.14.0.min.js.gz"
DATA_DOCS = "quality/data-docs/"
# One page per template of a build, and one of Great Expectations.
KINDS = (
    "",
    "datasets/",
    "datasets/macro-series/",
    "signals/",
    "signals/procurement-demand/",
    "revisions/",
    "quality/",
    DATA_DOCS,
)
ERROR_PAGE = "nosuch"
# Counts what can be used, and from then on notes what got the focus and whether that showed.
COUNT_CONTROLS = """
(() => {
  const usable = 'a[href], button, input:not([type=hidden]), select, textarea, summary';
  const controls = [...document.querySelectorAll(usable)].filter((control) =>
    !control.disabled && control.tabIndex >= 0 && control.checkVisibility());
  window.reached = [];
  window.unseen = [];
  document.addEventListener('focusin', ({ target }) => {
    window.reached.push(controls.indexOf(target));
    const style = getComputedStyle(target);
    if (style.outlineStyle === 'none' && style.boxShadow === 'none') {
      window.unseen.push(target.outerHTML.slice(0, 200));
    }
  });
  return controls.length;
})()
"""
# A list has more rows than need be tried.
MOST_TABS = 120
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


def assert_quiet(page: Page, server: Served, address: str) -> None:
    assert page.errors == [], address
    hosts = {urlsplit(url).netloc for url in page.requested_urls if not url.startswith("data:")}
    assert hosts == {f"127.0.0.1:{server.port}"}, address


def test_every_page_is_quiet_draws_its_plots_and_shows_every_control_that_tab_reaches(
    page: Page, server: Served, world: World
) -> None:
    """Pages of all datasets and panels at night; by day one of each kind."""
    page.look(1280, "light")
    of_builds = sorted({*addresses(), *KINDS}) if is_nightly() else KINDS
    for address in (*of_builds, *rendered_pages(server, world).values(), *SERVICE_PAGES):
        go(page, f"{server.address}/{address}")
        assert_quiet(page, server, address)
        drawn = page.evaluate(DRAWN)
        assert len(drawn) == page.evaluate("document.querySelectorAll('.plot').length"), address
        assert all(marks > 8 for marks in drawn), address
        error = page.evaluate("document.querySelector('.status.wrong')?.textContent")
        assert error is None, (address, error)
        if address != DATA_DOCS:
            assert_reached_by_tab(page, address)


def assert_reached_by_tab(page: Page, address: str) -> None:
    """Check that Tab reaches every control, and that it is seen which one."""
    controls = set(range(min(page.evaluate(COUNT_CONTROLS), MOST_TABS)))
    # Twice as often: Chromium also stops at parts that scroll.
    for _ in range(2 * len(controls)):
        page.press(*TAB)
        if max(controls) in page.evaluate("window.reached.slice(-1)"):
            break
    assert controls <= set(page.evaluate("window.reached")), address
    assert page.evaluate("window.unseen") == [], address


def test_axe_finds_no_serious_fault_and_nothing_is_wider_than_the_screen(
    page: Page, server: Served, world: World
) -> None:
    axe = gzip.decompress(AXE.read_bytes()).decode()
    rendered = rendered_pages(server, world).values()
    every_page = (*KINDS, *rendered, *SERVICE_PAGES, ERROR_PAGE)
    for address in every_page if is_nightly() else every_page[:1]:
        go(page, f"{server.address}/{address}")
        page.evaluate(
            "document.querySelectorAll('main details').forEach((part) => { part.open = true; })"
        )
        page.evaluate(f"{axe}; undefined")
        # A page follows the screen without being loaded again.
        for width, scheme in product((390, 1280), ("light", "dark")):
            page.look(width, scheme)
            page.wait_for(SETTLED)
            violations = page.evaluate(
                "axe.run({ resultTypes: ['violations'] })"
                ".then((results) => results.violations"
                ".filter((rule) => ['serious', 'critical'].includes(rule.impact))"
                ".map((rule) => `${rule.id}: ${rule.nodes.map((node) => node.html).join()}`))"
            )
            assert violations == [], (address, width, scheme)
            wide = page.evaluate("document.documentElement.scrollWidth")
            assert wide <= width, (address, width)
            if address != ERROR_PAGE:
                assert_quiet(page, server, address)


def test_a_list_begins_on_the_first_screen_of_a_phone(page: Page, server: Served) -> None:
    page.look(390, "light")
    for address in ("tenders", "buyers", "suppliers", "series", "issuers", "screen"):
        go(page, f"{server.address}/{address}")
        top = page.evaluate("document.querySelector('tbody tr').getBoundingClientRect().top")
        assert top < 844, address


def shown_values(page: Page, selector: str) -> list[str]:
    values = page.evaluate(f"[...document.querySelectorAll('{selector} data')].map((d) => d.value)")
    return [str(value) for value in values]


def test_the_slider_shows_what_the_api_says_was_known_and_meets_no_error(
    page: Page, server: Served, world: World
) -> None:
    issuer = issuer_that_restated(world)
    page.look(1280, "light")
    go(page, f"{server.address}/issuers/{issuer}")
    days = page.evaluate("document.querySelector('form[data-live]').dataset.days").split()
    assert len(days) > 5
    seen = set()
    for place in (0, len(days) // 2, len(days) - 1):
        page.evaluate(
            "(() => { const range = document.querySelector('form[data-live] [type=range]'); "
            f"range.value = '{place}'; range.dispatchEvent(new Event('input')); }})()"
        )
        page.wait_for(f"document.querySelector('main').dataset.loaded === '{days[place]}'")
        path = f"/v1/fundamentals/{issuer}?period_type=FY&statement=income&as_of={days[place]}"
        facts = json.loads(server.get(path, world.sample)[2], parse_float=str)["data"]
        shown = shown_values(page, ".statement")
        assert {str(fact["value_reported"]) for fact in facts} <= set(shown)
        assert page.evaluate("location.search") == f"?as_of={days[place]}"
        seen.add(str(shown))
    assert len(seen) == 3 and page.errors == []


def test_a_visitor_moves_the_slider_of_ten_issuers_within_a_minute_and_meets_no_error(
    page: Page, world: World
) -> None:
    """As fast as the browser can: who takes a minute for it asks less of the limit."""
    issuers = [issuer.service_id for issuer in issuers_of(Mart(world.marts).build())[:10]]
    assert len(issuers) == 10
    page.look(1280, "light")
    limit = ("--pages-per-minute", str(PAGES_PER_MINUTE))
    with served_site(world, *limit) as limited:
        for issuer in issuers:
            go(page, f"{limited.address}/issuers/{issuer}")
            for place in (0, 2, 1):
                page.evaluate(
                    "(() => { "
                    "const range = document.querySelector('form[data-live] [type=range]'); "
                    f"range.value = '{place}'; range.dispatchEvent(new Event('input')); }})()"
                )
                shown = "document.querySelector('form[data-live] output').textContent"
                page.wait_for(f"document.querySelector('main').dataset.loaded === {shown}")
            assert shown_values(page, ".statement") and page.errors == [], issuer


def test_a_busy_service_is_asked_again_and_the_visitor_sees_no_error(
    page: Page, server: Served, world: World
) -> None:
    go(page, f"{server.address}/issuers/{issuer_that_restated(world)}")
    page.evaluate(
        "(() => { const real = window.fetch; let left = 2; window.fetch = (...args) => "
        "left-- > 0 ? Promise.resolve(new Response('', { status: left ? 429 : 503, "
        "headers: { 'Retry-After': '1' } })) : real(...args); })()"
    )
    choose(page, "as_of", "2021-01-15")
    page.wait_for("document.querySelector('.waiting').textContent.startsWith('Waiting')")
    page.wait_for("document.querySelector('main').dataset.loaded === '2021-01-15'")
    assert shown_values(page, ".statement") and page.errors == []


def test_the_first_page_moves_a_restated_figure_through_time(page: Page, server: Served) -> None:
    page.look(1280, "light")
    go(page, f"{server.address}/")
    said = "document.getElementById('said').textContent"
    assert "today it is" in page.evaluate(said)
    before = page.evaluate("document.querySelector('#restated svg path[stroke-width]')?.outerHTML")
    page.evaluate(
        "(() => { const range = document.querySelector('#day [type=range]'); "
        "range.value = range.max; range.dispatchEvent(new Event('input')); })()"
    )
    page.wait_for(f"{said}.startsWith('None')")
    after = page.evaluate("document.querySelector('#restated svg path[stroke-width]')?.outerHTML")
    assert before and after and before != after


def test_a_chart_is_read_by_keys_restored_from_its_link_and_downloaded(
    page: Page, server: Served, world: World
) -> None:
    page.look(1280, "light")
    address = f"{server.address}/{rendered_pages(server, world)['indicator']}"
    go(page, address)
    page.evaluate("document.querySelector('.plot').focus()")
    page.press(*LEFT)
    page.press(*LEFT)
    reading = page.evaluate("document.querySelector('.reading').textContent")
    assert page.evaluate("document.querySelector('.plot').getAttribute('aria-valuetext')")
    names = page.evaluate(
        "[...document.querySelectorAll('.keys')[0].children].map((k) => k.textContent)"
    )
    assert len(names) > 1 and all(name in reading for name in names)
    page.evaluate("document.querySelector('.keys button').click()")
    link = page.evaluate("location.href")
    go(page, f"{server.address}/")
    go(page, link)
    assert page.evaluate("document.querySelector('.plot').dataset.drawn") == str(len(names) - 1)
    restored = page.evaluate("document.querySelector('.reading').textContent")
    assert names[0] not in restored and names[1] in restored
    page.evaluate(
        "(() => { window.saved = []; HTMLAnchorElement.prototype.click = function () { "
        "window.saved.push(this.download); }; "
        "document.querySelectorAll('.downloads button').forEach((b) => b.click()); })()"
    )
    page.wait_for("window.saved.length === 3")
    endings = {str(name).rsplit(".", 1)[1] for name in page.evaluate("window.saved")}
    assert endings == {"svg", "png", "csv"} and page.errors == []


def test_a_tap_on_a_rounded_value_shows_all_its_digits(
    page: Page, server: Served, world: World
) -> None:
    go(page, f"{server.address}/{rendered_pages(server, world)['indicator']}")
    tap = "(() => { const value = document.querySelector('#facts data'); value.click(); "
    rounded = page.evaluate("document.querySelector('#facts data').textContent")
    digits = page.evaluate(f"{tap} return value.textContent; }})()")
    assert digits == page.evaluate("document.querySelector('#facts data').value") != rounded
    assert page.evaluate(f"{tap} return value.textContent; }})()") == rounded


def test_a_panel_compares_countries_and_says_how_many_processes_are_behind_a_rate(
    page: Page, server: Served
) -> None:
    go(page, f"{server.address}/signals/single-bid-rate/")
    names = page.evaluate(
        "[...document.querySelectorAll('#value .keys button')].map((k) => k.textContent)"
    )
    assert {"Kenya", "South Africa"} <= set(names)
    page.evaluate("document.querySelector('#value .plot').focus()")
    page.press(*LEFT)
    assert "n = " in page.evaluate("document.querySelector('#value .reading').textContent")
    assert page.evaluate("document.querySelector('#value svg text').textContent") == "0 %"
    choose(page, "country", "KE")
    page.evaluate("document.getElementById('panel').dispatchEvent(new Event('change'))")
    page.wait_for("location.search.includes('country=KE')")
    go(page, f"{server.address}/signals/single-bid-rate/?country=KE")
    dashes = "[...document.querySelectorAll('#value svg path[stroke-width]')]"
    muted = f"{dashes}.filter((line) => line.getAttribute('stroke-opacity')).length"
    assert page.evaluate(muted) == page.evaluate(f"{dashes}.length") - 1 == len(names) - 1
    finding = page.evaluate("document.getElementById('finding').textContent")
    assert finding.startswith("Kenya: share of tenders with one bidder was ")


def test_the_screen_ranks_as_the_api_does(page: Page, server: Served, world: World) -> None:
    go(page, f"{server.address}/screen?metric=net_margin&as_of=2025-11-01&order=asc")
    path = "/v1/screen?metric=net_margin&as_of=2025-11-01&order=asc"
    response = json.loads(server.get(path, world.sample)[2], parse_float=str)
    assert shown_values(page, "#ranked [data-label=Value]") == [
        str(row["value"]) for row in response["data"]
    ]
    assert [row[0] for row in rows_of(page, "ranked")] == [
        str(row["rank"]) for row in response["data"]
    ]
    assert page.evaluate("document.querySelector('#universe dd').textContent") == str(
        response["universe"]["covered"]
    )


def test_the_pages_work_with_the_keyboard_alone(page: Page, server: Served, world: World) -> None:
    page.look(1280, "light")
    go(page, f"{server.address}/")

    def tab_to(script: str) -> None:
        for _ in range(60):
            page.press(*TAB)
            if page.evaluate(f"Boolean({script})"):
                return
        raise AssertionError(f"not reached by Tab: {script}")

    page.press(*TAB)
    assert page.evaluate("document.activeElement.className") == "skip"
    page.press(*ENTER)
    assert page.evaluate("location.hash") == "#main"
    go(page, f"{server.address}/issuers")
    tab_to("document.activeElement.id === 'find'")
    page.evaluate(
        "(() => { const field = document.getElementById('find'); field.value = 'ndovu'; "
        "field.dispatchEvent(new Event('input')); })()"
    )
    page.wait_for("document.querySelectorAll('#suggestions li').length")
    page.press(*DOWN)
    page.press(*ENTER)
    page.wait_for("location.pathname.startsWith('/issuers/DC')")
    page.wait_for(SETTLED)
    page.wait_for("document.querySelectorAll('form[data-live] [type=range]').length")
    tab_to("document.activeElement.type === 'range'")
    page.press(*LEFT)
    page.wait_for("document.querySelector('main').dataset.loaded?.startsWith('20')")
    assert page.evaluate("document.activeElement.type") == "range"
    tab_to("document.activeElement.matches('.restated')")
    page.press(*ENTER)
    page.wait_for("location.pathname.includes('/lines/')")
    page.wait_for(SETTLED)
    tab_to("document.activeElement.matches('.plot')")
