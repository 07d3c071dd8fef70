"""Every metric of the sample world, recomputed from its own inputs."""

import json
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

from assets.derive.metrics import metrics
from tests.helpers.installation import loaded_record
from tests.helpers.metric_answers import Answers, Row, staged
from tests.models.metric_model import PLANS, Issuer, figures_of, worked_out
from warehouse.publish.file_labels import bucket_name, bucket_sql
from warehouse.publish.snapshot import Snapshot
from warehouse.record.store import Record
from warehouse.record.tables import RECORD_TABLES


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> Record:
    return loaded_record(tmp_path_factory)


@pytest.fixture(scope="module")
def tables(record: Record, tmp_path_factory: pytest.TempPathFactory) -> dict[str, pa.Table]:
    return staged(record, tmp_path_factory.mktemp("stage"))


@pytest.mark.nightly
def test_computing_issuers_by_partition_gives_the_same_rows(
    record: Record, tables: dict[str, pa.Table], tmp_path: Path
) -> None:
    loads = {table.name: record.load_seq(table) for table in RECORD_TABLES}
    with Snapshot(tmp_path, record, loads, "20990101.1") as snapshot:
        snapshot.copy_record()
        parts = []
        for bucket in range(16):
            for name in ("fundamentals", "statements"):
                of_bucket = f"{bucket_sql('service_id', 16)} = '{bucket_name(bucket, 16)}'"
                rows = f"FROM {snapshot.relation(name)} WHERE {of_bucket}"
                snapshot.sql.execute(f"CREATE OR REPLACE VIEW {name} AS {rows}")
            parts.append(metrics(snapshot))

    assert parts[0]["metrics"] != tables["metrics"]
    for name in parts[0]:
        together = pa.concat_tables(part[name].cast(tables[name].schema) for part in parts)
        order = [(column, "ascending") for column in together.column_names]
        assert together.sort_by(order) == tables[name].sort_by(order)


def inputs_of(row: Row) -> Iterator[tuple[str, Decimal]]:
    for load in json.loads(row["inputs"], parse_float=Decimal, parse_int=Decimal):
        last = load["period_end"] != str(row["period_end"])
        yield load["line_item"] + ("'" if last else ""), Decimal(load["value"])


def test_every_value_follows_from_its_own_inputs(tables: dict[str, pa.Table]) -> None:
    rows = tables["metrics"].to_pylist()

    wrong = []
    for row in rows:
        figures = dict(inputs_of(row))
        days = (row["period_end"] - row["period_start"]).days + 1
        assert figures.keys() == set(PLANS[row["metric"]].needs.split())
        value = worked_out(row["metric"], figures.__getitem__, days)
        if value is None or value != Decimal(row["value"]):
            wrong.append((row["service_id"], row["metric"], row["period_end"], value, row["value"]))

    assert not wrong
    assert {row["metric"] for row in rows} == set(PLANS)


def test_every_input_is_a_current_figure_that_was_there_in_time(
    record: Record, tables: dict[str, pa.Table]
) -> None:
    facts_by_key = {
        (row["service_id"], row["line_item"], row["unit"], row["period_end"], row["value_reported"])
        for row in record.query(f"FROM {record.relation('fundamentals')}").to_pylist()
    }
    for row in tables["metrics"].to_pylist():
        for load in json.loads(row["inputs"], parse_float=Decimal, parse_int=Decimal):
            end, there = (date.fromisoformat(load[n]) for n in ("period_end", "available_at"))
            figure = (row["service_id"], load["line_item"], row["currency"], end)
            assert (*figure, Decimal(load["value"])) in facts_by_key
            assert there <= row["answers_from"]


def test_the_sample_world_answers_as_the_rules_do(
    record: Record, tables: dict[str, pa.Table]
) -> None:
    issuers: dict[str, list[Row]] = {}
    for row in record.query(f"FROM {record.relation('fundamentals')}").to_pylist():
        issuers.setdefault(row["service_id"], []).append(row)
    answers = Answers(tables)
    reasons = set()
    for issuer, rows in sorted(issuers.items()):
        model = Issuer(figures_of(rows))
        days = sorted({row["available_at"] for row in rows})
        for metric in PLANS:
            for day in days:
                actual, expected = answers.on(day, issuer, metric), model.answer(metric, day)
                assert actual is not None and expected is not None
                assert (actual[0], actual[2]) == (expected[0], expected[2]), (
                    f"{issuer} {metric} {day}"
                )
                reasons.add(actual[0])
    assert {"value", "input_not_reported", "revised_after_as_of"} <= reasons
