"""Row hashes never change, and differ where values differ."""

import tempfile
from datetime import date
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.facts import fact, facts
from warehouse.record.row_index import FileIndex, add_row_hashes
from warehouse.record.tables import FUNDAMENTALS


def hashes_of(**changes: object) -> tuple[int, ...]:
    row = add_row_hashes(FUNDAMENTALS, facts(fact("1234567890123456.78") | changes)).to_pylist()[0]
    return tuple(row[name] for name in ("figure", "figure_check", "sighting", "content"))


def test_the_definition_is_frozen() -> None:
    """Stored hashes must match: if this fails, every row of a record would look new."""
    assert hashes_of() == FROZEN


FROZEN = (6002806207063990057, 1084514325, 6943521922208650666, 5742261017273698380)


def test_another_figure_has_other_hashes_and_the_same_content() -> None:
    changes: tuple[dict[str, object], ...] = (
        {"line_item": "profit"},
        {"period_start": None},
        {"period_end": date(2019, 1, 1)},
    )
    for change in changes:
        figure, check, sighting, content = hashes_of(**change)
        assert figure != FROZEN[0]
        assert check != FROZEN[1]
        assert sighting != FROZEN[2]
        assert content == FROZEN[3]


def test_another_publication_is_another_sighting_of_the_same_figure() -> None:
    figure, check, sighting, _ = hashes_of(publication="a-2")
    assert (figure, check) == FROZEN[:2]
    assert sighting != FROZEN[2]


def test_another_value_or_a_withdrawal_is_another_content() -> None:
    assert hashes_of(value_reported=None)[3] != FROZEN[3]
    assert hashes_of(withdrawn=True)[3] != FROZEN[3]


def test_texts_that_concatenate_to_the_same_text_have_different_hashes() -> None:
    assert hashes_of(line_item="ab", unit="c")[0] != hashes_of(line_item="a", unit="bc")[0]


numbers = st.lists(st.integers(-(2**63), 2**63 - 1), max_size=50)


@given(numbers, numbers, st.lists(st.integers(0, 20), max_size=20))
def test_an_index_finds_every_equal_sighting_and_no_other(
    ours: list[int], theirs: list[int], shared: list[int]
) -> None:
    stored = [*theirs, *shared, 5]
    with tempfile.TemporaryDirectory() as temporary:
        file = f"{temporary}/part.parquet"
        columns = {
            "sighting": pa.array(stored, pa.int64()),
            "content": pa.array(range(len(stored)), pa.int64()),
            "observed_at": pa.array([0] * len(stored), pa.timestamp("us", "UTC")),
            "figure_check": pa.array([sighting % 1000 for sighting in stored], pa.int32()),
        }
        pq.write_table(pa.table(columns), file)
        wanted = np.sort(np.array([*ours, *shared], np.int64))
        index = FileIndex(Path(temporary), file, len(stored))
        first, counts = index.find(wanted)
    assert counts.tolist() == [stored.count(sighting) for sighting in wanted.tolist()]
    for sighting, start, count in zip(wanted.tolist(), first, counts, strict=True):
        assert {stored[row] for row in index.content[start : start + count]} <= {sighting}
        assert set(index.check[start : start + count].tolist()) <= {sighting % 1000}
