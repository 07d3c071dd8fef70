"""Erase a document: from the landing, the record, every build, file and page that contains it."""

import shutil
import sqlite3
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import dagster as dg

from assets.ingest.assets import landed_key, table_key
from assets.ingest.sources import sources_of
from assets.source import Source
from pipelines.builds import withdraw_builds
from pipelines.dagster_home import INGEST
from pipelines.finder import Finder
from pipelines.ingest_definitions import fetch_job
from pipelines.jobs import instance
from warehouse.control.models import current_user
from warehouse.publish.builds import builds_at
from warehouse.record import erase
from warehouse.record.landing import Landing, open_landing
from warehouse.record.store import Record, open_record
from warehouse.shared.errors import SankofaError
from warehouse.shared.files import sha256_of_file
from warehouse.shared.settings import Settings
from warehouse.tables.operations import ErasedEntry

_PAGE = 500


@dataclass(frozen=True)
class Erasure:
    """What erasing a document removes, or would remove.

    ``same_address`` are other documents that were read from its addresses: they may repeat what
    it said.
    """

    document: str
    sources: tuple[str, ...]
    addresses: tuple[str, ...]
    rows: dict[str, int]
    data_versions: tuple[str, ...]
    same_address: tuple[str, ...]


def find_documents(settings: Settings, text: str) -> list[Erasure]:
    """Return what erasing a document, by its SHA-256 or its address, would remove."""
    finder = Finder(settings)
    found = [
        _describe(finder.landing, finder.record, document) for document in finder.documents(text)
    ]
    if not found or None in found:
        raise SankofaError(
            f"no document is {text!r}; give the SHA-256 or the address of one. "
            "`sankofa why` lists the documents of a value"
        )
    return [erasure for erasure in found if erasure is not None]


def _describe(landing: Landing, record: Record, document: str) -> Erasure | None:
    notes = landing.find(sha256=document)
    rows = erase.stored_rows(record, document)
    entries = [entry for entry in erase.erasures(record) if entry.document == document]
    if not notes and not rows and not entries:
        return None
    addresses = tuple(dict.fromkeys(note.url for note in notes))
    others = [other.sha256 for url in addresses for other in landing.find(url=url)]
    versions = entries[0].data_versions if entries else erase.versions_with(record, document)
    sources = (*(note.source for note in notes), *erase.sources_with(record, document))
    return Erasure(
        document,
        tuple(dict.fromkeys(sources)),
        addresses,
        rows,
        tuple(versions),
        tuple(other for other in dict.fromkeys(others) if other != document),
    )


def erase_documents(
    settings: Settings,
    found: Sequence[Erasure],
    why: str,
    publish: Callable[[], str],
    *,
    unpublish: bool = False,
) -> str | None:
    """Erase documents; return the data_version that replaced an affected current build.

    Everything but the current build is gone when ``publish`` is called to replace that. If it
    fails, the current build stays until this is run again; with ``unpublish`` it goes at once, and
    nothing is served until the next publication.
    """
    record, landing = open_record(settings), open_landing(settings)
    builds = builds_at(settings.marts)
    affected: set[str] = set()
    # No publication and no load runs meanwhile, as either could see half of an erasure.
    with builds.publishing_lock(), record.exclusive():
        for erasure in found:
            for source in erasure.sources:
                entry = _enter(record, landing, erasure.document, source, why)
                affected.update(entry.data_versions)
            landing.erase(erasure.document)
            erase.erase_rows(record, erasure.document)
            for source in erasure.sources:
                _delete_sample_files(settings.sample / source, erasure.document)
            for declared in sources_of(settings):
                if declared.key in erasure.sources:
                    forget_runs(settings, declared)
        # Snapshots of rejected and of killed publications contain rows of any document.
        shutil.rmtree(settings.work, ignore_errors=True)
    names = sorted(affected)
    current = builds.current()
    replaced = None
    if current in affected:
        withdraw_builds(settings, names, erased_reason(), unpublish=unpublish)
        replaced = publish()
    withdraw_builds(settings, names, erased_reason())
    return replaced


def _enter(record: Record, landing: Landing, document: str, source: str, why: str) -> ErasedEntry:
    notes = [note for note in landing.find(sha256=document) if note.source == source]
    first = min((note.observed_at for note in notes), default=datetime(1970, 1, 1, tzinfo=UTC))
    return erase.enter_erasure(record, document, source, first, why, current_user())


def erased_reason() -> str:
    """Return why a build was withdrawn, as clients that pin it are told."""
    return f"a document in it was erased on {datetime.now(UTC):%Y-%m-%d}"


def _delete_sample_files(folder: Path, sha256: str) -> None:
    """Delete the copies of a document from which the sample world is read."""
    for path in folder.rglob("*"):
        if path.is_file() and sha256_of_file(path) == sha256:
            path.unlink()


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
    if not run.asset_selection:
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
