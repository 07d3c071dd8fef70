"""What was won: counted by the day of the award, and tenders and awards by their value."""

import json
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from tests.helpers.installation import sample_home, settings_of
from tests.helpers.reads import read, releases
from warehouse.contract import lists
from warehouse.contract.listing import Listing
from warehouse.serve.build import Mart

Row = dict[str, Any]
COUNTRIES = ("CO", "KE", "ZA")
YEAR: Row = {"from_": date(2025, 1, 1), "to": date(2025, 12, 31)}


@pytest.fixture(scope="module")
def mart(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mart]:
    mart = Mart(settings_of(sample_home(tmp_path_factory)).marts)
    yield mart
    mart.close()


def walked(listing: Listing, mart: Mart, limit: int, **sent: Any) -> list[Row]:
    rows: list[Row] = []
    after = None
    while True:
        page = read(listing, mart, limit, after, **sent).rows
        rows += (json.loads(row, parse_float=Decimal) for row in page.rows)
        if not page.truncated:
            return rows
        after = page.key_of(len(page.rows))


@pytest.mark.parametrize("country", COUNTRIES)
def test_a_supplier_won_the_same_in_a_year_whether_its_country_is_asked_for_or_it_is(
    mart: Mart, country: str
) -> None:
    suppliers = walked(lists.AWARDS, mart, 7, country=country, **YEAR)
    processes = [supplier["processes"] for supplier in suppliers]
    assert processes == sorted(processes, reverse=True) and len(suppliers) > 20
    for supplier in suppliers:
        winner = supplier["service_id"] or supplier["party_id"]
        own = read(lists.AWARDS, mart, service_id=winner, country=country, **YEAR)
        won = [json.loads(row) for row in own.rows.rows]
        assert supplier["totals"] == own.extra["totals"]
        days = [award["period_end"] for award in won]
        assert (supplier["first_award"], supplier["last_award"]) == (min(days), max(days))
        assert supplier["processes"] == len({award["ocid"] for award in won})
        assert supplier["source_ref"] in {award["source_ref"] for award in won}


@pytest.mark.parametrize("limit", [1, 7, 100])
def test_tenders_by_value_are_all_tenders_the_largest_first(mart: Mart, limit: int) -> None:
    rows = walked(lists.TENDERS, mart, limit, country="CO", order="value")
    every = [json.loads(row, parse_float=Decimal) for row in releases(mart, "CO").rows]
    ids = [(row["ocid"], row["release_id"]) for row in rows]
    assert sorted(ids) == sorted((row["ocid"], row["release_id"]) for row in every)
    amounts = [amount_of(row) for row in rows]
    assert amounts == sorted(amounts, reverse=True) and amounts[0] > amounts[-1] == 0


def amount_of(row: Row) -> Decimal:
    value = (row.get("tender") or {}).get("value") or {}
    return Decimal(0 if row.get("implausible") else value.get("amount") or 0)


def test_suppliers_and_awards_by_value_begin_with_the_largest(mart: Mart) -> None:
    suppliers = walked(lists.AWARDS, mart, 7, country="KE", order="value", **YEAR)
    by_processes = walked(lists.AWARDS, mart, 100, country="KE", **YEAR)
    values = [sum(total["value"] for total in supplier["totals"]) for supplier in suppliers]
    assert values == sorted(values, reverse=True)
    assert sorted(map(str, suppliers)) == sorted(map(str, by_processes))
    winner = suppliers[0]["service_id"] or suppliers[0]["party_id"]
    won = walked(lists.AWARDS, mart, 1, service_id=winner, order="value")
    assert [award["value"] for award in won] == sorted(
        (award["value"] for award in won), reverse=True
    )
