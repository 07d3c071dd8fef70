"""Search over REST and MCP: pages, filters and refusals."""

import json
from typing import Any
from urllib.parse import quote

import pytest

from tests.helpers.contract_client import Contract
from tests.helpers.mcp_service import call
from tests.helpers.mcp_world import Agents
from tests.sample_world.organisations import isin_of, issuer


def test_a_search_answers_with_rows_that_say_how_they_match(api: Contract) -> None:
    answer = api.get("/v1/search?query=Harmatan%20brewery%2C%20somewhere%20in%20Namibia")
    assert answer.status == 200
    first = answer.rows[0]
    assert (first["kind"], first["match"], first["country"]) == ("organisation", "near", "NA")
    assert first["matched"] == first["name"]
    assert api.get(f"/v1/entities/{first['id']}").rows[0]["legal_name"] == first["name"]


def test_the_pages_of_a_search_have_every_row_once(api: Contract) -> None:
    whole = api.get("/v1/search?query=fictional&kind=organisation&limit=100")
    rows, cursor = list[dict[str, Any]](), ""
    while cursor is not None:
        path = (
            f"/v1/search?query=fictional&kind=organisation&limit=7{cursor and '&cursor='}{cursor}"
        )
        page = api.get(path)
        rows, cursor = rows + page.rows, page.body["next_cursor"]
    assert rows[:100] == whole.rows and len(rows) > 7
    assert len({row["id"] for row in rows}) == len(rows)


ISIN = isin_of(issuer(0).country, 0)
# A known and an unknown one, as people write them.
WRITTEN = (ISIN, ISIN.lower(), f"ISIN: {ISIN}", f"{issuer(0).name} {ISIN}", "ZAE000012084")
FULL_WIDTH = "".join(chr(ord(sign) + 0xFEE0) for sign in ISIN)


@pytest.mark.parametrize("query", [*WRITTEN, FULL_WIDTH])
def test_an_isin_is_searched_for_with_a_paid_key_alone(
    api: Contract, agents: Agents, query: str
) -> None:
    """What others get is the same for a known and an unknown ISIN."""
    path = f"/v1/search?query={quote(query)}"
    refused = api.problem(path, 402, "paid_crosswalk", "sample")
    assert (refused["parameter"], refused["required_tier"]) == ("query", "starter")
    isin = "ZAE000012084" if "12084" in query else ISIN
    expected = f"{isin} has the form of an ISIN. Leave it out: searches by ISIN need the starter"
    assert refused["detail"].startswith(expected)
    answer = call(agents.server, agents.world.sample, "search_entities", {"query": query})
    assert json.loads(answer.structured)["code"] == "paid_crosswalk"
    found = api.get(path).rows
    assert [row["matched"] for row in found if row["match"] == "identifier"] == (
        [] if "12084" in query else [ISIN]
    )


def test_no_answer_to_a_sample_key_finds_or_shows_an_isin(api: Contract) -> None:
    (row,) = api.get(f"/v1/crosswalk?id_type=isin&id_value={ISIN}").rows
    service_id = row["service_id"]
    for path in (
        f"/v1/entities/{service_id}",
        f"/v1/crosswalk/{service_id}",
        f"/v1/search?query={service_id}",
        f"/v1/search?query={quote(issuer(0).name)}",
    ):
        answer = api.get(path, "sample")
        assert answer.status == 200 and ISIN not in answer.raw.decode(), path
    for path in (f"/v1/entities/{ISIN}", f"/v1/fundamentals/{ISIN}", f"/v1/crosswalk/{ISIN}"):
        assert api.get(path, "sample").status == 404, path


def test_an_id_that_looks_like_an_isin_is_no_isin(api: Contract) -> None:
    assert api.get("/v1/search?query=DCA000000001", "sample").status == 200


def test_a_cursor_belongs_to_its_search_alone(api: Contract) -> None:
    cursor = api.get("/v1/search?query=fictional&limit=2").body["next_cursor"]
    other = api.get("/v1/tenders?limit=2").body["next_cursor"]
    for path in (
        f"/v1/search?query=bank&cursor={cursor}",
        f"/v1/search?query=fictional&kind=series&cursor={cursor}",
        f"/v1/search?query=fictional&country=KE&cursor={cursor}",
        f"/v1/search?query=fictional&cursor={other}",
        f"/v1/tenders?cursor={cursor}",
    ):
        api.problem(path, 400, "cursor_invalid")


def test_a_search_is_refused_without_a_word_or_for_an_unknown_kind(api: Contract) -> None:
    api.problem("/v1/search", 400, "parameter_missing")
    for query in ("query=--", "query=x", "query=bank&kind=person", "query=bank&country=ZAFR"):
        api.problem(f"/v1/search?{query}", 400, "parameter_invalid")


def test_country_codes_of_both_lengths_narrow_a_search(api: Contract) -> None:
    for code in ("ke", "KEN"):
        rows = api.get(f"/v1/search?query=fictional&kind=organisation&country={code}").rows
        assert rows and {row["country"] for row in rows} == {"KE"}


def test_organisations_that_a_tool_finds_say_how_they_match(agents: Agents) -> None:
    answer = call(
        agents.server, agents.world.paid, "search_entities", {"query": "fictional", "verbose": True}
    )
    rows = json.loads(answer.structured)["data"]
    assert rows and {row["match"] for row in rows} <= {"exact", "prefix", "words"}
