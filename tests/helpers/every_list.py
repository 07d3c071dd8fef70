"""Requests of every list that find rows in the world of ``split_world``, with filters and days.

``question`` reads a request as the service does, so that a list can be read as a whole.
"""

from collections.abc import Iterator, Sequence
from urllib.parse import unquote

from falcon.testing import create_req
from msgspec.structs import replace

from api.endpoints.declarations import ENDPOINTS
from api.endpoints.endpoint import Endpoint, read_parameters
from warehouse.contract.listing import Listing, Question
from warehouse.serve.build import Mart
from warehouse.serve.rows import Key, RowPage
from warehouse.shared.tiers import TIERS

# Requests by GET; those by POST have tests of their own.
READ = tuple(endpoint for endpoint in ENDPOINTS if endpoint.method == "get")
# Endpoints that answer 404 to the example of an organisation or a process, or have one row.
OF_ONE_RECORD = (
    *("/v1/fundamentals/{service_id}", "/v1/tenders/{ocid}"),
    *("/v1/elements/{service_id}", "/v1/entities/{service_id}"),
)
LISTS: dict[str, Endpoint] = {
    endpoint.name: endpoint for endpoint in READ if endpoint.listing is not None
}
_SEVERAL = "/v1/fundamentals?service_ids=DCC3,DCX9,DCNOBODY,DCA1"
_PANEL = "/v1/signals/procurement-demand"
ASKED: dict[str, Sequence[str]] = {
    "listCatalogue": (
        "/v1/catalogue",
        "/v1/catalogue?section=series&dataset=AF-MACRO",
        "/v1/catalogue?country=ZAF",
    ),
    "getFundamentals": (
        "/v1/fundamentals/DCA1",
        "/v1/fundamentals/DCA1?as_of=2021-06-01",
        "/v1/fundamentals/DCX9?vintages=all",
        "/v1/fundamentals/DCB2?vintages=as_reported&as_of=2021-06-01",
        "/v1/fundamentals/DCA1?line_items=revenue,profit&vintages=all",
        "/v1/fundamentals/DCC3?statement=income&period_type=FY",
        "/v1/fundamentals/DCA1?publication=newest",
        "/v1/fundamentals/DCX9?publication=newest&as_of=2021-06-01&line_items=revenue",
        "/v1/fundamentals/DCA1?fiscal_year=2016&vintages=all",
    ),
    "listFundamentals": (
        _SEVERAL,
        f"{_SEVERAL}&as_of=2021-06-01",
        f"{_SEVERAL}&vintages=all&line_items=revenue",
        f"{_SEVERAL}&fiscal_year=2016",
    ),
    "getElements": (
        "/v1/elements/DCA1",
        "/v1/elements/DCX9?as_of=2021-06-01",
        "/v1/elements/DCA1?element=test:revenue&vintages=all",
        "/v1/elements/DCB2?element=test:profit&as_of=2021-06-01",
    ),
    "listUniverse": (
        "/v1/universe",
        "/v1/universe?exchange=xjse",
        "/v1/universe?as_of=2021-06-01",
    ),
    "listFilings": (
        "/v1/filings?service_id=DCA1",
        "/v1/filings?service_id=DCX9",
        "/v1/filings?service_id=DCA1&as_of=2019-06-01",
        "/v1/filings?service_id=DCB2&form=ITR&as_of=2019-06-01",
        "/v1/filings?service_id=DCC3&form=DFP&from=2017-03-01&to=2017-12-31",
    ),
    "listTenders": (
        "/v1/tenders",
        "/v1/tenders?country=KEN",
        "/v1/tenders?as_of=2020-06-01",
        "/v1/tenders?query=roads",
        "/v1/tenders?supplier=alpha",
        "/v1/tenders?buyer=agency&category=works&as_of=2021-06-01",
        "/v1/tenders?from=2018-01-02&to=2018-01-05",
        "/v1/tenders?order=value",
        "/v1/tenders?order=value&query=roads&as_of=2021-06-01",
        "/v1/tenders?country=ke&from=2018-03-01&as_of=2021-06-01",
        "/v1/tenders?publication=newest",
        "/v1/tenders?publication=newest&order=value&as_of=2021-06-01",
    ),
    "listAwards": (
        "/v1/awards?country=ZA",
        "/v1/awards?country=ZAF&as_of=2020-06-01&order=value",
        "/v1/awards?country=za&from=2017-01-02&to=2030-06-30",
        "/v1/awards?service_id=DCA1",
        "/v1/awards?service_id=DCA1&order=value&as_of=2021-06-01",
        "/v1/awards?country=ZA&buyer=agency",
        "/v1/awards?service_id=DCA1&buyer=agency&as_of=2021-06-01",
    ),
    "listEntities": (
        "/v1/entities",
        "/v1/entities?country=ZAF&dataset=AF-FUND",
        "/v1/entities?exchange=xjse",
    ),
    "getEntity": ("/v1/entities/DCA1",),
    "getTender": ("/v1/tenders/ocds-0003", "/v1/tenders/ke-3?as_of=2021-06-01&publication=newest"),
    "listSharedFacts": (
        "/v1/shared/facts?entity_id=DCA1",
        "/v1/shared/facts?entity_id=DCA1&dataset=AF-TENDER&as_of=2021-06-01",
        "/v1/shared/facts?country=ZA&dataset=AF-TENDER",
        "/v1/shared/facts?country=ZAF&dataset=AF-TENDER&as_of=2020-06-01",
        "/v1/shared/facts?entity_id=ZAF",
        "/v1/shared/facts?country=za&dataset=AF-MACRO&as_of=2021-06-01",
        "/v1/shared/facts?entity_id=ZAF&measure=LONG",
    ),
    "listTenderParties": (
        "/v1/tender-parties",
        "/v1/tender-parties?role=buyer&country=ZAF",
        "/v1/tender-parties?service_id=DCA1",
        "/v1/tender-parties?as_of=2020-06-01",
        "/v1/tender-parties?as_of=2021-06-01&role=supplier",
        "/v1/tender-parties?from=2018-01-02&to=2018-06-30",
    ),
    "listMacro": (
        "/v1/macro",
        "/v1/macro?country=ZAF&indicator=NY.GDP",
        "/v1/macro?as_of=2021-06-01",
        "/v1/macro?series=FX.EUR.ZAR",
        "/v1/macro?series=FX.EUR.ZAR&as_of=2020-06-01",
        "/v1/macro?series=LONG&from=2018-03-01",
        "/v1/macro?series=REBASED",
        "/v1/macro?country=KEN&as_of=2021-06-01",
        "/v1/macro?series_type=fx&frequency=daily&as_of=2019-06-01&to=2018-12-31",
    ),
    "getCrosswalk": ("/v1/crosswalk/DCA1", "/v1/crosswalk/DCX9"),
    "lookUpIdentifier": ("/v1/crosswalk?id_type=registry&id_value=2001/123456/07",),
    "screenIssuers": (
        "/v1/screen?metric=net_margin",
        "/v1/screen?metric=net_margin&order=asc",
        "/v1/screen?metric=net_margin&as_of=2021-06-01&country=ZAF",
        "/v1/screen?metric=net_margin&order=asc&as_of=2021-12-01",
    ),
    "getMetrics": ("/v1/metrics/DCA1", "/v1/metrics/DCB2?as_of=2022-06-01&metric=net_margin"),
    "getProcurementDemand": (
        _PANEL,
        f"{_PANEL}?country=KEN&category=works",
        f"{_PANEL}?as_of=2018-09-15&from=2018-02-10",
    ),
    "getSignal": (
        # A slash would be another path: the panel has an address of its own.
        "/v1/signals/single-bid-rate",
        "/v1/signals/single-bid-rate?dimension=category&dimension_value=works",
        "/v1/signals/single-bid-rate?measure=category_share_count&country=KE",
        "/v1/signals/single-bid-rate?as_of=2018-09-15&to=2018-06-01",
    ),
    "getQualityMetrics": ("/v1/quality-metrics/af-fund",),
    "listChanges": (
        "/v1/changes?since=2000-01-01",
        "/v1/changes?since=2000-01-01&dataset=AF-MACRO",
        "/v1/changes?since=2000-01-01&level=fact&country=ZAF",
        "/v1/changes?since=2000-01-01&id=DCA1",
    ),
    "listVersions": ("/v1/versions",),
    "search": (
        "/v1/search?query=fictional",
        "/v1/search?query=fictional&kind=organisation&country=ZAF",
    ),
}
REQUESTS = [(name, url) for name, urls in ASKED.items() for url in urls]


def with_limit(name: str, url: str, limit: int) -> str:
    """Return a request with a limit; that of one record has none."""
    if "limit" not in LISTS[name].query:
        return url
    return f"{url}{'&' if '?' in url else '?'}limit={limit}"


def question(name: str, url: str, mart: Mart) -> tuple[Listing, Question]:
    """Return the list of a request, and what the request asks of it, with a paid key."""
    endpoint = LISTS[name]
    path, _, query = url.partition("?")
    given, declared = path.split("/"), endpoint.path.split("/")
    values = {
        part.strip("{}"): unquote(text)
        for text, part in zip(given, declared, strict=True)
        if part.startswith("{")
    }
    request = create_req(path=path, query_string=query)
    parameters = read_parameters(request, endpoint, **values)
    assert endpoint.listing is not None
    return endpoint.listing, Question(mart, mart.build(), parameters, TIERS["professional"])


def whole(name: str, url: str, mart: Mart) -> list[bytes]:
    """Return all rows of a request at once."""
    listing, wanted = question(name, url, mart)
    return [bytes(row) for row in listing.read(wanted).rows.rows]


def walked(name: str, url: str, mart: Mart, sizes: Sequence[int]) -> Iterator[RowPage]:
    """Yield the pages of a request, of one size after the other."""
    listing, wanted = question(name, url, mart)
    after: Key | None = None
    number = 0
    while True:
        size = sizes[number % len(sizes)]
        page = listing.read(replace(wanted, limit=size, after=after)).rows
        yield page
        if not page.truncated:
            return
        after, number = page.key_of(len(page.rows)), number + 1
