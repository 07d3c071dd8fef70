"""The REST service over a real record, a real build and a real key store."""

import http.client
import json
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from falcon import testing

from api.app import create_app
from api.serve import ServeOptions, bind, listen_on
from api.server.waitress_loop import run
from tests.helpers.facts import fact
from tests.helpers.publishing import publish
from tests.helpers.record_rows import (
    entity_row,
    load,
    observation,
    release_row,
    restated,
    series_row,
)
from tests.helpers.waiting import wait_until
from warehouse.control.keys import KeyStore, create_key, sandbox
from warehouse.publish.builds import SAMPLE_NOTICE
from warehouse.record.store import Record
from warehouse.record.tables import (
    ENTITIES,
    FUNDAMENTALS,
    MACRO_ANNUAL,
    MACRO_SERIES,
    TENDER_RELEASES,
)
from warehouse.serve.build import Mart
from warehouse.shared.stop import Stop

FACTS = "/v1/fundamentals/DCTEST1"


@dataclass(frozen=True)
class PublishedService:
    """A service on a small published world, with a key of each kind."""

    client: testing.TestClient
    record: Record
    mart: Path
    keys: Path
    sample: str
    paid: str

    def get(self, path: str, key: str | None = None, **headers: str) -> testing.Result:
        sent = {
            "X-API-Key": key or self.paid,
            **{k.replace("_", "-"): v for k, v in headers.items()},
        }
        return self.client.simulate_get(path, headers=sent)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PublishedService]:
    root = tmp_path_factory.mktemp("service")
    record, mart, keys = Record(str(root / "record")), root / "mart", root / "control.sqlite"
    restated(record)
    load(
        record, FUNDAMENTALS, *(fact("1", year=year, issuer="DCLONG") for year in range(1990, 2018))
    )
    load(record, ENTITIES, entity_row())
    load(record, TENDER_RELEASES, *map(release_row, range(60)))
    load(record, MACRO_SERIES, *(series_row("20.5", date(2019, 1, day)) for day in (2, 3, 4)))
    year = {"period_start": date(2010, 1, 1), "period_end": date(2010, 12, 31)}
    gdp = {**year, "available_at": None, "indicator": "NY.GDP.MKTP.CD"}
    load(record, MACRO_ANNUAL, observation("369062464570.386", date(2019, 1, 1), **gdp))
    publish(record, mart, notice=SAMPLE_NOTICE)
    store = KeyStore(keys)
    client = testing.TestClient(create_app(Mart(mart), store))
    yield PublishedService(client, record, mart, keys, sandbox(store), create_key(store, "starter"))


def problem(result: testing.Result, status: int, code: str) -> dict[str, Any]:
    assert result.status_code == status, result.text
    assert result.headers["content-type"] == "application/problem+json"
    body: dict[str, Any] = result.json
    assert (body["code"], body["status"]) == (code, status)
    assert body["type"] == f"/problems/{code}" and body["title"] and body["detail"]
    assert body["instance"] == result.headers["x-request-id"]
    return body


def test_facts_are_answered_as_of_in_their_envelope(service: PublishedService) -> None:
    answer = service.get(f"{FACTS}?as_of=2019-12-31")

    body = answer.json
    assert list(body) == [
        "data",
        "count",
        "_license",
        "truncated",
        "limit",
        "as_of",
        "data_version",
        "next_cursor",
        "empty",
    ]
    assert [row["value_reported"] for row in body["data"]] == [10]
    assert (body["count"], body["truncated"], body["as_of"]) == (1, False, "2019-12-31")
    assert "FICTIONAL" in body["_license"] and "No natural-person data" in body["_license"]
    assert answer.headers["x-data-version"] == body["data_version"]
    assert answer.headers["x-service-tier"] == "starter"
    assert answer.headers["x-service-api-version"] == "1.0.0"
    assert b"superseded_at" not in answer.content


def test_digits_are_served_as_they_were_reported(service: PublishedService) -> None:
    assert b'"value_reported":12.5,' in service.get(FACTS).content
    assert b'"value":369062464570.386,' in service.get("/v1/macro?country=ZAF").content


def test_every_vintage_is_served_when_asked_for(service: PublishedService) -> None:
    rows = service.get(f"{FACTS}?vintages=all").json["data"]
    assert [(row["vintage"], row["value_reported"]) for row in rows] == [(1, 10), (2, 12.5)]
    assert service.get(f"{FACTS}?vintages=as_reported").json["data"][0]["value_reported"] == 10
    assert service.get(f"{FACTS}?period_type=H1").json["data"] == []


def test_a_future_as_of_answers_as_of_today_and_says_so(service: PublishedService) -> None:
    body = service.get(f"{FACTS}?as_of=2999-01-01").json
    assert body["as_of"] == datetime.now(UTC).date().isoformat()
    assert body["count"] == 1


def test_a_sample_key_gets_the_newest_25_facts_and_a_paid_one_all(
    service: PublishedService,
) -> None:
    sample = service.get("/v1/fundamentals/DCLONG", service.sample).json
    paid = service.get("/v1/fundamentals/DCLONG").json

    assert (sample["count"], sample["truncated"], sample["limit"]) == (25, True, 25)
    assert (paid["count"], paid["truncated"], paid["limit"]) == (28, False, None)
    assert sample["data"] == paid["data"][:25]
    assert sample["data"][0]["period_end"] == "2017-12-31"


def test_a_missing_or_unknown_key_is_401(service: PublishedService) -> None:
    bare = service.client.simulate_get(FACTS)
    assert problem(bare, 401, "key_missing")
    assert "www-authenticate" in bare.headers
    problem(service.get(FACTS, "sk_live_wrong"), 401, "key_invalid")
    problem(service.get(f"{FACTS}?nonsense=1", "sk_live_wrong"), 401, "key_invalid")


def test_a_bearer_token_is_a_key_too(service: PublishedService) -> None:
    headers = {"Authorization": f"bearer {service.paid}"}
    assert service.client.simulate_get(FACTS, headers=headers).status_code == 200


def test_an_unknown_parameter_is_400_and_named(service: PublishedService) -> None:
    body = problem(service.get(f"{FACTS}?asof=2019-01-01"), 400, "parameter_unknown")
    assert body["nearest"] == ["as_of"]
    assert body["parameter"] == "asof" and "as_of" in body["allowed"]


@pytest.mark.parametrize(
    ("query", "code", "parameter"),
    [
        (f"{FACTS}?as_of=2019-02-30", "parameter_invalid", "as_of"),
        (f"{FACTS}?as_of=20190201", "parameter_invalid", "as_of"),
        (f"{FACTS}?as_of=", "parameter_invalid", "as_of"),
        (f"{FACTS}?as_of=2019-01-01&as_of=2020-01-01", "parameter_repeated", "as_of"),
        (f"{FACTS}?vintages=newest", "parameter_invalid", "vintages"),
        (f"{FACTS}?period_type=fiscal", "parameter_invalid", "period_type"),
        ("/v1/fundamentals/DC-1", "parameter_invalid", "service_id"),
        ("/v1/entities/DCTEST1?as_of=2019-01-01", "parameter_unknown", "as_of"),
        ("/v1/tenders?limit=0", "parameter_invalid", "limit"),
        ("/v1/tenders?limit=ten", "parameter_invalid", "limit"),
        ("/v1/tenders?limit=1001", "limit_above_ceiling", "limit"),
        ("/v1/tenders?country=ZAFR", "parameter_invalid", "country"),
        ("/v1/macro?series=FX.EUR.ZAR&indicator=X", "parameter_conflict", "indicator"),
        ("/v1/macro?series_type=fx", "parameter_conflict", "series_type"),
        ("/v1/macro?as_of=2020-01-01&from=2010", "parameter_invalid", "from"),
        ("/v1/macro?from=2012&to=2010", "parameter_conflict", "from"),
        ("/v1/status?a=1", "parameter_unknown", "a"),
    ],
)
def test_a_malformed_parameter_is_400_and_named(
    service: PublishedService, query: str, code: str, parameter: str
) -> None:
    assert problem(service.get(query), 400, code)["parameter"] == parameter


def test_more_rows_than_the_sample_serves_is_402_with_the_way_up(service: PublishedService) -> None:
    answer = service.get("/v1/tenders?limit=26", service.sample)

    body = problem(answer, 402, "row_cap_exceeded")
    assert body["upgrade_url"] == answer.headers["x-upgrade-url"]
    assert (body["maximum"], body["tier"]) == (25, "sample")
    assert service.get("/v1/tenders", service.sample).json["count"] == 25
    problem(service.get("/v1/tenders?limit=26&from=x", service.sample), 400, "parameter_invalid")


def test_an_id_nobody_has_is_404(service: PublishedService) -> None:
    problem(service.get("/v1/fundamentals/DCNOBODY"), 404, "not_found")
    problem(service.get("/v1/entities/DCNOBODY"), 404, "not_found")
    problem(service.get("/v1/entities/DC-1"), 404, "not_found")
    assert service.get(f"{FACTS}?as_of=1999-01-01").json["count"] == 0


def test_a_route_that_is_not_there_needs_no_key_to_be_404(service: PublishedService) -> None:
    problem(service.client.simulate_get("/v1/nothing"), 404, "not_found")


def test_a_route_that_is_not_there_names_those_that_are_spelt_alike(
    service: PublishedService,
) -> None:
    body = problem(service.client.simulate_get("/v1/entity/DCA1"), 404, "not_found")
    assert body["nearest"] == ["/v1/entities", "/v1/entities/{service_id}"]
    assert "/v1/entities/{service_id}" in body["detail"]
    posted = service.client.simulate_post("/v1/tenders")
    problem(posted, 405, "method_not_allowed")
    assert "GET" in posted.headers["allow"]


def test_an_entity_is_one_row(service: PublishedService) -> None:
    body = service.get("/v1/entities/DCTEST1").json
    assert body["count"] == 1
    assert body["data"][0]["legal_name"] == "Ubuntu Fictional Mining Ltd"
    assert body["data"][0]["datasets"] == ["AF-FUND"]


def test_macro_answers_in_the_mode_that_is_asked_for(service: PublishedService) -> None:
    series = service.get("/v1/macro?series=FX.EUR.ZAR&from=2019-01-03&as_of=2019-12-31").json
    years = service.get("/v1/macro?country=za&indicator=NY.GDP.MKTP.CD&from=2010&to=2010").json

    assert [row["period_end"] for row in series["data"]] == ["2019-01-04", "2019-01-03"]
    assert series["as_of"] == "2019-12-31"
    assert [row["indicator"] for row in years["data"]] == ["NY.GDP.MKTP.CD"]
    assert service.get("/v1/macro?as_of=2018-01-01").json["count"] == 0
    assert service.get("/v1/macro?country=za&from=2011").json["count"] == 0


def walk(service: PublishedService, query: str, key: str) -> Iterator[dict[str, Any]]:
    cursor = ""
    while cursor is not None:
        body = service.get(f"/v1/tenders?{query}{cursor and '&cursor='}{cursor}", key).json
        yield body
        cursor = body["next_cursor"]


def test_walking_all_tenders_by_cursor_gives_each_release_once(service: PublishedService) -> None:
    pages = list(walk(service, "limit=7", service.sample))

    met = [row["ocid"] for page in pages for row in page["data"]]
    assert len(met) == len(set(met)) == 60
    days = [row["date"] for page in pages for row in page["data"]]
    assert days == sorted(days, reverse=True)
    assert [page["truncated"] for page in pages] == [True] * 8 + [False]


def test_an_altered_or_borrowed_cursor_is_400(service: PublishedService) -> None:
    cursor = service.get("/v1/tenders?limit=5").json["next_cursor"]
    # A letter is replaced by another one: a cursor begins with any letter.
    first, last = ("A" if letter != "A" else "B" for letter in (cursor[0], cursor[-1]))
    altered = [cursor[:-1] + last, first + cursor[1:], cursor[:40], cursor + "=", "!", "a" * 5000]
    for position in range(0, len(cursor), 7):
        other = "A" if cursor[position] != "A" else "B"
        altered.append(cursor[:position] + other + cursor[position + 1 :])
    for altered_cursor in altered:
        problem(service.get(f"/v1/tenders?limit=5&cursor={altered_cursor}"), 400, "cursor_invalid")
    borrowed = service.get(f"/v1/tenders?country=KE&cursor={cursor}")
    assert problem(borrowed, 400, "cursor_invalid")["parameter"] == "cursor"


def test_head_is_answered_wherever_get_is(service: PublishedService) -> None:
    whole = service.get(FACTS)
    head = service.client.simulate_head(FACTS, headers={"X-API-Key": service.paid})
    assert head.status_code == 200 and head.content == b""
    assert head.headers["content-length"] == str(len(whole.content))


def test_a_valid_request_id_is_kept_and_another_replaced(service: PublishedService) -> None:
    response = service.get(FACTS, X_Request_Id="mine-1.2")
    replaced = service.get(FACTS, X_Request_Id="no spaces allowed")
    assert response.headers["x-request-id"] == "mine-1.2"
    assert replaced.headers["x-request-id"] != "no spaces allowed"


def test_a_pinned_data_version_is_answered_and_an_unknown_one_named(
    service: PublishedService,
) -> None:
    version = service.get(FACTS).json["data_version"]
    assert service.get(FACTS, X_Data_Version=version).json["data_version"] == version
    for wrong in ("20000101.1", "../keys"):
        body = problem(service.get(FACTS, X_Data_Version=wrong), 400, "parameter_invalid")
        assert body["parameter"] == "X-Data-Version"


def test_health_and_status_need_no_key(service: PublishedService) -> None:
    assert service.client.simulate_get("/health").json == {"status": "ok"}
    body = service.client.simulate_get("/v1/status").json
    assert (body["status"], body["degraded"]) == ("ok", [])
    assert set(body["checks"]) == {"datastore", "key_store"}
    assert all(check["latency_ms"] >= 0 for check in body["checks"].values())
    assert body["data_version"] == service.get(FACTS).json["data_version"]


def test_a_store_that_fails_is_503_and_named(tmp_path: Path) -> None:
    store = KeyStore(tmp_path / "control.sqlite")
    key = create_key(store, "starter")
    client = testing.TestClient(create_app(Mart(tmp_path / "mart"), store))
    headers = {"X-API-Key": key}

    unpublished = client.simulate_get(FACTS, headers=headers)
    assert problem(unpublished, 503, "datastore_unavailable")["retryable"] is True
    assert unpublished.headers["retry-after"] == "5"
    (tmp_path / "control.sqlite").unlink()
    # Keys that were read go on; whether there is another one cannot be said.
    problem(client.simulate_get(FACTS, headers=headers), 503, "datastore_unavailable")
    unknown = client.simulate_get(FACTS, headers={"X-API-Key": f"{key}x"})
    problem(unknown, 503, "key_store_unavailable")

    status = client.simulate_get("/v1/status")
    assert status.status_code == 503
    assert status.json["degraded"] == ["datastore", "key_store"]
    assert client.simulate_get("/health").status_code == 200


def test_every_problem_has_its_page(service: PublishedService) -> None:
    page = service.client.simulate_get("/problems/cursor_invalid")
    assert page.status_code == 200 and "next_cursor" in page.text
    problem(service.client.simulate_get("/problems/none"), 404, "not_found")


def test_what_we_did_not_foresee_is_a_problem_without_its_inside(
    service: PublishedService, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("inside")

    monkeypatch.setattr("warehouse.contract.organisations.entity", broken)
    body = problem(service.get("/v1/entities/DCTEST1"), 500, "internal_error")
    assert "inside" not in json.dumps(body)
    assert "inside" in caplog.text


def test_a_request_is_logged_without_its_key(
    service: PublishedService, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "sankofa.access"):
        service.get(FACTS)
    line = json.loads(caplog.records[-1].message)
    assert (line["path"], line["status"], line["key"]) == (FACTS, 200, service.paid[:12])
    assert service.paid not in caplog.text


def test_a_browser_of_any_origin_may_read(service: PublishedService) -> None:
    answer = service.get(FACTS, Origin="https://example.org")
    assert answer.headers["access-control-allow-origin"] == "*"
    preflight = service.client.simulate_options(
        FACTS,
        headers={
            "Origin": "https://example.org",
            "Access-Control-Request-Method": "GET",
            "Access-Control-Request-Headers": "X-API-Key",
        },
    )
    assert preflight.status_code == 200
    assert "GET" in preflight.headers["access-control-allow-methods"]


def test_a_walk_stays_in_its_build_while_another_is_published(service: PublishedService) -> None:
    pages = walk(service, "limit=25", service.paid)
    met = [row["ocid"] for row in next(pages)["data"]]
    load(service.record, TENDER_RELEASES, *map(release_row, range(60, 90)))
    newest = publish(service.record, service.mart, notice=SAMPLE_NOTICE)

    for page in pages:
        assert page["data_version"] != newest
        met += [row["ocid"] for row in page["data"]]

    assert len(met) == len(set(met)) == 60
    assert service.get(FACTS).json["data_version"] == newest


def test_it_answers_over_a_real_socket_with_a_build_that_was_published_meanwhile(
    service: PublishedService,
) -> None:
    bound, stop = bind("127.0.0.1", 0), Stop()
    server = listen_on(bound, service.mart, service.keys, ServeOptions())
    thread = threading.Thread(target=run, args=(server, stop))
    thread.start()
    try:
        connection = http.client.HTTPConnection("127.0.0.1", int(server.effective_port), timeout=10)
        load(service.record, TENDER_RELEASES, release_row(100))
        published = publish(service.record, service.mart, notice=SAMPLE_NOTICE)
        connection.request(
            "GET", f"{FACTS}?as_of=2019-12-31", headers={"X-API-Key": service.sample}
        )
        answer = connection.getresponse()
        body = json.loads(answer.read())
        assert (answer.status, body["data"][0]["value_reported"]) == (200, 10)
        assert body["data_version"] == published
        connection.close()
    finally:
        stop.set()
        thread.join(20)
    assert not thread.is_alive()


def test_a_served_process_ends_cleanly_when_it_is_told_to(service: PublishedService) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    program = (
        "from pathlib import Path; from api.serve import serve; "
        f"serve(Path({str(service.mart)!r}), Path({str(service.keys)!r}), port={port})"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        assert _answers(port) == 200
    finally:
        os.kill(process.pid, signal.SIGTERM)
        printed, logged = process.communicate(timeout=20)
    assert process.returncode == 0
    assert printed == b""
    lines = [json.loads(line) for line in logged.splitlines()]
    assert ("/health", 200) in [(line.get("path"), line.get("status")) for line in lines]


def _answers(port: int) -> int:
    def status() -> int | None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        try:
            connection.request("GET", "/health")
            return connection.getresponse().status
        except ConnectionRefusedError:
            return None
        finally:
            connection.close()

    return wait_until(status, 20)
