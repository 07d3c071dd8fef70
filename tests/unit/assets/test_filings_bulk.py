"""The nightly zips of the SEC, member by member, and who filed by its daily indexes."""

import gzip
import io
import zipfile
from collections.abc import Callable
from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assets.fetching.client import FetchError
from assets.filings import fetch
from assets.filings.fetch import (
    FACTS,
    LISTS,
    BulkFile,
    filers_of,
    index_days,
    index_path,
    issuers_by_rule,
    open_bulk,
)
from assets.filings.sources import SOURCES
from tests.helpers.daily_indexes import form_index
from tests.helpers.paths import REAL
from tests.helpers.sec_zips import filer, name_of, zip_of


def opened(body: bytes) -> BulkFile:
    return BulkFile(zipfile.ZipFile(io.BytesIO(body)))


def test_the_files_of_issuers_are_told_from_everything_else() -> None:
    names = [
        "CIK0000000007.json",
        "CIK0000000007-submissions-001.json",
        "folder/CIK0000000008.json",
        "placeholder.txt",
        "CIK7.json",
        "CIK0000000009.json.bak",
    ]
    members = list(opened(zip_of(dict.fromkeys(names, b"{}"))).members())

    assert [(member.cik, member.older) for member in members] == [
        ("0000000007", False),
        ("0000000007", True),
        ("0000000008", False),
    ]
    assert members[2].name == "CIK0000000008.json"


def test_the_address_of_a_member_is_that_of_the_issuers_own_file() -> None:
    addresses = {source.key: source.member_url for source in SOURCES}
    assert addresses["sec-submissions"] == LISTS.member_url
    assert addresses["sec-companyfacts"] == FACTS.member_url
    assert LISTS.member_url("x/CIK0000000007-submissions-001.json") == (
        "https://data.sec.gov/submissions/CIK0000000007-submissions-001.json"
    )
    assert FACTS.member_url("CIK0000000007.json") == (
        "https://data.sec.gov/api/xbrl/companyfacts/CIK0000000007.json"
    )
    assert FACTS.member_url("CIK0000000007.trimmed.json") is None


def test_the_rule_takes_issuers_from_the_zip_and_says_whom_it_cannot_judge() -> None:
    members = {
        name_of("1"): filer("1"),
        name_of("2"): filer("2", incorporated="DE", business="CA"),
        name_of("3"): filer("3", incorporated="E9", business="F4", forms=["10-K"]),
        name_of("4"): filer("4").replace(b'"filings"', b'"fillings"'),
        "CIK0000000005-submissions-001.json": b'{"stateOfIncorporation":"T3"}',
    }
    followed, unreadable = issuers_by_rule(opened(zip_of(members)))

    assert followed == {"0000000001", "0000000003"}
    assert list(unreadable) == ["0000000004"]
    assert unreadable["0000000004"].startswith("not a list of submissions: ")


def test_a_filer_is_judged_however_far_into_its_list_the_addresses_are() -> None:
    long_name = filer("1", name="x" * 50_000)
    reordered = b'{"filings":' + filer("2").partition(b'"filings": ')[2][:-1] + b","
    reordered += filer("2").partition(b', "filings"')[0][1:] + b"}"
    members = {name_of("1"): long_name, name_of("2"): reordered}

    assert issuers_by_rule(opened(zip_of(members)))[0] == {"0000000001", "0000000002"}


def test_a_damaged_member_is_reported_and_the_others_are_read() -> None:
    body = zip_of({name_of(cik): filer(cik, name="x" * 3000) for cik in ("1", "2", "3")})
    with zipfile.ZipFile(io.BytesIO(body)) as archive:
        start = archive.getinfo(name_of("2")).header_offset + 100
    broken = opened(body[:start] + b"\0" * 32 + body[start + 32 :])

    followed, unreadable = issuers_by_rule(broken)
    assert followed == {"0000000001", "0000000003"}
    assert unreadable["0000000002"].startswith("damaged: ")


def test_a_member_larger_than_an_issuer_is_not_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch, "LARGEST_MEMBER", 1000)
    zipped = opened(zip_of({name_of("1"): b" " * 1001}))
    (member,) = zipped.members()

    with pytest.raises(ValueError, match="1001 bytes: more than an issuer has"):
        zipped.read(member)


def test_a_member_larger_than_its_stated_size_is_refused() -> None:
    body = bytearray(zip_of({name_of("1"): b" " * 1_000_000}))
    directory = body.index(b"PK\x01\x02")
    body[directory + 24 : directory + 28] = (100).to_bytes(4, "little")
    zipped = opened(bytes(body))
    (member,) = zipped.members()

    with pytest.raises(ValueError, match="damaged: Bad CRC-32"):
        zipped.read(member)


def encrypted(body: bytes) -> bytes:
    at = body.index(b"PK\x01\x02") + 8
    return body[:at] + bytes([body[at] | 1]) + body[at + 1 :]


def of_unknown_method(body: bytes) -> bytes:
    at = body.index(b"PK\x01\x02") + 10
    return body[:at] + b"\x63\x00" + body[at + 2 :]


def without_local_header(body: bytes) -> bytes:
    return body.replace(b"PK\x03\x04", b"PK\x09\x09")


@pytest.mark.parametrize("damage", [encrypted, of_unknown_method, without_local_header])
def test_a_member_that_cannot_be_unpacked_is_damaged(damage: Callable[[bytes], bytes]) -> None:
    zipped = opened(damage(zip_of({name_of("1"): b"some content " * 50})))
    (member,) = zipped.members()

    with pytest.raises(ValueError, match="damaged: "):
        zipped.read(member)


@given(st.data())
def test_a_changed_byte_never_gives_other_content(data: st.DataObject) -> None:
    members = {name_of("1"): b"some content " * 20, name_of("2"): bytes(range(200))}
    body = bytearray(zip_of(members))
    at = data.draw(st.integers(0, len(body) - 1))
    body[at] ^= data.draw(st.integers(1, 255))
    try:
        with open_bulk(io.BytesIO(bytes(body)), "https://example.org/a.zip") as zipped:
            found = {member.name: zipped.read(member) for member in zipped.members()}
    except (FetchError, ValueError):
        return
    assert all(members[name] == content for name, content in found.items() if name in members)


def test_a_zip_of_more_members_than_there_are_filers_is_not_opened(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fetch, "MOST_MEMBERS", 2)
    body = zip_of(dict.fromkeys(map(name_of, "123"), b"{}"))
    with (
        pytest.raises(FetchError, match="it has 3 members; 2 are allowed"),
        open_bulk(io.BytesIO(body), "https://example.org/a.zip"),
    ):
        pass


@pytest.mark.parametrize("body", [b"", b"<html/>", b"PK\x03\x04"])
def test_a_body_that_is_not_a_zip_is_worth_another_try(body: bytes) -> None:
    with (
        pytest.raises(FetchError, match="cannot be read as a zip") as failed,
        open_bulk(io.BytesIO(body), "https://example.org/a.zip") as zipped,
    ):
        list(zipped.members())
    assert failed.value.retryable


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
