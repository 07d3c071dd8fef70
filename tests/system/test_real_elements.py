"""Every element of real filings against the filings themselves, read anew from the JSON."""

import gzip
import json
from collections import defaultdict
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from assets.filings import companyfacts
from assets.filings.issuers import service_id_of
from tests.helpers.real_files import REAL_FILES, load
from tests.system.test_real_metrics import document_of
from warehouse.publish.snapshot import Snapshot
from warehouse.record.as_of import vintages_query
from warehouse.record.store import Record
from warehouse.record.tables import ELEMENTS, RECORD_TABLES

Row = dict[str, Any]
# Issuer, element, unit, first and last day.
Key = tuple[str, str, str, str | None, str]
FILES = sorted((REAL_FILES / "filings" / "companyfacts_2021").glob("*.json.gz"))
# Of the smallest: ten times as many take as much longer.
TEN = sorted(FILES, key=lambda path: path.stat().st_size)[20:30]
pytestmark = [
    pytest.mark.shared,
    pytest.mark.skipif(not FILES, reason="the real files are not next to the checkout"),
]


@dataclass(frozen=True)
class Read:
    """What the files state, fact by fact in order of publication, and what we make of it."""

    stated: dict[Key, list[tuple[str, str, Decimal]]]
    vintages: dict[Key, list[Row]]
    marked: set[tuple[Key, str]]
    known: dict[str, dict[Key, Decimal]]


def key_of(row: Row) -> Key:
    start = row["period_start"]
    spans = (None if start is None else str(start), str(row["period_end"]))
    return (row["service_id"], row["element"], row["unit"], *spans)


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> Read:
    folder = tmp_path_factory.mktemp("elements")
    record = Record(str(folder / "record"))
    stated: dict[Key, list[tuple[str, str, Decimal]]] = defaultdict(list)
    parse = partial(companyfacts.parse, every_element=True)
    for path in TEN:
        body = gzip.decompress(path.read_bytes())
        load(record, ELEMENTS.name, parse(document_of(path, body), body))
        for key, fact in facts_in(path, body):
            stated[key].append(fact)
    loads = {table.name: record.load_seq(table) for table in RECORD_TABLES}
    with Snapshot(folder / "snapshot", record, loads, "20260101.1") as snapshot:
        snapshot.copy_record((ELEMENTS,))
        vintages: dict[Key, list[Row]] = defaultdict(list)
        for row in snapshot.read("FROM elements ORDER BY vintage").to_pylist():
            vintages[key_of(row)].append(row)
    relation = record.relation(ELEMENTS.name)
    apparent = f"FROM {relation} WHERE apparent_restatement IS NOT NULL"
    marked = {(key_of(row), row["publication"]) for row in record.query(apparent).to_pylist()}
    days = {row["available_at"] for rows in vintages.values() for row in rows}
    known: dict[str, dict[Key, Decimal]] = {}
    # The day of each tenth publication, and the day before it.
    for day in sorted(days)[::10]:
        for known_on in (day - timedelta(1), day):
            rows = record.query(vintages_query(ELEMENTS, relation, as_of=known_on)).to_pylist()
            known[str(known_on)] = {key_of(row): row["value_reported"] for row in rows}
    return Read(dict(stated), dict(vintages), marked, known)


def facts_in(path: Path, body: bytes) -> list[tuple[Key, tuple[str, str, Decimal]]]:
    company = json.loads(body, parse_float=Decimal, parse_int=Decimal)
    service_id = service_id_of(int(company["cik"]))
    return [
        ((*concept, fact.get("start"), fact["end"]), (fact["filed"], fact["accn"], fact["val"]))
        for taxonomy, elements in company["facts"].items()
        for element, described in elements.items()
        for unit, facts in described["units"].items()
        for concept in [(service_id, f"{taxonomy}:{element}", unit.replace("-per-", "/"))]
        for fact in facts
    ]


def test_every_fact_of_ten_files_is_returned_by_value_day_and_vintage(read: Read) -> None:
    facts = vintages = repeated = marked = 0
    for key, stated in read.stated.items():
        rows, number = read.vintages[key], 0
        for filed, accession, value in sorted(stated):
            facts += 1
            standing = rows[number - 1] if number else None
            if standing is not None and standing["value_reported"] == value:
                repeated += 1
            elif (key, accession) in read.marked:
                marked += 1
            else:
                row = rows[number]
                assert (row["value_reported"], str(row["available_at"])) == (value, filed), key
                assert (row["vintage"], row["document_id"]) == (number + 1, accession)
                vintages, number = vintages + 1, number + 1
        # Nothing is there that no filing states.
        assert number == len(rows), key
    assert read.vintages.keys() == read.stated.keys()
    assert facts == vintages + repeated + marked > 10_000
    # What only looks like a restatement is rare, and no vintage, as of a line item.
    assert 0 < marked < facts / 100


def test_no_fact_is_known_before_its_filing(read: Read) -> None:
    compared = 0
    for day, known in read.known.items():
        for key, stated in read.stated.items():
            until = [value for filed, _, value in stated if filed <= day]
            assert (key in known) is bool(until), (day, key)
            assert not until or known[key] in until, (day, key)
            compared += bool(until)
    assert compared > 10_000
