"""Partitions: which rows belong together, and how many buckets of organisations there are."""

import re
from collections import Counter
from collections.abc import Sequence
from contextlib import closing

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.nightly import times
from warehouse.publish.file_labels import bucket_name, bucket_sql, cell_of
from warehouse.publish.partitions import (
    _SQL,
    BUCKET_ROWS,
    PARTITION_PROCESSES,
    country_of,
    have_common_rows,
    issuer_buckets,
)


@given(rows=st.integers(0, 10**9))
def test_the_number_of_buckets_is_a_power_of_two_that_follows_from_the_rows(rows: int) -> None:
    buckets = issuer_buckets(rows)
    assert buckets.bit_count() == 1 and buckets * BUCKET_ROWS >= rows
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


# Of a source: its country, and by load the numbers of the processes in it.
Loads = list[list[int]]


def partitions_of(rows: Sequence[tuple[str, str, str, int]]) -> dict[tuple[str, str], str]:
    """Return the partition of each source and process of releases."""
    with closing(duckdb.connect()) as sql:
        sql.execute("CREATE TABLE releases (source TEXT, country TEXT, ocid TEXT, load_seq INT)")
        columns = list(zip(*rows, strict=True)) or [()] * 4
        given = pa.table(list(map(list, columns)), ["source", "country", "ocid", "load_seq"])
        sql.register("given", given)
        sql.execute("INSERT INTO releases FROM given")
        _SQL.run(sql, "path_name")
        _SQL.run(sql, "countries", fill={"releases": "releases", "parties": "releases"})
        _SQL.run(sql, "processes", fill={"releases": "releases"})
        named = sql.execute(_SQL.statement("tenders", rows="releases")).fetchall()
        return {(source, ocid): partition for source, ocid, partition in named}


def test_sources_with_a_country_in_common_have_the_partitions_of_one_country() -> None:
    pairs = [("a", "KE"), ("b", "ZA"), ("c", "NG"), ("c", "ZA"), ("d", ""), ("e", "../x")]
    named = partitions_of([(source, country, "1", 1) for source, country in pairs])
    countries = {source: country_of(partition) for (source, _), partition in named.items()}
    assert [countries[source] for source in "abc"] == ["KE", "NG", "NG"]
    # A name is a part of paths, and no other country's.
    assert all(re.fullmatch("x[0-9a-f]{12}", countries[source]) for source in "de")
    assert countries["d"] != countries["e"]


@given(
    loads=st.lists(st.lists(st.integers(0, 40), max_size=30), max_size=6),
    size=st.sampled_from([2, 8]),
)
@settings(max_examples=times(15))
def test_a_process_is_in_one_partition_of_its_country_for_ever(loads: Loads, size: int) -> None:
    rows = [("s", "KE", str(ocid), load) for load, new in enumerate(loads) for ocid in new]
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(_SQL.fragments, "size", str(size))
        before: dict[tuple[str, str], str] = {}
        for load in range(len(loads)):
            named = partitions_of([row for row in rows if row[3] <= load])
            # What came later is elsewhere, or new in the last generation.
            assert before.items() <= named.items()
            fresh = {named[key] for key in named.keys() - before.keys()}
            last = max(before.values(), default="")
            assert all(name[:9] >= last[:9] for name in fresh)
            before = named


def test_a_large_load_is_divided_by_the_hash_of_its_processes() -> None:
    rows = [("s", "KE", str(ocid), 1) for ocid in range(3 * PARTITION_PROCESSES)]
    sizes = Counter(partitions_of(rows).values())
    assert sorted(sizes) == [f"KE.000000-004-00{bucket}" for bucket in range(4)]
    assert max(sizes.values()) < PARTITION_PROCESSES
    later = partitions_of([*rows, ("s", "KE", "new", 2)])
    assert later["s", "new"] == "KE.000006-001-000"


def test_a_partition_is_read_by_its_country_and_reads_what_its_country_has() -> None:
    assert have_common_rows("KE.000000-001-000", "KE")
    assert have_common_rows("KE", "KE.000000-001-000")
    assert not have_common_rows("KE.000000-001-000", "KE.000001-001-000")
    assert have_common_rows("008-001", "008-001") and not have_common_rows("008-001", "008-002")
