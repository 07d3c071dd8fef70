"""What a refusal says: the code that fits, a true sentence, and what can be requested instead."""

from urllib.parse import quote

import pytest

from tests.helpers.contract_client import Contract

LONG_LIMITS = ("1000000000", "9" * 40, "9" * 70, "9" * 5_000)


@pytest.mark.parametrize("limit", LONG_LIMITS, ids=lambda limit: f"{len(limit)} digits")
def test_a_limit_of_any_length_is_above_the_ceiling(api: Contract, limit: str) -> None:
    paid = api.problem(f"/v1/tenders?limit={limit}", 400, "limit_above_ceiling")
    sample = api.problem(f"/v1/tenders?limit={limit}", 402, "row_cap_exceeded", "sample")
    shown = limit if len(limit) <= 64 else f"{limit[:64]}…"
    assert (paid["received"], paid["maximum"]) == (shown, 1000)
    assert (sample["received"], sample["maximum"]) == (shown, 25)
    assert f"limit is {shown};" in paid["detail"]


def test_zeros_before_a_limit_do_not_count(api: Contract) -> None:
    assert api.get(f"/v1/tenders?limit={'0' * 5_000}7").body["limit"] == 7
    api.problem(f"/v1/tenders?limit={'0' * 5_000}", 400, "parameter_invalid")


MALFORMED = {
    "ticker": ("ABC", "XJSE:", ":ABC", "XJSE ABC", "JOHANNESBURG:ABC"),
    "lei": ("X", "2138002QX8KZTPLXS7", "2138002QX8KZTPLXS7AB", "2138-02QX8KZTPLXS721"),
    "isin": ("X", "ZAE00000000", "12E000000001", "ZAE00000000X"),
    "figi": ("X", "BBG00000000", "BBG-00000001"),
    "cik": ("X", "12345678901", "-1"),
}


@pytest.mark.parametrize("id_type", MALFORMED)
def test_an_identifier_that_cannot_be_one_is_refused_with_the_form(
    api: Contract, id_type: str
) -> None:
    for value in MALFORMED[id_type]:
        path = f"/v1/crosswalk?id_type={id_type}&id_value={quote(value)}"
        body = api.problem(path, 400, "parameter_invalid")
        assert (body["parameter"], body["received"]) == ("id_value", value)
        assert body["expected"] in body["detail"]
    assert (
        "EXCHANGE:TICKER"
        in api.problem(
            "/v1/crosswalk?id_type=ticker&id_value=ABC", 400, "parameter_invalid", "sample"
        )["expected"]
    )


@pytest.mark.parametrize(
    ("path", "hint"),
    [
        ("/v1/entities/DCNOBODY", "Search finds organisations"),
        ("/v1/entities/0001193125-24-000001", "/v1/filings"),
        ("/v1/entities/ocds-none-1", "/v1/tenders"),
        ("/v1/tenders/ocds-none-1", "by words with /v1/tenders"),
        ("/v1/tenders/none", "by words with /v1/tenders"),
    ],
)
def test_an_unknown_id_is_answered_with_where_such_ids_are(
    api: Contract, path: str, hint: str
) -> None:
    assert hint in api.problem(path, 404, "not_found")["detail"]


def test_a_cik_is_looked_up_with_or_without_its_zeros(api: Contract) -> None:
    for value in ("320193", "0000320193"):
        answer = api.get(f"/v1/crosswalk?id_type=cik&id_value={value}")
        assert (answer.status, answer.body["id_type"]) == (200, "cik")


@pytest.mark.parametrize("key", ["FX.ZAR", "FX.EUR.ZAR.X", "FX.EURO.ZAR", "FX.EUR.Z4R", "fx.1"])
def test_an_exchange_rate_is_asked_by_two_currencies(api: Contract, key: str) -> None:
    paths = (f"/v1/macro?series={key}", f"/v1/shared/facts?entity_id=ZAF&measure={key}")
    for path in paths:
        assert "FX.<base>.<quote>" in api.problem(path, 400, "parameter_invalid")["expected"]
    assert api.get("/v1/macro?series=FX.EUR.ZAR").rows
    assert api.get("/v1/macro?series=FXRESERVES").status == 200
