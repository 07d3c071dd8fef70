"""One organisation, one id: in every table, file and answer of the published sample world."""

import json
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from tests.helpers.installation import sample_home, settings_of
from tests.helpers.reads import entity, facts_known, identifiers, lookup
from tests.helpers.whole_tables import query
from warehouse.publish.tables import MART_TABLES
from warehouse.serve.build import Mart
from warehouse.serve.exports import PublishedExports

KEYS = ("service_id", "organisation", "buyer_id")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sample_home(tmp_path_factory)


@pytest.fixture(scope="module")
def mart(home: Path) -> Iterator[Mart]:
    mart = Mart(settings_of(home).marts)
    yield mart
    mart.close()


@pytest.fixture(scope="module")
def aliases(mart: Mart) -> dict[str, str]:
    """Return the canonical id of each alias."""
    pairs = query(mart.build(), "SELECT service_id, same_as FROM same_as")
    assert pairs, "the sample world has organisations that several registers know"
    return {str(alias): str(canonical) for alias, canonical in pairs}


def test_no_table_of_the_build_has_an_alias(mart: Mart, aliases: dict[str, str]) -> None:
    for table in MART_TABLES:
        for column in set(KEYS) & set(table.keys) if table.name != "same_as" else ():
            ids = query(mart.build(), f"SELECT DISTINCT {column} FROM {table.name}")
            assert aliases.keys().isdisjoint(str(value) for (value,) in ids), table.name
        if table.members and table.packed is None:
            for (row,) in query(mart.build(), f"SELECT row FROM {table.name}"):
                body = json.loads(row)
                # the record of an organisation lists its aliases, and nothing else names one
                text = json.dumps({**body, "aliases": None, "joins": None})
                assert not any(alias in text for alias in aliases), (table.name, body)


def test_no_published_file_has_an_alias(home: Path, aliases: dict[str, str]) -> None:
    exports = PublishedExports(settings_of(home).exports)
    manifest = exports.manifest()
    folder = Path(settings_of(home).exports) / manifest.data_version
    listed = ", ".join(f"'{alias}'" for alias in aliases)
    files = sorted(folder.glob("*.parquet"))
    assert files
    with duckdb.connect() as sql:
        for file in files:
            columns = [
                (name, kind)
                for name, kind, *_ in sql.execute(f"DESCRIBE FROM '{file}'").fetchall()
                if "service_id" in name or name == "dimension_value"
            ]
            for name, kind in columns:
                ids = f"unnest({name})" if kind.endswith("[]") else name
                found = f"SELECT * FROM (SELECT {ids} AS id FROM '{file}') WHERE id IN ({listed})"
                assert not sql.execute(found).fetchall(), (file.name, name)


def test_asked_by_an_alias_the_answer_has_the_canonical_id(
    mart: Mart, aliases: dict[str, str]
) -> None:
    for alias, canonical in aliases.items():
        record, own = entity(mart, alias), entity(mart, canonical)
        assert record is not None and own is not None and record.rows == own.rows
        body = json.loads(record.rows[0])
        assert body["service_id"] == canonical and alias in body["aliases"]
        assert {join["service_id"] for join in body["joins"]} == set(body["aliases"])
        crosswalk = identifiers(mart, alias, paid=True)
        assert crosswalk is not None and crosswalk.service_id == canonical
        figures = facts_known(mart, alias)
        assert figures is not None
        assert {json.loads(row)["service_id"] for row in figures.rows} <= {canonical}


def test_every_issuer_is_reachable_by_every_identifier_it_has(mart: Mart) -> None:
    issuers = query(mart.build(), "SELECT DISTINCT service_id FROM fundamentals")
    statement = "SELECT id_type, id_match FROM identifiers WHERE service_id = ?"
    reached = set()
    for (issuer,) in issuers:
        stored = query(mart.build(), statement, issuer)
        assert stored, f"{issuer} has no identifier"
        for id_type, value in stored:
            rows = lookup(mart, id_type, value).rows.rows
            found = [json.loads(row)["service_id"] for row in rows]
            # a number of one register may be another's in the next
            assert issuer in found if id_type == "registry" else found == [issuer], (id_type, value)
            if id_type in ("lei", "ticker"):
                # Wherever an id is expected, they will do.
                record, own = entity(mart, value), entity(mart, issuer)
                assert record is not None and own is not None and record.rows == own.rows
                figures, known = facts_known(mart, value), facts_known(mart, issuer)
                assert figures is not None and known is not None and figures.rows == known.rows
            reached.add(id_type)
    assert {"lei", "isin", "ticker", "cik"} <= reached
