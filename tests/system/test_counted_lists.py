"""What lists count is what anyone counts in the vintages: parties of a day, holdings, changes."""

from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pyarrow as pa
import pytest

from tests.helpers.random_world import DAYS, FIRST_DAY, ISSUERS, everything, publish_world
from tests.helpers.reads import (
    annual,
    catalogue,
    changes,
    facts_known,
    panel,
    parties,
    releases,
    series_known,
)
from tests.helpers.record_rows import load, party_row
from tests.helpers.seed import seed_of_this_run
from tests.helpers.split_world import more_countries_and_sources, more_derived
from warehouse.publish.snapshot import Snapshot
from warehouse.record.store import Record
from warehouse.record.tables import TENDER_PARTIES
from warehouse.serve.build import Mart
from warehouse.serve.rows import RowPage

Row = dict[str, Any]
_VINTAGES = (
    *("tender_parties", "fundamentals", "tender_releases", "macro_series", "macro_annual"),
    "entities",
)


@dataclass(frozen=True)
class Counted:
    """A published world, and every vintage of its snapshot."""

    mart: Mart
    vintages: dict[str, list[Row]]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Counted]:
    root, seed = tmp_path_factory.mktemp("counted"), seed_of_this_run()
    vintages: dict[str, list[Row]] = {}

    def derive(snapshot: Snapshot) -> dict[str, pa.Table]:
        for name in _VINTAGES:
            vintages[name] = snapshot.sql.sql(f"FROM {name}").to_arrow_table().to_pylist()
        return more_derived(snapshot)

    more_countries_and_sources(root / "record")
    # This world says something else of the processes, figures and series of the one published.
    for table, rows in everything(Random(seed + 1)).items():
        load(Record(str(root / "record")), table, *rows)
    renamed_and_withdrawn(root / "record")
    publish_world(root / "record", root / "marts", seed, None, derive)
    with closing(Mart(root / "marts")) as mart:
        yield Counted(mart, vintages)


def renamed_and_withdrawn(root: Path) -> None:
    """Load parties of releases that were restated or withdrawn later."""
    gone = {"withdrawn": True, "name": None, "org_evidence": None, "released_on": None}
    changed = {"name": "Alpha Fictional Works (Pty) Ltd", "released_on": FIRST_DAY}
    rows = [
        party_row(
            ocid=f"ocds-{number:04}",
            party_key="s1",
            role="supplier",
            available_at=FIRST_DAY + timedelta(DAYS + number),
            publication="again",
            **(gone if number % 3 == 0 else changed),
        )
        for number in range(20)
    ]
    load(Record(str(root)), TENDER_PARTIES, *rows)


def rows_of(page: RowPage | None) -> list[Row]:
    return [] if page is None else [msgspec.json.decode(row) for row in page.rows]


def known_parties(vintages: list[Row], day: date) -> dict[tuple[str, ...], list[Row]]:
    """Return the releases that name each party and were known on a day."""
    found: dict[tuple[str, ...], list[Row]] = {}
    for row in vintages:
        until = row["superseded_at"] or date.max
        if row["name"] and not row["withdrawn"] and row["available_at"] <= day < until:
            # Of the parties of this world, one by this name is resolved to an organisation.
            owner = "DCA1" if row["name"] == "Alpha Fictional Works Ltd" else ""
            key = (row["source"], row["country"], row["role"], row["party_key"], owner)
            found.setdefault(key, []).append(row)
    return found


def test_parties_of_a_day_are_those_of_the_releases_known_on_it(world: Counted) -> None:
    random, seen = Random(seed_of_this_run()), 0
    vintages = world.vintages["tender_parties"]
    assert any(row["superseded_at"] for row in vintages)
    for _ in range(15):
        day = FIRST_DAY + timedelta(random.randrange(-30, DAYS + 200))
        expected = sorted(
            (
                country,
                role,
                len(rows),
                str(min(row["released_on"] for row in rows)),
                str(max(row["released_on"] for row in rows)),
            )
            for (_, country, role, *_), rows in known_parties(vintages, day).items()
        )
        served = rows_of(parties(world.mart, as_of=day))
        counted = ("country", "role", "releases", "first_release", "last_release")
        assert sorted(tuple(row[name] for name in counted) for row in served) == expected
        order = [
            (r["country"], r["role"], -r["releases"], r["name"], r["party_id"]) for r in served
        ]
        assert order == sorted(order)
        seen += len(served)
    assert seen


def test_parties_of_a_window_cite_the_newest_release_inside_it(world: Counted) -> None:
    random, vintages, cited = Random(seed_of_this_run()), world.vintages["tender_parties"], set()
    for _ in range(15):
        day = FIRST_DAY + timedelta(random.randrange(DAYS + 200))
        first = FIRST_DAY + timedelta(random.randrange(-3, 6))
        last = first + timedelta(random.randrange(6))
        expected = []
        for (_, country, role, *_), rows in known_parties(vintages, day).items():
            inside = [row for row in rows if first <= row["released_on"] <= last]
            newest = max((row["released_on"] for row in inside), default=None)
            refs = {row["source_ref"] for row in inside if row["released_on"] == newest}
            expected += [(country, role, len(inside), refs)] if inside else []
        bounds: Row = {"from": first, "to": last}
        for row in rows_of(parties(world.mart, as_of=day, **bounds)):
            (found,) = [
                each
                for each in expected
                if each[:3] == (row["country"], row["role"], row["releases"])
                and row["source_ref"] in each[3]
            ][:1]
            expected.remove(found)
            cited.add((day, row["source_ref"]))
            assert {"observed_at", "license_class", "provenance_id"} <= row.keys()
            assert "known" not in row and "cited" not in row
        assert not expected
    assert len(cited) > 10


def test_parties_of_a_late_day_are_those_of_now(world: Counted) -> None:
    def counted(page: RowPage) -> list[tuple[str, int]]:
        return sorted((row["party_id"], row["releases"]) for row in rows_of(page))

    late = parties(world.mart, as_of=date(2026, 1, 1))
    assert counted(late) == counted(parties(world.mart)) != []


def of_entry(rows: list[Row], entry: Row, *others: str) -> list[Row]:
    """Return the rows of the country of an entry; alpha-3 follows from alpha-2 if not known."""
    codes = {"ZA": "ZAF", "KE": "KEN"}
    return [
        row
        for row in rows
        if row["country"] == entry["country"]
        and (row["country_iso3"] or codes[row["country"]]) == entry["country_iso3"]
        and all(row[name] == entry[name] for name in others)
    ]


def counted_rows(world: Counted, entry: Row) -> list[Row]:
    """Return the rows that an entry of the catalogue counts, as their own list has them."""
    mart, name, country = world.mart, entry["name"], entry["country"]
    if entry["section"] == "series":
        return of_entry(rows_of(series_known(mart, series=name)), entry, "unit", "frequency")
    if entry["section"] == "signal":
        return rows_of(panel(mart, name, country))
    if entry["section"] == "indicator":
        return rows_of(annual(mart, indicator=name))
    if entry["section"] in ("category", "status"):
        return rows_of(releases(mart, country, **{entry["section"]: name}))
    if entry["section"] == "line_item":
        found = (rows_of(facts_known(mart, issuer, line_items=[name])) for issuer in ISSUERS)
        return [row for rows in found for row in rows]
    if name == "AF-TENDER":
        return rows_of(releases(mart, country))
    if name == "AF-MACRO":
        return of_entry(rows_of(series_known(mart)) + rows_of(annual(mart)), entry)
    found = (rows_of(facts_known(mart, issuer)) for issuer in ISSUERS)
    countries = dict(zip(ISSUERS, ("ZA", "KE", "ZA"), strict=True))
    return [row for rows in found for row in rows if countries[row["service_id"]] == country]


def test_the_catalogue_counts_what_the_lists_have(world: Counted) -> None:
    entries = rows_of(catalogue(world.mart))
    sections = Counter(entry["section"] for entry in entries)
    assert set(sections) == {
        *("dataset", "series", "indicator", "line_item", "metric", "signal", "category"),
        "status",
    }
    identity = ("section", "name", "country", "country_iso3", "unit", "frequency")
    alike: dict[tuple[str, ...], list[Row]] = {}
    for entry in entries:
        if entry["section"] != "metric":
            alike.setdefault(tuple(entry[name] for name in identity), []).append(entry)
    for entry, *more in alike.values():
        # In this world, some rows of a country have no alpha-3, and make an entry of their own.
        rows = counted_rows(world, entry)
        assert len(rows) == entry["rows"] + sum(other["rows"] for other in more) > 0, entry
        if more:
            continue
        days = [row.get("period_end") or row.get("month") or row.get("date") for row in rows]
        known = sorted(day for day in days if day is not None)
        assert (known[0], known[-1]) == (entry["held_from"], entry["held_to"]), entry
        if entry["organisations"] is not None:
            assert len({row["service_id"] for row in rows}) == entry["organisations"]


def test_changes_are_the_vintages_that_arrived(world: Counted) -> None:
    ids = {
        "fundamentals": ("AF-FUND", "service_id", "issuer"),
        "tender_releases": ("AF-TENDER", "country", "row"),
        "macro_series": ("AF-MACRO", "series", "row"),
        "macro_annual": ("AF-MACRO", "indicator", "row"),
    }
    expected: dict[tuple[str | None, ...], Counter[str]] = {}
    entities = world.vintages["entities"]
    issuers = {row["service_id"]: row["country"] for row in entities if row["latest"]}
    for table, (dataset, column, country_of) in ids.items():
        for row in world.vintages[table]:
            country = row["country"] if country_of == "row" else issuers.get(row[column])
            key = (f"{row['observed_at']:%Y-%m-%d}", dataset, row[column], country)
            kind = "added" if row["vintage"] == 1 else "restated"
            kinds = expected.setdefault(key, Counter())
            kinds["withdrawn" if row["withdrawn"] else kind] += 1

    served = rows_of(changes(world.mart, date(2000, 1, 1)))
    assert {
        tuple(row[name] for name in ("changed_on", "dataset", "id", "country")): Counter(
            {kind: row[kind] for kind in ("added", "restated", "withdrawn") if row[kind]}
        )
        for row in served
    } == expected
    assert len(served) == len(expected) and any(row["restated"] for row in served)
    days = [row["changed_on"] for row in served]
    assert days == sorted(days, reverse=True)
