"""Dagster's history of runs: remove what it repeats of a source, for an erasure."""

import sqlite3
from collections.abc import Collection, Iterator
from contextlib import closing

import dagster as dg

from assets.ingest.assets import landed_key, table_key
from assets.source import Source
from pipelines.fetch_jobs import fetch_job
from pipelines.jobs import INGEST, instance
from warehouse.settings import Settings

_PAGE = 500


def forget_runs(settings: Settings, source: Source) -> None:
    """Delete the runs that loaded a source, with their metadata, so that no byte of it is left.

    Metadata of a load can contain sample rows and reasons for quarantine.
    """
    if not settings.dagster.is_dir():
        return
    keys = [landed_key(source), *(table_key(source, table) for table in source.tables)]
    with instance(settings) as dagster_instance:
        # A run that failed has materialised nothing, but its error may repeat what it read.
        chosen = {
            run.run_id for run in dagster_instance.get_runs() if _may_have_read(run, source, keys)
        }
        chosen |= {run_id for key in keys for run_id in _runs(dagster_instance, key)}
        for run_id in chosen:
            dagster_instance.delete_run(run_id)
        dagster_instance.wipe_assets(keys)
    for path in settings.dagster.glob("history/**/*.db"):
        # A deleted row stays in the pages of a file until it is rewritten.
        with closing(sqlite3.connect(path, isolation_level=None, timeout=60)) as database:
            database.execute("VACUUM")
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _may_have_read(run: dg.DagsterRun, source: Source, keys: Collection[dg.AssetKey]) -> bool:
    if run.asset_selection is None:
        # A whole job, as schedules run it.
        return run.job_name in (INGEST, fetch_job(landed_key(source)))
    return not run.asset_selection.isdisjoint(keys)


def _runs(dagster_instance: dg.DagsterInstance, key: dg.AssetKey) -> Iterator[str]:
    cursor = None
    while True:
        page = dagster_instance.fetch_materializations(key, limit=_PAGE, cursor=cursor)
        yield from (record.run_id for record in page.records)
        if not page.has_more:
            return
        cursor = page.cursor
