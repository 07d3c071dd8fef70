"""The pages of the service: what they contain, who can see them, and which build they show."""

import csv
import html
import io
import json
import re
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from urllib.parse import quote, urljoin, urlsplit

import pyarrow.parquet as pq
import pytest
from markupsafe import escape

from api.site.datasets import CARDS, short_count
from quality.suites import SUITES
from tests.helpers.installation import sample_home
from tests.helpers.made_once import copy_of
from tests.helpers.rest_service import Served, World, make_world, served_here, world_of
from tests.helpers.site import (
    MCP,
    SERVICE_PAGES,
    addresses,
    issuer_that_restated,
    rendered_pages,
    served_site,
)
from warehouse.publish.builds import builds_at
from warehouse.shared.settings import PAGES_PER_MINUTE
from warehouse.tables.fundamentals import Fundamental

_LINK = re.compile(r'<a\b[^>]*?href="([^"]*)"')
_TENDER = re.compile(r'href="/tenders/([^"]+)"')
# Members of figures, and the pages that are made of them.
_VALUES = ("value_reported", "value")
_FACTS = ("company", "line", "series", "indicator")
# What a chart of a panel is drawn from.
_DRAWN = {
    *("measure", "unit", "currency", "dimension", "dimension_value"),
    *("month", "value", "coverage", "eligible", "observed", "legal_name"),
}
_LOADED = re.compile(r'<(?:script|link|img)\b[^>]*?(?:src|href)="([^"]*)"')


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return world_of(copy_of(sample_home(tmp_path_factory), "site", tmp_path_factory))


@pytest.fixture(scope="module")
def server(world: World) -> Iterator[Served]:
    with served_site(world) as running:
        yield running


def opened(server: Served, path: str) -> str:
    """Return a page as a browser gets it."""
    status, _, body = server.get(path, Accept="text/html")
    assert status == 200, path
    return body.decode()


def test_every_page_is_served_without_a_key_under_a_policy_that_forbids_elsewhere(
    server: Served, world: World
) -> None:
    for address in (*addresses(), *rendered_pages(server, world).values(), *SERVICE_PAGES):
        status, headers, body = server.get(f"/{address}", Accept="text/html")
        assert (status, headers["Content-Type"]) == (200, "text/html; charset=utf-8"), address
        policy = headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy and "unsafe" not in policy and "http" not in policy
        page = body.decode()
        assert not re.search(r"<script>|<style| style=|\son[a-z]+=\"|javascript:", page), address
        etag = headers["ETag"]
        assert server.get(f"/{address}", Accept="text/html", If_None_Match=etag)[0] == 304
        # Those of Great Expectations are not ours.
        assert "data-docs" in address or 'type="application/atom+xml"' in page, address


def test_every_link_and_everything_loaded_resolves(server: Served, world: World) -> None:
    links: dict[str, str] = {}
    for address in (*addresses(), *rendered_pages(server, world).values(), *SERVICE_PAGES):
        page = html.unescape(server.get(f"/{address}", Accept="text/html")[2].decode())
        for link in (*_LINK.findall(page), *_LOADED.findall(page)):
            # Documents of the sample world are nowhere, and neither MCP nor an editor runs here.
            if not link.startswith(("data:", "#", "https://", "cursor:", "vscode:", MCP)):
                links.setdefault(urljoin(f"{server.address}/{address}", link), address)
    assert len(links) > 60
    for link, address in links.items():
        assert urlsplit(link).netloc == urlsplit(server.address).netloc, (link, address)
        path = link.removeprefix(server.address).split("#")[0]
        licensed = "/af-" in path and path.endswith(".parquet")
        status = server.get(path, world.paid if licensed else None)[0]
        assert status == 200, (link, address)


def test_an_address_with_a_slash_too_few_or_too_many_leads_to_its_page(server: Served) -> None:
    for path, found in (
        ("/datasets/af-fund", (302, "af-fund/")),
        ("/issuers/", (301, "../issuers")),
        ("/screen/?metric=net_margin", (301, "../screen?metric=net_margin")),
    ):
        status, headers, _ = server.get(path)
        assert (status, headers["Location"]) == found


def test_pages_of_texts_link_to_those_of_data(server: Served) -> None:
    for path in ("/docs", "/methodology", "/methodology/metrics-v1/net_margin"):
        page = server.get(path, Accept="text/html")[2].decode()
        links = re.findall(r'<li><a href="(/[^"]*)"', page)
        assert {"/issuers", "/tenders", "/quality/", "/docs"} <= set(links)
        assert all(server.get(link)[0] == 200 for link in links)


@pytest.mark.parametrize(
    "path",
    [
        "/datasets/none/",
        "/signals/none/",
        "/quality/../../../control.sqlite",
        "/quality/%2e%2e/%2e%2e/%2e%2e/control.sqlite",
        "/data/..%2f..%2f..%2fcontrol.sqlite",
        "/data//etc/passwd",
        "/data/signals/single-bid-rate/XX.json",
        "/data/signals/single-bid-rate/ZA",
        "/quality/data-docs/nosuch.html",
        "/config.json",
        "/issuers/a%00b",
        "/issuers/NOSUCH",
        "/series/nosuch",
        "/tenders/nosuch",
        "/countries/XX",
        "/site/../app.py",
    ],
)
def test_nothing_but_pages_is_served(server: Served, path: str) -> None:
    status, headers, body = server.get(path)
    assert (status, headers["Content-Type"]) == (404, "application/problem+json")
    assert b"keys" not in body or b"not_found" in body


def test_pages_are_light_with_their_charts_and_say_what_they_are(
    server: Served, world: World
) -> None:
    for address in ("", "datasets/", *rendered_pages(server, world).values()):
        page = server.get(f"/{address}")[2].decode()
        assert re.search(r'<meta name="description" content="[^"]{30,}">', page), address
        card = re.findall(r'<meta property="og:image" content="([^"]+)">', page)
        assert server.get(urlsplit(card[0]).path)[1]["Content-Type"] == "image/png"
        loaded = _LOADED.findall(page)
        paths = [f"/{address}", *(urljoin(f"/{address}", path) for path in loaded)]
        sizes = [len(server.get(path, Accept_Encoding="gzip")[2]) for path in paths]
        assert sum(sizes) < 150_000, address


def test_a_visitor_looks_at_sixty_pages_without_a_key_and_meets_no_error(
    server: Served, world: World
) -> None:
    issuer = issuer_that_restated(world)
    days = [f"{year}-{month:02}-15" for year in range(2018, 2026) for month in (2, 5, 8, 11)]
    addresses_seen = [*rendered_pages(server, world).values()]
    addresses_seen += [f"issuers/{issuer}?as_of={day}" for day in days]
    addresses_seen += [f"tenders?country={code}&as_of=2025-06-30" for code in ("ZA", "KE", "CO")]
    addresses_seen += ["", "quality/", "signals/", "datasets/"] * 3
    assert len(addresses_seen) >= 60
    with served_here(world, pages_per_minute=PAGES_PER_MINUTE) as limited:
        for address in addresses_seen:
            assert limited.get(f"/{address}")[0] == 200, address


def test_a_party_that_matches_no_register_is_listed_without_a_link_and_with_the_reason(
    server: Served, world: World
) -> None:
    path = "/v1/tender-parties?country=CO&role=supplier"
    parties = json.loads(server.get(path, world.sample)[2])["data"]
    page = html.unescape(server.get("/suppliers?country=CO")[2].decode())
    rows = re.findall(r'<tr><th scope="row">(.*?)</tr>', page)
    assert {party["service_id"] is None for party in parties} == {True, False}
    for party, row in zip(parties, rows, strict=True):
        is_resolved = party["service_id"] is not None
        assert party["name"] in row
        assert (f'href="/organisations/{party["service_id"]}"' in row) == is_resolved
        assert ("no match" in row) != is_resolved


def test_the_digits_of_a_company_are_those_of_the_api(server: Served, world: World) -> None:
    issuer = issuer_that_restated(world)
    for day in ("", "as_of=2021-01-15"):
        page = server.get(f"/issuers/{issuer}?{day}")[2].decode()
        path = f"/v1/fundamentals/{issuer}?period_type=FY&statement=income&{day}"
        facts = json.loads(server.get(path, world.sample)[2], parse_float=str)["data"]
        shown = re.findall(r'<data value="([^"]*)"', page)
        assert facts and {str(fact["value_reported"]) for fact in facts} <= set(shown)


def test_a_page_shows_no_identifier_that_needs_a_paid_key(server: Served, world: World) -> None:
    issuer = issuer_that_restated(world)
    paid = json.loads(server.get(f"/v1/crosswalk/{issuer}", world.paid)[2])["identifiers"]
    page = server.get(f"/issuers/{issuer}")[2].decode()
    section = page[page.index('id="identifiers"') :]
    for row in paid:
        is_free = row["id_type"] in ("lei", "ticker")
        assert (f"<code>{row['id_value']}</code>" in section) == is_free, row


def test_a_page_finds_no_organisation_by_its_isin_and_says_why(
    server: Served, world: World
) -> None:
    issuer = issuer_that_restated(world)
    rows = json.loads(server.get(f"/v1/crosswalk/{issuer}", world.paid)[2])["identifiers"]
    known = next(row["id_value"] for row in rows if row["id_type"] == "isin")
    for isin in (known, "ZAE000012084"):
        page = server.get(f"/search?q={isin}")[2].decode()
        assert f"{isin} has the form of an ISIN" in page and "starter tier" in page
        assert 'id="results"' not in page and issuer not in page
        assert issuer not in server.get(f"/issuers?name={isin}")[2].decode()
        for folder in ("issuers", "organisations"):
            assert server.get(f"/{folder}/{isin}")[0] == 404
    assert known not in server.get(f"/issuers/{issuer}")[2].decode()
    assert issuer in server.get(f"/search?q={issuer}")[2].decode()


def test_the_csv_of_facts_is_one_answer_of_a_sample_key(server: Served, world: World) -> None:
    issuer = issuer_that_restated(world)
    for page, answer in (
        ("tenders?country=KE", "tenders?country=KE"),
        (f"issuers/{issuer}", f"fundamentals/{issuer}?period_type=FY"),
        (
            f"issuers/{issuer}/lines/revenue",
            f"fundamentals/{issuer}?line_items=revenue&vintages=all",
        ),
        ("series/FRED.FICKENGDPQ", "macro?series=FRED.FICKENGDPQ"),
    ):
        join = "&" if "?" in page else "?"
        status, headers, body = server.get(f"/{page}{join}format=csv")
        assert (status, headers["Content-Type"]) == (200, "text/csv; charset=utf-8")
        join = "&" if "?" in answer else "?"
        assert body == server.get(f"/v1/{answer}{join}format=csv", world.sample)[2], page


def test_no_page_gives_more_as_csv_than_it_shows(server: Served, world: World) -> None:
    linked = {}
    for kind, address in rendered_pages(server, world).items():
        page = html.unescape(server.get(f"/{address}")[2].decode())
        for link in re.findall(r'href="([^"]*format=csv)"', page):
            path = urljoin(f"{server.address}/{address}", link).removeprefix(server.address)
            rows = list(csv.DictReader(io.StringIO(server.get(path)[2].decode(), newline="")))
            linked[kind] = len(rows)
            exact = set(re.findall(r'<data value="([^"]*)"', page))
            values = {row[name] for row in rows for name in _VALUES if row.get(name)}
            assert rows and values <= exact, kind
            is_of_facts = kind not in ("companies", "series list", "indicators", "countries")
            assert len(rows) <= 25 or not is_of_facts, kind
            if len(rows) == 25 and len(exact) > 25 and kind in _FACTS:
                assert "CSV of the first 25 rows" in page
    assert linked["companies"] == server.get("/issuers")[2].count(b'<tr><th scope="row">')
    assert linked["series list"] == server.get("/series")[2].count(b'<tr><th scope="row">')
    assert len(linked) == 13


def test_the_csv_of_a_list_has_the_rows_that_its_filters_leave(server: Served) -> None:
    body = server.get("/series?country=KE&format=csv")[2].decode()
    lines = body.splitlines()
    page = server.get("/series?country=KE")[2].decode()
    assert len(lines) - 1 == page.count('<tr><th scope="row">') > 0
    assert all("KE" in line for line in lines[1:])


def test_pages_follow_the_cursor_of_the_api(server: Served, world: World) -> None:
    page = html.unescape(server.get("/tenders?country=ZA")[2].decode())
    (following,) = re.findall(r'<a rel="next" href="([^"]*)"', page)
    second = server.get(f"/tenders{following}")[2].decode()
    first_page = json.loads(server.get("/v1/tenders?country=ZA", world.sample)[2])
    path = f"/v1/tenders?country=ZA&cursor={first_page['next_cursor']}"
    rows = json.loads(server.get(path, world.sample)[2])["data"]
    assert _TENDER.findall(second) == [row["ocid"] for row in rows]
    assert "First page" in second


def test_a_browser_gets_an_error_as_a_page_with_a_search(server: Served) -> None:
    for path, expected in (("/nosuch", 404), ("/issuers/NOSUCH", 404), ("/tenders?asof=1", 400)):
        status, headers, body = server.get(path, Accept="text/html,*/*;q=0.8")
        assert (status, headers["Content-Type"]) == (expected, "text/html; charset=utf-8")
        assert b'name="q"' in body and b"<h1>" in body
    headers = server.get("/v1/nosuch", Accept="text/html")[1]
    assert headers["Content-Type"] == "application/problem+json"


def test_an_alias_leads_to_the_page_of_its_organisation(server: Served, world: World) -> None:
    issuer = issuer_that_restated(world)
    record = json.loads(server.get(f"/v1/entities/{issuer}", world.sample)[2])["data"][0]
    for alias in record["aliases"]:
        status, headers, _ = server.get(f"/issuers/{alias}?as_of=2024-01-01")
        assert (status, headers["Location"]) == (301, f"{issuer}?as_of=2024-01-01")


def test_a_series_is_drawn_beside_others_and_keeps_them_when_the_day_changes(
    server: Served,
) -> None:
    path = "/series/FRED.FICKENCPIM?with=FRED.FICNGACPIM&with=FRED.FICZAFCPIM&as_of=2025-06-30"
    page = server.get(path)[2].decode()
    chart = json.loads(re.findall(r'<script type="application/json">(.*?)</script>', page)[0])
    assert [series["name"] for series in chart["series"]] == [
        "Consumer prices, Kenya (FRED.FICKENCPIM)",
        "Consumer prices, Nigeria (FRED.FICNGACPIM)",
        "Consumer prices, South Africa (FRED.FICZAFCPIM)",
    ]
    assert page.count('<input type="hidden" name="with"') == 2


def test_the_past_is_shown_beside_the_present_with_what_changed_it(server: Served) -> None:
    """Of a company, a line, a series and a ranking; a page of today has nothing to compare."""
    company, day = "/issuers/DCHGWRYXXDHC", "as_of=2020-12-31"
    page = server.get(f"{company}?{day}")[2].decode()
    said = "Cut by 24.7 % on 2021-10-04, 20-F"
    assert said in page and 'class="now"' in page and 'value="931662000"' in page
    assert "Profit, today" in page and "Key metrics" in page
    assert 'class="now"' not in server.get(company)[2].decode()
    line = server.get(f"{company}/lines/revenue")[2].decode()
    assert "Cut by 4.0 % on 2021-10-04, 20-F" in line and 'id="revisions"' in line
    series = server.get("/series/FRED.FICKENGDPQ?as_of=2025-09-01")[2].decode()
    assert "Raised by 0.1 % on 2026-01-29" in series and 'id="revisions"' in series
    in_small = server.get("/series/fred.fickengdpq?as_of=2025-09-01")[2].decode()
    assert "Raised by 0.1 % on 2026-01-29" in in_small
    screen = server.get(f"/screen?{day}")[2].decode()
    assert '<td class="right" data-label="Today"><b class="now">' in screen
    assert 'data-label="Today"' not in server.get("/screen")[2].decode()


def test_a_buyer_and_a_supplier_have_totals_by_year_and_their_largest_counterparts(
    server: Served, world: World
) -> None:
    path = "/v1/awards?service_id=DC49ZZFT8HAA"
    awards = json.loads(server.get(path, world.paid)[2], parse_float=Decimal)["data"]
    years, buyers = Counter[str](), Counter[str]()
    for award in awards:
        assert award["unit"] == "COP"
        years[award["period_end"][:4]] += award["value"]
        buyers[award["buyer"] or ""] += award["value"]
    supplier = html.unescape(opened(server, "/organisations/DC49ZZFT8HAA"))
    for year, total in years.items():
        assert f"<title>{year}: {total:,} COP" in supplier
    shown = supplier.partition("Largest buyers")[2]
    (largest,) = buyers.most_common(1)
    assert re.findall(r'<th scope="row"><a [^>]+>([^<]+)', shown)[0] == largest[0]
    assert awards[0]["title"] in shown and f">{awards[0]['ocid']}<" not in shown
    buyer = opened(server, f"/{rendered_pages(server, world)['organisation']}")
    assert "Awards given, by year" in buyer and "Largest suppliers" in buyer


def test_a_country_begins_with_its_main_figures_and_where_it_is(
    server: Served, world: World
) -> None:
    page = opened(server, "/countries/ZA")
    path = "/v1/macro?indicator=NY.GDP.MKTP.CD&country=ZA&limit=1"
    (gdp,) = json.loads(server.get(path, world.sample)[2], parse_float=str)["data"]
    assert f'<data value="{gdp["value"]}"' in page and 'world.svg#ZA"' in page
    assert page.count('class="spark"') == 7


def test_a_tender_has_a_timeline_with_the_edits_of_its_portal(server: Served) -> None:
    page = opened(server, "/tenders/ocds-9t57fa-165001").partition("Timeline")[2]
    timeline = page.partition("</ol>")[0]
    days = re.findall(r'<span class="day">([^<]+)', timeline)
    assert days == sorted(days) and "Open for bids" in timeline and "Awarded" in timeline
    edits = re.findall(r'<li class="edit"><span class="day">[^<]+</span> <b>([^<]+)', timeline)
    assert "Status changed" in edits


def test_the_most_striking_silent_revisions_are_cards(server: Served) -> None:
    cards = opened(server, "/revisions/").partition('<ul class="cards striking">')[2]
    shares = re.findall(r"(?:Cut|Raised) by ([\d.]+) %", cards.partition("</ul>")[0])
    assert len(shares) == 3 and sorted(shares, key=float, reverse=True) == shares


def test_an_indicator_shows_what_its_source_showed_before(server: Served) -> None:
    file = server.get("/exports/latest/silent-revisions.parquet")[2]
    revised = pq.read_table(io.BytesIO(file)).to_pylist()
    shown = 0
    for row in revised:
        if not row["indicator"] or row["member"] != "value":
            continue
        page = opened(server, f"/indicators/{row['indicator']}?c={row['country']}")
        table = page.partition("what the source showed before</h2>")[2]
        cells = [f'<data value="{row[name]}"' for name in ("before", "after")]
        # A difference that rounding explains is no revision.
        if abs(Decimal(row["after"]) / Decimal(row["before"]) - 1) >= Decimal("0.0005"):
            assert all(cell in table for cell in cells) and '"tone": "then"' in page, row
            shown += 1
        else:
            assert cells[0] not in page, row
    assert 0 < shown < len(revised)


def test_the_largest_revisions_of_a_day_come_first(server: Served) -> None:
    page = opened(server, "/revisions/").partition('id="worldbank-AF-MACRO"')[2]
    rows = re.findall(
        r'data-label="Change">([^<]+)<.*?data-label="Changed by">([^<]+)<',
        page.partition("</table>")[0],
    )
    sizes = [
        (day, abs(float(change.rstrip(" %"))) if change != "rounding" else 0.0)
        for change, day in rows
    ]
    assert len(rows) > 5 and sizes == sorted(sizes, reverse=True)


@pytest.mark.parametrize(
    ("query", "path", "kind"),
    [
        ("net margin", "/screen?metric=net_margin", "metric"),
        ("cash flow", "/guides/line-items", "line item"),
        ("nigeria", "/countries/NG", "country"),
        ("quick start", "/guides/quick-start", "guide"),
        ("road rehab", "/tenders/ocds-", "tender"),
        ("ubuntu mining", "/issuers/DCHGWRYXXDHC", "organisation"),
    ],
)
def test_a_search_finds_pages_of_every_kind_by_their_titles(
    server: Served, query: str, path: str, kind: str
) -> None:
    page = server.get(f"/search?q={query.replace(' ', '+')}")[2].decode()
    found = re.findall(r'<li><a href="([^"]+)">[^<]+</a>\s*<span class="dim">([a-z ]+)', page)
    assert any(to.startswith(path) and of.strip() == kind for to, of in found), found


def test_a_filter_that_a_page_does_not_have_is_refused(server: Served, world: World) -> None:
    issuer = issuer_that_restated(world)
    for path in (f"/issuers/{issuer}?vintages=all", "/series?unit=x", "/tenders?limit=5"):
        assert server.get(path)[0] == 400, path


def test_every_guide_is_a_page_whose_links_answer(server: Served) -> None:
    index = server.get("/guides", Accept="text/html")[2].decode()
    guides = set(re.findall(r'href="(?:http://[^/"]+)?(/guides/[a-z-]+)"', index))
    assert {"/guides/rest", "/guides/python-client", "/guides/concepts"} <= guides
    for guide in guides:
        page = server.get(guide, Accept="text/html")[2].decode()
        assert "<h1 id=" in page and '<nav aria-label="Pages">' in page
        linked = {link.split("#")[0] for link in _LINK.findall(page) if link.startswith("/guides/")}
        assert linked <= guides, guide
    assert server.get("/guides/nosuch")[0] == 404


def test_a_browser_gets_problems_and_tiers_as_pages(server: Served) -> None:
    page = server.get("/problems/rate_limited", Accept="text/html")[2].decode()
    assert ">Too many requests</h1>" in page and '<nav aria-label="Pages">' in page
    tiers = server.get("/pricing")[2].decode()
    assert all(name in tiers for name in ("Sample", "Starter", "Professional"))


def test_what_a_visitor_searches_for_is_found(server: Served) -> None:
    for words, link in (
        ("ndovu", "/issuers/DC"),
        ("FX.EUR.ZAR", "/series/FX.EUR.ZAR"),
        ("single bidder", "/signals/single-bid-rate/"),
    ):
        page = server.get(f"/search?q={quote(words)}")[2].decode()
        assert f'href="{link}' in page[page.index('id="results"') :], words
    assert server.get("/search")[0] == server.get("/search?q=%24%24")[0] == 200


def test_only_coverage_definitions_and_first_rows_of_licensed_data_are_public(
    server: Served,
) -> None:
    """A key of the sample tier gets 25 rows an answer: a page shows fewer, a chart open data."""
    for card in CARDS:
        page = opened(server, f"/{card.path}/")
        for rows in re.findall(r'<table class="rows">(.*?)</table>', page, re.DOTALL):
            assert rows.count("<tr>") <= 1 + 5
        for country in re.findall(r'<option value="([A-Z]{2})">', page) if card.panel else ():
            drawn = json.loads(server.get(f"/data/{card.path}/{country}.json")[2])
            assert drawn and set(drawn[0]) == _DRAWN


def test_a_page_explains_every_field_as_its_definition_does(server: Served) -> None:
    page = opened(server, "/datasets/af-fund/")
    for name in ("value_reported", "period_type", "available_at"):
        assert f"<code>{name}</code>" in page
        assert escape(str(Fundamental.model_fields[name].description)) in page


def test_a_dataset_and_a_company_describe_themselves_to_search_engines(
    server: Served, world: World
) -> None:
    for card in CARDS:
        page = opened(server, f"/{card.path}/")
        (described,) = re.findall(r'<script type="application/ld\+json">(.*?)</script>', page)
        dataset = json.loads(described)
        assert (dataset["@type"], dataset["name"]) == ("Dataset", card.title)
        assert dataset["version"] == world.published().latest()
        assert 'id="cite"' in page
    issuer = issuer_that_restated(world)
    (record,) = json.loads(server.get(f"/v1/entities/{issuer}", world.paid)[2])["data"]
    company = json.loads(
        opened(server, f"/issuers/{issuer}").split("ld+json")[1][2:].partition("</script>")[0]
    )
    assert company["@type"] == "Corporation" and company["url"].endswith(f"/issuers/{issuer}")
    assert (company["name"], company["leiCode"]) == (record["legal_name"], record["lei"])


def test_a_page_names_the_primary_key_of_a_file(server: Served) -> None:
    for path, key in (("af-fund", "fact_id"), ("macro-series", "record_id")):
        page = opened(server, f"/datasets/{path}/")
        assert f"Primary key: <code>{key}</code>" in page


def test_the_quality_page_shows_every_measurement_of_the_build(
    server: Served, world: World
) -> None:
    page = opened(server, "/quality/")
    metadata = builds_at(world.marts).metadata(world.published().latest())["measured"]
    measured = json.loads(metadata)
    badges = re.findall(r'<tr><td><span class="badge ([a-z]+)">', page)
    assert sorted(badges) == sorted(row["status"].lower() for row in measured)
    totals = re.findall(r'<span class="badge [a-z]+">[A-Z]+</span></dt><dd>(\d+)</dd>', page)
    assert sum(map(int, totals)) == len(measured)


def test_every_rule_of_the_audit_is_on_a_page(server: Served) -> None:
    index = opened(server, "/quality/data-docs/")
    assert 'href="../"' in index
    assert all(suite.name in index for suite in SUITES)
    assert server.get("/quality/data-docs/style.css")[1]["Content-Type"].startswith("text/css")


def test_code_on_a_page_has_the_sandbox_key_and_the_address_of_the_mcp_server(
    server: Served, world: World
) -> None:
    page = html.unescape(opened(server, "/datasets/af-fund/"))
    assert world.sample in page and f"{MCP}/mcp" in page and server.address in page
    assert not re.search(r"\{(API|MCP|KEY|OWN_KEY)\}", page)


def test_the_pages_follow_the_current_build(tmp_path_factory: pytest.TempPathFactory) -> None:
    world = make_world(tmp_path_factory, "followed", twice=True)
    first, second = world.builds.names()
    first_shown, second_shown = (f"data_version <code>{name}</code>" for name in (first, second))
    with served_here(world, pages_per_minute=0) as server:
        page = server.get("/")[2].decode()
        assert second_shown in page and first_shown not in page
        assert world.builds.metadata(second)["notice"] in html.unescape(page)
        world.builds.switch(first)
        page = server.get("/")[2].decode()
        assert first_shown in page and second_shown not in page


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0"), (999, "999"), (1500, "1.5k"), (45_000, "45k"), (2e6, "2.0M")]
)
def test_a_count_is_written_short(number: float, text: str) -> None:
    assert short_count(number) == text
