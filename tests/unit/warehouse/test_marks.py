"""Marks are the same for ever, and differ where values differ."""

import tempfile
from datetime import date
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.facts import fact, facts
from warehouse.record.index import FileIndex
from warehouse.record.row_hashes import add_row_hashes
from warehouse.record.tables import FUNDAMENTALS


def marks_of(**changes: object) -> tuple[int, ...]:
    row = add_row_hashes(FUNDAMENTALS, facts(fact("1234567890123456.78") | changes)).to_pylist()[0]
    return tuple(row[name] for name in ("figure", "figure_check", "sighting", "content"))


def test_the_definition_is_frozen() -> None:
    """Stored marks must be found again: if this fails, the record would be read as empty."""
    assert marks_of() == FROZEN


FROZEN = (6002806207063990057, 1084514325, 6943521922208650666, 5742261017273698380)


def test_another_figure_has_other_marks_and_the_same_content() -> None:
    changes: tuple[dict[str, object], ...] = (
        {"line_item": "profit"},
        {"period_start": None},
        {"period_end": date(2019, 1, 1)},
    )
    for change in changes:
        figure, check, sighting, content = marks_of(**change)
        assert figure != FROZEN[0]
        assert check != FROZEN[1]
        assert sighting != FROZEN[2]
        assert content == FROZEN[3]


def test_another_publication_is_another_sighting_of_the_same_figure() -> None:
    figure, check, sighting, _ = marks_of(publication="a-2")
    assert (figure, check) == FROZEN[:2]
    assert sighting != FROZEN[2]


def test_another_value_or_a_withdrawal_is_another_content() -> None:
    assert marks_of(value_reported=None)[3] != FROZEN[3]
    assert marks_of(withdrawn=True)[3] != FROZEN[3]


def test_texts_that_join_to_the_same_text_are_told_apart() -> None:
    assert marks_of(line_item="ab", unit="c")[0] != marks_of(line_item="a", unit="bc")[0]


numbers = st.lists(st.integers(-(2**63), 2**63 - 1), max_size=50)


@given(numbers, numbers, st.lists(st.integers(0, 20), max_size=20))
def test_an_index_finds_every_equal_sighting_and_no_other(
    ours: list[int], theirs: list[int], shared: list[int]
) -> None:
    held = [*theirs, *shared, 5]
    with tempfile.TemporaryDirectory() as temporary:
        file = f"{temporary}/part.parquet"
        columns = {
            "sighting": pa.array(held, pa.int64()),
            "content": pa.array(range(len(held)), pa.int64()),
            "observed_at": pa.array([0] * len(held), pa.timestamp("us", "UTC")),
            "figure_check": pa.array([mark % 1000 for mark in held], pa.int32()),
        }
        pq.write_table(pa.table(columns), file)
        came = np.sort(np.array([*ours, *shared], np.int64))
        index = FileIndex(Path(temporary), file, len(held))
        first, times = index.find(came)
    assert times.tolist() == [held.count(mark) for mark in came.tolist()]
    for mark, place, count in zip(came.tolist(), first, times, strict=True):
        assert {held[row] for row in index.content[place : place + count]} <= {mark}
        assert set(index.check[place : place + count].tolist()) <= {mark % 1000}
