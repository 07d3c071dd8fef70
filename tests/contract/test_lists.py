"""Every list of the service, walked by its cursors and read in every form."""

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import duckdb
import pandas as pd
import polars as pl
import pytest

import api.endpoints.response
import warehouse.contract.changes
import warehouse.contract.listing
from tests.helpers.every_list import REQUESTS, whole, with_limit
from tests.helpers.list_service import ListService, list_service, rows_of, with_query
from tests.helpers.nightly import is_nightly

MEDIA_TYPES = {"csv": "text/csv", "ndjson": "application/x-ndjson"}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ListService]:
    service = list_service(tmp_path_factory, "lists")
    yield service
    service.mart.close()


@dataclass
class Walk:
    """A walk through a list, one page at a time."""

    name: str
    url: str
    size: int
    cursor: str | None = ""
    versions: set[str] = field(default_factory=set)
    rows: list[bytes] = field(default_factory=list)

    def go_on(self, service: ListService) -> None:
        """Ask for the next page, if there is one."""
        if self.cursor is None:
            return
        page = with_limit(self.name, self.url, self.size)
        answer = service.get(with_query(page, cursor=self.cursor) if self.cursor else page)
        rows = rows_of(answer)
        assert len(rows) == self.size or answer.json["next_cursor"] is None
        self.versions.add(answer.json["data_version"])
        self.rows += rows
        self.cursor = answer.json["next_cursor"]


def test_a_walk_meets_every_row_once_while_others_are_published(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """At night at sizes 1, 7 and 1,000; no list here has more than some hundred rows."""
    service = list_service(tmp_path_factory, "walked")
    version = service.mart.build().data_version
    sizes = (1, 7, 1_000) if is_nightly() else (7,)
    walks = [Walk(name, url, size) for name, url in REQUESTS for size in sizes]
    pinned = service.mart.at(version)
    expected = {url: whole(name, url, pinned) for name, url in REQUESTS}
    for seed in (9, 10) if is_nightly() else (9,):
        for walk in walks:
            walk.go_on(service)
        assert service.publish(seed) != version
    going_on = [walk for walk in walks if walk.cursor is not None]
    assert len(going_on) > 15 * len(sizes)
    for walk in going_on:
        while walk.cursor is not None:
            walk.go_on(service)

    for walk in walks:
        assert walk.rows == expected[walk.url], (walk.url, walk.size)
        assert walk.versions == {version}
    # What was published meanwhile is something else.
    now = [url for name, url in REQUESTS if whole(name, url, service.mart) != expected[url]]
    assert len(now) > len(REQUESTS) / 2
    service.mart.close()


def test_a_cursor_belongs_to_its_list_and_its_filters(service: ListService) -> None:
    first = service.get("/v1/macro?series=LONG&limit=2").json["next_cursor"]
    for other in ("/v1/macro?series=REBASED", "/v1/macro?as_of=2021-06-01", "/v1/tenders"):
        refused = service.get(with_query(other, limit=2, cursor=first))
        assert (refused.status_code, refused.json["code"]) == (400, "cursor_invalid")
    same = service.get(f"/v1/macro?series=LONG&limit=3&format=json&cursor={first}")
    assert len(rows_of(same)) == 3


def test_a_page_of_changes_compares_few_files_and_says_where_to_go_on(
    service: ListService, monkeypatch: pytest.MonkeyPatch
) -> None:
    def walked(url: str) -> tuple[list[Any], list[Any]]:
        pages = [service.get(url).json]
        while cursor := pages[-1]["next_cursor"]:
            assert pages[-1]["truncated"] and pages[-1]["empty"] is None
            pages.append(service.get(with_query(url, cursor=cursor)).json)
        return [row for page in pages for row in page["data"]], pages

    url = "/v1/changes?since=1900-01-01&level=fact&limit=1000"
    expected, whole_pages = walked(url)
    monkeypatch.setattr(warehouse.contract.changes, "_MOST_LOOKED_AT", 1)
    rows, pages = walked(url)
    assert rows == expected and len(pages) > len(whole_pages)
    # A year before 1000 is early, too.
    assert walked(url.replace("1900", "0300"))[0] == expected
    # Figures in two currencies are told apart without the rows themselves.
    assert all(row["unit"] == row["row"].get("unit") for row in rows)
    assert any(row["unit"] for row in rows)
    nothing, pages = walked(f"{url}&country=QQ")
    assert not nothing and len(pages) > 3
    assert pages[-1]["empty"]["code"] == "no_match" and not pages[-1]["truncated"]


@pytest.mark.parametrize(
    ("url", "same"),
    [
        ("/v1/shared/facts?entity_id=DCA1", "/v1/shared/facts?service_id=DCA1"),
        ("/v1/changes?since=2000-01-01&id=DCA1", "/v1/changes?since=2000-01-01&service_id=dca1"),
        ("/v1/filings?service_id=DCA1", "/v1/filings?entity_id=DCA1"),
    ],
)
def test_an_id_may_be_sent_by_any_name_that_ids_have(
    url: str, same: str, service: ListService
) -> None:
    assert service.get(url).json["data"] == service.get(same).json["data"]
    refused = service.get(f"{url}&{same.rpartition('&')[2].rpartition('?')[2]}")
    assert refused.json["code"] == "parameter_unknown"


class Digits(str):
    """A number as it is written."""

    __slots__ = ()


def parsed(text: str | bytes) -> Any:
    return json.loads(text, parse_float=Digits, parse_int=Digits)


def is_cell(cell: str, value: Any) -> bool:
    """Return whether a cell is the value of a member, digit for digit."""
    if value is None or isinstance(value, bool):
        return cell == ("" if value is None else str(value).lower())
    if isinstance(value, dict | list):
        return bool(parsed(cell) == value)
    is_formula = not isinstance(value, Digits) and value.startswith(tuple("=+-@\t\r\n"))
    return bool(cell == (f"'{value}" if is_formula else value))


def check_lines(lines: list[dict[str, str]], rows: list[bytes]) -> None:
    assert len(lines) == len(rows) > 0
    for line, row in zip(lines, map(parsed, rows), strict=True):
        assert set(row) <= set(line)
        assert all(is_cell(line[name], row.get(name)) for name in line), (line, row)


@pytest.mark.parametrize(("name", "url"), REQUESTS)
def test_csv_and_json_lines_are_the_json_digit_for_digit(
    name: str, url: str, service: ListService, tmp_path: Path
) -> None:
    url = with_limit(name, url, 1_000)
    rows = rows_of(service.get(url))
    lines = service.get(with_query(url, format="ndjson"))
    assert lines.content == b"".join(row + b"\n" for row in rows)
    answer = service.get(with_query(url, format="csv"))
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"

    check_lines(list(csv.DictReader(io.StringIO(answer.text, newline=""))), rows)
    frame = pd.read_csv(io.BytesIO(answer.content), dtype=str, keep_default_na=False)
    check_lines([{str(k): v for k, v in line.items()} for line in frame.to_dict("records")], rows)
    polar = pl.read_csv(answer.content, infer_schema=False).to_dicts()
    check_lines([{k: v or "" for k, v in line.items()} for line in polar], rows)
    file = tmp_path / "rows.csv"
    file.write_bytes(answer.content)
    read = f"SELECT * FROM read_csv('{file}', all_varchar = true, header = true, quote = '\"')"
    with duckdb.connect() as sql:
        table = sql.sql(read).to_arrow_table().to_pylist()
    check_lines([{k: v or "" for k, v in line.items()} for line in table], rows)


SOME_MEMBERS = (
    ("/v1/tenders", ["ocid", "tender", "available_at"]),
    ("/v1/tenders?order=value&query=roads", ["release_id"]),
    ("/v1/entities", ["service_id", "legal_name", "listings"]),
    ("/v1/macro?series=LONG", ["period_end", "value"]),
)


@pytest.mark.parametrize(("url", "names"), SOME_MEMBERS)
def test_rows_can_be_had_with_only_some_members_in_any_form_and_page_by_page(
    url: str, names: list[str], service: ListService
) -> None:
    whole_rows = parsed(service.get(url).text)["data"]
    expected = [{name: row[name] for name in row if name in names} for row in whole_rows]
    url = with_query(url, fields=",".join(reversed(names)))
    assert parsed(service.get(url).text)["data"] == expected and expected
    lines = service.get(with_query(url, format="jsonl")).text.splitlines()
    assert list(map(parsed, lines)) == expected
    table = csv.DictReader(io.StringIO(service.get(with_query(url, format="csv")).text))
    check_lines(list(table), [json.dumps(row).encode() for row in expected])
    assert set(table.fieldnames or ()) == set(names)
    first = service.get(with_query(url, limit=1))
    second = service.get(with_query(url, limit=1, cursor=first.json["next_cursor"]))
    both = [row for answer in (first, second) for row in parsed(answer.text)["data"]]
    assert both == expected[:2]


def test_a_member_that_rows_do_not_have_is_refused_with_those_that_they_have(
    service: ListService,
) -> None:
    refused = service.get("/v1/macro?series=LONG&fields=period_end,valu")
    assert (refused.status_code, refused.json["parameter"]) == (400, "fields")
    assert refused.json["nearest"] == ["value"] and "available_at" in refused.json["allowed"]


@pytest.mark.parametrize("form", MEDIA_TYPES)
def test_a_form_is_chosen_by_accept_or_by_name(form: str, service: ListService) -> None:
    url, media_type = "/v1/tenders?limit=3", MEDIA_TYPES[form]
    named = service.get(f"{url}&format={form}", Accept="text/html")
    accepted = service.get(url, Accept=f"{media_type}, application/json;q=0.5")
    assert named.content == accepted.content != service.get(url).content
    assert accepted.headers["content-type"] == f"{media_type}; charset=utf-8"
    for answer in (named, accepted, service.get(url)):
        assert "Accept" in answer.headers["vary"].replace("Accept-Encoding", "")
    for accept in ("*/*", "application/*", "text/html, */*;q=0.1"):
        assert service.get(url, Accept=accept).headers["content-type"] == "application/json"
    refused = service.get(url, Accept="text/html")
    assert (refused.status_code, refused.json["code"]) == (406, "not_acceptable")
    wrong = service.get(f"{url}&format=xml")
    assert (wrong.status_code, wrong.json["allowed"]) == (400, ["json", "csv", "ndjson", "jsonl"])


@pytest.mark.parametrize("form", ["json", *MEDIA_TYPES])
def test_head_has_the_headers_of_get_and_no_body(form: str, service: ListService) -> None:
    url = f"/v1/tenders?limit=3&format={form}"
    key = {"X-API-Key": service.key}
    head, get = service.client.simulate_head(url, headers=key), service.get(url)
    assert (head.status_code, head.content) == (200, b"")
    for name in ("content-type", "x-data-version", "etag", "link", "x-next-cursor"):
        assert head.headers.get(name) == get.headers.get(name)


@pytest.mark.parametrize("form", MEDIA_TYPES)
@pytest.mark.parametrize("url", ["/v1/tenders?query=roads", "/v1/macro?as_of=2021-06-01"])
@pytest.mark.parametrize("piece", [1_000, 3])
def test_the_link_leads_to_the_next_page(
    form: str, url: str, piece: int, service: ListService, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also of a page that is encoded while it is sent."""
    for module in (warehouse.contract.listing, api.endpoints.response):
        monkeypatch.setattr(module, "MOST_WHOLE", piece)
    monkeypatch.setattr(warehouse.contract.listing, "PIECE", piece)
    everything = service.get(with_query(url, limit=1_000, format=form)).text
    page, text, pages = with_query(url, limit=7, format=form), "", 0
    while True:
        answer = service.get(page)
        lines = answer.text.splitlines(keepends=True)
        text += "".join(lines if form == "ndjson" or not pages else lines[1:])
        pages += 1
        if "link" not in answer.headers:
            break
        page, _, relation = answer.headers["link"].partition(">; ")
        assert relation == 'rel="next"'
        page = page.removeprefix("<")
        (cursor,) = parse_qs(urlsplit(page).query)["cursor"]
        assert cursor == answer.headers["x-next-cursor"]
    assert text == everything and pages > 1
    assert "x-next-cursor" not in answer.headers


def test_all_figures_of_a_paid_key_are_sent_at_once_in_any_form(service: ListService) -> None:
    rows = rows_of(service.get("/v1/fundamentals/DCA1?vintages=all"))
    lines = service.get("/v1/fundamentals/DCA1?vintages=all&format=ndjson")
    assert lines.content.splitlines() == rows and "link" not in lines.headers


def test_an_empty_list_of_lines_says_why_in_a_header(service: ListService) -> None:
    answer = service.get("/v1/tenders?country=BR&format=csv")
    assert answer.headers["x-empty-reason"] == "value_not_held"
    (header,) = answer.text.splitlines()
    assert header.startswith("ocid,")
    assert service.get("/v1/tenders?country=BR&format=ndjson").content == b""
