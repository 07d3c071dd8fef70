"""What cannot be requested is refused with the words that can; a list without rows says why."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from falcon import testing
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from api.app import create_app
from api.endpoints.endpoint import Endpoint
from tests.helpers.every_list import ASKED, LISTS, REQUESTS, with_limit
from tests.helpers.facts import fact
from tests.helpers.list_service import ListService, list_service, rows_of
from tests.helpers.nightly import times
from tests.helpers.publishing import publish
from tests.helpers.record_rows import load
from warehouse.contract.parameter_types import Parameter
from warehouse.control.keys import KeyStore, create_key
from warehouse.record.store import Record
from warehouse.record.tables import FUNDAMENTALS
from warehouse.serve.build import Mart

CLOSED = [
    (name, parameter)
    for name, endpoint in LISTS.items()
    for parameter in endpoint.query.values()
    if parameter.kind.words
]

NO_LEI = "213800AAAAAAAAAAAA99"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ListService]:
    service = list_service(tmp_path_factory, "empty")
    yield service
    service.mart.close()


def asked_with(name: str, parameter: str, value: str) -> str:
    """Return the shortest request of a list with another value of a parameter."""
    path, _, query = ASKED[name][0].partition("?")
    others = [part for part in query.split("&") if part and not part.startswith(f"{parameter}=")]
    return f"{path}?{'&'.join([*others, f'{parameter}={quote(value)}'])}"


def test_the_closed_vocabularies_are_these() -> None:
    names = {parameter.name for _, parameter in CLOSED}
    assert names == {
        *("role", "series_type", "frequency", "dataset", "line_items", "statement", "order"),
        *("metric", "vintages", "period_type", "id_type", "section", "format", "dimension"),
        *("kind", "level", "publication", "metric_set", "adjust"),
    }


@pytest.mark.parametrize(
    ("name", "parameter"), CLOSED, ids=lambda item: getattr(item, "name", item)
)
def test_a_word_that_is_not_in_a_vocabulary_is_refused_with_those_that_are(
    name: str, parameter: Parameter, service: ListService
) -> None:
    words = parameter.kind.words
    for word in words:
        for near in (f"{word}x", word.swapcase()):
            if near in words:
                continue
            refused = service.get(asked_with(name, parameter.name, near))
            assert (refused.status_code, refused.json["code"]) == (400, "parameter_invalid")
            assert refused.json["parameter"] == parameter.name
            assert refused.json["allowed"] == list(words)
            assert word in refused.json["nearest"], near
    unknown = service.get(asked_with(name, parameter.name, "0000"))
    assert (unknown.status_code, unknown.json["allowed"]) == (400, list(words))


@pytest.mark.parametrize(
    ("url", "status", "nearest"),
    [
        ("/v1/signals/single-bid-rat", 404, "single-bid-rate"),
        ("/v1/signals/Single-Bid-Rate", 400, "single-bid-rate"),
        ("/v1/signals/nothing-like-it", 404, None),
        ("/v1/quality-metrics/AF-FUN", 404, "AF-FUND"),
        ("/v1/quality-metrics/AF_FUND", 404, "AF-FUND"),
        ("/v1/quality-metrics/0000", 404, None),
    ],
)
def test_a_key_in_a_path_is_refused_with_those_that_exist(
    url: str, status: int, nearest: str | None, service: ListService
) -> None:
    refused = service.get(url)
    assert refused.status_code == status
    assert refused.json["allowed"] and refused.json["received"] == url.rpartition("/")[2]
    assert nearest is None or refused.json["nearest"][0] == nearest


@pytest.mark.parametrize(
    ("url", "code", "parameter", "named"),
    [
        # Unknown: the nearest values, or all if they are few.
        ("/v1/tenders?country=BR", "value_not_held", "country", "ZA"),
        ("/v1/tenders?category=wurks", "value_not_held", "category", "works"),
        ("/v1/tenders?category=WORKS", "value_not_held", "category", "works"),
        ("/v1/tenders?status=open", "value_not_held", "status", None),
        ("/v1/macro?series=fx.eur.zax", "value_not_held", "series", "FX.EUR.ZAR"),
        ("/v1/macro?indicator=NY.GPD", "value_not_held", "indicator", "NY.GDP"),
        ("/v1/macro?country=BRA&as_of=2021-06-01", "value_not_held", "country", "ZAF"),
        ("/v1/shared/facts?entity_id=DCA1&measure=revenu", "value_not_held", "measure", "revenue"),
        ("/v1/shared/facts?country=BR&dataset=AF-TENDER", "value_not_held", "country", "ZAF"),
        ("/v1/tender-parties?role=payer", "value_not_held", "role", "buyer"),
        ("/v1/tender-parties?service_id=DCNOBODY", "value_not_held", "service_id", None),
        ("/v1/metrics/DCNOBODY", "value_not_held", "service_id", None),
        ("/v1/screen?metric=gross_margin", "value_not_held", "metric", "net_margin"),
        ("/v1/screen?metric=net_margin&country=BR", "value_not_held", "country", "ZA"),
        ("/v1/signals/procurement-demand?category=w", "value_not_held", "category", "works"),
        ("/v1/signals/single-bid-rate?measure=shares", "value_not_held", "measure", None),
        ("/v1/elements/DCA1?element=test:revenu", "value_not_held", "element", "test:revenue"),
        ("/v1/universe?exchange=XLON", "value_not_held", "exchange", "XJSE"),
        ("/v1/universe?as_of=2000-01-01", "not_known_then", "as_of", None),
        ("/v1/fundamentals?service_ids=DCNOBODY", "value_not_held", "service_ids", None),
        ("/v1/fundamentals/DCA1?period_type=Q3", "value_not_held", "period_type", None),
        (
            "/v1/crosswalk?id_type=lei&id_value=213800AAAAAAAAAAAA99",
            "value_not_held",
            "id_value",
            None,
        ),
        ("/v1/catalogue?country=BR", "value_not_held", "country", None),
        ("/v1/changes?since=2000-01-01&id=DCA2", "value_not_held", "id", "DCA1"),
        # An issuer has figures by default, and its awards in another dataset.
        (
            "/v1/shared/facts?entity_id=DCA1&measure=award",
            "value_not_held",
            "measure",
            "award_value",
        ),
        # There, but not together.
        ("/v1/macro?series=LONG&country=KEN", "not_held_together", "series", "FX.EUR.ZAR"),
        ("/v1/tenders?country=KE&category=works", "not_held_together", None, None),
        # There, but on other days.
        ("/v1/tenders?from=2050-01-01", "out_of_range", "from", None),
        ("/v1/macro?series=LONG&to=1990-01-01", "out_of_range", "to", None),
        ("/v1/macro?indicator=NY.GDP&from=2050", "out_of_range", "from", None),
        ("/v1/signals/single-bid-rate?from=2050-01-01", "out_of_range", "from", None),
        ("/v1/changes?since=2050-01-01", "out_of_range", "since", None),
        # There before and after, but not on the days between.
        ("/v1/macro?series=LONG&from=2018-02-10&to=2018-03-10", "not_recorded", "from", None),
        # There, but not public then.
        ("/v1/tenders?as_of=2000-01-01", "not_known_then", "as_of", None),
        ("/v1/tenders/ocds-0003?as_of=2000-01-01", "not_known_then", "as_of", None),
        ("/v1/fundamentals/DCA1?as_of=2000-01-01", "not_known_then", "as_of", None),
        ("/v1/tender-parties?as_of=2000-01-01", "not_known_then", "as_of", None),
        ("/v1/macro?series=LONG&as_of=2000-01-01", "not_known_then", "as_of", None),
        ("/v1/signals/single-bid-rate?as_of=2000-01-01", "not_known_then", "as_of", None),
        ("/v1/metrics/DCA1?as_of=2000-01-01", "not_known_then", "as_of", None),
        ("/v1/screen?metric=net_margin&as_of=2000-01-01", "not_known_then", "as_of", None),
        (
            "/v1/shared/facts?entity_id=ZAF&measure=NY.GDP&as_of=2021-06-01",
            *("not_known_then", "as_of", None),
        ),
        # There, but no row has all of it, or nothing can be computed.
        ("/v1/tenders?query=xylophone", "no_match", None, None),
        ("/v1/screen?metric=net_margin&as_of=2018-01-15", "not_computable", "metric", None),
    ],
)
def test_a_question_without_an_answer_is_told_why(
    url: str, code: str, parameter: str | None, named: str | None, service: ListService
) -> None:
    answer = service.get(url)
    assert rows_of(answer) == []
    empty = answer.json["empty"]
    assert empty["code"] == code, empty
    assert parameter is None or empty["parameter"] == parameter
    assert named is None or named in empty["nearest"], empty
    assert (empty["held"] is not None) >= (code in ("not_recorded", "out_of_range"))
    assert empty["detail"].endswith(".")
    if empty["held"]:
        assert empty["held"]["from"] <= empty["held"]["to"]


@pytest.mark.parametrize("query", ["country=KE&as_of=2000-01-01", "country=BR"])
def test_without_awards_of_any_buyer_one_of_them_is_not_the_reason(
    query: str, service: ListService
) -> None:
    of_any = service.get(f"/v1/awards?{query}").json["empty"]
    assert service.get(f"/v1/awards?{query}&buyer=agency").json["empty"] == of_any


@pytest.mark.parametrize(("name", "url"), REQUESTS)
def test_a_list_with_rows_has_no_reason(name: str, url: str, service: ListService) -> None:
    answer = service.get(with_limit(name, url, 2))
    assert rows_of(answer) and answer.json["empty"] is None


def test_where_an_operator_leaves_elements_out_the_reason_names_the_setting(tmp_path: Path) -> None:
    record = Record(str(tmp_path / "record"))
    load(record, FUNDAMENTALS, fact(issuer="DCTEST1"))
    publish(record, tmp_path / "marts")
    keys = KeyStore(tmp_path / "control.sqlite")
    headers = {"X-API-Key": create_key(keys, "professional")}
    with closing(Mart(tmp_path / "marts")) as mart:
        client = testing.TestClient(create_app(mart, keys))
        for url in ("/v1/elements/DCTEST1", "/v1/elements/DCTEST1?element=us-gaap:Assets"):
            empty = client.simulate_get(url, headers=headers).json["empty"]
            assert empty["code"] == "nothing_held" and "SANKOFA_ELEMENTS" in empty["detail"]


SAMPLE_VALUES = {
    "country": ("ZA", "KEN", "BR", "xyz"),
    "as_of": ("2000-01-01", "2018-06-01", "2020-06-01", "2026-01-01"),
    "from": ("2018-01-02", "2018-06-01", "2050-01-01"),
    "to": ("1990-01-01", "2018-06-01", "2030-01-01"),
    "derived": ("true", "false"),
    "fiscal_year": ("2016", "2017", "1990"),
    "element": ("test:revenue", "test:none"),
    "series": ("FX.EUR.ZAR", "LONG", "FX.EUR"),
    "indicator": ("NY.GDP", "NY"),
    "measure": ("LONG", "revenue", "category_share_count", "tender_value", "x"),
    "category": ("works", "goods", "wörks"),
    "supplier": ("alpha", "DCA1", "nobody"),
    "exchange": ("XJSE", "xnai", "OTC"),
    "buyer": ("agency", "DCA1", "nobody"),
    "query": ("roads", "école", "nothing here"),
    "status": ("active",),
    "form": ("DFP", "ITR", "20-F"),
    "entity_id": ("DCA1", "ZAF", "KEN", "DCNOBODY", "DCX9"),
    "service_id": ("DCA1", "DCX9", "DCNOBODY"),
    "service_ids": ("DCA1,DCB2", "DCNOBODY", "DCX9,DCB2"),
    "dimension": ("category", "all"),
    "dimension_value": ("works", "all"),
    "id": ("DCA1", "FX.EUR.ZAR", "ZA", "x"),
    "id_value": ("2001/123456/07", "XJSE:ALP", "\x00"),
    "since": ("2000-01-01", "2026-01-01", "2050-01-01"),
    "limit": ("1", "3"),
    "signal_key": ("single-bid-rate", "procurement-demand", "award-concentration"),
    "sku": ("af-fund", "AF-MACRO"),
    "ocid": ("ocds-0003", "ke-3", "undated", "none/at/all", "\x00"),
}


@st.composite
def requests(draw: st.DrawFn, endpoint: Endpoint) -> str:
    """Draw a request of a list: some of its parameters, each with a value that rows may have."""

    def value(parameter: Parameter) -> str:
        values = parameter.kind.words or SAMPLE_VALUES[parameter.name]
        return quote(draw(st.sampled_from(values)), safe=",")

    path = endpoint.path
    for parameter in endpoint.in_path.values():
        path = path.replace(f"{{{parameter.name}}}", value(parameter))
    optional = [
        p
        for p in endpoint.query.values()
        if p.name not in ("cursor", "format", "receipt", "data_version", "fields")
    ]
    chosen = [p for p in optional if p.required or draw(st.booleans())]
    return f"{path}?{'&'.join(f'{p.name}={value(p)}' for p in chosen)}"


@pytest.mark.parametrize("name", LISTS)
def test_a_list_has_rows_or_a_reason_and_never_both(name: str, service: ListService) -> None:
    seen = set[bool]()

    @settings(max_examples=times(30), suppress_health_check=list(HealthCheck))
    # Few random requests of some lists find rows: one that does is always among them.
    @example(ASKED[name][0])
    @given(requests(LISTS[name]))
    def check(url: str) -> None:
        answer = service.get(url)
        assert answer.status_code in (200, 400, 404), (url, answer.text)
        if answer.status_code == 200:
            body: dict[str, Any] = answer.json
            assert (body["empty"] is None) is bool(rows_of(answer)), url
            assert body["count"] == len(rows_of(answer))
            if body["empty"] is not None:
                declared = {parameter.name for parameter in LISTS[name].parameters}
                assert body["empty"]["parameter"] in {None, *declared}
            seen.add(body["empty"] is None)

    check()
    assert True in seen
