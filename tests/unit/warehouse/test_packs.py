"""Rows in packs: any run of them can be cut out, and no row is lost at the edge of a pack."""

from datetime import date, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from warehouse.mart.packs import PACK_COLUMNS, PACK_INDEXES, Packer
from warehouse.mart.row_json import LATEST_DAY, NEVER_DAY
from warehouse.mart.sqlite_builds import switch_pointer
from warehouse.mart.sqlite_loader import SqliteLoader
from warehouse.mart.tables import MART_SCHEMA_VERSION
from warehouse.read.mart import Mart
from warehouse.read.packs import latest_rows, rows_by_number

EPOCH, TABLE = date(1970, 1, 1), "fundamentals"
days = st.integers(0, 12)
spans = st.one_of(
    st.tuples(days, days),
    st.tuples(days, st.just(LATEST_DAY)),
    st.tuples(st.just(NEVER_DAY), st.just(LATEST_DAY)),
    st.just((LATEST_DAY, 0)),
)
named = st.lists(st.tuples(st.sampled_from("abc"), spans), max_size=40)


def published(folder: Path, rows: list[tuple[str, tuple[int, int]]], batch: int, most: int) -> Mart:
    """Pack rows that come in batches, and publish them as one table of a build."""
    packer = Packer(folder / "packs.arrow", most)
    for begin in range(0, len(rows), batch):
        some = rows[begin : begin + batch]
        known = np.array([span for _, span in some], np.int32)
        texts = [b'{"n":%d},' % (begin + number) for number in range(len(some))]
        names = pa.array([name for name, _ in some])
        packer.add(begin + 1, names, (known[:, 0], known[:, 1]), pa.array(texts, pa.binary()))
    with SqliteLoader(folder, "20260101.1") as loader:
        loader.write_metadata({"notice": "invented", "layout": str(MART_SCHEMA_VERSION)})
        loader.load(f"{TABLE}_packs", PACK_COLUMNS, packer.packs(), PACK_INDEXES)
    switch_pointer(folder, "20260101.1")
    return Mart(folder)


@settings(max_examples=40, deadline=None)
@given(
    rows=named.map(lambda rows: sorted(rows, key=lambda row: row[0])),
    batch=st.integers(1, 15),
    most=st.integers(1, 6),
    name=st.sampled_from("abcd"),
    day=st.none() | days,
    limit=st.none() | st.integers(1, 8),
    after=st.integers(0, 10),
)
def test_packs_give_what_a_look_at_every_row_gives(
    rows: list[tuple[str, tuple[int, int]]],
    batch: int,
    most: int,
    name: str,
    day: int | None,
    limit: int | None,
    after: int,
) -> None:
    held = [
        (number, b'{"n":%d}' % number)
        for number, (whose, (known, until)) in enumerate(rows)
        if whose == name
        and (until == LATEST_DAY if day is None else known <= day < until)
        and (limit is None or number + 1 > after)
    ]
    expected = [row for _, row in held]
    as_of = None if day is None else (EPOCH + timedelta(day)).isoformat()
    with TemporaryDirectory() as folder:
        mart = published(Path(folder), rows, batch, most)
        if limit is None:
            found, more = latest_rows(mart.build(), TABLE, name, as_of, None)
        else:
            found, more = latest_rows(mart.build(), TABLE, name, as_of, limit, after)
        kept = expected if limit is None else expected[:limit]
        assert (list(found), len(found), more) == (kept, len(kept), len(expected) > len(kept))
        assert b"".join(found.runs()) == b",".join(kept)
        places = [number + 1 for number, _ in held[: len(kept)]]
        assert rows_by_number(mart.build(), TABLE, places) == kept
        if places:
            assert (found.row_number(0), found.row_number(-1)) == (places[0], places[-1])
        mart.close()


@pytest.mark.parametrize("after", range(8))
@pytest.mark.parametrize("name", ["a", "b", "c", "d", "e"])
def test_a_page_may_begin_before_within_and_behind_the_rows_of_a_name(
    tmp_path: Path, name: str, after: int
) -> None:
    rows = [(key, (0, LATEST_DAY)) for key in "aacccd"]
    mart = published(tmp_path, rows, batch=4, most=2)
    expected = [
        b'{"n":%d}' % index for index, (key, _) in enumerate(rows) if key == name and index >= after
    ]
    for limit in (1, 2, None):
        found, more = latest_rows(mart.build(), TABLE, name, None, limit, after)
        assert (list(found), more) == (expected[:limit], len(expected[:limit]) < len(expected))
