"""The fetchers over real HTTP, against a server that answers as their sources do."""

import gzip
import io
import json
import os
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from assets.entities.fetch import ISINS
from assets.fetching.client import Client, FetchError, Mirror
from assets.fetching.fetchers import FetchTask, Window, fetch_all
from assets.filings.fetch import FOLDER, quarters_until
from assets.ingest.land import land_all, stored_headers
from assets.ingest.load import load_source
from assets.ingest.sources import SOURCES
from assets.macro import alfred as alfred_parser
from assets.macro import fetch as macro
from assets.macro import worldbank as worldbank_parser
from assets.source import asked_url_of
from tests.helpers.data_sets import data_set
from tests.helpers.http_client import http_client
from tests.helpers.record_rows import load, sighting
from tests.helpers.replay_server import ReceivedRequest, Replay, Reply
from warehouse.record.as_of import vintages_query
from warehouse.record.landing import FetchedResponse, Landing
from warehouse.record.store import Record, open_record
from warehouse.record.tables import IDENTIFIERS, MACRO_SERIES
from warehouse.shared.errors import SankofaError
from warehouse.shared.settings import Settings, read_settings

JSON = {"Content-Type": "application/json"}
ALWAYS = Window()
SOURCE = {source.key: source for source in SOURCES}
FETCHED = {source.key for source in SOURCES if source.fetch is not None}
LIVE = {source.key: source.base_url for source in SOURCES if source.base_url is not None}


def configured(**values: str) -> Settings:
    """Return the settings of the environment with some of them replaced."""
    return read_settings({**os.environ, **{f"SANKOFA_{name}": v for name, v in values.items()}})


def fetch(
    key: str, client: Client, base_url: str, window: Window, settings: Settings
) -> Iterator[FetchedResponse]:
    """Fetch a source from a server that simulates its publisher."""
    source = SOURCE[key]
    assert source.fetch is not None
    if base_url != LIVE[key]:
        client = client.through(Mirror(LIVE[key], base_url))
    return source.fetch(FetchTask(client, key, source.license_class, LIVE[key], window, settings))


def reply(value: Any, **headers: str) -> Reply:
    return Reply(json.dumps(value).encode(), headers=JSON | headers)


def zipped(**members: str) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return packed.getvalue()


def documents_and_error(fetching: Iterator[FetchedResponse]) -> tuple[list[FetchedResponse], str]:
    """Return the documents that came before a failure, and its message."""
    documents: list[FetchedResponse] = []
    try:
        documents.extend(read(fetching))
    except FetchError as error:
        return documents, str(error)
    return documents, ""


def read(fetching: Iterator[FetchedResponse]) -> Iterator[FetchedResponse]:
    """Read every body while it is open."""
    for document in fetching:
        body = document.body
        yield document if isinstance(body, bytes) else replace(document, body=body.read())


def bytes_of(document: FetchedResponse) -> bytes:
    assert isinstance(document.body, bytes)
    return document.body


def test_every_source_that_is_fetched_has_an_address_and_says_what_it_requests() -> None:
    assert set(LIVE) >= FETCHED
    assert all(SOURCE[key].requests for key in FETCHED)


def test_everything_that_can_be_fetched_is_a_source_with_a_parser() -> None:
    assert set(SOURCE) >= FETCHED


def test_each_source_is_fetched_under_its_own_licence(
    server: Replay, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    stated = {source.key: source.license_class for source in SOURCES}
    monkeypatch.setattr(macro, "INDICATORS", ("A",))
    server.on("/v2/country/all/indicator/A", world_bank_page(1, 1))
    server.on("/service/data/EXR/D.ZAR.EUR.SP00.A", Reply(b"KEY\n1\n"))
    server.on("/api/v2/isin-lei/latest/download", Reply(zipped(a="LEI,ISIN\n")))
    server.on("/submissions/CIK0001172724.json", reply({"cik": 1}))
    monkeypatch.setattr(macro, "RATES", ("D.ZAR.EUR.SP00.A",))
    settings = configured(CIKS="1172724")
    for key in ("worldbank", "ecb", "isin-lei", "sec-submissions"):
        (document,) = fetch(key, client, server.base, ALWAYS, settings)
        assert (document.source, document.license_class) == (key, stated[key])


def test_a_base_address_is_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    by_key = {source.key: source for source in SOURCES}
    assert asked_url_of(by_key["za-etenders"], configured()) == LIVE["za-etenders"]
    monkeypatch.setenv("SANKOFA_BASE_ZA_ETENDERS", "http://127.0.0.1:8/")
    assert asked_url_of(by_key["za-etenders"], configured()) == "http://127.0.0.1:8"
    with pytest.raises(FetchError, match="listings has no live address: read it from a recording"):
        asked_url_of(by_key["listings"], configured())


def test_a_window_that_ends_before_it_begins_is_refused() -> None:
    with pytest.raises(SankofaError, match="after its end"):
        Window(date(2024, 2, 1), date(2024, 1, 1))


def test_after_three_failures_in_a_row_nothing_more_is_requested() -> None:
    tried: list[str] = []

    def fails(name: str) -> Iterator[FetchedResponse]:
        tried.append(name)
        raise FetchError("down")
        yield

    _, words = documents_and_error(fetch_all("worldbank", ["a", "b", "c", "d"], fails))

    assert tried == ["a", "b", "c"]
    assert "the rest was skipped" in words


@pytest.mark.parametrize(("status", "retryable"), [(404, False), (503, True)])
def test_only_a_failure_that_may_pass_is_worth_another_run(
    server: Replay, client: Client, status: int, retryable: bool
) -> None:
    server.on("/monthly.csv", Reply(b"", status))

    with pytest.raises(FetchError) as failed:
        list(fetch("h10", client, server.base, ALWAYS, configured(H10_CADENCES="monthly")))

    assert failed.value.retryable is retryable


def world_bank_page(page: int, pages: int, **more: str) -> Reply:
    meta = {"page": page, "pages": pages, "per_page": "1", "lastupdated": "2024-06-28", **more}
    row = {
        "indicator": {"id": "A", "value": "GDP (current US$)"},
        "country": {"id": "ZA", "value": "South Africa"},
        "countryiso3code": "ZAF",
        "date": str(2000 + page),
        "value": 1.5,
    }
    return reply([meta, [row]])


def world_bank(pages: int) -> Callable[[ReceivedRequest], Reply]:
    return lambda request: world_bank_page(int(request.query["page"]), pages)


def test_all_pages_of_an_indicator_arrive_and_are_read(
    server: Replay, client: Client, tmp_path: Path
) -> None:
    server.answer("/v2/country/all/indicator/A", world_bank(3))
    landing = Landing(str(tmp_path))

    for document in fetch("worldbank", client, server.base, ALWAYS, configured(INDICATORS="A")):
        landing.land(document)

    documents = landing.documents("worldbank")
    assert [request.query["page"] for request in server.requests] == ["1", "2", "3"]
    assert all("format=json&per_page=20000&page=" in each_.url for each_ in documents)
    parsed = [worldbank_parser.parse(each_, landing.read(each_)) for each_ in documents]
    assert [len(rows) for each_ in parsed for rows in each_.rows.values()] == [1, 1, 1]


def test_an_indicator_with_a_missing_page_is_not_accepted(server: Replay, client: Client) -> None:
    def second_fails(request: ReceivedRequest) -> Reply:
        return Reply(b"", 502) if request.query["page"] == "2" else world_bank_page(1, 2)

    server.answer("/v2/country/all/indicator/A", second_fails)
    server.answer("/v2/country/all/indicator/B", world_bank(1))

    documents, words = documents_and_error(
        fetch("worldbank", client, server.base, ALWAYS, configured(INDICATORS="A B"))
    )

    assert [document.url.split("?")[0][-1] for document in documents] == ["B"]
    assert "page 2 of 2 did not arrive, so nothing of A is taken" in words


def test_pages_that_the_last_answer_adds_are_named_as_missing(
    server: Replay, client: Client
) -> None:
    def growing(request: ReceivedRequest) -> Reply:
        page = int(request.query["page"])
        return world_bank_page(page, page + 1)

    server.answer("/v2/country/all/indicator/A", growing)
    _, words = documents_and_error(
        fetch("worldbank", client, server.base, ALWAYS, configured(INDICATORS="A"))
    )
    assert "A: pages [3] are missing, so nothing is taken" in words


def test_pages_of_two_updates_are_not_put_together(server: Replay, client: Client) -> None:
    def updated(request: ReceivedRequest) -> Reply:
        page = int(request.query["page"])
        return world_bank_page(page, 2, lastupdated=f"2024-06-2{page}")

    server.answer("/v2/country/all/indicator/A", updated)

    documents, words = documents_and_error(
        fetch("worldbank", client, server.base, ALWAYS, configured(INDICATORS="A"))
    )

    assert documents == []
    assert "was updated while it was fetched" in words


def test_an_error_of_the_world_bank_with_status_200_is_an_error(
    server: Replay, client: Client
) -> None:
    message = [{"message": [{"id": "120", "key": "Invalid value", "value": "no such indicator"}]}]
    server.on("/v2/country/all/indicator/A", reply(message))

    documents, words = documents_and_error(
        fetch("worldbank", client, server.base, ALWAYS, configured(INDICATORS="A"))
    )

    assert documents == []
    assert "no such indicator" in words


def test_increments_of_the_ecb_ask_for_what_was_updated_with_its_history(
    server: Replay, client: Client
) -> None:
    server.on("/service/data/EXR/D.ZAR.EUR.SP00.A", Reply(b"KEY,TIME_PERIOD\n"))

    (document,) = fetch(
        "ecb",
        client,
        server.base,
        Window(date(2024, 1, 1)),
        configured(ECB_KEYS="D.ZAR.EUR.SP00.A"),
    )

    assert server.requests[0].query == {
        "format": "csvdata",
        "includeHistory": "true",
        "updatedAfter": "2024-01-01T00:00:00+00:00",
    }
    assert "updatedAfter=2024-01-01T00:00:00%2B00:00" in document.url


def test_nothing_updated_is_no_failure_but_an_unknown_series_is(
    server: Replay, client: Client
) -> None:
    server.on("/service/data/EXR/D.XXX.EUR.SP00.A", Reply(b"No results found.", 404))

    assert documents_and_error(
        fetch(
            "ecb",
            client,
            server.base,
            Window(date(2024, 1, 1)),
            configured(ECB_KEYS="D.XXX.EUR.SP00.A"),
        )
    ) == (
        [],
        "",
    )
    assert (
        "No results found"
        in documents_and_error(
            fetch("ecb", client, server.base, ALWAYS, configured(ECB_KEYS="D.XXX.EUR.SP00.A"))
        )[1]
    )


def test_what_landed_and_has_not_changed_is_not_fetched_again(
    server: Replay, tmp_path: Path
) -> None:
    def answering(request: ReceivedRequest) -> Reply:
        same = request.headers.get("if-none-match") == '"v1"'
        return Reply(status=304) if same else Reply(b"KEY\n1\n", headers={"ETag": '"v1"'})

    server.answer("/service/data/EXR/D.ZAR.EUR.SP00.A", answering)
    landing = Landing(str(tmp_path))
    document_counts = []
    for _ in range(2):
        with http_client(stored_headers=stored_headers(landing, "ecb")) as client:
            documents = list(
                fetch("ecb", client, server.base, ALWAYS, configured(ECB_KEYS="D.ZAR.EUR.SP00.A"))
            )
        document_counts.append(len(documents))
        for document in documents:
            landing.land(document)

    assert document_counts == [1, 0]


def fred_series(notes: str = "", short: str = "Q") -> Reply:
    one = {"id": "NEW", "frequency": "Quarterly", "frequency_short": short, "units": "Index"}
    return reply({"seriess": [{**one, "notes": notes, "last_updated": "2025-06-26 07:56:50-05"}]})


def fred_page(request: ReceivedRequest) -> Reply:
    start = int(request.query["offset"])
    rows = [
        {"date": "2024-01-01", "value": str(n), "realtime_start": f"2024-0{n + 5}-01"}
        for n in range(start, min(start + 2, 3))
    ]
    return reply({"count": 3, "offset": start, "units": "lin", "observations": rows})


def test_all_observations_of_a_series_arrive_with_what_its_parser_needs(
    server: Replay, client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SANKOFA_FRED_KEY", "5ecre7")
    server.on("/fred/series", fred_series())
    server.answer("/fred/series/observations", fred_page)
    landing = Landing(str(tmp_path))

    documents = list(fetch("alfred", client, server.base, ALWAYS, configured(FRED_SERIES="NEW")))
    landed = [landing.land(document)[0] for document in documents]

    assert server.requests[1].query["api_key"] == "5ecre7"
    assert server.requests[1].query["realtime_start"] == "1776-07-04"
    assert not [each_ for each_ in documents if "5ecre7" in each_.url or "api_key" in each_.url]
    assert landed[0].headers["frequency"] == "quarterly"
    parsed = [alfred_parser.parse(each_, landing.read(each_)) for each_ in landed]
    assert [len(rows) for each_ in parsed for rows in each_.rows.values()] == [2, 1]


def test_fewer_observations_than_announced_are_not_accepted(server: Replay, client: Client) -> None:
    server.on("/fred/series", fred_series())
    server.answer(
        "/fred/series/observations",
        lambda request: reply(
            {"count": 3, "observations": [{}] if request.query["offset"] == "0" else []}
        ),
    )

    documents, words = documents_and_error(
        fetch("alfred", client, server.base, ALWAYS, configured(FRED_SERIES="NEW"))
    )

    assert documents == []
    assert "1 of 3 observations arrived, so nothing is taken" in words


CHANGED = [date(2000, 1, 1) + timedelta(days=31 * n) for n in range(7)]


def with_at_most_two_vintages(request: ReceivedRequest) -> Reply:
    """Refuse a span with more vintages and clip the others to the span, as FRED does."""
    first, last = (date.fromisoformat(request.query[f"realtime_{end}"]) for end in ("start", "end"))
    within = [n for n, day in enumerate(CHANGED) if first <= day <= last]
    if len(within) > 2:
        words = "Bad Request.  The number of vintage dates exceeds the maximum."
        return Reply(json.dumps({"error_message": words}).encode(), 400, JSON)
    until = [*CHANGED[1:], date.max]
    rows = [
        {"date": "1999-01-01", "value": str(n), "realtime_start": str(max(day, first))}
        for n, day in enumerate(CHANGED)
        if day <= last and until[n] > first
    ]
    return reply({"count": len(rows), "observations": rows})


def test_a_series_with_more_vintages_than_one_answer_holds_comes_in_parts(
    server: Replay, client: Client, record: Record, tmp_path: Path
) -> None:
    server.on("/fred/series", fred_series())
    server.on(
        "/fred/series/vintagedates",
        reply({"count": 7, "vintage_dates": [str(day) for day in CHANGED]}),
    )
    server.answer("/fred/series/observations", with_at_most_two_vintages)
    landing = Landing(str(tmp_path / "landing"))
    [source] = [source for source in SOURCES if source.key == "alfred"]

    land_all(landing, fetch("alfred", client, server.base, ALWAYS, configured(FRED_SERIES="NEW")))
    load_source(record, landing, source)

    every = vintages_query(MACRO_SERIES, record.relation("macro_series"), vintages="all")
    values = {row["available_at"]: int(row["value"]) for row in record.query(every).to_pylist()}
    assert values == {day: n for n, day in enumerate(CHANGED)}


def test_a_request_that_fred_refuses_for_another_reason_is_not_split(
    server: Replay, client: Client
) -> None:
    server.on("/fred/series", fred_series())
    server.on("/fred/series/observations", Reply(b'{"error_message": "no such series"}', 400))

    _, words = documents_and_error(
        fetch("alfred", client, server.base, ALWAYS, configured(FRED_SERIES="NEW"))
    )

    assert "no such series" in words
    assert len(server.requests) == 2


def test_a_series_under_copyright_is_left_out(server: Replay, client: Client) -> None:
    server.on("/fred/series", fred_series("Copyright, 2016, OECD."))

    assert list(fetch("alfred", client, server.base, ALWAYS, configured(FRED_SERIES="NEW"))) == []
    assert len(server.requests) == 1


def test_without_a_key_fred_is_not_contacted_and_the_error_says_how_to_get_one(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SANKOFA_FRED_KEY", raising=False)
    with pytest.raises(FetchError, match="set SANKOFA_FRED_KEY"):
        fetch("alfred", client, LIVE["alfred"], ALWAYS, configured())


def test_the_files_of_h10_carry_their_frequency(server: Replay, client: Client) -> None:
    server.on("/monthly.csv", Reply(b"Date,Country,Exchange rate\n"))

    (document,) = fetch("h10", client, server.base, ALWAYS, configured(H10_CADENCES="monthly"))

    assert document.headers["frequency"] == "monthly"


def test_the_older_pages_of_an_issuer_arrive_with_its_list(server: Replay, client: Client) -> None:
    older = "CIK0001172724-submissions-001.json"
    filer = {"cik": "1172724", "filings": {"recent": {}, "files": [{"name": older}]}}
    server.on("/submissions/CIK0001172724.json", reply(filer))
    server.on(f"/submissions/{older}", reply({"accessionNumber": []}))

    documents = list(
        fetch("sec-submissions", client, server.base, ALWAYS, configured(CIKS="1172724"))
    )

    assert [document.url.rpartition("/")[2] for document in documents] == [
        "CIK0001172724.json",
        older,
    ]


def test_an_older_page_named_to_lead_elsewhere_is_refused(server: Replay, client: Client) -> None:
    filer = {"cik": "1", "filings": {"files": [{"name": "../../evil.json"}]}}
    server.on("/submissions/CIK0000000001.json", reply(filer))

    assert (
        "not the name of an older page"
        in documents_and_error(
            fetch("sec-submissions", client, server.base, ALWAYS, configured(CIKS="1"))
        )[1]
    )


def test_an_issuer_that_fails_does_not_stop_the_others(server: Replay, client: Client) -> None:
    server.on("/api/xbrl/companyfacts/CIK0000000002.json", reply({"cik": 2}))

    documents, words = documents_and_error(
        fetch("sec-companyfacts", client, server.base, ALWAYS, configured(CIKS="1 2"))
    )

    assert [document.url[-6:] for document in documents] == ["2.json"]
    assert "CIK0000000001.json: it answers 404" in words


def test_the_data_sets_of_all_quarters_arrive_and_the_newest_may_not_be_there_yet(
    server: Replay, client: Client
) -> None:
    newest, *others = quarters_until(datetime.now(UTC).date())
    for name in others:
        server.on(f"/{FOLDER}/{name}.zip", Reply(data_set({})))

    documents, error = documents_and_error(
        fetch("sec-fsds", client, server.base, ALWAYS, configured())
    )
    assert error == ""
    assert [document.url for document in documents] == [
        f"{LIVE['sec-fsds']}/{FOLDER}/{name}.zip" for name in others
    ]
    assert server.requests[0].path == f"/{FOLDER}/{newest}.zip"

    server.on(f"/{FOLDER}/{others[3]}.zip", Reply(b"not here", 404))
    documents, error = documents_and_error(
        fetch("sec-fsds", client, server.base, ALWAYS, configured())
    )
    assert len(documents) == len(others) - 1 and f"{others[3]}: " in error


def test_a_zip_cut_before_its_table_of_contents_is_refused(server: Replay, client: Client) -> None:
    server.on("/xbrl/companyfacts.zip", Reply(zipped(a="1" * 500)[:300]))

    assert (
        "its zip ends in the middle"
        in documents_and_error(
            fetch("sec-companyfacts", client, server.base, ALWAYS, configured())
        )[1]
    )


def za_page(request: ReceivedRequest) -> Reply:
    page, day = int(request.query["PageNumber"]), request.query["dateFrom"]
    if day == "2026-08-15":
        return reply({"releases": []})
    links = {"next": "https://elsewhere.example/?PageNumber=2"} if page == 1 else {}
    return reply({"releases": [{"ocid": f"{day}-{page}"}], "links": links})


def test_each_day_of_the_south_african_portal_arrives_with_all_its_pages(
    server: Replay, client: Client
) -> None:
    server.answer("/api/OCDSReleases", za_page)
    window = Window(date(2026, 8, 14), date(2026, 8, 16))

    documents = list(fetch("za-etenders", client, server.base, window, configured()))

    assert [json.loads(bytes_of(document))["releases"][0]["ocid"] for document in documents] == [
        "2026-08-14-1",
        "2026-08-14-2",
        "2026-08-16-1",
        "2026-08-16-2",
    ]
    assert documents[0].url == (
        f"{LIVE['za-etenders']}/api/OCDSReleases"
        "?PageNumber=1&PageSize=1000&dateFrom=2026-08-14&dateTo=2026-08-14"
    )


def test_a_day_with_a_missing_page_is_not_accepted(server: Replay, client: Client) -> None:
    server.answer(
        "/api/OCDSReleases",
        lambda request: Reply(b"", 500) if request.query["PageNumber"] == "2" else za_page(request),
    )
    day = date(2026, 8, 14)

    documents, words = documents_and_error(
        fetch("za-etenders", client, server.base, Window(day, day), configured())
    )

    assert documents == []
    assert "page 2 did not arrive" in words


def test_the_registry_gives_a_publisher_whole_or_by_year(server: Replay, client: Client) -> None:
    body = gzip.compress(b'{"ocid": "1"}\n')
    server.on("/en/publication/64/download", Reply(body))
    window = Window(date(2023, 5, 1), date(2024, 1, 1))

    (whole,) = read(fetch("ng-budget", client, server.base, ALWAYS, configured()))
    years = list(fetch("ng-budget", client, server.base, window, configured()))

    assert whole.body == body
    assert [document.url.rpartition("=")[2] for document in (whole, *years)] == [
        "full.jsonl.gz",
        "2023.jsonl.gz",
        "2024.jsonl.gz",
    ]


def test_a_publisher_without_a_number_is_a_failure_that_says_what_to_set(client: Client) -> None:
    with pytest.raises(FetchError, match="set SANKOFA_PUBLICATION_CO_SECOP"):
        fetch("co-secop", client, LIVE["co-secop"], ALWAYS, configured())


def test_the_link_to_the_golden_copy_is_followed(server: Replay, client: Client) -> None:
    body = zipped(**{"lei2.json": '{"records": []}'})
    server.on("/storage/lei2.json.zip", Reply(body))
    path = "/api/v2/golden-copies/publishes/lei2/latest.json"
    server.on(path, Reply(b"", 302, {"Location": "/storage/lei2.json.zip"}))

    (document,) = read(fetch("gleif", client, server.base, ALWAYS, configured()))

    assert (document.url, document.body) == (LIVE["gleif"] + path, body)


@pytest.mark.parametrize(("days", "delta"), [(1, "LastDay"), (20, "LastMonth"), (400, None)])
def test_since_a_day_only_the_difference_of_the_golden_copy_is_asked_for(
    server: Replay, client: Client, days: int, delta: str | None
) -> None:
    server.on("/api/v2/golden-copies/publishes/lei2/latest.json", Reply(zipped(a="")))
    since = datetime.now(UTC).date() - timedelta(days=days)

    list(fetch("gleif", client, server.base, Window(since), configured()))

    assert server.requests[0].query.get("delta") == delta


def lei_page(request: ReceivedRequest) -> Reply:
    page = int(request.query["page[number]"])
    return reply({"meta": {"pagination": {"lastPage": 2, "total": 201}}, "data": [{"id": page}]})


def test_all_lei_records_of_a_country_arrive(server: Replay, client: Client) -> None:
    server.answer("/api/v1/lei-records", lei_page)

    documents = list(
        fetch("gleif-api", client, server.base, ALWAYS, configured(GLEIF_COUNTRIES="MU"))
    )

    assert [json.loads(bytes_of(document))["data"][0]["id"] for document in documents] == [1, 2]
    assert {document.source for document in documents} == {"gleif-api"}


def test_a_country_with_more_records_than_the_api_shows_is_a_failure(
    server: Replay, client: Client
) -> None:
    server.on(
        "/api/v1/lei-records", reply({"meta": {"pagination": {"lastPage": 99, "total": 19_800}}})
    )

    documents, words = documents_and_error(
        fetch("gleif-api", client, server.base, ALWAYS, configured(GLEIF_COUNTRIES="ZA"))
    )

    assert documents == []
    assert "fetch the golden copy" in words


def test_openfigi_is_asked_for_listings_of_the_record_that_have_no_figi(
    server: Replay, client: Client, tmp_path: Path
) -> None:
    settings = configured(HOME=str(tmp_path))
    identifiers = [
        sighting(service_id=issuer, id_type=kind, id_value=value, issuer=market, status=None)
        for issuer, kind, value, market in (
            ("DC1", "ticker", "XNAI:SCOM", "XNAI"),
            ("DC2", "ticker", "XCAI:COMI", "XCAI"),
            ("DC2", "isin", "EGS60121C018", None),
            ("DC3", "ticker", "XJSE:GFI", "XJSE"),
            ("DC3", "figi", "BBG000BLNNH6", None),
            ("DC4", "ticker", "OTC:XYZ", None),
            ("DC5", "isin", "US4592001014", None),
        )
    ]
    load(open_record(settings), IDENTIFIERS, *identifiers)
    server.answer(
        "/v3/mapping", lambda request: reply([{"warning": "none"}] * len(json.loads(request.body)))
    )

    documents = list(fetch("openfigi", client, server.base, ALWAYS, settings))

    jobs = [job for document in documents for job in json.loads(document.headers["x-jobs"])]
    assert jobs[len(ISINS) :] == [
        {"idType": "ID_ISIN", "idValue": "EGS60121C018"},
        {"idType": "TICKER", "idValue": "SCOM", "micCode": "XNAI"},
    ]


@pytest.mark.parametrize(("key", "batches"), [("", [10, 2]), ("5ecre7", [12])])
def test_openfigi_is_asked_in_batches_as_large_as_the_key_permits(
    server: Replay, client: Client, monkeypatch: pytest.MonkeyPatch, key: str, batches: list[int]
) -> None:
    monkeypatch.setenv("SANKOFA_OPENFIGI_KEY", key)
    server.answer(
        "/v3/mapping", lambda request: reply([{"warning": "none"}] * len(json.loads(request.body)))
    )

    documents = list(
        fetch(
            "openfigi",
            client,
            server.base,
            ALWAYS,
            configured(ISINS=" ".join(f"ZA{n}" for n in range(12))),
        )
    )

    assert [len(json.loads(document.headers["x-jobs"])) for document in documents] == batches
    assert server.requests[0].headers.get("x-openfigi-apikey", "") == key
    assert "5ecre7" not in str(documents)
