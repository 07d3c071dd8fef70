"""What tools give is what REST gives, byte for byte, in results of a bounded size."""

import json
from dataclasses import asdict
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp_server.results import MAX_RESULT_BYTES, compact

from tests.helpers.mcp_service import MODES, Posted, call
from tests.helpers.mcp_world import LARGE, TOO_LARGE, Agents
from tests.helpers.reads import releases
from warehouse.contract.problems import Problem
from warehouse.contract.receipts import checked_receipt
from warehouse.publish.row_json import PROVENANCE
from warehouse.serve.build import Mart
from warehouse.shared.json_encoding import encode
from warehouse.shared.signing import SigningKey

DAYS = st.sampled_from(["2016-12-31", "2018-01-03", "2018-01-06", "2019-06-30", "2999-01-01"])
LIMITS = st.integers(1, 30)
COUNTRIES = st.sampled_from(["ZA", "za", "KE", "GH", "NA"])
ISSUERS = st.sampled_from(["DCA1", "DCB2", "DCX9", "DCEXACT", "DCMANY", "DCNOBODY"])
METRIC_SETS = st.sampled_from(["metrics-v1", "metrics-ttm", "ttm"])


def optional(**kinds: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional=kinds)


# A tool, the path that gives the same, and which argument is part of that path.
OPERATIONS = st.one_of(
    st.tuples(st.just("get_entity"), st.just("/v1/entities/{}"), ISSUERS, st.just({})),
    st.tuples(
        st.just("get_quality_metrics"),
        st.just("/v1/quality-metrics/{}"),
        st.sampled_from(["AF-FUND", "AF-MACRO", "AF-TENDER"]),
        st.just({}),
    ),
    st.tuples(
        st.just("get_metrics"),
        st.just("/v1/metrics/{}"),
        ISSUERS,
        optional(
            metric=st.sampled_from(["net_margin", "net_margn"]),
            metric_set=METRIC_SETS,
            as_of=DAYS,
            limit=LIMITS,
        ),
    ),
    st.tuples(
        st.just("screen_issuers"),
        st.just("/v1/screen"),
        st.none(),
        optional(
            metric=st.sampled_from(["net_margin", "return_on_equity"]),
            metric_set=METRIC_SETS,
            order=st.sampled_from(["asc", "desc", "up"]),
            as_of=DAYS,
            country=COUNTRIES,
            limit=LIMITS,
        ),
    ),
    st.tuples(
        st.just("get_signal"),
        st.just("/v1/signals/{}"),
        st.sampled_from(["single-bid-rate", "time-to-award"]),
        optional(
            country=COUNTRIES,
            dimension=st.sampled_from(["all", "category", "each"]),
            as_of=DAYS,
            limit=LIMITS,
        ),
    ),
    st.tuples(
        st.just("resolve_identifier"),
        st.just("/v1/crosswalk"),
        st.none(),
        st.fixed_dictionaries(
            {
                "id_type": st.sampled_from(["lei", "isin", "cik"]),
                "id_value": st.sampled_from(["213800AAAAAAAAAAAA01", "123", "ZAE000000001"]),
            }
        ),
    ),
    st.tuples(
        st.just("get_fundamentals"),
        st.just("/v1/fundamentals/{}"),
        ISSUERS,
        optional(
            as_of=DAYS,
            period_type=st.sampled_from(["FY", "H1", "INSTANT", "FY2"]),
            vintages=st.sampled_from(["latest", "as_reported", "all", "first"]),
            limit=LIMITS,
        ),
    ),
    st.tuples(
        st.just("get_fundamentals"),
        st.just("/v1/elements/{}"),
        ISSUERS,
        st.fixed_dictionaries(
            {"element": st.sampled_from(["test:revenue", "test:none", "revenue"])},
            optional={"as_of": DAYS, "limit": LIMITS},
        ),
    ),
    st.tuples(
        st.just("search_entities"),
        st.just("/v1/universe"),
        st.none(),
        st.fixed_dictionaries(
            {"as_of": DAYS},
            optional={"exchange": st.sampled_from(["XJSE", "xjse", "XLON"]), "limit": LIMITS},
        ),
    ),
    st.tuples(
        st.just("search_tenders"),
        st.just("/v1/tenders"),
        st.none(),
        optional(country=COUNTRIES, limit=LIMITS, **{"from": DAYS}),
    ),
    st.tuples(
        st.just("get_macro"),
        st.just("/v1/macro"),
        st.none(),
        optional(
            country=st.sampled_from(["ZA", "ZAF", "XX"]),
            series=st.sampled_from(["FX.EUR.ZAR", "FX.NONE", "not a code"]),
            indicator=st.just("NY.GDP"),
            frequency=st.sampled_from(["daily", "monthly"]),
            as_of=DAYS,
            limit=LIMITS,
            to=st.sampled_from(["2012", "2018-01-04", "2018-02-30"]),
            **{"from": st.sampled_from(["2010", "2018-01-02"])},
        ),
    ),
    st.tuples(
        st.just("get_resolved_parties"),
        st.just("/v1/tender-parties"),
        st.none(),
        optional(
            country=COUNTRIES,
            role=st.sampled_from(["buyer", "supplier"]),
            service_id=ISSUERS,
            limit=LIMITS,
        ),
    ),
)
IN_PATH = {"get_quality_metrics": "sku", "get_signal": "signal_key"}
# Tools that send at most 25 rows unless a call requests more or fewer.
UNLIMITED = ("get_entity", "get_quality_metrics", "resolve_identifier")


@given(operation=OPERATIONS, mode=st.sampled_from(MODES), sample=st.booleans())
@settings(max_examples=200)
def test_a_tool_gives_the_bytes_of_rest_if_it_is_to_be_verbose(
    agents: Agents, operation: Any, mode: str, sample: bool
) -> None:
    tool, path, of_path, query = operation
    key = agents.world.sample if sample else agents.world.paid
    query = query if tool in UNLIMITED else {"limit": 25, **query}
    in_path = {} if of_path is None else {IN_PATH.get(tool, "service_id"): of_path}
    answer = call(agents.server, key, tool, {**in_path, **query, "verbose": True}, mode)
    served = agents.get(path.format(of_path), key, **query)
    if answer.result["isError"]:
        result, problem = json.loads(answer.structured), json.loads(served)
        assert {**result, "instance": ""} == {**problem, "instance": ""}
    elif json.loads(answer.structured)["count"] < json.loads(served)["count"]:
        # Cut because REST's body, as JSON and again as text, exceeds the size of a result.
        assert json.loads(answer.structured)["truncated"]
        assert len(served) + len(json.dumps(served.decode()).encode()) > MAX_RESULT_BYTES - 5_000
        assert_begins(rows_of(answer.structured), rows_of(served))
    else:
        assert answer.structured == served
    assert answer.result["content"][0]["text"].encode() == answer.structured or large(answer)


def rows_of(body: bytes) -> bytes:
    return body[: body.rindex(b'],"count"')]


def assert_begins(rows: bytes, all_rows: bytes) -> None:
    assert all_rows == rows or all_rows.startswith(rows + b",") or rows.endswith(b'":[')


def large(answer: Posted) -> bool:
    return "row" in answer.result["content"][0]["text"]


def walk(agents: Agents, key: str, **arguments: Any) -> list[dict[str, Any]]:
    """Follow next_cursor to the end; give every page."""
    pages: list[dict[str, Any]] = []
    while not pages or pages[-1]["next_cursor"]:
        more = {"cursor": pages[-1]["next_cursor"]} if pages else {}
        arguments["verbose"] = True
        answer = call(agents.server, key, "search_tenders", {**arguments, **more})
        assert len(json.dumps(answer.result, ensure_ascii=False).encode()) <= MAX_RESULT_BYTES
        assert len(answer.body) <= MAX_RESULT_BYTES + 200
        pages.append(json.loads(answer.structured))
        assert pages[-1]["truncated"] == (pages[-1]["next_cursor"] is not None)
    return pages


@pytest.mark.parametrize("limit", [7, 1000])
def test_a_walk_sees_every_release_once_though_pages_are_cut(agents: Agents, limit: int) -> None:
    pages = walk(agents, agents.world.paid, country="ZA", limit=limit)
    seen = [row["provenance_id"] for page in pages for row in page["data"]]
    served = json.loads(agents.get("/v1/tenders", agents.world.paid, country="ZA", limit=1000))
    assert seen == [row["provenance_id"] for row in served["data"]] and len(pages) > 1
    assert {page["data_version"] for page in pages} == {served["data_version"]}


def test_a_walk_goes_on_past_a_row_that_is_too_large(agents: Agents) -> None:
    pages = walk(agents, agents.world.paid, country="GH")
    sizes = [len(row["tender"]["title"].encode()) for page in pages for row in page["data"]]
    # Each of those that fit is seen; the one that does not is passed over, and that is said.
    assert sorted(sizes) == [10, 10, 10, LARGE]
    assert [] in [page["data"] for page in pages]
    assert max(sizes) < TOO_LARGE


def test_a_long_text_is_cut_unless_rows_are_to_be_verbose(agents: Agents) -> None:
    answer = call(agents.server, agents.world.paid, "search_tenders", {"country": "GH"})
    titles = [row["tender"]["title"] for row in json.loads(answer.structured)["data"]]
    assert sorted(titles) == sorted(["Ä" * 5] * 3 + ["Ä" * 240 + "…"] * 2)


def test_ids_and_links_are_never_cut() -> None:
    long = "x" * 500
    row = {"ocid": long, "release_id": long, "link": long, "buyer": {"id": long, "name": long}}
    others = {"other_names": [long], "listings": [{"ticker": long, "mic": "XJSE"}], "value": 1.10}
    (compacted,) = compact([json.dumps({**row, **others}).encode()]).rows
    cut = f"{long[:240]}…"
    assert json.loads(compacted) == {
        **{**row, "buyer": {"id": long, "name": cut}},
        **{**others, "other_names": [cut], "listings": [{"ticker": cut, "mic": "XJSE"}]},
    }
    assert b'"value":1.1' in compacted


NAMES = st.sampled_from(["ocid", "date", "country", "vintage", "source_ref", "license_class"])
VALUES = st.one_of(st.none(), st.sampled_from(["d1#a", "d1#b", "d2", "", [], {}, 0, 1.10, "ZA"]))


@given(st.lists(st.dictionaries(NAMES, VALUES), max_size=4))
def test_no_known_member_of_any_row_is_lost_by_compacting(rows: list[dict[str, Any]]) -> None:
    for row in rows:
        row["source_ref"] = str(row["source_ref"]) if row.get("source_ref") is not None else None
    short = compact([json.dumps(row).encode() for row in rows])
    shared = {name: json.loads(bytes(value)) for name, value in short.shared.items()}
    for row, compacted in zip(rows, short.rows, strict=True):
        members = {**shared, **json.loads(compacted)}
        number = members.pop("source", None)
        # What all sources have in common is shared too.
        cited = {
            name: members.pop(name) for name in ("source_ref", "license_class") if name in members
        }
        assert members == {
            name: value
            for name, value in row.items()
            if name not in PROVENANCE and value not in (None, [], {})
        }
        source = {} if number is None else short.sources[number - 1]
        cited |= {name: json.loads(bytes(value)) for name, value in source.items()}
        named = None if number is None else cited["source_ref"]
        assert named == (None if row["source_ref"] is None else row["source_ref"].split("#")[0])


def _figure(cik: int, year: int, **members: object) -> bytes:
    number = f"{cik:010}-{year}-000001"
    page = f"https://www.sec.gov/Archives/edgar/data/{cik}/{number.replace('-', '')}"
    row = {"value_reported": year, "unit": "USD", "currency_reported": "USD"}
    row |= {"document_id": number, "form": "20-F", "document_url": f"{page}/{number}-index.htm"}
    row |= {"source_ref": f"https://data.sec.gov/{cik}.json#/{year}", "license_class": "cc0"}
    return json.dumps(row | members).encode()


def _sources(*rows: bytes) -> list[dict[str, Any]]:
    """Return the source of each row as a reader of the instructions takes it."""
    short = json.loads(encode(asdict(compact(rows))))
    sources = []
    for row in map(json.loads, compact(rows).rows):
        members = short["shared"] | row
        source = members | short["sources"][members["source"] - 1]
        number = source.get("document_id", "")
        for place, text in (("", number), (" without hyphens", number.replace("-", ""))):
            if source.get("document_url"):
                source["document_url"] = source["document_url"].replace(
                    f"{{document_id{place}}}", text
                )
        sources.append(source)
    return sources


@pytest.mark.parametrize(("filings", "addresses"), [(1, 1), (3, 1), (2, 2)])
def test_sources_are_filings_and_addresses_that_differ_in_their_numbers_are_one(
    filings: int, addresses: int
) -> None:
    ciks = (1172724, 1439124) if addresses == 2 else (1172724,)
    rows = [_figure(cik, 10 + year) for cik in ciks for year in range(filings) for _ in range(9)]
    for row, source in zip(map(json.loads, rows), _sources(*rows), strict=True):
        for name in ("document_id", "form", "document_url", "license_class"):
            assert source[name] == row[name]
        assert row["source_ref"].startswith(source["source_ref"]) and source["currency_reported"]
    short = compact(rows)
    assert len(short.sources) == filings * len(ciks)
    body = encode(short.sources) + encode(short.shared)
    assert body.count(b"https://www.sec.gov") == (1 if addresses == 1 else len(short.sources))


@pytest.mark.parametrize(
    ("one", "other", "kept"),
    [
        ({"period_type": "FY", "period_start": "2019-01-01"}, {"basis": "us-gaap"}, {"basis"}),
        ({"period_type": "FY", "period_start": "2018-12-30"}, {}, {"period_start"}),
        ({"period_type": "OTHER", "period_start": "2019-03-01"}, {}, {"period_start"}),
        ({"period_type": "FY", "period_start": "2019-01-01"}, {"basis": "ifrs"}, set()),
    ],
)
def test_what_tells_two_figures_apart_is_in_them(
    one: dict[str, str], other: dict[str, str], kept: set[str]
) -> None:
    common = {"line_item": "profit", "period_end": "2019-12-31", "basis": "ifrs"}
    whole_year = {**common, "period_type": "FY", "period_start": "2019-01-01", "value_reported": 7}
    short = compact([json.dumps({**whole_year, **each}).encode() for each in (one, other)])
    assert set(json.loads(short.rows[0])) - {"period_type"} == kept
    assert {*short.shared, *kept} >= {"basis", "value_reported"}


def test_an_input_of_a_metric_cites_its_own_filing() -> None:
    inputs = [json.loads(_figure(1172724, year, line_item="profit")) for year in (18, 19)]
    row = {
        "metric": "growth",
        "inputs": inputs,
        "license_class": "cc0",
        "source_ref": "https://x#1",
    }
    short = compact([json.dumps(row).encode()])
    (compacted,) = map(json.loads, short.rows)
    cited = [short.sources[each["source"] - 1] for each in compacted["inputs"]]
    assert [bytes(each["document_id"]).decode() for each in cited] == [
        f'"{each["document_id"]}"' for each in inputs
    ]
    assert "source" not in compacted


def test_an_address_is_absent_where_the_source_gives_none() -> None:
    rows = [_figure(1, year, document_url=None, form=None) for year in (18, 19)]
    assert [each.keys() & {"form", "document_url"} for each in _sources(*rows)] == [set(), set()]


def test_a_receipt_is_of_the_body_that_it_comes_with(agents: Agents) -> None:
    key, pem = agents.world.paid, SigningKey.at(agents.world.signing_key).public_pem()
    calls: dict[str, dict[str, Any]] = {
        "get_fundamentals": {"service_id": "DCA1", "as_of": "2018-12-31"},
        "check_claim": {"series": "FX.EUR.ZAR", "period": "2018", "value": 1},
        "describe_data": {},
    }
    for tool, arguments in calls.items():
        sent = {**arguments, "receipt": True}
        answer = call(agents.server, key, tool, sent)
        body, receipt = (each["text"].encode() for each in answer.result["content"][:2])
        assert body == answer.structured
        stated = checked_receipt(receipt, body, pem)
        assert stated["question"] == {"tool": tool, "arguments": sent}
        assert stated["as_of"] == arguments.get("as_of")
        assert stated["data_version"] == json.loads(body)["data_version"]


def test_cursors_are_good_on_both_surfaces(agents: Agents) -> None:
    key, filters = agents.world.paid, {"country": "ZA", "limit": 5}
    first = json.loads(call(agents.server, key, "search_tenders", filters).structured)
    page = agents.get("/v1/tenders", key, cursor=first["next_cursor"], **filters)
    assert json.loads(page)["data"][0] not in first["data"]
    second = json.loads(page)["next_cursor"]
    arguments = {**filters, "cursor": second, "verbose": True}
    answer = call(agents.server, key, "search_tenders", arguments)
    assert answer.structured == agents.get("/v1/tenders", key, cursor=second, **filters)


def test_what_is_searched_is_narrowed(agents: Agents) -> None:
    key = agents.world.paid
    filters: dict[str, Any] = {"country": "ZA", "category": "works", "buyer": "Agency 1"}
    pages = walk(agents, key, **filters, limit=2, to="2018-01-05")
    rows = [row for page in pages for row in page["data"]]
    assert rows and all(row["category"] == "works" for row in rows)
    assert all(row["buyer"]["name"].endswith(" 1") and row["date"] <= "2018-01-05" for row in rows)
    title = rows[0]["tender"]["title"]
    matches = call(agents.server, key, "search_tenders", {"query": title, "limit": 100})
    assert rows[0]["ocid"] in {row["ocid"] for row in json.loads(matches.structured)["data"]}


def test_no_word_of_a_search_is_left_out(agents: Agents) -> None:
    mart = Mart(agents.world.marts)
    assert releases(mart, "ZA").rows
    for wordless in ("!!", "\u0301"):
        with pytest.raises(Problem, match="at least one letter or digit"):
            releases(mart, "ZA", query=wordless)
        with pytest.raises(Problem, match="at least one letter or digit"):
            releases(mart, "ZA", buyer=wordless)
    title = json.loads(releases(mart, "ZA", limit=1).rows[0])["tender"]["title"]
    again = f"{title} " * 17
    assert releases(mart, "ZA", query=again).rows
    assert not releases(mart, "ZA", query=f"{title} nowhere").rows
    many = call(agents.server, agents.world.paid, "search_tenders", {"query": again[:128]})
    assert not many.result["isError"]


def test_a_result_that_is_cut_links_to_the_file_with_all_rows(agents: Agents) -> None:
    arguments = {"service_id": "DCMANY", "limit": 200, "verbose": True}
    result = call(agents.server, agents.world.paid, "get_fundamentals", arguments).result
    text, link = result["content"]
    assert 20 < result["structuredContent"]["count"] < 100
    assert result["structuredContent"]["truncated"] and text["type"] == "text"
    assert link["type"] == "resource_link" and link["name"] == "af-fund-facts"
    manifest = json.loads(agents.get("/v1/export", agents.world.paid))
    path = link["uri"].partition("/exports/")[2]
    assert path in [artifact["url"].partition("/exports/")[2] for artifact in manifest["artifacts"]]
    lines = {**arguments, "line_items": ["revenue", "profit"]}
    ten = call(agents.server, agents.world.paid, "get_fundamentals", lines).result
    assert ten["structuredContent"]["count"] == 10 and len(ten["content"]) == 1


def test_without_a_limit_a_result_is_a_page_that_a_model_can_read(agents: Agents) -> None:
    arguments = {"service_id": "DCMANY"}
    result = call(agents.server, agents.world.paid, "get_fundamentals", arguments).result
    assert result["structuredContent"]["count"] == result["structuredContent"]["limit"] == 25
    assert result["structuredContent"]["next_cursor"]


def test_a_compact_result_has_what_rest_has_but_for_the_provenance_of_rows(agents: Agents) -> None:
    query = {"country": "ZA", "limit": 20}
    short = call(agents.server, agents.world.paid, "get_resolved_parties", query)
    served = json.loads(agents.get("/v1/tender-parties", agents.world.paid, **query))
    answer = json.loads(short.structured)
    for row, whole in zip(answer["data"], served["data"], strict=True):
        # What is unknown is left out.
        members = {**answer.get("shared", {}), **row}
        source = members | answer["sources"][members.pop("source") - 1]
        assert members.items() <= whole.items() | {("source_ref", members.get("source_ref"))}
        assert whole["source_ref"].startswith(source["source_ref"])
        assert whole["license_class"] == source["license_class"]
        left_out = {name for name, value in whole.items() if value is not None} - members.keys()
        assert left_out <= {*PROVENANCE, "party_id", "org_evidence"}
    assert len(short.structured) < len(json.dumps(served)) * 0.6


def test_null_means_that_an_argument_was_left_out(agents: Agents) -> None:
    key = agents.world.paid
    nulls = {"country": None, "as_of": None, "limit": None, "cursor": None, "data_version": None}
    with_nulls = call(agents.server, key, "get_resolved_parties", {"role": "buyer", **nulls})
    without = call(agents.server, key, "get_resolved_parties", {"role": "buyer"})
    assert with_nulls.structured == without.structured


def test_a_data_version_can_be_pinned_by_an_argument(agents: Agents) -> None:
    key, sent = agents.world.paid, {"service_id": "DCA1"}
    version = json.loads(call(agents.server, key, "get_entity", sent).structured)["data_version"]
    pinned = call(agents.server, key, "get_entity", {**sent, "data_version": version})
    assert json.loads(pinned.structured)["data_version"] == version
    unknown = call(agents.server, key, "get_entity", {**sent, "data_version": "20200101.1"})
    assert unknown.result["isError"]
    both = {**sent, "data_version": "20200101.1"}
    conflict = call(agents.server, key, "get_entity", both, X_Data_Version=version).result
    assert conflict["structuredContent"]["parameter"] == "data_version"


def test_a_sample_key_is_linked_to_what_it_may_read(agents: Agents) -> None:
    arguments = {"series": "FX.EUR.ZAR", "limit": 1}
    names = [
        call(agents.server, key, "get_macro", arguments).result["content"][1]["name"]
        for key in (agents.world.sample, agents.world.paid)
    ]
    assert names == ["macro-series", "af-macro-series"]


def test_a_tier_serves_no_more_rows_here_than_over_rest(agents: Agents) -> None:
    arguments = {"country": "ZA", "limit": 26}
    result = call(agents.server, agents.world.sample, "search_tenders", arguments).result
    problem = result["structuredContent"]
    assert result["isError"] and problem["code"] == "row_cap_exceeded"
    assert problem["upgrade_url"] == "http://127.0.0.1:8321/pricing"
    left_out = call(agents.server, agents.world.sample, "search_tenders", {"country": "ZA"})
    assert json.loads(left_out.structured)["limit"] == 25


def test_a_pinned_data_version_holds_and_an_unknown_one_is_refused(agents: Agents) -> None:
    key, arguments = agents.world.paid, {"service_id": "DCA1"}
    version = json.loads(call(agents.server, key, "get_entity", arguments).structured)[
        "data_version"
    ]
    pinned = call(agents.server, key, "get_entity", arguments, X_Data_Version=version)
    assert json.loads(pinned.structured)["data_version"] == version
    gone = call(agents.server, key, "get_entity", arguments, X_Data_Version="20200101.1").result
    assert gone["isError"] and gone["structuredContent"]["parameter"] == "X-Data-Version"
    wrong = call(agents.server, key, "get_entity", arguments, X_Data_Version="yesterday")
    assert wrong.status == 400 and wrong.json()["error"]["data"]["code"] == "parameter_invalid"
