"""EDGAR's daily indexes: who filed which form, and which days have one."""

import gzip
from collections import Counter
from collections.abc import Callable
from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assets.filings.filed_since import Filed, filings_of, index_days, index_path
from tests.helpers.daily_indexes import company_index, form_index, master_index
from tests.helpers.paths import REAL

REAL_INDEXES = REAL / "more" / "sec" / "index"
FILINGS = (
    ("20-F", "Fictional Gold Ltd", "1172724"),
    ("SC 13D/A", "Société Fictive S.A. /ADR/", "1000001"),
    ("1-A POS", "A FICTIONAL PARTNERSHIP OF THE WORLD WITH A NAME THAT IS FAR TOO LONG", "99"),
)


@pytest.mark.parametrize("index", [form_index, company_index, master_index])
def test_every_form_of_the_index_says_who_filed_what(index: Callable[..., bytes]) -> None:
    # A long name pushes the columns of its line to the right, with two blanks before the next.
    filings = [(form, f"{name}  ", cik) for form, name, cik in FILINGS]
    assert filings_of(index(*filings)) == [
        Filed(
            form,
            f"{int(cik):010}",
            date(2026, 11, 10),
            f"edgar/data/{cik}/0001193125-26-000001.txt",
        )
        for form, _, cik in FILINGS
    ]


def test_days_are_written_with_dashes_in_some_indexes() -> None:
    (filing,) = filings_of(form_index(FILINGS[0], day="2026-11-10"))
    assert filing.filed == date(2026, 11, 10)


@pytest.mark.parametrize("index", [form_index, company_index, master_index])
def test_an_index_with_only_a_header_has_no_filings(index: Callable[..., bytes]) -> None:
    assert filings_of(index()) == []


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "no line of dashes"),
        (b"<html>Request Rate Threshold Exceeded</html>", "no line of dashes"),
        (b"Some Table\n" + b"-" * 80 + b"\n", "no columns Form Type and Company Name"),
        (form_index(*FILINGS)[:-80], "line 13: no number of a filer, day and file at its end"),
        (form_index(("", "", "1")), "line 11: no number of a filer"),
        (form_index(FILINGS[0], day="20261341"), "line 11: 2026-13-41 is not in the calendar"),
        (master_index(FILINGS[0]) + b"1|x\n", "line 12: fewer than five columns"),
    ],
)
def test_an_index_that_cannot_be_read_as_a_whole_is_refused(body: bytes, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        filings_of(body)


@given(st.binary(max_size=300))
def test_any_bytes_are_filings_or_refused(body: bytes) -> None:
    for content in (body, form_index(*FILINGS) + body):
        try:
            assert all(isinstance(filing, Filed) for filing in filings_of(content))
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
    counted = Counter((line[:12].strip(), line[74:86].strip().zfill(10)) for line in lines)

    filings = filings_of(body)
    assert Counter((filing.form, filing.cik) for filing in filings) == counted
    assert len(filings) == len(lines) > 4000
    # Most are of that day; some were filed months before and are shown only now.
    days = Counter(line[86:98].strip() for line in lines)
    assert Counter(f"{filing.filed:%Y%m%d}" for filing in filings) == days
    assert days["20200318"] == 3940 and len(days) > 1


@pytest.mark.shared
def test_a_real_index_of_a_holiday_is_empty_and_shifted_columns_are_read() -> None:
    assert filings_of((REAL_INDEXES / "empty-form.idx").read_bytes()) == []
    shifted = filings_of((REAL_INDEXES / "badform.idx.txt").read_bytes())
    assert len(shifted) == 10
    assert (
        Filed(
            "X-17A-5", "0000820694", date(2021, 2, 24), "edgar/data/820694/9999999997-21-003146.txt"
        )
        in shifted
    )
