"""Every row of a snapshot has the canonical id of its organisation."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.helpers.facts import fact
from tests.helpers.record_rows import entity_row, filing_row, load, sighting
from warehouse.publish.snapshot import REWRITTEN, Snapshot, use_canonical_ids
from warehouse.record.store import Record
from warehouse.record.tables import (
    ENTITIES,
    FILINGS,
    FUNDAMENTALS,
    IDENTIFIERS,
    RECORD_TABLES,
    arrow_schema,
)
from warehouse.tables.derived import SameAs

pytestmark = pytest.mark.slow

OWN, ALIAS, OTHER = "DCOWN", "DCALIAS", "DCOTHER"


@contextmanager
def joined(record: Record, folder: Path) -> Iterator[Snapshot]:
    loads = {table.name: record.load_seq(table) for table in RECORD_TABLES}
    join = {"service_id": ALIAS, "same_as": OWN, "match_method": "lei"}
    with Snapshot(folder, record, loads, "20260101.1") as snapshot:
        snapshot.copy_record()
        snapshot.add({"same_as": pa.Table.from_pylist([join], arrow_schema(SameAs))})
        use_canonical_ids(snapshot)
        snapshot.copy_record(REWRITTEN)
        yield snapshot


def filed(value: str, year: int, month: int, issuer: str) -> dict[str, Any]:
    day = date(year, month, 1)
    return fact(value, available_at=day, publication=str(day), issuer=issuer)


def figures(snapshot: Snapshot) -> list[dict[str, Any]]:
    rows = snapshot.read("FROM fundamentals ORDER BY service_id, period_end, vintage")
    return list(rows.to_pylist())


def test_a_figure_that_only_an_alias_has_keeps_its_row_id(record: Record, tmp_path: Path) -> None:
    load(record, FUNDAMENTALS, fact("1", issuer=ALIAS), fact("2", issuer=OTHER))
    loads = {table.name: record.load_seq(table) for table in RECORD_TABLES}
    with Snapshot(tmp_path / "before", record, loads, "20260101.1") as before:
        before.copy_record()
        ids = {row["value_reported"]: row["row_id"] for row in figures(before)}

    with joined(record, tmp_path / "after") as snapshot:
        rows = figures(snapshot)

    assert [row["service_id"] for row in rows] == [OTHER, OWN]
    assert {row["value_reported"]: row["row_id"] for row in rows} == ids


def test_figures_of_two_ids_become_vintages_in_the_order_in_which_they_were_known(
    record: Record, tmp_path: Path
) -> None:
    load(
        record,
        FUNDAMENTALS,
        filed("10", 2020, 3, OWN),
        filed("12", 2022, 3, OWN),
        filed("11", 2021, 3, ALIAS),
        # the same value again is no vintage, whoever states it
        filed("12", 2022, 5, ALIAS),
        filed("20", 2021, 3, OTHER),
    )

    with joined(record, tmp_path / "stage") as snapshot:
        rows = [row for row in figures(snapshot) if row["service_id"] == OWN]

    assert [int(row["value_reported"]) for row in rows] == [10, 11, 12]
    assert [row["vintage"] for row in rows] == [1, 2, 3]
    assert [row["latest"] for row in rows] == [False, False, True]
    ends = [row["superseded_at"] for row in rows]
    assert ends == [date(2021, 3, 1), date(2022, 3, 1), None]
    assert len({row["row_id"] for row in rows}) == 3
    assert len({(row["figure"], row["figure_check"]) for row in rows}) == 1


def test_one_publication_of_two_ids_is_one_vintage(record: Record, tmp_path: Path) -> None:
    load(record, FUNDAMENTALS, fact("10", issuer=OWN), fact("10", issuer=ALIAS))

    with joined(record, tmp_path / "stage") as snapshot:
        rows = figures(snapshot)

    assert [(row["service_id"], row["vintage"]) for row in rows] == [(OWN, 1)]


def test_a_filing_listed_under_two_ids_of_an_organisation_is_one(
    record: Record, tmp_path: Path
) -> None:
    joint = [filing_row(service_id=issuer, publication="a-1") for issuer in (OWN, ALIAS, OTHER)]
    by_alias = filing_row(service_id=ALIAS, document_id="0001193125-20-000001")
    load(record, FILINGS, *joint, by_alias)
    with joined(record, tmp_path) as snapshot:
        rows = snapshot.read("FROM filings ORDER BY service_id, document_id").to_pylist()
    assert [(row["service_id"], row["document_id"], row["vintage"]) for row in rows] == [
        (OTHER, "0001193125-19-090263", 1),
        (OWN, "0001193125-19-090263", 1),
        (OWN, "0001193125-20-000001", 1),
    ]
    assert all(row["latest"] for row in rows)


def test_registers_have_canonical_ids_too(record: Record, tmp_path: Path) -> None:
    load(record, ENTITIES, entity_row(service_id=ALIAS), entity_row(service_id=OTHER))
    identifier: dict[str, Any] = {"id_type": "cik", "id_value": "1", "issuer": None, "status": None}
    load(record, IDENTIFIERS, sighting(service_id=ALIAS, **identifier))

    with joined(record, tmp_path / "stage") as snapshot:
        entities = snapshot.read("SELECT service_id, alias FROM entities ORDER BY 1").to_pylist()
        (row,) = snapshot.read("FROM identifiers").to_pylist()

    assert entities == [
        {"service_id": OTHER, "alias": None},
        {"service_id": OWN, "alias": ALIAS},
    ]
    assert (row["service_id"], row["match_method"]) == (OWN, "lei")
