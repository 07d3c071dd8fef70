"""Rows in packs: any run of them can be cut out, and no row is lost at the edge of a pack."""

from datetime import date, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from warehouse.publish.builds import Builds
from warehouse.publish.file_labels import bucket_name
from warehouse.publish.mart_files import SqliteLoader
from warehouse.publish.packs import Packer, Slice
from warehouse.publish.row_json import LATEST_DAY, NEVER_DAY
from warehouse.publish.tables import Packing
from warehouse.publish.write import manifest_of
from warehouse.serve.build import Build, Mart
from warehouse.serve.packs import PackedRows, latest_rows, rows_by_number

EPOCH, TABLE = date(1970, 1, 1), "fundamentals"
LABEL, KEY = bucket_name(0, 1), "0" * 32
days = st.integers(0, 12)
# When a row was known: (from, until), as the packs store it.
spans = st.one_of(
    st.tuples(days, days),
    st.tuples(days, st.just(LATEST_DAY)),
    st.tuples(st.just(NEVER_DAY), st.just(LATEST_DAY)),
    st.just((LATEST_DAY, 0)),
)
Row = tuple[str, tuple[int, int]]
unsorted_rows = st.lists(st.tuples(st.sampled_from("abc"), spans), max_size=40)


def publish_packs(
    folder: Path, rows: list[Row], batch_size: int, max_rows: int, frame_rows: int
) -> Mart:
    """Pack rows that come in batches, and publish them as one table of a build."""
    packer = Packer(Packing(max_rows, "organisation", frame_rows, ("", "")))
    for begin in range(0, len(rows), batch_size):
        batch = rows[begin : begin + batch_size]
        known = np.array([span for _, span in batch], np.int32)
        texts = [b'{"n":%d},' % (begin + index) for index in range(len(batch))]
        sizes = np.array([len(text) for text in texts], np.int32)
        runs = [(key, place) for place, (key, _) in enumerate(batch, 1)]
        packer.add(begin + 1, runs, Slice(b"".join(texts), sizes, known[:, 0], known[:, 1]))
    packer.finish()
    with SqliteLoader(folder, KEY) as loader:
        loader.load_packs(packer, by_key=True)
    file = loader.written(TABLE, LABEL, len(rows))
    Builds(folder).add(manifest_of("20260101.1", {"notice": "invented"}, [file]))
    Builds(folder).switch("20260101.1")
    return Mart(folder)


def packed(
    build: Build, key: str, as_of: str | None, limit: int | None, after: int | None = None
) -> tuple[PackedRows, bool]:
    """Return the rows of a key, which lie in one file."""
    begin = None if after is None else (LABEL, after)
    return latest_rows(build, TABLE, key, as_of, limit, begin)


@settings(max_examples=40, deadline=None)
@given(
    rows=unsorted_rows.map(lambda rows: sorted(rows, key=lambda row: row[0])),
    batch_size=st.integers(1, 15),
    max_rows=st.integers(1, 9),
    frame_rows=st.integers(1, 4),
    key=st.sampled_from("abcd"),
    day=st.none() | days,
    limit=st.none() | st.integers(1, 8),
    after=st.integers(0, 10),
)
def test_packs_return_the_same_rows_as_a_scan(
    rows: list[Row],
    batch_size: int,
    max_rows: int,
    frame_rows: int,
    key: str,
    day: int | None,
    limit: int | None,
    after: int,
) -> None:
    matching = [
        (index + 1, b'{"n":%d}' % index)
        for index, (row_key, (known_from, known_until)) in enumerate(rows)
        if row_key == key
        and (known_until == LATEST_DAY if day is None else known_from <= day < known_until)
        and (limit is None or index + 1 > after)
    ]
    expected = [row for _, row in matching][:limit]
    row_numbers = [number for number, _ in matching][:limit]
    as_of = None if day is None else (EPOCH + timedelta(day)).isoformat()
    with TemporaryDirectory() as folder:
        mart = publish_packs(Path(folder), rows, batch_size, max_rows, frame_rows)
        build = mart.build()
        if limit is None:
            page, truncated = packed(build, key, as_of, None)
        else:
            page, truncated = packed(build, key, as_of, limit, after)
        assert (list(page), len(page)) == (expected, len(expected))
        assert truncated == (len(matching) > len(expected))
        assert b"".join(page.runs()) == b",".join(expected)
        (file,) = build.files(TABLE)
        assert rows_by_number(file, row_numbers) == expected
        if row_numbers:
            assert [page.place(at)[1] for at in (0, -1)] == [row_numbers[0], row_numbers[-1]]
        mart.close()


@pytest.mark.parametrize("after", range(8))
@pytest.mark.parametrize("key", ["a", "b", "c", "d", "e"])
def test_a_page_may_begin_before_within_or_behind_the_rows_of_a_key(
    tmp_path: Path, key: str, after: int
) -> None:
    rows = [(row_key, (0, LATEST_DAY)) for row_key in "aacccd"]
    mart = publish_packs(tmp_path, rows, batch_size=4, max_rows=2, frame_rows=2)
    expected = [
        b'{"n":%d}' % index
        for index, (row_key, _) in enumerate(rows)
        if row_key == key and index >= after
    ]
    for limit in (1, 2, None):
        page, truncated = packed(mart.build(), key, None, limit, after)
        assert list(page) == expected[:limit]
        assert truncated == (len(expected[:limit]) < len(expected))
