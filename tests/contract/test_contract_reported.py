"""Section 4 of the contract, its first half: a test for each row of each table."""

from collections import Counter
from datetime import UTC, date, datetime, timedelta
from typing import Any
from urllib.parse import quote

import pytest

from tests.helpers.contract_client import Contract
from tests.helpers.whole_tables import query

DAY = "2024-06-30"


@pytest.fixture
def restated(api: Contract) -> str:
    """Return the issuer with the most restated figures."""
    most = (
        "SELECT service_id FROM fundamentals WHERE vintage = 2 GROUP BY 1 ORDER BY count(*) DESC, 1"
    )
    return str(query(api.mart.build(), most)[0][0])


def _figure(row: dict[str, Any]) -> tuple[object, ...]:
    names = ("line_item", "unit", "basis", "period_start", "period_end")
    return tuple(row[name] for name in names)


def test_health_is_answered_without_a_key(api: Contract) -> None:
    assert api.get("/health", None).body == {"status": "ok"}


@pytest.mark.every_store
def test_status_is_answered_without_a_key_and_reads_each_dependency(api: Contract) -> None:
    answer = api.get("/v1/status", None)
    assert answer.status == 200
    assert answer.body["status"] == "ok" and answer.body["degraded"] == []
    assert {"datastore", "key_store"} <= set(answer.body["checks"])
    assert answer.body["data_version"] == api.mart.build().data_version


def test_openapi_json_is_3_1_and_needs_no_key(api: Contract) -> None:
    body = api.get("/openapi.json", None).body
    assert (body["openapi"], body["info"]["version"]) == ("3.1.0", "1.0.0")


def test_fundamentals_service_id_is_required_letters_and_digits(
    api: Contract, restated: str
) -> None:
    rows = api.get(f"/v1/fundamentals/{restated}").rows
    assert rows and {row["service_id"] for row in rows} == {restated}
    wrong = api.problem("/v1/fundamentals/DC-1", 400, "parameter_invalid")
    assert wrong["parameter"] == "service_id"
    api.problem("/v1/fundamentals/DCNOBODY", 404, "not_found")


def test_an_id_in_lower_case_is_the_id(api: Contract, restated: str) -> None:
    lower = restated.lower()
    for path in ("fundamentals", "entities", "metrics", "crosswalk"):
        assert api.get(f"/v1/{path}/{lower}").raw == api.get(f"/v1/{path}/{restated}").raw
    several = "/v1/fundamentals?service_ids="
    assert api.get(several + lower).raw == api.get(several + restated).raw
    buyers = "SELECT buyer_id, country FROM tender_releases WHERE buyer_id <> '' LIMIT 1"
    buyer, country = query(api.mart.build(), buyers)[0]
    of_buyer = f"/v1/tenders?country={country}&buyer="
    rows = api.get(of_buyer + buyer.lower()).rows
    assert rows and rows == api.get(of_buyer + buyer).rows


@pytest.mark.every_store
def test_fundamentals_as_of_returns_what_was_knowable_on_that_date(
    api: Contract, restated: str
) -> None:
    every = api.get(f"/v1/fundamentals/{restated}?vintages=all").rows
    latest: dict[tuple[object, ...], dict[str, Any]] = {}
    for row in every:
        if (
            row["available_at"] <= DAY
            and latest.get(_figure(row), row)["vintage"] <= row["vintage"]
        ):
            latest[_figure(row)] = row

    answer = api.get(f"/v1/fundamentals/{restated}?as_of={DAY}")

    assert answer.body["as_of"] == DAY
    expected = [row for row in latest.values() if row["value_reported"] is not None]
    assert expected and len(answer.rows) == len(expected)
    assert all(row in expected for row in answer.rows)


def test_fundamentals_period_type_keeps_one_cadence_and_the_balances_at_its_ends(
    api: Contract, restated: str
) -> None:
    rows = api.get(f"/v1/fundamentals/{restated}?period_type=FY").rows
    assert rows and {row["period_type"] for row in rows} == {"FY", "INSTANT"}
    ends = {row["period_end"] for row in rows if row["period_type"] == "FY"}
    every = api.get(f"/v1/fundamentals/{restated}").rows
    assert rows == [
        row
        for row in every
        if row["period_type"] == "FY"
        or (row["period_type"] == "INSTANT" and row["period_end"] in ends)
    ]
    wrong = api.problem(f"/v1/fundamentals/{restated}?period_type=YEAR", 400, "parameter_invalid")
    assert "H1" in wrong["allowed"]


@pytest.mark.parametrize("more", ["", "&vintages=all", "&period_type=H1", "&derived=true"])
def test_a_fiscal_year_keeps_its_periods_and_the_balances_at_their_ends(
    api: Contract, more: str
) -> None:
    of_half_years = "SELECT service_id FROM fundamentals WHERE period_type = 'H1' GROUP BY 1"
    found = 0
    for (issuer,) in query(api.mart.build(), of_half_years)[:2]:
        every = api.get(f"/v1/fundamentals/{issuer}?{more[1:]}").rows
        for year in (2018, 2021):
            rows = api.get(f"/v1/fundamentals/{issuer}?fiscal_year={year}{more}").rows
            labels = {f"{kind}FY{year}" for kind in ("", "H1 ", "H2 ", "TTM Q2 ")}
            assert rows == [row for row in every if row["fiscal_label"] in labels]
            found += len(rows)
        none = api.get(f"/v1/fundamentals/{issuer}?fiscal_year=1990{more}").body["empty"]
        assert none["code"] in ("out_of_range", "not_computable")
    assert found
    api.problem(f"/v1/fundamentals/{issuer}?fiscal_year=90", 400, "parameter_invalid")


def test_elements_of_a_fiscal_year_are_all_that_was_stated_of_it(
    api: Contract, restated: str
) -> None:
    path = f"/v1/elements/{restated}"
    names = [row["element"] for row in api.get(path).rows]
    of_year = api.get(f"{path}?fiscal_year=2020&limit=1000").rows
    assert of_year and {row["fiscal_label"] for row in of_year} == {"FY2020"}
    every = [row for name in names for row in api.get(f"{path}?element={name}").rows]
    assert of_year == [row for row in every if row["fiscal_label"] == "FY2020"]


def test_metrics_of_a_fiscal_year_are_known_from_their_last_input(
    api: Contract, restated: str
) -> None:
    path = f"/v1/metrics/{restated}"
    latest = api.get(f"{path}?limit=100").rows
    newest = int(latest[0]["period_end"][:4])
    assert latest == api.get(f"{path}?limit=100&fiscal_year={newest}").rows
    years = [
        row for year in range(2018, newest) for row in api.get(f"{path}?fiscal_year={year}").rows
    ]
    assert {row["period_end"][:4] for row in years} == {str(y) for y in range(2018, newest)}
    for row in years[::7]:
        url = f"{path}?metric={row['metric']}&fiscal_year={row['period_end'][:4]}"
        assert api.get(f"{url}&as_of={row['available_at']}").rows[0]["value"] == row["value"]
        before = date.fromisoformat(row["available_at"]) - timedelta(1)
        assert all(
            other["available_at"] < row["available_at"]
            for other in api.get(f"{url}&as_of={before}").rows
        )


def test_fundamentals_vintages_latest_is_the_default(api: Contract, restated: str) -> None:
    path = f"/v1/fundamentals/{restated}"
    assert api.get(path).raw == api.get(f"{path}?vintages=latest").raw
    figures = [_figure(row) for row in api.get(path).rows]
    assert len(figures) == len(set(figures))


def test_fundamentals_vintages_as_reported_is_the_originally_filed_value(
    api: Contract, restated: str
) -> None:
    rows = api.get(f"/v1/fundamentals/{restated}?vintages=as_reported").rows
    assert rows and {row["vintage"] for row in rows} == {1}


@pytest.mark.every_store
def test_fundamentals_vintages_all_is_every_restatement(api: Contract, restated: str) -> None:
    rows = api.get(f"/v1/fundamentals/{restated}?vintages=all").rows
    assert max(row["vintage"] for row in rows) > 1
    wrong = api.problem(f"/v1/fundamentals/{restated}?vintages=newest", 400, "parameter_invalid")
    assert wrong["allowed"] == ["latest", "as_reported", "all"]


def test_fundamentals_of_the_newest_publication_are_whole_statements(
    api: Contract, restated: str
) -> None:
    path = f"/v1/fundamentals/{restated}?publication=newest"
    rows = api.get(path).rows
    figures = [_figure(row) for row in rows]
    assert len(figures) == len(set(figures))
    periods = {(row["period_start"], row["period_end"]) for row in rows}
    assert periods == {
        (row["period_start"], row["period_end"])
        for row in api.get(f"/v1/fundamentals/{restated}").rows
    }
    filings: dict[tuple[str, ...], set[str]] = {}
    for row in rows:
        one = tuple(str(row[name]) for name in ("statement", "basis", "period_start", "period_end"))
        filings.setdefault(one, set()).add(row["available_at"])
    assert {len(stated) for stated in filings.values()} == {1}
    early = min(row["available_at"] for row in rows)
    assert all(row["available_at"] <= early for row in api.get(f"{path}&as_of={early}").rows)
    for vintages in ("all", "as_reported"):
        api.problem(f"{path}&vintages={vintages}", 400, "parameter_conflict")


def test_tenders_country_is_alpha_2_or_alpha_3_and_za_by_default(api: Contract) -> None:
    assert api.get("/v1/tenders").raw == api.get("/v1/tenders?country=za").raw
    assert {row["country"] for row in api.get("/v1/tenders?country=ke").rows} == {"KE"}
    assert api.get("/v1/tenders?country=KEN").rows == api.get("/v1/tenders?country=ke").rows
    for wrong in ("ZAFR", "Z", "12"):
        api.problem(f"/v1/tenders?country={wrong}", 400, "parameter_invalid")


def test_tenders_from_is_the_earliest_release_date(api: Contract) -> None:
    day = sorted(row["date"] for row in api.get("/v1/tenders").rows)[50]
    rows = api.get(f"/v1/tenders?from={day}").rows
    assert rows and min(row["date"] for row in rows) >= day
    api.problem("/v1/tenders?from=yesterday", 400, "parameter_invalid")


def test_tenders_limit_is_at_least_1(api: Contract) -> None:
    assert len(api.get("/v1/tenders?limit=3").rows) == 3
    for wrong in ("0", "-1", "1.5", "x"):
        assert api.problem(f"/v1/tenders?limit={wrong}", 400, "parameter_invalid")


@pytest.mark.every_store
def test_tenders_cursor_gives_the_next_page_and_an_altered_one_400(api: Contract) -> None:
    met, cursor, days = [], "", []
    while cursor is not None:
        page = api.get(f"/v1/tenders?limit=40{cursor and '&cursor='}{cursor}").body
        met += [(row["ocid"], row["release_id"]) for row in page["data"]]
        days += [row["date"] or "" for row in page["data"]]
        assert page["truncated"] is (page["next_cursor"] is not None)
        last, cursor = cursor, page["next_cursor"]
    counted = query(
        api.mart.build(), "SELECT count(*) FROM tender_releases WHERE latest = 1 AND country = 'ZA'"
    )
    assert len(met) == len(set(met)) == counted[0][0]
    assert days == sorted(days, reverse=True)
    altered = last[:-1] + ("A" if last[-1] != "A" else "B")
    assert api.problem(f"/v1/tenders?cursor={altered}", 400, "cursor_invalid")["parameter"]


@pytest.fixture
def winner(api: Contract) -> str:
    """Return an issuer that won awards."""
    return str(query(api.mart.build(), "SELECT max(service_id) FROM award_facts")[0][0])


def test_shared_facts_take_exactly_one_of_entity_id_and_country(api: Contract) -> None:
    api.problem("/v1/shared/facts", 400, "parameter_missing")
    both = "/v1/shared/facts?entity_id=ZAF&country=ZAF&dataset=AF-MACRO"
    api.problem(both, 400, "parameter_conflict")


def test_shared_facts_entity_id_is_an_issuer_or_a_country(api: Contract, restated: str) -> None:
    issuer = api.get(f"/v1/shared/facts?entity_id={restated}").rows
    assert {(row["entity_id"], row["dataset"]) for row in issuer} == {(restated, "AF-FUND")}
    country = api.get("/v1/shared/facts?entity_id=ZAF").rows
    assert {(row["entity_id"], row["dataset"]) for row in country} == {("ZAF", "AF-MACRO")}
    for wrong in ("zaf", "XX1", "dc1"):
        refused = api.problem(f"/v1/shared/facts?entity_id={wrong}", 400, "parameter_invalid")
        assert "in upper case" in refused["detail"]
    assert api.get("/v1/shared/facts?entity_id=DCNOBODY").rows == []


def test_shared_facts_country_is_of_either_form_and_requires_dataset(api: Contract) -> None:
    missing = api.problem("/v1/shared/facts?country=KEN", 400, "parameter_missing")
    assert missing["parameter"] == "dataset"
    rows = api.get("/v1/shared/facts?country=ken&dataset=AF-MACRO").rows
    assert api.get("/v1/shared/facts?country=KE&dataset=AF-MACRO").rows == rows
    assert rows and {row["country_iso3"] for row in rows} == {"KEN"}


def test_shared_facts_dataset_of_a_country_is_tender_values_or_macro(api: Contract) -> None:
    rows = api.get("/v1/shared/facts?country=COL&dataset=AF-TENDER").rows
    assert {row["measure"] for row in rows} == {"tender_value"}
    days = [row["period_end"] for row in rows]
    assert days == sorted(days, reverse=True)
    wrong = api.problem("/v1/shared/facts?country=KEN&dataset=AF-FUND", 400, "parameter_conflict")
    assert wrong["parameter"] == "dataset"
    api.problem("/v1/shared/facts?country=KEN&dataset=AF-ALL", 400, "parameter_invalid")


@pytest.mark.every_store
def test_shared_facts_dataset_of_an_issuer_is_financials_or_awards_won(
    api: Contract, winner: str, restated: str
) -> None:
    won = api.get(f"/v1/shared/facts?entity_id={winner}&dataset=AF-TENDER").rows
    assert won and {row["measure"] for row in won} == {"award_value"}
    path = f"/v1/shared/facts?entity_id={restated}"
    assert api.get(f"{path}&dataset=AF-FUND").rows == api.get(path).rows
    api.problem(f"{path}&dataset=AF-MACRO", 400, "parameter_conflict")


@pytest.mark.every_store
def test_shared_facts_as_of_leaves_out_annual_macro(api: Contract) -> None:
    rows = api.get(f"/v1/shared/facts?entity_id=ZAF&as_of={DAY}&limit=1000").rows
    assert rows and max(row["available_at"] for row in rows) <= DAY
    every = api.get("/v1/shared/facts?entity_id=ZAF&limit=1000").rows
    assert any(row["available_at"] is None for row in every)


def test_shared_facts_measure_keeps_one(api: Contract, restated: str) -> None:
    rows = api.get(f"/v1/shared/facts?entity_id={restated}&measure=revenue").rows
    assert rows and {row["measure"] for row in rows} == {"revenue"}


def test_shared_facts_limit_is_at_least_1(api: Contract) -> None:
    assert len(api.get("/v1/shared/facts?entity_id=ZAF&limit=2").rows) == 2
    api.problem("/v1/shared/facts?entity_id=ZAF&limit=0", 400, "parameter_invalid")


@pytest.mark.parametrize("as_of", ["", "&as_of=2024-12-31"])
def test_awards_of_a_buyer_are_those_of_processes_in_which_it_bought(
    api: Contract, winner: str, as_of: str
) -> None:
    every = api.get(f"/v1/awards?service_id={winner}&limit=1000{as_of}").rows
    buyer = Counter(row["buyer"] for row in every).most_common()[0][0]
    path = f"/v1/awards?buyer={quote(buyer)}{as_of}&limit=1000"
    bought = api.get(f"{path}&service_id={winner}")
    assert bought.rows == [row for row in every if row["buyer"] == buyer]
    assert sum(total["awards"] for total in bought.body["totals"]) == len(bought.rows)
    country = {"ZAF": "ZA", "KEN": "KE", "COL": "CO"}[bought.rows[0]["country_iso3"]]
    suppliers = api.get(f"{path}&country={country}")
    (row,) = (row for row in suppliers.rows if row["service_id"] == winner)
    assert row["totals"] == bought.body["totals"]
    unknown = api.get(f"/v1/awards?buyer=xylophone&service_id={winner}").body
    assert unknown["empty"]["parameter"] == "buyer" and not unknown["totals"]


def test_tender_parties_country_is_alpha_2_or_alpha_3(api: Contract) -> None:
    rows = api.get("/v1/tender-parties?country=co").rows
    assert rows and {row["country"] for row in rows} == {"CO"}
    assert api.get("/v1/tender-parties?country=COL").rows == rows
    api.problem("/v1/tender-parties?country=COLO", 400, "parameter_invalid")


def test_tender_parties_role_keeps_one(api: Contract) -> None:
    rows = api.get("/v1/tender-parties?role=supplier").rows
    assert rows and {row["role"] for row in rows} == {"supplier"}
    assert all(row["name"] and row["org_evidence"] for row in rows)


@pytest.mark.every_store
def test_tender_parties_service_id_keeps_those_resolved_to_it(api: Contract, winner: str) -> None:
    rows = api.get(f"/v1/tender-parties?service_id={winner}").rows
    assert rows and {row["service_id"] for row in rows} == {winner}
    api.problem("/v1/tender-parties?service_id=DC-1", 400, "parameter_invalid")


def test_tender_parties_limit_is_at_least_1(api: Contract) -> None:
    answer = api.get("/v1/tender-parties?limit=1")
    assert (answer.body["count"], answer.body["truncated"]) == (1, True)
    api.problem("/v1/tender-parties?limit=0", 400, "parameter_invalid")


@pytest.mark.every_store
def test_macro_country_is_alpha_2_or_alpha_3(api: Contract) -> None:
    assert api.get("/v1/macro?country=NG").rows == api.get("/v1/macro?country=nga").rows
    assert {row["country"] for row in api.get("/v1/macro?country=NG").rows} == {"NG"}
    api.problem("/v1/macro?country=N1", 400, "parameter_invalid")


def test_macro_indicator_belongs_to_annual_mode(api: Contract) -> None:
    code = api.get("/v1/macro").rows[0]["indicator"]
    rows = api.get(f"/v1/macro?indicator={code}&country=ZA").rows
    assert rows and {row["indicator"] for row in rows} == {code}
    crossed = api.problem(f"/v1/macro?indicator={code}&series=X", 400, "parameter_conflict")
    assert crossed["parameter"] == "indicator"


def test_what_an_annual_indicator_was_on_a_day_is_refused_in_words_nobody_can_mistake(
    api: Contract,
) -> None:
    question = f"/v1/macro?indicator=NY.GDP.MKTP.CD&country=ZA&as_of={DAY}"
    refused = api.problem(question, 400, "parameter_conflict")
    assert (refused["parameter"], refused["answerable"]) == ("indicator", False)
    assert f"must not be presented as known on {DAY}" in refused["detail"]
    assert "leave out" not in refused["detail"].lower()
    # The suggested series have an answer for that day.
    for series in refused["series_with_as_of"]:
        assert api.get(f"/v1/macro?series={series}&as_of={DAY}").rows
    assert refused["series_with_as_of"]
    nowhere = api.problem(question.replace("=ZA", "=AQ"), 400, "parameter_conflict")
    assert nowhere["series_with_as_of"] == [] and "No series of AQ" in nowhere["detail"]


def test_macro_series_is_a_key_of_series_mode(api: Contract) -> None:
    rows = api.get("/v1/macro?series=FX.EUR.ZAR").rows
    assert rows and {row["series"] for row in rows} == {"FX.EUR.ZAR"}


def test_macro_series_type_is_a_family_of_series_mode(api: Contract) -> None:
    rows = api.get("/v1/macro?as_of=2026-03-31&series_type=fx&limit=1000").rows
    assert rows and {row["series_type"] for row in rows} == {"fx"}
    api.problem("/v1/macro?series_type=fx", 400, "parameter_conflict")


def test_macro_frequency_belongs_to_series_mode(api: Contract) -> None:
    rows = api.get(f"/v1/macro?as_of={DAY}&frequency=monthly").rows
    assert rows and {row["frequency"] for row in rows} == {"monthly"}
    api.problem(f"/v1/macro?as_of={DAY}&frequency=hourly", 400, "parameter_invalid")
    api.problem("/v1/macro?frequency=daily", 400, "parameter_conflict")


@pytest.mark.every_store
def test_macro_as_of_never_looks_ahead(api: Contract) -> None:
    rows = api.get(f"/v1/macro?as_of={DAY}&limit=1000").rows
    assert rows and max(row["available_at"] for row in rows) <= DAY
    future = api.get("/v1/macro?as_of=2999-01-01").body
    assert future["as_of"] == datetime.now(UTC).date().isoformat()


@pytest.mark.every_store
def test_macro_from_is_a_date_in_series_mode_and_a_year_or_a_date_in_annual_mode(
    api: Contract,
) -> None:
    observations = api.get("/v1/macro?series=FX.EUR.ZAR").rows
    day = observations[len(observations) // 2]["period_end"]
    rows = api.get(f"/v1/macro?series=FX.EUR.ZAR&from={day}").rows
    assert min(row["period_end"] for row in rows) == day
    wrong = api.problem("/v1/macro?series=FX.EUR.ZAR&from=2020", 400, "parameter_invalid")
    assert wrong["parameter"] == "from"
    year = api.get("/v1/macro?country=ZA&from=2015").rows
    assert year == api.get("/v1/macro?country=ZA&from=2015-01-01").rows
    assert min(row["period_end"] for row in year) >= "2015-01-01"


def test_macro_to_is_the_latest_observation_date(api: Contract) -> None:
    observations = api.get("/v1/macro?series=FX.EUR.ZAR").rows
    day = observations[len(observations) // 2]["period_end"]
    rows = api.get(f"/v1/macro?series=FX.EUR.ZAR&to={day}").rows
    assert max(row["period_end"] for row in rows) == day
    crossed = f"/v1/macro?series=FX.EUR.ZAR&from={day}&to=2000-01-01"
    assert api.problem(crossed, 400, "parameter_conflict")["parameter"] == "from"


def test_macro_limit_is_at_least_1(api: Contract) -> None:
    assert len(api.get("/v1/macro?limit=4").rows) == 4
    api.problem("/v1/macro?limit=0", 400, "parameter_invalid")
