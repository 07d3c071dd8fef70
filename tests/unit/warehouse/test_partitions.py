"""Partitions: which rows belong together, and how many buckets of organisations there are."""

import duckdb
from hypothesis import given
from hypothesis import strategies as st

from warehouse.publish.file_labels import bucket_name, bucket_sql, cell_of
from warehouse.publish.partitions import (
    BUCKET_ROWS,
    MAX_BUCKETS,
    _components,
    issuer_buckets,
    partition_name,
)


@given(rows=st.integers(0, 10**9))
def test_the_number_of_buckets_is_a_power_of_two_that_follows_from_the_rows(rows: int) -> None:
    buckets = issuer_buckets(rows)
    assert buckets.bit_count() == 1 and 1 <= buckets <= MAX_BUCKETS
    assert buckets == MAX_BUCKETS or buckets * BUCKET_ROWS >= rows
    assert buckets == 1 or buckets // 2 * BUCKET_ROWS < rows


@given(rows=st.integers(0, 10**7), more=st.floats(0.5, 2))
def test_the_number_of_buckets_does_not_flap(rows: int, more: float) -> None:
    buckets = issuer_buckets(rows)
    assert issuer_buckets(int(rows * more), buckets) == buckets
    assert issuer_buckets(rows, issuer_buckets(int(rows * more), buckets)) == buckets


def test_the_number_of_buckets_grows_with_the_rows() -> None:
    assert issuer_buckets(100 * BUCKET_ROWS, 4) == 128


def test_every_organisation_is_in_one_bucket_for_ever() -> None:
    statement = f"SELECT {bucket_sql('id', 16)} FROM (VALUES ('DCA1'), ('DCB2')) AS ids(id)"
    assert duckdb.connect().execute(statement).fetchall() == [("016-003",), ("016-001",)]
    assert [bucket_name(cell_of(name), 16) for name in ("DCA1", "DCB2")] == ["016-003", "016-001"]


def test_sources_with_a_country_in_common_are_in_one_partition() -> None:
    pairs = [("a", "KE"), ("b", "ZA"), ("c", "NG"), ("c", "ZA"), ("d", "")]
    assert _components(pairs) == {
        "a": "KE",
        "b": "NG",
        "c": "NG",
        "d": partition_name(""),
    }


def test_a_partition_has_a_name_that_can_be_a_part_of_a_path() -> None:
    assert partition_name("za-etenders") == "za-etenders"
    assert partition_name("../x") != partition_name("x/..")
    assert "/" not in partition_name("../x")
