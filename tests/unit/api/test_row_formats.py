"""Rows as lines: formulas do not run, numbers keep their digits, memory stays flat."""

import csv
import io
import json
import tracemalloc
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, cast

import falcon
import msgspec
import pytest
from falcon import testing
from hypothesis import given
from hypothesis import strategies as st

from api.endpoints.lines import columns_of, csv_lines, csv_table, json_lines
from api.endpoints.response import Format, send_list
from warehouse.contract import lists
from warehouse.contract.listing import Answer, Listing, ListRows, Question, pieces
from warehouse.serve.build import Build, Mart
from warehouse.serve.rows import Key, RowPage
from warehouse.serve.table_query import Empty
from warehouse.shared.json_encoding import decode_object, encode
from warehouse.shared.tiers import TIERS

MATCHES = lists.LOOKUP
LISTINGS = [listing for listing in vars(lists).values() if isinstance(listing, Listing)]


def page_of(rows: Sequence[bytes]) -> RowPage:
    return RowPage(rows, False, "20260101.1", "notice")


def cells(row: bytes) -> dict[str, str]:
    text = b"".join(csv_lines(MATCHES.row, [page_of([row])])).decode()
    (line,) = csv.DictReader(io.StringIO(text, newline=""))
    return line


@pytest.mark.parametrize("begin", ["=", "+", "-", "@", "\t", "\r", "\n"])
def test_a_text_that_a_spreadsheet_would_run_is_only_shown(begin: str) -> None:
    text = f'{begin}HYPERLINK("http://x","y")'
    line = cells(encode({"service_id": "DC1", "legal_name": text, "issuer": f"a{begin}b"}))
    assert line["legal_name"] == f"'{text}"
    # Only what a cell begins with is run.
    assert line["issuer"] == f"a{begin}b"


def test_the_file_of_a_page_runs_no_formula_either() -> None:
    lines = csv_table(("name", "rows"), [("=HYPERLINK(1)", 2), ('a "b", c', None)]).decode()
    assert lines == 'name,rows\r\n\'=HYPERLINK(1),2\r\n"a ""b"", c",\r\n'


@pytest.mark.parametrize(
    "number", ["-1", "-12.50", "0.10", "1e-7", "369062464570.386", "12345678901234567890.10"]
)
def test_a_number_keeps_its_digits_and_its_sign(number: str) -> None:
    assert cells(b'{"service_id":%s}' % number.encode())["service_id"] == number


def test_every_member_that_a_row_can_have_is_a_column() -> None:
    macro = list(columns_of(lists.MACRO.row))
    assert len(set(macro)) == len(macro) and {"series", "indicator"} <= set(macro)
    line = cells(b'{"service_id":"a,\\"b\\"\\nc","legal_name":null,"issuer":{"x":[1.50,null]}}')
    assert line == {
        **{"service_id": 'a,"b"\nc', "legal_name": "", "jurisdiction": ""},
        "issuer": '{"x":[1.50,null]}',
    }


def modelled(row: bytes, columns: Sequence[str]) -> list[str]:
    """Return the cells of a row one at a time, as ``csv`` gets them."""
    members = decode_object(row)
    return [modelled_cell(members.get(name, b"null")) for name in columns]


def modelled_cell(value: bytes) -> str:
    if not value.startswith(b'"'):
        return "" if value == b"null" else value.decode()
    text = msgspec.json.decode(value, type=str)
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r", "\n")) else text


# What CSV quotes, what spreadsheets run, and what is escaped in JSON or lies between our cells.
TEXTS = st.one_of(
    st.text(st.sampled_from("a,\"'=+-@\t\r\n\\\0 é😀\x1f\u2028nul"), max_size=6),
    st.sampled_from(["null", "None", "\0null", '"', "[]", "a,b"]),
    st.text(max_size=20),
)
NUMBERS = st.from_regex(
    r"-?(0|[1-9][0-9]{0,60})(\.[0-9]{1,40})?([eE][+-]?[0-9]{1,3})?", fullmatch=True
).map(lambda digits: msgspec.Raw(digits.encode()))
NESTED = st.recursive(
    TEXTS | NUMBERS | st.booleans() | st.none(),
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(TEXTS, inside, max_size=3),
    max_leaves=6,
)


@st.composite
def listed_rows(draw: st.DrawFn) -> tuple[Listing, list[bytes]]:
    """Make rows of a list, in which some members are missing or not in the schema.

    Mostly a member is of its declared type.
    """
    listing = draw(st.sampled_from(LISTINGS))
    values = {
        name: TEXTS | st.none() if is_text and draw(st.integers(0, 30)) else NESTED
        for name, is_text in columns_of(listing.row).items()
    }
    members = st.fixed_dictionaries({}, optional={**values, "not in the schema": NESTED})
    rows = draw(st.lists(members, max_size=4))
    if draw(st.booleans()):
        return listing, [msgspec.json.encode(row) for row in rows]
    # The same rows with spaces, and with everything escaped that is not ASCII.
    return listing, [ascii_json(row) for row in rows]


def ascii_json(value: Any) -> bytes:
    if isinstance(value, msgspec.Raw):
        return bytes(value)
    if isinstance(value, dict):
        pairs = (json.dumps(name).encode() + b": " + ascii_json(it) for name, it in value.items())
        return b"{" + b", ".join(pairs) + b"}"
    if isinstance(value, list):
        return b"[" + b", ".join(map(ascii_json, value)) + b"]"
    return json.dumps(value).encode()


@given(listed_rows())
def test_lines_are_those_of_a_csv_writer_that_looks_at_each_cell(
    listed: tuple[Listing, list[bytes]],
) -> None:
    listing, rows = listed
    columns = list(columns_of(listing.row))
    written = io.StringIO()
    csv.writer(written).writerows([columns, *(modelled(row, columns) for row in rows)])
    # Rows may be in a list, or still in their packs.
    pages = [page_of(rows[:1]), page_of(tuple(rows[1:]))]
    assert b"".join(csv_lines(listing.row, pages)) == written.getvalue().encode()
    assert b"".join(json_lines(pages)) == b"".join(row + b"\n" for row in rows)


class MadeKeys(Sequence[Key]):
    """Keys of numbered rows."""

    def __init__(self, begin: int, count: int) -> None:
        self._begin, self._count = begin, count

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: Any) -> Any:
        return (str(self._begin + index + 1),)


@dataclass(frozen=True)
class ManyRows:
    """A list of so many rows, each made when it is read."""

    count: int

    def read(self, question: Question) -> ListRows:
        begin = 0 if question.after is None else int(question.after[0])
        end = self.count if question.limit is None else min(self.count, begin + question.limit)
        rows = [b'{"service_id":"DC%d","legal_name":"=name"}' % n for n in range(begin, end)]
        keys = MadeKeys(begin, len(rows))
        return ListRows(RowPage(rows, end < self.count, "20260101.1", "notice", keys))

    def answer(self) -> Answer:
        listing = Listing("many", ("Match",), self.read, never_empty, "uncapped")
        mart = SimpleNamespace()
        mart.at, mart.build = lambda version: mart, lambda: None
        question = Question(cast(Mart, mart), cast(Build, None), {}, TIERS["professional"], 5_000)
        return Answer(listing, question, self.read(question), b"secret", None)


def never_empty(question: Question) -> Empty:
    raise AssertionError


def streamed(count: int, form: Format) -> Iterator[bytes]:
    request = testing.create_req(path="/v1/many")
    request.context.key = SimpleNamespace(tier=TIERS["professional"])
    response = falcon.Response()
    send_list(request, response, ManyRows(count).answer(), form)
    assert response.stream is not None
    yield from cast(Iterator[bytes], response.stream)


def peak_of(count: int, form: Format) -> int:
    """Return the most memory that sending so many rows takes."""
    tracemalloc.start()
    try:
        lines = sum(chunk.count(b"\n") for chunk in streamed(count, form))
        assert lines == count + (form == "csv")
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.slow
@pytest.mark.parametrize("form", ["csv", "ndjson"])
def test_ten_times_as_many_rows_take_no_more_memory(form: Format) -> None:
    peak_of(10_000, form)
    few, many = peak_of(10_000, form), peak_of(100_000, form)
    assert many < 1.5 * few


def test_what_is_streamed_is_every_row_in_order() -> None:
    text = b"".join(streamed(12_345, "csv")).decode()
    lines = list(csv.DictReader(io.StringIO(text, newline="")))
    assert [line["service_id"] for line in lines] == [f"DC{n}" for n in range(12_345)]
    assert len(list(pieces(ManyRows(12_345).answer()))) == 25
