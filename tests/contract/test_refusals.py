"""What a refusal says: the code that fits, a true sentence, and what can be asked instead."""

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
