"""EDGAR's daily indexes: who filed something, and which days have one."""

import gzip
from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assets.filings.filed_since import filers_of, index_days, index_path
from tests.helpers.daily_indexes import form_index
from tests.helpers.paths import REAL

REAL_INDEXES = REAL / "more" / "sec" / "index"
FILINGS = (
    ("20-F", "Fictional Gold Ltd", "1172724"),
    ("SC 13D/A", "Société Fictive S.A. /ADR/", "1000001"),
    ("1-A POS", "A FICTIONAL PARTNERSHIP OF THE WORLD WITH A NAME THAT IS FAR TOO LONG", "99"),
)


@pytest.mark.parametrize("day", ["20261110", "2026-11-10"])
def test_an_index_says_who_filed(day: str) -> None:
    # A long name pushes the columns of its line to the right, with two blanks before the next.
    filings = [(form, f"{name}  ", cik) for form, name, cik in FILINGS]
    assert filers_of(form_index(*filings, day=day)) == [f"{int(cik):010}" for *_, cik in FILINGS]


def test_an_index_with_only_a_header_has_no_filers() -> None:
    assert filers_of(form_index()) == []


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "no line of dashes"),
        (b"<html>Request Rate Threshold Exceeded</html>", "no line of dashes"),
        (b"Some Table\n" + b"-" * 80 + b"\n", "no columns Form Type and Company Name"),
        (form_index(*FILINGS)[:-80], "line 13: no number of a filer, day and file at its end"),
        (form_index(("", "", "1")), "line 11: no number of a filer"),
    ],
)
def test_an_index_that_cannot_be_read_as_a_whole_is_refused(body: bytes, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        filers_of(body)


@given(st.binary(max_size=300))
def test_any_bytes_are_filers_or_refused(body: bytes) -> None:
    for content in (body, form_index(*FILINGS) + body):
        try:
            assert all(len(cik) == 10 for cik in filers_of(content))
        except ValueError as error:
            assert str(error)


def test_days_overlap_with_the_fetch_before_and_leave_out_weekends() -> None:
    since, now = datetime(2026, 11, 10, 6, tzinfo=UTC), datetime(2026, 11, 12, 3, tzinfo=UTC)
    # In New York it is still the evening of the 11th.
    days = index_days(since, now)
    assert [day.day for day in days] == [6, 9, 10, 11]
    assert index_path(days[0]) == "2026/QTR4/form.20261106.idx"
    assert index_path(date(2026, 3, 31)) == "2026/QTR1/form.20260331.idx"


@pytest.mark.shared
def test_a_real_index_is_read_line_by_line() -> None:
    body = gzip.decompress((REAL_INDEXES / "form.20200318.idx.gz").read_bytes())
    # Counted without the parser: by the fixed columns of the file.
    lines = body.decode("latin-1").splitlines()[10:]
    assert filers_of(body) == [line[74:86].strip().zfill(10) for line in lines]
    assert len(lines) > 4000


@pytest.mark.shared
def test_a_real_index_of_a_holiday_is_empty_and_shifted_columns_are_read() -> None:
    assert filers_of((REAL_INDEXES / "empty-form.idx").read_bytes()) == []
    shifted = filers_of((REAL_INDEXES / "badform.idx.txt").read_bytes())
    assert len(shifted) == 10 and "0000820694" in shifted
