"""Section 4 of the contract, its second half: a test for each row of each table."""

from datetime import date, timedelta

import pytest

from tests.helpers.contract_client import Contract
from tests.helpers.whole_tables import query
from warehouse.methodology.metrics import FORMULA_BY_SLUG
from warehouse.publish.row_json import NEVER

DAY = "2024-06-30"


def bearer(api: Contract, id_type: str) -> tuple[str, str]:
    """Return an organisation with an identifier of a type, and that identifier."""
    statement = "SELECT service_id, id_match FROM identifiers WHERE id_type = ? ORDER BY row_number"
    service_id, value = query(api.mart.build(), statement, id_type)[0]
    return str(service_id), str(value)


@pytest.fixture
def issuer(api: Contract) -> str:
    """Return an issuer with metrics."""
    return str(query(api.mart.build(), "SELECT service_id FROM metrics ORDER BY 1")[0][0])


@pytest.mark.every_store
def test_entity_is_one_organisations_resolved_record(api: Contract, issuer: str) -> None:
    (row,) = api.get(f"/v1/entities/{issuer}").rows
    assert row["service_id"] == issuer and row["legal_name"] and row["license_class"]
    assert "AF-FUND" in row["datasets"]
    api.problem("/v1/entities/DCNOBODY", 404, "not_found")
    api.problem("/v1/entities/DC-1", 404, "not_found")
    # One record has no pages.
    for parameter in ("name=x", "limit=1", "cursor=x"):
        api.problem(f"/v1/entities/{issuer}?{parameter}", 400, "parameter_unknown")


@pytest.mark.parametrize("id_type", ["lei", "ticker"])
def test_crosswalk_lei_and_ticker_are_free_on_every_tier(api: Contract, id_type: str) -> None:
    service_id, _ = bearer(api, id_type)
    for tier in ("sample", "starter", "professional"):
        body = api.get(f"/v1/crosswalk/{service_id}", tier).body
        assert id_type in {identifier["id_type"] for identifier in body["identifiers"]}


@pytest.mark.parametrize("id_type", ["registry", "aggregator"])
@pytest.mark.every_store
def test_crosswalk_registry_numbers_and_aggregator_ids_are_withheld_from_the_sample_tier(
    api: Contract, id_type: str
) -> None:
    service_id, _ = bearer(api, id_type)
    body = api.get(f"/v1/crosswalk/{service_id}", "sample").body
    assert id_type in body["withheld_id_types"]
    assert {identifier["id_type"] for identifier in body["identifiers"]} <= {"lei", "ticker"}
    paid = api.get(f"/v1/crosswalk/{service_id}", "starter").body
    assert id_type in {identifier["id_type"] for identifier in paid["identifiers"]}
    assert paid["withheld_id_types"] == []


def test_crosswalk_loaded_says_that_the_table_is_loaded(api: Contract, issuer: str) -> None:
    body = api.get(f"/v1/crosswalk/{issuer}").body
    assert body["crosswalk_loaded"] is True
    assert body["count"] == len(body["identifiers"])
    api.problem("/v1/crosswalk/DCNOBODY", 404, "not_found")
    api.problem("/v1/crosswalk/DC-1", 404, "not_found")


def test_lookup_id_type_is_required_and_one_of_seven(api: Contract) -> None:
    missing = api.problem("/v1/crosswalk?id_value=X", 400, "parameter_missing")
    assert missing["parameter"] == "id_type"
    wrong = api.problem("/v1/crosswalk?id_type=duns&id_value=X", 400, "parameter_invalid")
    assert wrong["allowed"] == ["lei", "ticker", "registry", "aggregator", "isin", "figi", "cik"]


@pytest.mark.parametrize("id_type", ["lei", "ticker", "registry", "aggregator", "isin"])
@pytest.mark.every_store
def test_lookup_id_value_finds_the_organisation(api: Contract, id_type: str) -> None:
    service_id, value = bearer(api, id_type)
    answer = api.get(f"/v1/crosswalk?id_type={id_type}&id_value={value}", "starter")
    assert service_id in {row["service_id"] for row in answer.rows}
    assert ":" in value or id_type != "ticker"
    assert answer.rows == api.get(f"/v1/crosswalk?id_type={id_type}&id_value={value.lower()}").rows


def test_lookup_finds_a_ticker_of_every_exchange_that_is_listed(api: Contract) -> None:
    statement = "SELECT service_id, id_match FROM identifiers WHERE id_type = 'ticker'"
    listed = query(api.mart.build(), statement)
    by_exchange = {value.partition(":")[0]: (owner, value) for owner, value in listed}
    assert "OTC" in by_exchange
    for service_id, value in by_exchange.values():
        rows = api.get(f"/v1/crosswalk?id_type=ticker&id_value={value}").rows
        assert service_id in {row["service_id"] for row in rows}, value


def test_lookup_id_value_has_1_to_64_characters(api: Contract) -> None:
    assert api.problem("/v1/crosswalk?id_type=lei", 400, "parameter_missing")["parameter"]
    api.problem("/v1/crosswalk?id_type=lei&id_value=", 400, "parameter_invalid")
    api.problem(f"/v1/crosswalk?id_type=lei&id_value={'A' * 65}", 400, "parameter_invalid")
    assert api.get(f"/v1/crosswalk?id_type=registry&id_value={'A' * 64}").rows == []


UNUSED = {
    "registry": "X",
    "aggregator": "X",
    "isin": "ZAE000000000",
    "figi": "BBG000000000",
    "cik": "9999999999",
}


@pytest.mark.parametrize("id_type", UNUSED)
def test_lookup_in_the_paid_crosswalk_needs_starter_tier(api: Contract, id_type: str) -> None:
    path = f"/v1/crosswalk?id_type={id_type}&id_value={UNUSED[id_type]}"
    body = api.problem(path, 402, "paid_crosswalk", "sample")
    assert (body["required_tier"], body["tier"]) == ("starter", "sample")
    assert api.get(path, "starter").status == 200


@pytest.mark.parametrize("id_type", ["lei", "ticker"])
def test_lookup_by_lei_or_ticker_works_on_any_tier(api: Contract, id_type: str) -> None:
    service_id, value = bearer(api, id_type)
    rows = api.get(f"/v1/crosswalk?id_type={id_type}&id_value={value}", "sample").rows
    assert [row["service_id"] for row in rows] == [service_id]


@pytest.mark.every_store
def test_lookup_of_a_number_of_two_registries_is_ambiguous(api: Contract) -> None:
    shared = (
        "SELECT id_match FROM identifiers WHERE id_type = 'registry' "
        "GROUP BY 1 HAVING count(DISTINCT service_id) > 1"
    )
    number = query(api.mart.build(), shared)[0][0]
    answer = api.get(f"/v1/crosswalk?id_type=registry&id_value={number}")
    assert answer.body["ambiguous"] is True and answer.body["count"] == len(answer.rows) > 1
    _, lei = bearer(api, "lei")
    assert api.get(f"/v1/crosswalk?id_type=lei&id_value={lei}").body["ambiguous"] is False


def test_screen_metric_is_required_and_of_the_set(api: Contract) -> None:
    assert api.problem("/v1/screen", 400, "parameter_missing")["parameter"] == "metric"
    wrong = api.problem("/v1/screen?metric=luck", 400, "parameter_invalid")
    assert wrong["allowed"] == list(FORMULA_BY_SLUG)
    answer = api.get("/v1/screen?metric=net_margin")
    assert [row["rank"] for row in answer.rows] == list(range(1, len(answer.rows) + 1))
    assert {row["methodology_ref"] for row in answer.rows} == {"metrics-v1/net_margin"}
    universe = answer.body["universe"]
    assert universe["covered"] == universe["ranked"] + sum(universe["left_out"].values())


@pytest.mark.every_store
def test_screen_order_is_desc_by_default(api: Contract) -> None:
    path = "/v1/screen?metric=net_margin"
    down = [row["value"] for row in api.get(path).rows]
    assert down == sorted(down, reverse=True) and len(down) > 1
    assert api.get(f"{path}&order=desc").raw == api.get(path).raw
    up = [row["value"] for row in api.get(f"{path}&order=asc").rows]
    assert up == sorted(down)
    api.problem(f"{path}&order=up", 400, "parameter_invalid")


@pytest.mark.every_store
def test_screen_as_of_uses_only_what_was_available_by_then(api: Contract) -> None:
    answer = api.get(f"/v1/screen?metric=net_margin&as_of={DAY}")
    assert answer.rows and {row["as_of"] for row in answer.rows} == {DAY}
    assert max(row["available_at"] for row in answer.rows) <= DAY
    for row in answer.rows:
        assert all(input_item["available_at"] <= DAY for input_item in row["inputs"])
        assert row["period_type"] == "FY"
    now = api.get("/v1/screen?metric=net_margin").rows
    assert len({row["service_id"] for row in now}) == len(now)


def test_screen_country_is_alpha_2_or_alpha_3(api: Contract) -> None:
    rows = api.get("/v1/screen?metric=net_margin&country=za").rows
    assert rows and {row["country"] for row in rows} == {"ZA"}
    assert api.get("/v1/screen?metric=net_margin&country=ZAF").rows == rows
    api.problem("/v1/screen?metric=net_margin&country=Z1", 400, "parameter_invalid")


def test_screen_limit_is_at_least_1(api: Contract) -> None:
    assert len(api.get("/v1/screen?metric=net_margin&limit=1").rows) == 1
    api.problem("/v1/screen?metric=net_margin&limit=0", 400, "parameter_invalid")


def test_metrics_service_id_is_letters_and_digits(api: Contract, issuer: str) -> None:
    rows = api.get(f"/v1/metrics/{issuer}").rows
    assert rows and {row["service_id"] for row in rows} == {issuer}
    assert all("rank" not in row for row in rows)
    api.problem("/v1/metrics/DC-1", 400, "parameter_invalid")
    assert api.get("/v1/metrics/DCNOBODY").rows == []


def test_metrics_metric_keeps_one_slug(api: Contract, issuer: str) -> None:
    (row,) = api.get(f"/v1/metrics/{issuer}?metric=net_margin").rows
    ranked = api.get("/v1/screen?metric=net_margin").rows
    (screened,) = [item for item in ranked if item["service_id"] == issuer]
    assert {**row, "rank": screened["rank"]} == screened
    api.problem(f"/v1/metrics/{issuer}?metric=Net", 400, "parameter_invalid")


def test_metrics_metric_set_is_the_first_by_default(api: Contract) -> None:
    flows = api.get("/v1/screen?metric=net_margin&metric_set=metrics-ttm")
    assert {row["methodology_ref"] for row in flows.rows} == {"metrics-ttm/net_margin"}
    assert flows.body["universe"]["ranked"] == len(flows.rows)
    issuer = flows.rows[0]["service_id"]
    path = f"/v1/metrics/{issuer}?metric=net_margin"
    assert api.get(f"{path}&metric_set=metrics-v1").rows == api.get(path).rows
    (row,) = api.get(f"{path}&metric_set=metrics-ttm").rows
    assert row | {"rank": 1} == flows.rows[0]
    wrong = f"/v1/metrics/{issuer}?metric=return_on_equity&metric_set=metrics-ttm"
    assert api.problem(wrong, 400, "parameter_conflict")["parameter"] == "metric"
    api.problem("/v1/screen?metric=net_margin&metric_set=ttm", 400, "parameter_invalid")


@pytest.mark.every_store
def test_metrics_as_of_follows_the_rules_of_the_screen(api: Contract, issuer: str) -> None:
    rows = api.get(f"/v1/metrics/{issuer}?metric=net_margin&as_of={DAY}").rows
    ranked = api.get(f"/v1/screen?metric=net_margin&as_of={DAY}").rows
    screened = [item for item in ranked if item["service_id"] == issuer]
    assert [
        {**row, "rank": ranked_row["rank"]} for row, ranked_row in zip(rows, screened, strict=True)
    ] == [*screened]


def test_metrics_limit_is_at_least_1(api: Contract, issuer: str) -> None:
    answer = api.get(f"/v1/metrics/{issuer}?limit=2")
    assert (len(answer.rows), answer.body["truncated"]) == (2, True)
    api.problem(f"/v1/metrics/{issuer}?limit=0", 400, "parameter_invalid")


DEMAND = "/v1/signals/procurement-demand"


def test_procurement_demand_country_is_za_by_default(api: Contract) -> None:
    answer = api.get(DEMAND)
    assert "data" not in answer.body
    assert {row["country"] for row in answer.rows} == {"ZA"}
    assert {row["country"] for row in api.get(f"{DEMAND}?country=ke").rows} == {"KE"}
    assert {row["country"] for row in api.get(f"{DEMAND}?country=KEN").rows} == {"KE"}
    api.problem(f"{DEMAND}?country=KENY", 400, "parameter_invalid")


@pytest.mark.every_store
def test_procurement_demand_category_is_as_published(api: Contract) -> None:
    category = next(
        row["dimension_value"]
        for row in api.get(f"{DEMAND}?limit=1000").rows
        if row["dimension"] == "category"
    )
    rows = api.get(f"{DEMAND}?category={category.replace(' ', '%20')}").rows
    assert rows and {row["dimension_value"] for row in rows} == {category}


@pytest.mark.every_store
def test_procurement_demand_as_of_returns_months_closed_by_then(api: Contract) -> None:
    rows = api.get(f"{DEMAND}?as_of={DAY}&limit=1000").rows
    assert rows and max(row["closed_at"] for row in rows) <= DAY
    assert max(row["available_at"] for row in rows) <= DAY


def test_procurement_demand_from_is_the_earliest_month(api: Contract) -> None:
    months = sorted({row["month"] for row in api.get(f"{DEMAND}?limit=1000").rows})
    month = months[len(months) // 2]
    rows = api.get(f"{DEMAND}?from={month}&limit=1000").rows
    assert min(row["month"] for row in rows) == month


def test_procurement_demand_to_is_the_latest_month(api: Contract) -> None:
    months = sorted({row["month"] for row in api.get(f"{DEMAND}?limit=1000").rows})
    month = months[len(months) // 2]
    rows = api.get(f"{DEMAND}?to={month}&limit=1000").rows
    assert max(row["month"] for row in rows) == month
    crossed = api.problem(f"{DEMAND}?from={month}&to=1999-01-01", 400, "parameter_conflict")
    assert crossed["parameter"] == "from"


def test_procurement_demand_limit_is_at_least_1(api: Contract) -> None:
    assert len(api.get(f"{DEMAND}?limit=3").rows) == 3
    api.problem(f"{DEMAND}?limit=0", 400, "parameter_invalid")


def test_signal_panel_keys_are_those_that_export_lists(api: Contract) -> None:
    artifacts = api.get("/v1/export").body["artifacts"]
    keys = {artifact["signal_key"] for artifact in artifacts if artifact["signal_key"]}
    assert len(keys) == 13
    for key in keys:
        rows = api.get(f"/v1/signals/{key}").rows
        assert {row["signal_key"] for row in rows} <= {key}
    api.problem("/v1/signals/no-such-panel", 404, "not_found")
    api.problem("/v1/signals/Upper", 400, "parameter_invalid")


def test_a_panel_of_issuers_names_each_of_them(api: Contract) -> None:
    rows = api.get("/v1/signals/listed-award-intensity?limit=1000").rows
    names = {row["dimension_value"]: row["legal_name"] for row in rows}
    assert names
    for service_id, name in names.items():
        (record,) = api.get(f"/v1/entities/{service_id}").rows
        assert name == record["legal_name"] is not None


@pytest.mark.every_store
def test_signal_panel_limit_is_at_least_1(api: Contract) -> None:
    assert len(api.get("/v1/signals/single-bid-rate?limit=2").rows) == 2
    months = [row["month"] for row in api.get("/v1/signals/single-bid-rate?limit=1000").rows]
    assert months == sorted(months, reverse=True) and len(set(months)) > 1
    api.problem("/v1/signals/single-bid-rate?limit=0", 400, "parameter_invalid")


@pytest.mark.parametrize("sku", ["AF-FUND", "AF-TENDER", "AF-MACRO", "af-fund"])
@pytest.mark.every_store
def test_quality_metrics_sku_is_a_dataset_in_any_case(api: Contract, sku: str) -> None:
    rows = api.get(f"/v1/quality-metrics/{sku}").rows
    assert rows and {row["sku"] for row in rows} == {sku.upper()}
    unmeasured = [row for row in rows if row["value"] == "UNMEASURED"]
    assert all(row["status"] == "UNMEASURED" for row in unmeasured)


def test_quality_metrics_of_an_unknown_sku_is_404(api: Contract) -> None:
    api.problem("/v1/quality-metrics/AF-NONE", 404, "not_found")
    api.problem("/v1/quality-metrics/AF_FUND", 404, "not_found")


@pytest.mark.every_store
def test_export_lists_open_panels_without_a_key_and_licensed_skus(api: Contract) -> None:
    body = api.get("/v1/export").body
    assert body["count"] == len(body["artifacts"]) and body["failed"] == []
    kinds = {(artifact["kind"], artifact["requires_key"]) for artifact in body["artifacts"]}
    assert kinds == {("open-panel", False), ("licensed", True)}
    skus = {artifact["sku"] for artifact in body["artifacts"] if artifact["kind"] == "licensed"}
    # Organisations are of no dataset.
    assert skus == {"AF-FUND", "AF-TENDER", "AF-MACRO", None}
    assert api.get("/v1/export", "sample").status == 200


def test_derived_figures_are_those_that_followed_by_the_day(api: Contract) -> None:
    columns = "service_id, line_item, period_end, vintage, available_at, superseded_at, withdrawn"
    rows = query(api.mart.build(), f"SELECT {columns} FROM derived_figures")
    (issuer,) = {str(row[0]) for row in rows}
    days = {str(day) for row in rows for day in row[4:6] if day != NEVER}
    days |= {str(date.fromisoformat(day) - timedelta(days=1)) for day in days}
    given = set[int]()
    for day in sorted(days):
        expected = [row[1:5] for row in rows if row[4] <= day < row[5] and not row[6]]
        answered = api.get(f"/v1/fundamentals/{issuer}?derived=true&as_of={day}").rows
        named = ("line_item", "period_end", "vintage", "available_at")
        found = [tuple(row[name] for name in named) for row in answered]
        assert sorted(found) == sorted(expected), day
        for row in answered:
            assert row["value"] == sum(each["sign"] * each["value"] for each in row["inputs"])
            assert all(each["available_at"] <= row["available_at"] for each in row["inputs"])
        given.add(len(found))
    assert min(given) == 0 and max(given) > 10
    path = f"/v1/fundamentals/{issuer}?derived=true"
    (empty,) = [api.get(f"{path}&period_type=TTM").body["empty"]]
    assert empty["code"] == "not_computable" and "restated_between" in empty["detail"]
    absent = [row["reason"] for row in api.get(f"{path}&vintages=all").rows if not row["inputs"]]
    assert {"input_not_reported", "restated_between"} <= set(absent)
    several = api.get(f"/v1/fundamentals?service_ids={issuer}&derived=true").rows
    assert several == api.get(path).rows
    api.problem(f"{path}&publication=newest", 400, "parameter_conflict")
    header = api.get(f"{path}&format=csv").raw.decode().splitlines()[0].split(",")
    assert {"value", "derivation", "inputs"} < {*header} and "value_reported" not in header
