"""The list of filings over REST: newest first, by form and day of receipt, as of any day."""

import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from falcon import testing

from api.app import create_app
from tests.helpers.list_service import ListService, list_service
from warehouse.control.keys import KeyStore

FILINGS = "/v1/filings?service_id="


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ListService]:
    service = list_service(tmp_path_factory, "filings")
    with closing(service.mart):
        yield service


def rows(service: ListService, query: str) -> list[dict[str, Any]]:
    answer = service.get(f"{FILINGS}{query}")
    assert answer.status_code == 200, answer.text
    listed: list[dict[str, Any]] = answer.json["data"]
    return listed


def test_every_version_is_listed_and_the_one_received_last_comes_first(
    service: ListService,
) -> None:
    listed = rows(service, "DCA1")
    assert [(row["period_end"][:4], row["version"]) for row in listed] == [
        (year, version) for year in ("2017", "2016", "2015") for version in (4, 3, 2, 1)
    ]
    days = [row["received_on"] for row in listed]
    assert days == sorted(days, reverse=True)
    # Two versions of one day: the later one first.
    assert days[1] == days[2]
    assert {row["form"] for row in listed} == {"DFP"}
    assert listed[0]["link"] == "https://fictional.example/DCA1/2017/4"
    assert all(row["source_ref"] and row["license_class"] for row in listed)


def test_an_alias_is_answered_with_the_filings_of_its_organisation(service: ListService) -> None:
    assert rows(service, "DCX9") == rows(service, "DCB2")


def test_as_of_lists_what_had_been_shown_by_then_as_it_was_shown_then(
    service: ListService,
) -> None:
    by_then = rows(service, "DCA1&as_of=2018-04-01")
    assert [(row["document_id"], row["form"]) for row in by_then] == [
        ("DCA1-2015-2", "ITR"),
        ("DCA1-2015-1", "DFP"),
    ]
    assert all(row["received_on"] < row["available_at"] <= "2018-04-01" for row in by_then)
    (renamed,) = (r for r in rows(service, "DCA1") if r["document_id"] == "DCA1-2015-2")
    assert (renamed["form"], renamed["vintage"]) == ("DFP", 2)
    assert rows(service, "DCA1&form=ITR") == []
    assert len(rows(service, "DCA1&form=ITR&as_of=2018-04-01")) == 1


def test_days_bound_the_receipt_and_not_the_period(service: ListService) -> None:
    listed = rows(service, "DCB2&from=2017-03-02&to=2017-03-02")
    assert [row["version"] for row in listed] == [3, 2]
    refused = service.get(f"{FILINGS}DCB2&from=2017-03-02&to=2017-03-01")
    assert refused.status_code == 400


@pytest.mark.parametrize(
    ("query", "code", "parameter"),
    [
        ("DCNOBODY", "value_not_held", "service_id"),
        ("DCA1&form=20-F", "value_not_held", "form"),
        ("DCA1&to=2001-01-01", "out_of_range", "to"),
        ("DCA1&as_of=2001-01-01", "not_known_then", "as_of"),
    ],
)
def test_a_list_without_filings_says_why(
    service: ListService, query: str, code: str, parameter: str
) -> None:
    empty = service.get(f"{FILINGS}{query}").json["empty"]
    assert (empty["code"], empty["parameter"]) == (code, parameter)


def filings_on_page(client: testing.TestClient, address: str) -> str:
    page = client.simulate_get(address, headers={"Accept": "text/html"})
    assert page.status_code == 200
    return page.text.partition('id="filings"')[2].partition("</section>")[0]


def test_the_page_of_a_company_shows_the_newest_filings(
    service: ListService, tmp_path: Path
) -> None:
    keys = KeyStore(service.root / "control.sqlite")
    client = testing.TestClient(create_app(service.mart, keys))
    shown = filings_on_page(client, "/issuers/DCA1?as_of=2018-04-01")
    found = [re.findall(r">([^<>\n]+)<", row) for row in shown.split("<tr>")[2:]]
    assert [row[:6] for row in found] == [
        ["ITR", "2015-12-31", "2", "2016-03-02", "2018-03-22", "DCA1-2015-2"],
        ["DFP", "2015-12-31", "1", "2016-03-01", "2018-02-10", "DCA1-2015-1"],
    ]
    assert 'href="https://fictional.example/DCA1/2015/2"' in shown
    none = filings_on_page(client, "/issuers/DCA1?as_of=2018-01-15")
    assert "No filings that match are known to have been public by 2018-01-15" in none
