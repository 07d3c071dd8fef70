"""What an answer costs: every read finds its rows through an index."""

import re
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.reads import (
    annual,
    entities_found,
    entity,
    facts_known,
    identifiers,
    issuers,
    lookup,
    metrics,
    panel,
    parties,
    quality_metrics,
    releases,
    screen,
    search,
    series_known,
    shared_facts,
)
from tests.helpers.rest_service import make_world
from warehouse.publish.builds import builds_at
from warehouse.publish.manifest import BuildFile
from warehouse.serve.build import Build, Mart, check_readable
from warehouse.serve.engines import FileReader, SqlRows

DAY = date(2020, 1, 1)

READS: dict[str, Callable[[Mart], object]] = {
    "facts": lambda mart: facts_known(mart, "DCA1", limit=5),
    "facts as of": lambda mart: facts_known(mart, "DCX9", DAY, "FY", line_items=["revenue"]),
    "facts of no issuer": lambda mart: facts_known(mart, "DCNOBODY"),
    "issuers": lambda mart: issuers(mart, 5),
    "health": check_readable,
    "series of a country": lambda mart: series_known(mart, "ZA", limit=5),
    "series of three letters": lambda mart: series_known(mart, "ZAF", as_of=DAY),
    "one series": lambda mart: series_known(mart, series="FX.EUR.ZAR", as_of=DAY),
    "series of a type": lambda mart: series_known(mart, series_type="fx", limit=5),
    "series of a type and country": lambda mart: series_known(mart, "ZA", series_type="fx"),
    "annual of a country": lambda mart: annual(mart, "ZAF", limit=5),
    "one indicator": lambda mart: annual(mart, indicator="NY.GDP"),
    "releases": lambda mart: releases(mart, "ZA", DAY, 5, ("ZA", "3")),
    "releases of a category": lambda mart: releases(mart, "ZA", limit=5, category="works"),
    "releases of a buyer": lambda mart: releases(mart, "ZA", limit=5, buyer="DCA1"),
    "releases of a buyer's name": lambda mart: releases(mart, "ZA", limit=5, buyer="agency"),
    "releases of words": lambda mart: releases(mart, "ZA", limit=5, query="roads"),
    "parties": lambda mart: parties(mart, "ZA", limit=5),
    "parties of a role": lambda mart: parties(mart, role="buyer", limit=5),
    "parties of a role and country": lambda mart: parties(mart, "ZA", "buyer", limit=5),
    "parties of an organisation": lambda mart: parties(mart, service_id="DCA1"),
    "entity": lambda mart: entity(mart, "DCX9"),
    "search": lambda mart: entities_found(mart, "fictional", "ZA", 5),
    "search of everything": lambda mart: search(mart, "roads agency", None, "ZA", 5),
    "search by an identifier": lambda mart: search(mart, "XJSE:ALP"),
    "search for a near name": lambda mart: search(mart, "gama fictionnal roads"),
    "identifiers": lambda mart: identifiers(mart, "DCX9", paid=True),
    "lookup": lambda mart: lookup(mart, "registry", "2001/123456/07"),
    "metrics": lambda mart: metrics(mart, "DCA1", "net_margin", DAY),
    "screen": lambda mart: screen(mart, "net_margin", "asc", DAY, "ZA", 5),
    "quality": lambda mart: quality_metrics(mart, "AF-FUND"),
    "panel": lambda mart: panel(mart, "procurement-demand", limit=5),
    "panel of a country": lambda mart: panel(
        mart, "procurement-demand", "ZA", "category", "works", as_of=DAY
    ),
    "shared financials": lambda mart: shared_facts(mart, "DCA1", as_of=DAY),
    "shared awards": lambda mart: shared_facts(mart, "DCA1", None, "AF-TENDER", DAY),
    "shared tenders": lambda mart: shared_facts(mart, None, "ZAF", "AF-TENDER", limit=5),
    "shared macro": lambda mart: shared_facts(mart, "ZAF", as_of=DAY, measure="FX.EUR.ZAR"),
}
# These need no index: they read one row, or the first rows of the table.
ENOUGH = (
    "SELECT 1 FROM identifiers LIMIT 1",
    "SELECT row_number FROM countries LIMIT 1",
    "SELECT DISTINCT service_id FROM fundamentals WHERE latest = 1 ORDER BY service_id LIMIT 5",
)


class Watched(Mart):
    """A mart that records its queries."""

    def __init__(self, url: str | Path) -> None:
        super().__init__(url)
        self.queries: list[tuple[str, str, Sequence[object]]] = []

    def build(self) -> Build:
        """Return the build; every query is recorded, with the file it was sent to."""
        build = super().build()
        engine = self._engine

        def reader(version: str, file: BuildFile) -> FileReader:
            inner: FileReader = engine.reader(version, file)

            def ask(statement: str, values: Sequence[object]) -> SqlRows:
                self.queries.append((file.table, statement, values))
                return inner.query(statement, *values)

            return replace(inner, run=ask)

        return Build(engine.manifest(build.data_version), reader)


@pytest.fixture(scope="module")
def mart(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    watched = Watched(make_world(tmp_path_factory, "plans").marts)
    yield watched
    watched.close()


@pytest.fixture(scope="module")
def bare(mart: Watched, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the files without their rows: for a few rows SQLite rightly prefers a full scan."""
    folder = tmp_path_factory.mktemp("bare")
    for file in builds_at(mart.folder).files().values():
        copied = shutil.copy(mart.folder / file.path, folder / f"{file.table}.sqlite")
        with closing(sqlite3.connect(copied)) as database:
            # A full-text index has tables of its own, which make it unreadable without their rows.
            tables = (
                "SELECT name FROM pragma_table_list "
                "WHERE type = 'table' AND schema = 'main' AND name <> 'sqlite_schema'"
            )
            for (table,) in database.execute(tables).fetchall():
                database.execute(f"DELETE FROM {table}")
            database.commit()
    return folder


def plan(bare: Path, table: str, statement: str, values: Sequence[Any]) -> list[str]:
    with closing(sqlite3.connect(bare / f"{table}.sqlite")) as database:
        steps = database.execute(f"EXPLAIN QUERY PLAN {statement}", values).fetchall()
    return [str(step[3]) for step in steps]


def _is_cheap(step: str) -> bool:
    # An index of words or trigrams that is searched for some: `M` stands for MATCH.
    of_index = re.search(r"VIRTUAL TABLE INDEX \d+:.*M", step) is not None
    # `json_each` are the numbers that the question names.
    return of_index or any(word in step for word in ("CONSTANT", "(subquery", "json_each"))


@pytest.mark.parametrize("name", READS)
def test_a_read_finds_its_rows_through_an_index(name: str, mart: Watched, bare: Path) -> None:
    mart.queries.clear()
    READS[name](mart)

    assert mart.queries
    for table, statement, values in mart.queries:
        steps = plan(bare, table, statement, values)
        scanned = [step for step in steps if step.startswith("SCAN") and not _is_cheap(step)]
        assert not scanned or statement in ENOUGH, (statement, steps)
        if "ORDER BY row_number" in statement or "released_on DESC, row_number" in statement:
            assert not [step for step in steps if "TEMP B-TREE" in step], (statement, steps)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("releases of a buyer", "buyer_id=?"),
        ("parties of an organisation", "service_id=?"),
        ("series of a type", "series_type=?"),
    ],
)
def test_what_few_rows_have_is_what_the_index_begins_with(
    name: str, meant: str, mart: Watched, bare: Path
) -> None:
    mart.queries.clear()
    READS[name](mart)

    assert any(meant in step for query in mart.queries for step in plan(bare, *query))


def test_a_search_that_has_enough_looks_no_further(mart: Watched) -> None:
    mart.queries.clear()
    assert len(entities_found(mart, "2138002QX8KZTPLXS721", limit=0).rows) == 0
    assert not [sql for _, sql, _ in mart.queries if "FROM names" in sql or "FROM words" in sql]

    mart.queries.clear()
    assert len(entities_found(mart, "2138002QX8KZTPLXS721").rows) == 1
    assert [sql for _, sql, _ in mart.queries if "FROM words" in sql]
