"""Each request shape over real HTTP: paging, ends, repeats, broken answers, links that loop."""

import io
import json
import os
import zipfile
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from assets.fetching.client import Client, FetchError
from assets.fetching.fetchers import Window
from assets.ingest.sources import SOURCES
from assets.source import Source, fetch_task
from assets.tenders.portal_files import read_portals
from assets.tenders.sources import portal_source
from tests.helpers.replay_server import ReceivedRequest, Replay, Reply
from warehouse.record.landing import FetchedResponse
from warehouse.shared.settings import read_settings, variable_of

HEAD = """
country = "UG"
title = "A portal"
base_url = "https://portal.example"
licence.class = "cc0"
licence.name = "CC0"
licence.stated_at = "https://portal.example/terms"
"""
ALWAYS = Window()


@pytest.fixture
def fetch(server: Replay, client: Client, tmp_path: Path) -> Callable[..., Any]:
    """Fetch a portal of which only the request and the quirks are given."""

    def fetching(
        request: str, window: Window = ALWAYS, more: str = ""
    ) -> tuple[list[tuple[str, bytes]], str]:
        file = tmp_path / "portals.toml"
        file.write_text(f"[test]\n{HEAD}\n{more}\n[test.request]\n{request}")
        (entry,) = read_portals(file)
        return fetched(portal_source(entry), client, server, window)

    return fetching


def fetched(
    source: Source, client: Client, server: Replay, window: Window
) -> tuple[list[tuple[str, bytes]], str]:
    """Return address and body of the documents that came, and the message of a failure."""
    mirror = {variable_of("SANKOFA_BASE_", source.key): server.base}
    settings = read_settings({**os.environ, **mirror, "SANKOFA_PUBLICATION_CO_SECOP": "7"})
    assert source.fetch is not None
    documents: list[tuple[str, bytes]] = []
    try:
        for document in source.fetch(fetch_task(client, source, window, settings)):
            documents.append((document.url, body_of(document)))
    except FetchError as error:
        return documents, str(error)
    return documents, ""


def body_of(document: FetchedResponse) -> bytes:
    return document.body if isinstance(document.body, bytes) else document.body.read()


def reply(value: Any) -> Reply:
    return Reply(json.dumps(value).encode(), headers={"Content-Type": "application/json"})


def package(*ocids: str, **more: Any) -> Reply:
    return reply({"releases": [{"ocid": ocid} for ocid in ocids], **more})


def ocids(documents: list[tuple[str, bytes]]) -> list[str]:
    return [item["ocid"] for _, body in documents for item in json.loads(body)["releases"]]


def requested(server: Replay) -> list[str]:
    return [
        request.path + "".join(f" {name}={value}" for name, value in request.query.items())
        for request in server.requests
    ]


# Links


LINKS = 'shape = "links"\naddress = "/releases"'


def test_links_are_followed_until_there_is_none(server: Replay, fetch: Callable[..., Any]) -> None:
    def answer(request: ReceivedRequest) -> Reply:
        cursor = int(request.query.get("cursor", "0"))
        # The publisher's own address, with the scheme its server sees behind a proxy.
        following = {"next": f"http://portal.example/releases?cursor={cursor + 1}"}
        return package(f"o{cursor}", links=following if cursor < 2 else {})

    server.answer("/releases", answer)
    documents, error = fetch(LINKS)
    assert (ocids(documents), error) == (["o0", "o1", "o2"], "")
    assert [url for url, _ in documents] == [
        "https://portal.example/releases",
        "https://portal.example/releases?cursor=1",
        "https://portal.example/releases?cursor=2",
    ]


def test_links_that_loop_are_refused(server: Replay, fetch: Callable[..., Any]) -> None:
    def answer(request: ReceivedRequest) -> Reply:
        cursor = request.query.get("cursor")
        return package(f"o{cursor}", links={"next": "/releases?cursor=" + "21"[cursor == "2"]})

    server.answer("/releases", answer)
    documents, error = fetch(LINKS)
    assert "links.next leads back to https://portal.example/releases?cursor=2" in error
    assert ocids(documents) == ["oNone", "o2", "o1"]
    assert len(server.requests) == 3


def test_a_link_that_leaves_the_publisher_is_refused_unless_its_host_is_named(
    server: Replay, fetch: Callable[..., Any]
) -> None:
    server.on("/releases", package("o1", links={"next": "https://elsewhere.example/2"}))
    _, error = fetch(LINKS)
    assert "links to another host (https://elsewhere.example/2), which is not followed" in error
    assert len(server.requests) == 1
    other = server.base.replace("127.0.0.1", "localhost") + "/2"
    server.on("/releases", package("o1", links={"next": other}))
    server.on("/2", package("o2"))
    documents, error = fetch(LINKS, more='hosts = ["localhost"]')
    assert (ocids(documents), error) == (["o1", "o2"], "")
    assert documents[1][0] == other


def test_a_complete_address_lands_nothing_unless_all_its_pages_arrive(
    server: Replay, fetch: Callable[..., Any]
) -> None:
    server.on("/releases", package("o1", links={"next": "/second"}))
    server.on("/second", Reply(b"", 500))
    assert ocids(fetch(LINKS)[0]) == ["o1"]
    documents, error = fetch(LINKS, more="quirks.complete_addresses = true")
    assert (documents, "page 2 did not arrive" in error) == ([], True)


def test_a_portal_that_repeats_a_numbered_page_is_refused(
    server: Replay, fetch: Callable[..., Any]
) -> None:
    server.on("/releases", package("o1", links={"next": "more"}))
    documents, error = fetch('shape = "links"\naddress = "/releases?p={page}"')
    assert ocids(documents) == ["o1"]
    assert "the same page again, so its pages never end" in error


def test_a_last_link_that_lost_its_cursor_is_the_end(
    server: Replay, fetch: Callable[..., Any]
) -> None:
    server.on("/releases", package("o1", links={"next": "/next?cursor=9"}))
    server.on("/next", package("o2", links={"next": "/releases"}))
    documents, error = fetch(LINKS + '\nnext_needs = "cursor"')
    assert (ocids(documents), error) == (["o1", "o2"], "")


def test_broken_json_ends_the_pages_with_an_error_and_keeps_what_came(
    server: Replay, fetch: Callable[..., Any]
) -> None:
    server.on("/releases", package("o1", links={"next": "/second"}))
    server.on("/second", Reply(b'{"releases": [}'))
    documents, error = fetch(LINKS)
    assert ocids(documents) == ["o1"]
    assert "the response is not JSON" in error


# Index


INDEX = """shape = "index"
address = "/list?page={page}"
items = "data"
name = "id"
next = "more"
document = "/one/{name}"
"""


def list_page(names: list[str], pages: int) -> Callable[[ReceivedRequest], Reply]:
    def answer(request: ReceivedRequest) -> Reply:
        page = int(request.query["page"])
        found = names[2 * (page - 1) : 2 * page]
        return reply({"data": [{"id": name} for name in found], "more": page < pages or None})

    return answer


def test_every_document_of_every_page_of_an_index_is_fetched(
    server: Replay, fetch: Callable[..., Any]
) -> None:
    server.answer("/list", list_page(["a", "b/c", "d"], 2))
    for name in ("a", "b%2Fc", "d"):
        server.on(f"/one/{name}", package(name))
    documents, error = fetch(INDEX)
    assert (ocids(documents), error) == (["a", "b%2Fc", "d"], "")
    assert requested(server)[:2] == ["/list page=1", "/list page=2"]


def test_a_document_that_fails_is_named_and_the_others_arrive(
    server: Replay, fetch: Callable[..., Any]
) -> None:
    server.answer("/list", list_page(["gone", "b", "broken", "d"], 2))
    server.on("/one/b", package("b"))
    server.on("/one/broken", Reply(b'{"releases": [{"ocid": "x",}]}'))
    server.on("/one/d", package("d"))
    documents, error = fetch(INDEX)
    # Broken JSON is landed: its parser says where it is broken.
    assert [url.rpartition("/")[2] for url, _ in documents] == ["b", "broken", "d"]
    assert "gone: https://portal.example/one/gone, requested from" in error
    assert "it answers 404" in error
    documents, error = fetch(INDEX + "ends_on = [404]")
    assert (len(documents), error) == (3, "")


@pytest.mark.parametrize("status", [403, 400])
def test_a_status_that_repeats_is_tried_again_with_growing_waits_but_not_for_ever(
    server: Replay, fetch: Callable[..., Any], waits: list[float], status: int
) -> None:
    server.answer("/list", list_page(["a"], 1))
    server.on("/one/a", Reply(b"", status), Reply(b"", status), package("a"))
    documents, error = fetch(INDEX + f"repeats_on = [{status}]")
    assert (ocids(documents), error) == (["a"], "")
    assert len([wait for wait in waits if wait >= 1]) == 2
    server.on("/one/a", Reply(b"slow down", status))
    documents, error = fetch(INDEX + f"repeats_on = [{status}]")
    assert documents == []
    assert f"it answers {status}, saying 'slow down' (tried 5 times)" in error


def test_400_is_not_tried_again_where_nothing_says_so(
    server: Replay, fetch: Callable[..., Any]
) -> None:
    server.answer("/list", list_page(["a"], 1))
    server.on("/one/a", Reply(b"", 400), package("a"))
    assert "it answers 400 (tried once)" in fetch(INDEX)[1]


def test_an_index_that_repeats_a_page_for_ever_is_refused(
    server: Replay, fetch: Callable[..., Any]
) -> None:
    server.on("/list", reply({"data": [{"id": "a"}], "more": True}))
    server.on("/one/a", package("a"))
    documents, error = fetch(INDEX)
    assert ocids(documents) == ["a"]
    assert "names nothing new, so its pages never end" in error


def test_without_a_member_that_says_so_an_empty_page_is_the_last(
    server: Replay, fetch: Callable[..., Any]
) -> None:
    server.answer("/list", list_page(["a", "b", "c"], 9))
    for name in "abc":
        server.on(f"/one/{name}", package(name))
    documents, error = fetch(INDEX.replace('next = "more"\n', ""))
    assert (ocids(documents), error) == (["a", "b", "c"], "")
    assert requested(server)[2] == "/list page=3"


def test_a_list_is_asked_by_post_with_numbers_as_numbers(
    server: Replay, fetch: Callable[..., Any]
) -> None:
    def answer(request: ReceivedRequest) -> Reply:
        skip = json.loads(request.body)["skip"]
        return reply({"items": [{"ocid": "a/1"}, {"ocid": "b"}][skip : skip + 1]})

    server.answer("/records", answer)
    server.on("/package/a%2F1", package("a"))
    server.on("/package/b", package("b"))
    documents, error = fetch("""shape = "index"
address = "/records"
body = { skip = "{offset}", take = 1, order = "asc" }
page_size = 1
items = "items"
name = "ocid"
document = "/package/{name}"
""")
    assert (ocids(documents), error) == (["a", "b"], "")
    bodies = [json.loads(request.body) for request in server.requests if request.body]
    assert bodies == [{"skip": skip, "take": 1, "order": "asc"} for skip in (0, 1, 2)]


def test_a_cursor_leads_from_page_to_page(server: Replay, fetch: Callable[..., Any]) -> None:
    lists = {
        "2024-01-01T00:00:00Z": {"data": [{"ocid": "a"}], "offset": "later"},
        "later": {"data": [{"ocid": "b"}], "offset": "last"},
        "last": {"data": []},
    }
    server.answer("/tenders/", lambda request: reply(lists[request.query["offset"]]))
    for name in "ab":
        server.on(f"/tenders/{name}", package(name))
    request = """shape = "index"
address = "/tenders/?offset={cursor}"
period = "window"
cursor = "{from}T00:00:00Z"
next = "offset"
items = "data"
name = "ocid"
document = "/tenders/{name}"
"""
    documents, error = fetch(request, Window(date(2024, 1, 1), date(2024, 2, 1)))
    assert (ocids(documents), error) == (["a", "b"], "")


def test_a_page_of_html_or_rss_names_documents_by_a_pattern(
    server: Replay, fetch: Callable[..., Any]
) -> None:
    page = b'<a href="details.php?id=x/1">1</a> <a href="details.php?id=y&amp;z">2</a>'
    server.on("/awards.php", Reply(page, headers={"Content-Type": "text/html"}))
    server.on("/media/x_1.json", package("x"))
    server.on("/media/y%26z.json", package("y"))
    documents, error = fetch("""shape = "index"
address = "/awards.php"
pattern = 'details\\.php\\?id=([^"]+)'
document = "/media/{name}.json"
replace = { "/" = "_" }
""")
    assert (ocids(documents), error) == (["x", "y"], "")


def test_only_documents_whose_names_are_dated_in_the_window_are_fetched(
    server: Replay, fetch: Callable[..., Any]
) -> None:
    months = [f"https://portal.example/get/2024/{month}" for month in range(1, 13)]
    server.on("/list", reply({"months": months}))
    for month in range(1, 13):
        server.on(f"/get/2024/{month}", Reply(zipped(**{"a.json": "{}"})))
    documents, error = fetch(
        """shape = "index"
address = "/list"
items = "months"
dated = '/(?P<year>\\d{4})/(?P<month>\\d{1,2})$'
format = "zip"
""",
        Window(date(2024, 2, 10), date(2024, 3, 1)),
    )
    assert [url.rpartition("/")[2] for url, _ in documents] == ["2", "3"]
    assert error == ""


def test_a_maintenance_page_with_status_200_is_an_error(
    server: Replay, fetch: Callable[..., Any]
) -> None:
    server.on("/list", Reply(b"<html>Down for maintenance</html>"))
    assert "it answers with a web page where json was expected" in fetch(INDEX)[1]


# Files


def zipped(**members: str) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return packed.getvalue()


FILES = """shape = "files"
address = "/download?fy={year}-{next_year}&code={page}"
period = "financial-year"
year_starts = 7
ends_on = [404]
repeats_on = [403]
"""


def test_the_files_of_a_financial_year_arrive_until_404_also_after_403(
    server: Replay, fetch: Callable[..., Any]
) -> None:
    refused: set[str] = set()

    def answer(request: ReceivedRequest) -> Reply:
        name = request.query["fy"] + request.query["code"]
        if name not in refused:
            refused.add(name)
            return Reply(b"too fast", 403)
        if request.query["code"] == "3":
            return Reply(b"no such file", 404)
        return package(name)

    server.answer("/download", answer)
    documents, error = fetch(FILES, Window(date(2020, 6, 30), date(2020, 7, 1)))
    assert (ocids(documents), error) == (
        ["2019-20201", "2019-20202", "2020-20211", "2020-20212"],
        "",
    )


def test_a_period_that_fails_is_named_and_the_others_arrive(
    server: Replay, fetch: Callable[..., Any]
) -> None:
    server.answer(
        "/x", lambda request: Reply(b"", 500) if request.query["m"] == "02" else package("o")
    )
    request = 'shape = "files"\naddress = "/x?m={month:02}"\nperiod = "month"'
    documents, error = fetch(request, Window(date(2024, 1, 1), date(2024, 3, 31)))
    assert [url[-2:] for url, _ in documents] == ["01", "03"]
    assert "test did not arrive complete. 2024-02: " in error


def test_years_can_be_counted_from_another_year_and_lists_of_values_are_all_asked(
    server: Replay, fetch: Callable[..., Any]
) -> None:
    request = """shape = "files"
address = "/{system}/{year}.json"
period = "year"
year_offset = 543
each = { system = ["A", "B"] }
ends_on = [404]
"""
    server.on("/A/2567.json", package("a"))
    documents, error = fetch(request, Window(date(2024, 5, 1), date(2024, 5, 2)))
    assert (ocids(documents), error) == (["a"], "")
    assert requested(server) == ["/A/2567.json", "/B/2567.json"]


def test_nothing_is_asked_before_the_day_a_portal_began(
    server: Replay, fetch: Callable[..., Any]
) -> None:
    server.answer("/x", lambda request: package(request.query["d"]))
    request = 'shape = "files"\naddress = "/x?d={from}"\nperiod = "month"'
    window = Window(date(2023, 1, 1), date(2024, 2, 3))
    documents, _ = fetch(request, window, more="since = 2024-01-15")
    assert ocids(documents) == ["2024-01-01", "2024-02-01"]


def test_a_file_without_releases_is_not_landed(server: Replay, fetch: Callable[..., Any]) -> None:
    server.on("/x", package())
    assert fetch('shape = "files"\naddress = "/x"') == ([], "")


def test_a_page_that_refreshes_itself_is_followed_to_its_file(
    server: Replay, fetch: Callable[..., Any]
) -> None:
    refresh = '<html><meta http-equiv="refresh" content="0; url=/ready.zip?n=1&amp;m=2"></html>'
    server.on("/all", Reply(refresh.encode(), headers={"Content-Type": "text/html"}))
    body = zipped(**{"all.json": "{}"})
    server.on("/ready.zip", Reply(body))
    request = 'shape = "files"\naddress = "/all"\nformat = "zip"\nfollow_refresh = true'
    assert fetch(request) == ([("https://portal.example/all", body)], "")
    server.on("/ready.zip", Reply(refresh.encode()))
    assert "refreshes itself more than" in fetch(request)[1]


# The built-in portals

# The first request of each portal without a window, as research on the portals states it.
FIRST = {
    "za-etenders": "/api/OCDSReleases PageNumber=1 PageSize=1000 dateFrom={from} dateTo={from}",
    "ke-ppip": "/api/ocds/index perpage=10 order=asc page=1",
    "ug-ppda": "/api/open-data/v2/ocds/download fy={fy} format=json code=1",
    "rw-umucyo": "/opendata/api/v1/releases/all sort_field=date sort_direction=desc offset=0 "
    "limit=50 date_from={month} date_to={month_end}",
    "tz-nest": "/gateway/nest-data-portal-api/api/releases",
    "gh-ghaneps": "/ocds/services/recordpackage/getrecordpackagelist",
    "zm-zppa": "/ocds/services/recordpackage/getrecordpackagelist",
    "mw-maneps": "/rms/api/ocds/get-records",
    "lr-ppcc": "/ocds/record/searchRecords.action",
    "ng-budget": "/en/publication/64/download name=full.jsonl.gz",
    "ng-nocopo": "/ocdsjson.ashx ocid=all",
    "ng-anambra": "/awarded_contracts.php",
    "ng-osun": "/awarded_contracts.php",
    "ng-ekiti": "/Home/Procurements/",
    "co-secop": "/en/publication/7/download name=full.jsonl.gz",
    "uy-arce": "/ocds/rss/{y}/{m}",
    "cl-chilecompra": "/ocds/{y}{m}.zip",
    "pe-oece": "/api/v1/files page=1 paginateBy=10 format=json",
    "ec-sercop": "/PLATAFORMA/download type=json year={y} month={m} method=all",
    "gt-guatecompras": "/files",
    "hn-oncae": "/datosabiertos/HC1/HC1_datos_{y2}_json.zip",
    "do-dgcp": "/api-dgcp/v1/ocds/releases/all limit=1000 start_date={month} "
    "end_date={month_end} page=1",
    "md-mtender": "/tenders/ offset=2018-10-01T00:00:00Z",
    "ge-spa": "/api/releases.json",
    "am-armeps": "/ocds/release",
    "xk-pprc": "/krppapi/tenderrelease endDateFrom={from} endDateEnd={after}",
    "th-bangkok": "/assets/data/output/yearly/ocds_releases_{buddhist}.json",
}
PORTAL_SOURCES = {source.key: source for source in SOURCES if source.subject == "tenders"}


def test_the_first_request_of_every_portal_is_known() -> None:
    assert {key for key, source in PORTAL_SOURCES.items() if source.fetch} == set(FIRST)


@pytest.mark.parametrize("key", FIRST)
def test_each_portal_is_first_asked_as_its_publisher_expects(
    server: Replay, client: Client, key: str
) -> None:
    today = datetime.now(UTC).date()
    month = (today.replace(day=1) - timedelta(days=1)).replace(day=1)
    first_day = today - timedelta(days=30)
    fiscal = today.year if today.month >= 7 else today.year - 1
    fetched(PORTAL_SOURCES[key], client, server, ALWAYS)
    wanted = FIRST[key].format(
        **{"from": first_day, "after": first_day + timedelta(days=1), "month": month},
        month_end=today.replace(day=1) - timedelta(days=1),
        fy=f"{fiscal}-{fiscal + 1}",
        y=month.year,
        y2=today.year,
        m=f"{month.month:02}",
        buddhist=today.year + 543,
    )
    assert requested(server)[0] == wanted
    assert server.requests[0].method == ("POST" if key in ("mw-maneps", "lr-ppcc") else "GET")


def test_the_bodies_of_post_requests_are_those_of_the_portals(
    server: Replay, client: Client
) -> None:
    for key in ("mw-maneps", "lr-ppcc"):
        fetched(PORTAL_SOURCES[key], client, server, ALWAYS)
    assert [json.loads(request.body) for request in server.requests] == [
        {"skip": 0, "take": 1000},
        {"page": 1, "pagesize": 1000, "sortField": "ocid", "sortDir": "asc"},
    ]


def test_kenya_is_asked_for_every_tender_of_its_index(server: Replay, client: Client) -> None:
    def answer(request: ReceivedRequest) -> Reply:
        page = int(request.query["page"])
        following = "https://tenders.go.ke/api/ocds/index?page=2" if page == 1 else None
        return reply({"data": [{"id": 10 + page}], "next_page_url": following})

    server.answer("/api/ocds/index", answer)
    server.answer("/api/ocds/tenders", lambda request: package(request.query["ocds_id"]))
    documents, error = fetched(PORTAL_SOURCES["ke-ppip"], client, server, ALWAYS)
    assert (ocids(documents), error) == (["11", "12"], "")
    assert documents[0][0] == "https://tenders.go.ke/api/ocds/tenders?download=true&ocds_id=11"


def test_a_delay_is_the_rate_of_the_host() -> None:
    assert PORTAL_SOURCES["ug-ppda"].rates == {"cdn.ppda.go.ug": 0.5}
    assert PORTAL_SOURCES["ke-ppip"].rates == {}
