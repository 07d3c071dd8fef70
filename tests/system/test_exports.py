"""Bulk files of a build: every vintage, in types that keep every digit, for any tool."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assets.exports.artifacts import EXPORT_FILES, ExportFile
from assets.exports.export import export
from assets.exports.write_artifact import row_groups
from tests.helpers.exports import NOW, current_loads, load, party_row, release_row, staged
from tests.helpers.installation import loaded_record
from tests.helpers.nightly import times
from tests.helpers.seed import seed_of_this_run
from warehouse.publish.rebasing import with_rebasings
from warehouse.publish.snapshot import Snapshot
from warehouse.record.as_of import vintages_query
from warehouse.record.store import Record
from warehouse.record.tables import (
    FILINGS,
    FUNDAMENTALS,
    MACRO_SERIES,
    TENDER_PARTIES,
    TENDER_RELEASES,
    RecordTable,
)
from warehouse.serve.exports import Artifact, Manifest
from warehouse.shared.signing import SigningKey

VERSION = "20261114.1"
# Buckets without an issuer in the sample world have no file.
EMPTY = {f"af-fund-elements-{bucket}" for bucket in "12478b"}
KEYS = [export_file.key for export_file in EXPORT_FILES if export_file.key not in EMPTY]
EXPORT_FILE = {export_file.key: export_file for export_file in EXPORT_FILES}


@dataclass(frozen=True)
class ExportedWorld:
    """The sample world, exported."""

    record: Record
    snapshot: Snapshot
    folder: Path
    manifest: Manifest

    def path(self, key: str) -> str:
        return str(self.folder / VERSION / f"{key}.parquet")

    def artifact(self, key: str) -> Artifact:
        (matching,) = [artifact for artifact in self.manifest.artifacts if artifact.key == key]
        return matching


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ExportedWorld]:
    folder = tmp_path_factory.mktemp("world")
    record = loaded_record(tmp_path_factory)
    with staged(record, folder, VERSION) as snapshot:
        manifest = exported(snapshot, folder)
        yield ExportedWorld(record, snapshot, folder / "out", manifest)


def exported(snapshot: Snapshot, folder: Path, **overrides: Any) -> Manifest:
    options = {
        "signing_key": SigningKey.at(folder / "keys" / "signing.pem"),
        "previous": None,
        "notice": "FICTIONAL",
        "now": NOW,
        **overrides,
    }
    return export(snapshot, str(folder / "out"), **options)


def rows(path: str, export_file: ExportFile) -> list[dict[str, Any]]:
    return list(
        pq.read_table(path, columns=[column.name for column in export_file.columns]).to_pylist()
    )


def test_every_file_of_the_sample_world_is_written(world: ExportedWorld) -> None:
    assert [artifact.key for artifact in world.manifest.artifacts] == KEYS
    assert not world.manifest.failed
    empty = [artifact.key for artifact in world.manifest.artifacts if not artifact.rows]
    assert not empty
    assert sum(artifact.signal_key is not None for artifact in world.manifest.artifacts) == 13


@pytest.mark.parametrize("key", KEYS)
def test_pyarrow_reads_types_descriptions_and_sort_order_of_every_file(
    world: ExportedWorld, key: str
) -> None:
    export_file, file = EXPORT_FILE[key], pq.ParquetFile(world.path(key))
    schema = file.schema_arrow

    assert schema.names == [column.name for column in export_file.columns]
    assert [field.type for field in schema] == [column.field.type for column in export_file.columns]
    assert not [field.name for field in schema if pa.types.is_floating(field.type)]
    assert all(field.metadata[b"description"] for field in schema)
    metadata_keys = {b"sku", b"data_version", b"licence", b"methodology"}
    assert (
        metadata_keys <= set(schema.metadata)
        and schema.metadata[b"data_version"] == VERSION.encode()
    )
    group = file.metadata.row_group(0)
    assert [schema.names[column.column_index] for column in group.sorting_columns] == list(
        export_file.sort
    )
    for position in range(group.num_columns):
        chunk = group.column(position)
        assert chunk.compression == "ZSTD"
        assert chunk.has_column_index == (chunk.path_in_schema != "release")
        assert chunk.has_offset_index and chunk.is_stats_set == chunk.has_column_index


@pytest.mark.parametrize("key", KEYS)
def test_every_tool_reads_the_same_values(world: ExportedWorld, key: str) -> None:
    expected = rows(world.path(key), EXPORT_FILE[key])

    in_pandas = pd.read_parquet(world.path(key), dtype_backend="pyarrow")
    in_polars = pl.read_parquet(world.path(key))
    in_duckdb = world.snapshot.read(f"FROM '{world.path(key)}'")

    assert pa.Table.from_pandas(in_pandas, preserve_index=False).to_pylist() == expected
    assert in_polars.to_dicts() == expected
    assert in_duckdb.to_pylist() == expected
    for column in EXPORT_FILE[key].columns:
        if pa.types.is_decimal(column.field.type):
            assert in_polars.schema[column.name] == pl.Decimal(38, 18)
            assert in_pandas[column.name].dtype == pd.ArrowDtype(pa.decimal128(38, 18))


@pytest.mark.parametrize("key", KEYS)
def test_ids_are_unique_and_rows_are_sorted(world: ExportedWorld, key: str) -> None:
    export_file = EXPORT_FILE[key]
    ids = pq.read_table(world.path(key), columns=[export_file.id])[export_file.id].to_pylist()
    assert len(ids) == len(set(ids)) == world.artifact(key).rows
    assert None not in ids

    keys = [
        tuple((row[name] is None, row[name]) for name in export_file.sort)
        for row in rows(world.path(key), export_file)
    ]
    assert keys == sorted(keys)


AS_OF: dict[str, tuple[RecordTable, tuple[str, ...], str]] = {
    "af-fund-facts": (FUNDAMENTALS, (*FUNDAMENTALS.identity, "value_reported"), "TRUE"),
    "af-fund-filings": (FILINGS, (*FILINGS.identity, "form", "received_on"), "TRUE"),
    # Of a series that was given another base, the file has the new one: see test_rebasing.
    "af-macro-series": (
        MACRO_SERIES,
        (*MACRO_SERIES.identity, "value", "obs_status"),
        "base_period IS NULL",
    ),
    "af-tender-releases": (
        TENDER_RELEASES,
        ("source", "ocid", "release_id", "tag", "release", "tender_value"),
        "TRUE",
    ),
    "af-tender-parties": (
        TENDER_PARTIES,
        ("source", "ocid", "release_id", "role", "name", "identifier_id"),
        "name IS NOT NULL",
    ),
}
SHARED = ("available_at", "source_ref", "observed_at", "vintage")


@pytest.mark.parametrize("key", AS_OF)
def test_the_as_of_query_of_the_manifest_returns_the_rows_of_the_record(
    world: ExportedWorld, key: str
) -> None:
    table, names, condition = AS_OF[key]
    sql_as_of = world.artifact(key).sql_as_of
    assert sql_as_of is not None
    columns = ", ".join((*names, *SHARED))
    loads, row_counts = current_loads(world.record), set()
    days = Random(seed_of_this_run())

    # One day of every other year, and more of them at night.
    for number in range(times(6)):
        as_of = date(2016 + 2 * (number % 6), 1, 1) + timedelta(days.randrange(730))
        filtered = sql_as_of.replace("{url}", world.path(key)).replace("{as_of}", str(as_of))
        exported = f"SELECT {columns} FROM ({filtered}) WHERE {condition} ORDER BY ALL"
        exported_rows = world.snapshot.read(exported)
        # what two addresses of a source state is reconciled in the snapshot
        stored = world.record.relation(table.name)
        relation = with_rebasings(world.snapshot.sql, table, stored)
        query = vintages_query(table, relation, as_of=as_of, load_seq=loads[table.name])
        if "service_id" in names:
            # the record has ids as they were minted
            query = f"""SELECT stored.* REPLACE (coalesce(same_as, service_id) AS service_id)
                FROM ({query}) AS stored
                LEFT JOIN read_parquet('{world.snapshot.path("same_as")}') USING (service_id)"""
        expected = f"SELECT {columns} FROM ({query}) WHERE {condition} ORDER BY ALL"
        expected_rows = world.snapshot.sql.sql(expected).to_arrow_table()
        assert exported_rows.to_pylist() == expected_rows.to_pylist()
        row_counts.add(len(exported_rows))

    assert len(row_counts) > 2, "every day returned the same number of rows"


def test_an_as_of_query_returns_no_later_vintage(world: ExportedWorld) -> None:
    for artifact in world.manifest.artifacts:
        if artifact.sql_as_of is None:
            continue
        newest_query = "SELECT max(available_at) AS day FROM ({})"
        path = world.path(artifact.key)
        newest_day = world.snapshot.read(newest_query.format(f"FROM '{path}'"))["day"][0].as_py()
        for as_of in (newest_day, newest_day - timedelta(days=40)):
            filtered = artifact.sql_as_of.format(url=path, as_of=as_of)
            first_row = world.snapshot.read(f"{filtered} LIMIT 1")
            ends = {"superseded_at", "answers_until", "latest"}
            assert not ends & set(first_row.column_names)
            assert world.snapshot.read(newest_query.format(filtered))["day"][0].as_py() <= as_of


def test_only_undated_files_have_no_as_of_query(world: ExportedWorld) -> None:
    undated = {artifact.key for artifact in world.manifest.artifacts if artifact.sql_as_of is None}
    assert undated == {
        *("af-macro-annual", "macro-series", "silent-revisions", "quality-history"),
        *("af-entities", "af-identifiers"),
    }


def test_open_panels_contain_only_open_licences_and_need_no_key(world: ExportedWorld) -> None:
    for artifact in world.manifest.artifacts:
        is_open = artifact.kind == "open-panel"
        assert artifact.requires_key is not is_open
        assert artifact.required_tier == (None if is_open else "starter")
        assert (artifact.license == "CC-BY-4.0") is is_open
        if is_open and artifact.key != "quality-history":
            classes = pq.read_table(world.path(artifact.key), columns=["license_class"])
            assert "licensed" not in classes["license_class"].to_pylist()


def test_no_withheld_party_is_in_any_file(world: ExportedWorld) -> None:
    withheld = world.snapshot.read(
        "SELECT party_key FROM tender_parties WHERE org_evidence IS NULL AND NOT withdrawn"
    )
    secrets = set(withheld["party_key"].to_pylist())
    assert all(secret.startswith("withheld:") for secret in secrets) and secrets
    for export_file in map(EXPORT_FILE.__getitem__, KEYS):
        text = json.dumps(rows(world.path(export_file.key), export_file), default=str)
        assert not re.search(r"withheld:[0-9a-f]{32}", text)
        assert not [secret for secret in secrets if secret in text]
    released = pq.read_table(world.path("af-tender-releases"), columns=["parties_withheld"])
    assert sum(released["parties_withheld"].to_pylist()) > 0


def award(amount: str, *names: str, day: str = "2026-02-03T10:00:00Z") -> str:
    suppliers = ",".join(f'{{"id":"{name}","name":"{name}"}}' for name in names)
    value = f'"value":{{"amount":{amount},"currency":"ZAR"}}'
    return f'{{"date":"{day}","id":7,"status":"active","suppliers":[{suppliers}],{value}}}'


def test_an_award_row_has_the_exact_amount_and_the_suppliers(
    record: Record, tmp_path: Path
) -> None:
    exact = ["1234567890123456.78", "0.1", "1E+3", "-0.5", "12", "0.10000000000000000000"]
    amounts = [*exact, "0.1234567890123456789", "123456789012345678901", "null"]
    awards = ",".join(award(amount, "Umoja Ltd") for amount in amounts)
    joint_award = award("5", "Umoja Ltd", "Zama Ltd")
    decoy = '"tender":{"title":"\\"awards\\" and \\"amount\\":5"}'
    load(
        record,
        TENDER_RELEASES,
        release_row(1, release=f'{{"awards":[{awards},{joint_award}],{decoy}}}'),
    )
    load(record, TENDER_RELEASES, release_row(2, release=f"{{{decoy}}}"))
    load(record, TENDER_PARTIES, party_row("Umoja Ltd"))
    with staged(record, tmp_path, VERSION) as snapshot:
        exported(snapshot, tmp_path)

    award_rows = rows(
        str(tmp_path / "out" / VERSION / "af-tender-awards.parquet"),
        EXPORT_FILE["af-tender-awards"],
    )

    award_rows.sort(key=lambda row: int(row["record_id"].split("-")[1]))
    expected = [*map(Decimal, exact), None, None, None, 5]
    assert [row["amount"] for row in award_rows] == expected
    assert {row["award_date"] for row in award_rows} == {date(2026, 2, 3)}
    assert {row["award_id"] for row in award_rows} == {"7"}
    assert award_rows[0]["supplier_name"] == "Umoja Ltd" and award_rows[-1]["supplier_name"] is None
    assert award_rows[-1]["suppliers"] == ["Umoja Ltd", "Zama Ltd"]
    assert award_rows[-1]["supplier_service_ids"] == [None, None]


def test_suppliers_of_the_sample_world_are_resolved_like_their_parties(
    world: ExportedWorld,
) -> None:
    counts = world.snapshot.read(
        f"""SELECT count(*) AS rows, count(award.service_id) AS resolved,
            count(*) FILTER (award.service_id IS DISTINCT FROM party.service_id) AS wrong
        FROM '{world.path("af-tender-awards")}' AS award
        JOIN '{world.path("af-tender-parties")}' AS party
          ON party.ocid = award.ocid AND party.release_id = award.release_id
         AND party.source = award.source AND party.name = award.supplier_name
         AND party.role = 'supplier' AND party.latest AND award.latest"""
    ).to_pylist()[0]
    assert counts["wrong"] == 0 and counts["resolved"] > 20


def test_the_same_snapshot_gives_the_same_bytes(world: ExportedWorld, tmp_path: Path) -> None:
    second_manifest = exported(world.snapshot, tmp_path)
    assert [artifact.sha256 for artifact in second_manifest.artifacts] == [
        artifact.sha256 for artifact in world.manifest.artifacts
    ]


def test_an_unsorted_snapshot_gives_the_same_files(record: Record, tmp_path: Path) -> None:
    load(record, TENDER_RELEASES, *(release_row(n) for n in range(1, 30)))
    with staged(record, tmp_path, VERSION, "signals") as snapshot:
        ordered = exported(snapshot, tmp_path)
        snapshot.write("shuffled", "FROM tender_releases ORDER BY md5(row_id)")
        snapshot.path("shuffled").replace(snapshot.path("tender_releases"))
        sorted_again = exported(snapshot, tmp_path / "again")
    digests = [
        {artifact.key: artifact.sha256 for artifact in manifest.artifacts}
        for manifest in (ordered, sorted_again)
    ]
    assert digests[0] == digests[1]


@given(st.lists(st.integers(0, 25), max_size=9))
def test_row_groups_do_not_depend_on_batch_sizes(sizes: list[int]) -> None:
    schema = pa.schema([pa.field("n", pa.int64())])
    total, batches = 0, []
    for size in sizes:
        batches.append(pa.record_batch([pa.array(range(total, total + size))], schema=schema))
        total += size

    groups = [group["n"].to_pylist() for group in row_groups(batches, schema, 10)]

    assert groups == [list(range(total))[start : start + 10] for start in range(0, total, 10)]
