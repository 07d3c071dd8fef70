"""The same tasks and the same statements on Apache Spark give the same rows."""

import pickle
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from datetime import date
from functools import partial
from pathlib import Path
from random import Random
from typing import get_args

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.helpers.random_world import everything
from tests.helpers.record_rows import load
from tests.helpers.spark import start_spark
from tests.helpers.tasks import counting, task
from warehouse.compute.pool import ProcessPool
from warehouse.compute.spark import Spark, code_fingerprint, run_here
from warehouse.compute.spark_sql import spark_rows
from warehouse.compute.tables import Scatter, TableFiles
from warehouse.compute.task import Share, TaskFailed
from warehouse.mart.snapshot import all_statements, all_vintages
from warehouse.record.as_of import Vintages, standing_rows, vintages_query
from warehouse.record.store import Record
from warehouse.record.tables import (
    FUNDAMENTALS,
    RECORD_TABLES,
    TENDER_RELEASES,
    RecordTable,
    record_schema,
)

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def spark() -> Iterator[Spark]:
    with start_spark() as spark:
        yield spark


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Record:
    record = Record(str(tmp_path_factory.mktemp("spark") / "record"))
    for table, rows in everything(Random(7)).items():
        load(record, table, *rows)
    return record


def test_spark_writes_the_files_that_a_process_of_this_machine_writes(
    spark: Spark, tmp_path: Path
) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "there").mkdir()
    here = ProcessPool(processes=1).run(counting(tmp_path / "here", 5))

    there = spark.run(counting(tmp_path / "there", 5))

    assert [result["rows"] for result in there] == [result["rows"] for result in here]
    assert files_of(tmp_path / "there") == files_of(tmp_path / "here")


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (folder / "out").iterdir()}


def test_a_failure_on_an_executor_is_its_own_sentence_with_the_task(spark: Spark) -> None:
    with pytest.raises(TaskFailed) as failed:
        spark.run([task("limits"), task("fail", "metrics 07")])

    assert str(failed.value) == "metrics 07: the file of figures is missing; load them"


def test_a_process_that_spark_loses_is_reported_with_its_task(spark: Spark) -> None:
    with pytest.raises(TaskFailed, match=r"^metrics 07: Spark lost .*SANKOFA_MEMORY_MB"):
        spark.run([task("limits", "metrics 06"), task("die", "metrics 07")])

    assert len(spark.run([task("limits")])) == 1


def test_an_executor_with_other_code_or_without_the_files_refuses(tmp_path: Path) -> None:
    share, (given,) = Share(1, 256), counting(tmp_path, 1)

    other = run_here(pickle.dumps(given), share, "another")
    Path(given.inputs["numbers"][0]).unlink()
    unseen = run_here(pickle.dumps(given), share, code_fingerprint())

    assert "has other code of Sankofa" in str(other.failure)
    assert "does not see" in str(unseen.failure)


def test_what_was_known_is_the_same_row_for_row(spark: Spark, world: Record) -> None:
    for as_of in (None, date(2019, 6, 30)):
        for vintages in get_args(Vintages):
            query = partial(vintages_query, FUNDAMENTALS, as_of=as_of, vintages=vintages)
            assert compare(spark, world, FUNDAMENTALS, query)


@pytest.mark.parametrize("table", RECORD_TABLES, ids=lambda table: table.name)
def test_the_statements_of_a_snapshot_are_the_same_row_for_row(
    spark: Spark, world: Record, table: RecordTable
) -> None:
    assert compare(spark, world, table, lambda rows: all_vintages(table, rows, 2**40))
    if table == FUNDAMENTALS:
        assert compare(spark, world, table, lambda rows: all_statements(rows, 2**40))


@pytest.mark.parametrize("table", [FUNDAMENTALS, TENDER_RELEASES], ids=lambda table: table.name)
def test_stored_rows_fall_into_the_same_partitions(
    spark: Spark, world: Record, table: RecordTable, tmp_path: Path
) -> None:
    names = ", ".join(record_schema(table).names)
    statement = f"""
SELECT {names}, concat('p', CAST(figure_check % 2 = 0 AS VARCHAR)) AS partition
FROM ({standing_rows("sightings", record_schema(table).names)}) AS standing"""
    with closing(world.connection.cursor()) as sql:
        sql.execute(f"CREATE TEMP VIEW sightings AS FROM {world.relation(table.name)}")
        rows = Scatter(statement, str(tmp_path / "here"), sql, lambda: stored(world, table))
        ProcessPool(processes=1).scatter(rows)
        spark.scatter(replace(rows, folder=str(tmp_path / "there")))

    partitions = sorted(path.name for path in (tmp_path / "here").glob("partition=*"))
    assert partitions == ["partition=pfalse", "partition=ptrue"]
    for partition in partitions:
        here, there = (
            pa.concat_tables(map(pq.ParquetFile.read, map(pq.ParquetFile, files)))
            for files in (
                sorted((tmp_path / side / partition).glob("*.parquet"))
                for side in ("here", "there")
            )
        )
        assert here.column_names == record_schema(table).names
        assert ordered(there.cast(here.schema)).equals(ordered(here))


def compare(
    spark: Spark, record: Record, table: RecordTable, statement: Callable[[str], str]
) -> int:
    """Run a statement in DuckDB and in Spark; fail if a row differs, return how many there are."""
    expected = record.query(statement(record.relation(table.name)))
    found = spark_rows(spark.session, statement("sightings"), stored(record, table)).toArrow()
    assert found.column_names == expected.column_names
    assert ordered(found.cast(expected.schema)).equals(ordered(expected))
    return int(expected.num_rows)


def ordered(rows: pa.Table) -> pa.Table:
    return rows.sort_by([(name, "ascending") for name in rows.column_names]).combine_chunks()


def stored(record: Record, table: RecordTable) -> dict[str, TableFiles]:
    """Return the files of a table of the record under the name that the statements have for it."""
    paths = [file.path for file in record.files(table.name)]
    return {"sightings": TableFiles(record.schemas[table.name], paths)}
