"""The ids of organisations: stable, and derived from an identifier."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assets.entities.identifiers import mint

NAMED = st.text(min_size=1).filter(lambda text: text.strip() != "" and ":" not in text)


def test_an_id_never_changes() -> None:
    assert mint("cik", "0001172724") == "DCWG0H3JQ98S"


def test_case_and_blanks_do_not_make_another_organisation() -> None:
    assert mint("lei", " 2138002qx8kztplxs721 ") == mint("LEI", "2138002QX8KZTPLXS721")


def test_the_scheme_is_part_of_the_identity() -> None:
    assert mint("cik", "0000000001") != mint("registry", "0000000001")


@pytest.mark.parametrize(("scheme", "value"), [("", "1"), ("cik", " "), ("a:b", "c")])
def test_an_incomplete_identifier_is_refused(scheme: str, value: str) -> None:
    with pytest.raises(ValueError, match="names no identifier"):
        mint(scheme, value)


@given(scheme=NAMED, value=NAMED)
def test_every_id_has_the_same_format(scheme: str, value: str) -> None:
    assert re.fullmatch(r"DC[0-9A-HJKMNP-TV-Z]{10}", mint(scheme, value))


def test_ids_do_not_collide() -> None:
    assert len({mint("cik", f"{number:010}") for number in range(50_000)}) == 50_000
