"""Every SQL file runs by hand on a kept snapshot, as docs/sql.md says."""

from pathlib import Path

import duckdb
import pytest

from assets.metrics.derive import metrics
from assets.signals.derive import signals
from assets.tenders.portal_files import PORTALS
from pipelines.sql import printed, sql_paths, tables_of, views, with_inputs
from tests.helpers.installation import loaded_record
from tests.helpers.organisations import derive_organisations
from warehouse.mart.awards import add_tender_facts
from warehouse.mart.snapshot import Snapshot
from warehouse.record.tables import RECORD_TABLES


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A kept snapshot with every table that a publication makes."""
    record, folder = loaded_record(tmp_path_factory), tmp_path_factory.mktemp("kept")
    loads = {table.name: record.load_seq(table) for table in RECORD_TABLES}
    with Snapshot(folder, record, loads, "20260616.1") as snapshot:
        snapshot.apply_rules()
        snapshot.copy_record()
        snapshot.add(derive_organisations(snapshot))
        snapshot.add(metrics(snapshot))
        snapshot.add(signals(snapshot, PORTALS))
        add_tender_facts(snapshot)
    return folder


@pytest.mark.parametrize("package", sorted({name.partition("/")[0] for name in sql_paths()}))
def test_every_file_runs_by_hand_on_a_kept_snapshot(kept: Path, package: str) -> None:
    names = [name for name in sql_paths() if name.startswith(f"{package}/")]
    with duckdb.connect() as sql:
        sql.execute("SET TimeZone = 'UTC'")
        sql.execute(views(kept))
        given = tables_of(kept)
        for name in with_inputs(names, given):
            text = printed(name)
            statements = duckdb.extract_statements(text)
            assert len(statements) == text.count("-- name: ") + text.count("-- by hand: ")
            for statement in statements:
                try:
                    sql.execute(statement).fetchall()
                except duckdb.Error as error:
                    pytest.fail(f"{name}: {error}\n{statement.query}")


def test_values_by_hand_are_as_many_as_those_served(kept: Path) -> None:
    with duckdb.connect() as sql:
        sql.execute("SET TimeZone = 'UTC'")
        sql.execute(views(kept))
        (computed,) = sql.execute(
            ";".join(printed(name) for name in with_inputs(["metrics/choices"], tables_of(kept)))
            + "; SELECT count(*) FROM outcomes WHERE reason IS NULL"
        ).fetchall()[0]
        (served,) = sql.execute("SELECT count(*) FROM metrics").fetchall()[0]
        assert computed >= served > 0
