"""The JSON that SQL writes: what was put in comes out, digit for digit."""

import json
from contextlib import closing
from datetime import UTC, date, datetime
from decimal import Decimal

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from warehouse.publish.row_json import row_json_sql
from warehouse.record.tables import DECIMAL
from warehouse.shared.errors import BadTable

TEXTS = st.text(st.characters(codec="utf-8"), max_size=20)
SCHEMA = pa.schema(
    [
        ("text", pa.string()),
        ("number", DECIMAL),
        ("day", pa.date32()),
        ("moment", pa.timestamp("us", tz="UTC")),
        ("count", pa.int64()),
        ("several", pa.list_(pa.string())),
    ]
)
ROWS = st.fixed_dictionaries(
    {
        "text": st.none() | TEXTS,
        "number": st.none() | st.decimals(-(10**20) + 1, 10**20 - 1, allow_nan=False, places=18),
        "day": st.none() | st.dates(date(1800, 1, 1), date(2199, 12, 31)),
        "moment": st.none()
        | st.datetimes(datetime(1970, 1, 1), datetime(2199, 1, 1), timezones=st.just(UTC)),
        "count": st.none() | st.integers(-(2**63), 2**63 - 1),
        "several": st.none() | st.lists(TEXTS, max_size=3),
    }
)


def rows_as_json(rows: list[dict[str, object]]) -> list[str]:
    with closing(duckdb.connect()) as sql:
        sql.register("rows", pa.Table.from_pylist(rows, SCHEMA))
        types = {name: kind for name, kind, *_ in sql.execute("DESCRIBE rows").fetchall()}
        statement = f"SELECT {row_json_sql(types, SCHEMA.names)} AS row FROM rows"
        return [str(row) for (row,) in sql.execute(statement).fetchall()]


@settings(max_examples=40)
@given(st.lists(ROWS, min_size=1, max_size=5))
def test_every_value_is_the_same_in_json(rows: list[dict[str, object]]) -> None:
    for row, text in zip(rows, rows_as_json(rows), strict=True):
        members = json.loads(text, parse_float=Decimal, parse_int=Decimal)
        assert list(members) == SCHEMA.names
        for name in ("text", "number", "count", "several"):
            assert members[name] == row[name]
        assert members["day"] == (row["day"] and str(row["day"]))
        moment = members["moment"] and datetime.fromisoformat(members["moment"])
        assert moment == row["moment"]


def test_a_number_has_no_trailing_zeros_and_no_exponent() -> None:
    empty = dict.fromkeys(SCHEMA.names)
    digits = ("0", "100", "0.1", "-0.000000000000000001", "12345678901234567890.5")

    rows = rows_as_json([{**empty, "number": Decimal(number)} for number in digits])

    assert [json.loads(row, parse_float=str, parse_int=str)["number"] for row in rows] == [*digits]


def test_a_number_that_would_lose_digits_is_refused() -> None:
    with pytest.raises(BadTable, match="lose digits"):
        row_json_sql({"several": "DECIMAL(38,18)[]"}, ["several"])
