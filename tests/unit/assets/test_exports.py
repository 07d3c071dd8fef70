"""Bulk files of a build: every vintage, in types that keep each digit, for any tool."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assets.exports.artifacts import EXPORT_FILES, ExportFile
from assets.exports.export import export
from assets.exports.parquet import row_groups
from assets.exports.signing import SigningKey
from tests.helpers.exports import NOW, current_loads, load, party_row, release_row, staged
from tests.helpers.installation import loaded_record
from warehouse.exports.published import Artifact, Manifest
from warehouse.mart.snapshot import Snapshot
from warehouse.record.as_of import vintages_query
from warehouse.record.store import Record
from warehouse.record.tables import (
    FUNDAMENTALS,
    MACRO_SERIES,
    TENDER_PARTIES,
    TENDER_RELEASES,
    RecordTable,
)

VERSION = "20261114.1"
KEYS = [part.key for part in EXPORT_FILES]
PART = {part.key: part for part in EXPORT_FILES}


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
        (found,) = [each for each in self.manifest.artifacts if each.key == key]
        return found


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ExportedWorld]:
    folder = tmp_path_factory.mktemp("world")
    record = loaded_record(tmp_path_factory)
    with staged(record, folder, VERSION) as snapshot:
        manifest = exported(snapshot, folder)
        yield ExportedWorld(record, snapshot, folder / "out", manifest)


def exported(snapshot: Snapshot, folder: Path, **others: Any) -> Manifest:
    given = {
        "base_url": "https://api.fictional.example/exports",
        "signing_key": SigningKey.at(folder / "keys" / "signing.pem"),
        "previous": None,
        "notice": "FICTIONAL",
        "now": NOW,
        **others,
    }
    return export(snapshot, str(folder / "out"), **given)


def rows(path: str, part: ExportFile) -> list[dict[str, Any]]:
    return list(pq.read_table(path, columns=[each.name for each in part.columns]).to_pylist())


def test_every_file_of_the_sample_world_is_made(world: ExportedWorld) -> None:
    assert [each.key for each in world.manifest.artifacts] == KEYS
    assert not world.manifest.failed
    empty = [each.key for each in world.manifest.artifacts if not each.rows]
    assert not empty
    assert sum(each.signal_key is not None for each in world.manifest.artifacts) == 13


@pytest.mark.parametrize("key", KEYS)
def test_pyarrow_opens_each_file_with_its_types_meanings_and_order(
    world: ExportedWorld, key: str
) -> None:
    part, file = PART[key], pq.ParquetFile(world.path(key))
    schema = file.schema_arrow

    assert schema.names == [each.name for each in part.columns]
    assert [each.type for each in schema] == [each.field.type for each in part.columns]
    assert not [each.name for each in schema if pa.types.is_floating(each.type)]
    assert all(each.metadata[b"description"] for each in schema)
    about = {b"sku", b"data_version", b"licence", b"methodology"}
    assert about <= set(schema.metadata) and schema.metadata[b"data_version"] == VERSION.encode()
    group = file.metadata.row_group(0)
    assert [schema.names[each.column_index] for each in group.sorting_columns] == list(part.sort)
    for place in range(group.num_columns):
        chunk = group.column(place)
        assert chunk.compression == "ZSTD"
        assert chunk.has_column_index == (chunk.path_in_schema != "release")
        assert chunk.has_offset_index and chunk.is_stats_set == chunk.has_column_index


@pytest.mark.parametrize("key", KEYS)
def test_each_tool_reads_the_same_values(world: ExportedWorld, key: str) -> None:
    expected = rows(world.path(key), PART[key])

    in_pandas = pd.read_parquet(world.path(key), dtype_backend="pyarrow")
    in_polars = pl.read_parquet(world.path(key))
    in_duckdb = world.snapshot.read(f"FROM '{world.path(key)}'")

    assert pa.Table.from_pandas(in_pandas, preserve_index=False).to_pylist() == expected
    assert in_polars.to_dicts() == expected
    assert in_duckdb.to_pylist() == expected
    for each in PART[key].columns:
        if pa.types.is_decimal(each.field.type):
            assert in_polars.schema[each.name] == pl.Decimal(38, 18)
            assert in_pandas[each.name].dtype == pd.ArrowDtype(pa.decimal128(38, 18))


@pytest.mark.parametrize("key", KEYS)
def test_rows_are_told_apart_by_their_id_and_lie_in_order(world: ExportedWorld, key: str) -> None:
    part = PART[key]
    ids = pq.read_table(world.path(key), columns=[part.id])[part.id].to_pylist()
    assert len(ids) == len(set(ids)) == world.artifact(key).rows
    assert None not in ids

    keys = [
        tuple((row[name] is None, row[name]) for name in part.sort)
        for row in rows(world.path(key), part)
    ]
    assert keys == sorted(keys)


AS_OF: dict[str, tuple[RecordTable, tuple[str, ...], str]] = {
    "af-fund-facts": (FUNDAMENTALS, (*FUNDAMENTALS.identity, "value_reported"), "TRUE"),
    "af-macro-series": (MACRO_SERIES, (*MACRO_SERIES.identity, "value", "obs_status"), "TRUE"),
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
def test_the_filter_of_the_manifest_is_as_of_row_for_row(world: ExportedWorld, key: str) -> None:
    table, names, shown = AS_OF[key]
    filter_ = world.artifact(key).sql_as_of
    assert filter_ is not None
    columns = ", ".join((*names, *SHARED))
    loads, met = current_loads(world.record), set()

    @given(st.dates(date(2017, 1, 1), date(2027, 1, 1)))
    @settings(max_examples=25)
    def agree(as_of: date) -> None:
        stated = filter_.replace("{url}", world.path(key)).replace("{as_of}", str(as_of))
        found = world.snapshot.read(f"SELECT {columns} FROM ({stated}) ORDER BY ALL")
        relation = world.record.relation(table.name)
        answer = vintages_query(table, relation, as_of=as_of, load_seq=loads[table.name])
        expected = f"SELECT {columns} FROM ({answer}) WHERE {shown} ORDER BY ALL"
        assert found.to_pylist() == world.record.query(expected).to_pylist()
        met.add(len(found))

    agree()
    assert len(met) > 2, "every day gave the same answer"


def test_a_file_that_has_an_as_of_shows_no_later_vintage(world: ExportedWorld) -> None:
    for each in world.manifest.artifacts:
        if each.sql_as_of is None:
            continue
        newest = "SELECT max(available_at) AS day FROM ({})"
        path = world.path(each.key)
        last = world.snapshot.read(newest.format(f"FROM '{path}'"))["day"][0].as_py()
        for as_of in (last, last - timedelta(days=40)):
            stated = each.sql_as_of.format(url=path, as_of=as_of)
            seen = world.snapshot.read(f"{stated} LIMIT 1")
            assert not {"superseded_at", "latest"} & set(seen.column_names)
            assert world.snapshot.read(newest.format(stated))["day"][0].as_py() <= as_of


def test_what_has_no_as_of_says_so(world: ExportedWorld) -> None:
    without = {each.key for each in world.manifest.artifacts if each.sql_as_of is None}
    assert without == {"af-macro-annual", "macro-series", "quality-history"}


def test_open_panels_hold_only_open_licences_and_need_no_key(world: ExportedWorld) -> None:
    for each in world.manifest.artifacts:
        is_open = each.kind == "open-panel"
        assert each.requires_key is not is_open
        assert each.required_tier == (None if is_open else "starter")
        assert (each.license == "CC-BY-4.0") is is_open
        if is_open and each.key != "quality-history":
            classes = pq.read_table(world.path(each.key), columns=["license_class"])
            assert "licensed" not in classes["license_class"].to_pylist()


def test_no_withheld_party_is_in_any_file(world: ExportedWorld) -> None:
    withheld = world.snapshot.read(
        "SELECT party_key FROM tender_parties WHERE org_evidence IS NULL AND NOT withdrawn"
    )
    secrets = set(withheld["party_key"].to_pylist())
    assert all(each.startswith("withheld:") for each in secrets) and secrets
    for part in EXPORT_FILES:
        text = json.dumps(rows(world.path(part.key), part), default=str)
        assert not re.search(r"withheld:[0-9a-f]{32}", text)
        assert not [each for each in secrets if each in text]
    released = pq.read_table(world.path("af-tender-releases"), columns=["parties_withheld"])
    assert sum(released["parties_withheld"].to_pylist()) > 0


def award(amount: str, *names: str, day: str = "2026-02-03T10:00:00Z") -> str:
    named = ",".join(f'{{"id":"{name}","name":"{name}"}}' for name in names)
    value = f'"value":{{"amount":{amount},"currency":"ZAR"}}'
    return f'{{"date":"{day}","id":7,"status":"active","suppliers":[{named}],{value}}}'


def test_an_award_is_a_row_with_its_exact_amount_and_who_got_it(
    record: Record, tmp_path: Path
) -> None:
    exact = ["1234567890123456.78", "0.1", "1E+3", "-0.5", "12", "0.10000000000000000000"]
    amounts = [*exact, "0.1234567890123456789", "123456789012345678901", "null"]
    stated = ",".join(award(each, "Umoja Ltd") for each in amounts)
    both = award("5", "Umoja Ltd", "Zama Ltd")
    trap = '"tender":{"title":"\\"awards\\" and \\"amount\\":5"}'
    load(record, TENDER_RELEASES, release_row(1, release=f'{{"awards":[{stated},{both}],{trap}}}'))
    load(record, TENDER_RELEASES, release_row(2, release=f"{{{trap}}}"))
    load(record, TENDER_PARTIES, party_row("Umoja Ltd"))
    with staged(record, tmp_path, VERSION) as snapshot:
        exported(snapshot, tmp_path)

    found = rows(
        str(tmp_path / "out" / VERSION / "af-tender-awards.parquet"), PART["af-tender-awards"]
    )

    found.sort(key=lambda row: int(row["record_id"].split("-")[1]))
    expected = [*map(Decimal, exact), None, None, None, 5]
    assert [row["amount"] for row in found] == expected
    assert {row["award_date"] for row in found} == {date(2026, 2, 3)}
    assert {row["award_id"] for row in found} == {"7"}
    assert found[0]["supplier_name"] == "Umoja Ltd" and found[-1]["supplier_name"] is None
    assert found[-1]["suppliers"] == ["Umoja Ltd", "Zama Ltd"]
    assert found[-1]["supplier_service_ids"] == [None, None]


def test_suppliers_of_the_sample_world_are_resolved_as_their_parties_are(
    world: ExportedWorld,
) -> None:
    wrong = world.snapshot.read(
        f"""SELECT count(*) AS rows, count(award.service_id) AS resolved,
            count(*) FILTER (award.service_id IS DISTINCT FROM party.service_id) AS wrong
        FROM '{world.path("af-tender-awards")}' AS award
        JOIN '{world.path("af-tender-parties")}' AS party
          ON party.ocid = award.ocid AND party.release_id = award.release_id
         AND party.source = award.source AND party.name = award.supplier_name
         AND party.role = 'supplier' AND party.latest AND award.latest"""
    ).to_pylist()[0]
    assert wrong["wrong"] == 0 and wrong["resolved"] > 20


def test_a_table_that_is_not_staged_is_named_with_what_lacks(
    record: Record, tmp_path: Path
) -> None:
    load(record, TENDER_RELEASES, release_row(1))
    with staged(record, tmp_path, VERSION, "signals", "party_matches") as snapshot:
        manifest = exported(snapshot, tmp_path)

    failed = {each.key: each.reason for each in manifest.failed}
    assert len(failed) == 13 + 2
    assert "no signals" in failed["single-bid-rate"]
    assert "no party_matches" in failed["af-tender-awards"]
    assert not set(failed) & {each.key for each in manifest.artifacts}


def test_the_same_staged_data_gives_the_same_bytes(world: ExportedWorld, tmp_path: Path) -> None:
    again = exported(world.snapshot, tmp_path)
    assert [each.sha256 for each in again.artifacts] == [
        each.sha256 for each in world.manifest.artifacts
    ]


def test_rows_that_are_not_staged_in_order_give_the_same_files(
    record: Record, tmp_path: Path
) -> None:
    load(record, TENDER_RELEASES, *(release_row(n) for n in range(1, 30)))
    with staged(record, tmp_path, VERSION, "signals") as snapshot:
        ordered = exported(snapshot, tmp_path)
        assert snapshot.order("tender_releases") == PART["af-tender-releases"].snapshot_sort
        snapshot.write("shuffled", "FROM tender_releases ORDER BY md5(row_id)")
        snapshot.path("shuffled").replace(snapshot.path("tender_releases"))
        assert snapshot.order("tender_releases") == ()
        sorted_again = exported(snapshot, tmp_path / "again")
    digests = [
        {each.key: each.sha256 for each in made.artifacts} for made in (ordered, sorted_again)
    ]
    assert digests[0] == digests[1]


@given(st.lists(st.integers(0, 25), max_size=9))
def test_row_groups_do_not_depend_on_how_rows_come(sizes: list[int]) -> None:
    schema = pa.schema([pa.field("n", pa.int64())])
    total, batches = 0, []
    for size in sizes:
        batches.append(pa.record_batch([pa.array(range(total, total + size))], schema=schema))
        total += size

    found = [each["n"].to_pylist() for each in row_groups(batches, schema, 10)]

    assert found == [list(range(total))[start : start + 10] for start in range(0, total, 10)]
