"""A name that holds a way to reach someone is withheld; a number of a register is none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quality.persons import Evidence, Withheld, judge_name
from tests.helpers.organisation_names import ORGANISATIONS

REACHED = """
Jane Doe 082 555 1234 Acme (Pty) Ltd
jane.doe@gmail.com Acme (Pty) Ltd
Jane Doe 0825551234 Acme (Pty) Ltd
0825551234 Jane Doe Acme (Pty) Ltd
082 555 1234 Jane Doe Acme (Pty) Ltd
Jane Doe +27 82 555 1234 Acme (Pty) Ltd
Jane Doe (021) 555-1234 Acme (Pty) Ltd
Jane Doe 555-1234 Acme Ltd
5551234 Jane Doe Ltd
Jane Doe 254722123456 Acme Ltd
Jane Doe 082/555/1234 Acme Ltd
Jane Doe O82 555 1234 Acme Ltd
Jane Doe O825551234 Acme Ltd
Jane Doe ０８２ ５５５ １２３４ Acme Ltd
Jane Doe ٠٨٢ ٥٥٥ ١٢٣٤ Acme Ltd
Jane Doe 0 8 2 5 5 5 1 2 3 4 Acme Ltd
Jane Doe 082‑555‑1234 Acme Ltd
jane.doe (at) gmail.com Acme (Pty) Ltd
jane.doe at gmail dot com Acme (Pty) Ltd
jane at gmail.com Acme (Pty) Ltd
jane＠gmail.com Acme Ltd
Manager: Jane Doe Acme (Pty) Ltd
Contact person: Jane Doe Acme (Pty) Ltd
Jane Doe 071 234 5678/Acme (Pty) Ltd
""".strip().split("\n")
REGISTERED = """
1234567 Ontario Inc
1000123456 Ontario Inc.
0812345 B.C. Ltd.
9123-4567 Québec Inc.
12345678 Canada Inc
1234567 Trading (Pty) Ltd
K2013123456 (South Africa) (Pty) Ltd
2013/123456/07 (South Africa) (Pty) Ltd
Fictional Trading 2013/123456/07 (Pty) Ltd
Business Venture Investments No 1234567 (Pty) Ltd
Fictional 2010-2020 Ltd
MS Fictional Traders Ltd
Contact Energy Limited
24/7 Security Services (Pty) Ltd
""".strip().split("\n")


@pytest.mark.parametrize("name", REACHED)
@pytest.mark.parametrize("number", [(None, None), ("ZA-CIP", "2001/123456/07")])
def test_a_firm_is_withheld_where_its_name_holds_a_contact(
    name: str, number: tuple[str | None, str | None]
) -> None:
    scheme, identifier = number

    verdict = judge_name(name, country="ZA", scheme=scheme, identifier=identifier)

    assert isinstance(verdict, Withheld)


@pytest.mark.parametrize("name", REGISTERED)
def test_a_firm_with_a_number_of_a_register_stays_served(name: str) -> None:
    verdict = judge_name(name, country="ZA", scheme=None, identifier=None)

    assert isinstance(verdict, Evidence)


@given(
    st.sampled_from(sorted({name for names in ORGANISATIONS.values() for name in names})),
    st.from_regex(r"0[1-8][0-9][ -][0-9]{3}[ -][0-9]{4}", fullmatch=True),
)
def test_a_telephone_number_before_any_firm_withholds_it(name: str, number: str) -> None:
    verdict = judge_name(f"Jane Doe {number} {name}", country="ZA", scheme=None, identifier=None)

    assert isinstance(verdict, Withheld)
