"""Section 9 of the contract, and the data_version of decision 2.4: a test for each row."""

from datetime import UTC, date, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import quote

import falcon
import pytest

from api.app import create_app
from api.endpoints.endpoint import Deprecation, Endpoint, read_parameters
from api.endpoints.response import send_without_rows
from tests.helpers.contract_client import Contract, WireResponse, example_url
from tests.helpers.every_list import READ
from tests.helpers.facts import fact
from tests.helpers.publishing import publish
from tests.helpers.record_rows import entity_row, load, release_row, series_row
from tests.helpers.rest_service import answering, make_world
from tests.helpers.whole_tables import query
from warehouse.control.keys import KeyStore
from warehouse.record.store import Record
from warehouse.record.tables import ENTITIES, FUNDAMENTALS, MACRO_SERIES, TENDER_RELEASES
from warehouse.serve.build import Mart

OPEN = {"/health", "/v1/status", "/openapi.json"}
KEYED = [endpoint for endpoint in READ if endpoint.path not in OPEN]


def test_9_1_everything_but_liveness_and_the_description_is_under_v1(api: Contract) -> None:
    outside = {path for path in api.document["paths"] if not path.startswith("/v1/")}
    assert outside == {"/health", "/openapi.json"}
    assert (api.document["openapi"], api.document["info"]["version"]) == ("3.1.0", "1.0.0")


def test_9_2_every_response_carries_the_version(api: Contract) -> None:
    requests = [("/health", 200), ("/nothing", 404), ("/v1/tenders", 401), ("/v1/tenders?x=1", 401)]
    for path, status in requests:
        answer = api.get(path, None)
        assert (answer.status, answer.headers["X-Service-API-Version"]) == (status, "1.0.0")
    status, headers, _ = api.server.get("/v1/tenders", method="DELETE")
    assert (status, headers["X-Service-API-Version"]) == (405, "1.0.0")


def test_9_3_nothing_is_deprecated(api: Contract) -> None:
    for path in (endpoint.path for endpoint in KEYED):
        answer = api.get(example_url(path))
        assert "Deprecation" not in answer.headers and "Sunset" not in answer.headers


class DeprecatedKeyedResource:
    """An endpoint of the tests that will be removed."""

    endpoint = Endpoint(
        "getGoing",
        "/v1/going",
        "Goes",
        "",
        "Health",
        "service",
        deprecation=Deprecation(
            datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 7, 1, tzinfo=UTC), "/v1/next"
        ),
    )

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        read_parameters(req, self.endpoint)
        send_without_rows(resp, b'{"status":"ok"}', "20260101.1")


def test_9_3_what_is_being_removed_says_so_with_notice_and_a_successor(api: Contract) -> None:
    app = create_app(Mart(api.world.marts), KeyStore(api.stores.key_store.url))
    app.add_route(DeprecatedKeyedResource.endpoint.path, DeprecatedKeyedResource())
    with answering(app) as server:
        met = [
            WireResponse(*server.get("/v1/going", api.key())),
            WireResponse(*server.get("/v1/going?wrong=1", api.key())),
            WireResponse(*server.get("/v1/going")),
        ]
        stays = WireResponse(*server.get("/v1/export", api.key()))
    assert [item.status for item in met] == [200, 400, 401]
    for answer in met:
        assert answer.headers["Deprecation"] == "@1767225600"
        sunset = parsedate_to_datetime(answer.headers["Sunset"])
        assert sunset - datetime(2026, 1, 1, tzinfo=UTC) >= timedelta(days=180)
        assert answer.headers["Link"] == '</v1/next>; rel="successor-version"'
    assert "Deprecation" not in stays.headers and "Sunset" not in stays.headers


@pytest.mark.parametrize("path", [endpoint.path for endpoint in KEYED])
@pytest.mark.every_store
def test_9_4_a_pinned_data_version_answers_and_an_unknown_one_is_named(
    api: Contract, path: str
) -> None:
    build = api.mart.build()
    (someone,) = query(build, "SELECT service_id FROM metrics ORDER BY 1 LIMIT 1")[0]
    (ocid,) = query(build, "SELECT ocid FROM tender_releases ORDER BY 1 LIMIT 1")[0]
    url = example_url(path).replace("DCNOBODY", str(someone)).replace("ocds-none", quote(ocid))
    pinned = api.get(url, X_Data_Version=build.data_version)
    assert (pinned.status, pinned.headers["X-Data-Version"]) == (200, build.data_version)
    # Each request is counted.
    assert path == "/v1/usage" or pinned.raw == api.get(url).raw
    wrong = api.problem(url, 400, "parameter_invalid", X_Data_Version="20000101.1")
    assert wrong["parameter"] == "X-Data-Version"


def test_9_4_a_pin_answers_byte_for_byte_as_then_whatever_was_loaded_since(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    world = make_world(tmp_path_factory, "pinned")
    marts, keys, key = world.marts, KeyStore(world.keys), world.paid
    record = Record(str(world.root / "record"))
    paths = [
        *(f"/v1/{kind}/DCA1" for kind in ("fundamentals", "entities", "crosswalk", "metrics")),
        "/v1/fundamentals/DCA1?vintages=all",
        "/v1/tenders",
        "/v1/macro?series=FX.EUR.ZAR",
        "/v1/tender-parties",
    ]
    with answering(create_app(Mart(marts), keys)) as server:
        then = {path: WireResponse(*server.get(path, key)) for path in paths}
        version = then["/v1/tenders"].body["data_version"]
        more: dict[str, Any] = {"available_at": date(2025, 1, 1), "publication": "later"}
        load(record, FUNDAMENTALS, fact("7.25", issuer="DCA1", item="revenue", year=2017, **more))
        load(record, ENTITIES, entity_row(service_id="DCA1", legal_name="Renamed Ltd", **more))
        load(record, MACRO_SERIES, series_row("9.5", date(2018, 1, 1), series="FX.EUR.ZAR", **more))
        load(record, TENDER_RELEASES, release_row(900))
        assert publish(record, marts) > version

        for path, before in then.items():
            now = WireResponse(*server.get(path, key))
            pinned = WireResponse(*server.get(path, key, X_Data_Version=version))
            assert (before.status, pinned.status, now.status) == (200, 200, 200)
            assert pinned.raw == before.raw != now.raw
            assert pinned.headers["ETag"] == before.headers["ETag"] != now.headers["ETag"]
            assert pinned.headers["X-Data-Version"] == version < now.headers["X-Data-Version"]


def test_9_4_a_malformed_data_version_is_400_before_the_tier_is_asked(api: Contract) -> None:
    path = "/v1/tenders?limit=26"
    for wrong in ("0", "latest", "../keys", "20261114"):
        body = api.problem(path, 400, "parameter_invalid", "sample", X_Data_Version=wrong)
        assert body["parameter"] == "X-Data-Version"


def test_9_5_pagination_is_by_keyset_only(api: Contract) -> None:
    for name in ("offset", "page", "skip"):
        api.problem(f"/v1/tenders?{name}=2", 400, "parameter_unknown")
    cursors = [endpoint.path for endpoint in READ if "cursor" in endpoint.query]
    lists = [each for each in READ if each.listing is not None and not each.listing.is_one]
    assert cursors == [endpoint.path for endpoint in lists]


def test_an_error_of_a_keyed_request_names_the_data_version(api: Contract) -> None:
    version = api.mart.build().data_version
    for path in ("/v1/tenders?limit=x", "/v1/entities/DCNOBODY"):
        assert api.get(path).headers["X-Data-Version"] == version
