"""The Dagster assets of a source: one that lands its documents, one per table that loads them.

Landing is partitioned the way a source can be queried, so that a past span can be fetched again.
Loading is not: it reads whatever is landed and unread, once for all tables of a source.
"""

import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any

import dagster as dg
import pyarrow as pa
from sqlmodel import SQLModel

from assets.fetching.fetchers import Window
from assets.filings.fetch import BATCHES
from assets.ingest.failures import ParserFailed
from assets.ingest.land import land_live, land_sample
from assets.ingest.load import load_source
from assets.parsing.limits import DocumentLimits
from assets.source import Source, require_base_url
from warehouse.record.integrity import note_files, require_intact
from warehouse.record.landing import open_landing
from warehouse.record.relations import sql_text
from warehouse.record.store import Record, open_record
from warehouse.record.tables import TABLES_WITHOUT_PEOPLE, RecordTable, arrow_schema
from warehouse.record.versions import require_withheld_key
from warehouse.shared.errors import SankofaError, WriteConflict
from warehouse.shared.locks import named_lock
from warehouse.shared.metrics import (
    DOCUMENTS_FAILED,
    FETCHED_AT,
    FETCHES,
    INGEST_ROWS,
    INGEST_SECONDS,
    INGESTED_AT,
    INGESTS,
    counting,
)
from warehouse.shared.settings import Settings
from warehouse.tables.operations import LoadEntry

# Reports the progress of a running asset to whoever started it in the same process.

# What is going on ("ecb: loading"), how much is done, of how much if that is known.
Listener = Callable[[str, int, int | None], None]

# Dagster makes the resources of a run itself, so that no listener can be handed over in one.
_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Pass the progress of every asset that runs meanwhile to a listener."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def reporter(activity: str) -> Callable[[int, int | None], None]:
    """Return a function that reports how much of an activity is done."""
    listener = _listener.get()
    if listener is None:
        return lambda done, total: None
    listener(activity, 0, None)
    return lambda done, total: listener(activity, done, total)


# The resource that every asset needs: it shows that the process of a run is alive.
ALIVE = "alive"


# Metrics of fetching and loading a source; see ``warehouse/shared/metrics.py``.


@dataclass
class LoadedRows:
    """What a load has done so far."""

    entries: list[LoadEntry] = field(default_factory=list)
    documents_failed: int = 0


@contextmanager
def counted_fetch(folder: str, source: str) -> Iterator[None]:
    """Count a fetch of a source, and note when it succeeded."""
    with counting(folder, "ingest") as counts:
        try:
            yield
        except BaseException:
            counts.add(FETCHES, source, "failed")
            raise
        counts.add(FETCHES, source, "ok")
        counts.set(FETCHED_AT, source, value=time.time())


@contextmanager
def counted_load(folder: str, source: str) -> Iterator[LoadedRows]:
    """Count a load of a source: its rows, its duration, the documents it left unread."""
    loaded, started = LoadedRows(), time.monotonic()
    with counting(folder, "ingest") as counts:
        try:
            yield loaded
        except BaseException:
            counts.add(INGESTS, source, "failed")
            raise
        finally:
            counts.add(INGEST_SECONDS, source, value=time.monotonic() - started)
        for outcome, rows in total_counts(loaded.entries).items():
            counts.add(INGEST_ROWS, source, outcome, value=rows)
        counts.set(DOCUMENTS_FAILED, source, value=loaded.documents_failed)
        counts.add(INGESTS, source, "failed" if loaded.documents_failed else "ok")
        if not loaded.documents_failed:
            counts.set(INGESTED_AT, source, value=time.time())


_FIRST_DAY = "2015-01-01"
# Issuers are hashed into a fixed set of batches: a new issuer makes no batch stale, a backfill of
# all is one range of partitions, and the Dagster instance need not store a dynamic list.
_PARTITIONS: Mapping[str, dg.PartitionsDefinition[str]] = {
    "daily": dg.DailyPartitionsDefinition(start_date=_FIRST_DAY, end_offset=1),
    "monthly": dg.MonthlyPartitionsDefinition(start_date=_FIRST_DAY, end_offset=1),
    "by issuer": dg.StaticPartitionsDefinition(BATCHES),
}
_FETCH_RETRIES = dg.RetryPolicy(
    max_retries=3, delay=60, backoff=dg.Backoff.EXPONENTIAL, jitter=dg.Jitter.PLUS_MINUS
)
_LOAD_RETRIES = dg.RetryPolicy(max_retries=3, delay=5, backoff=dg.Backoff.EXPONENTIAL)
# Metadata of a load that failed: the documents on which the parser failed.
FAILED_DOCUMENTS = "failed documents"
# The tables that a load writes to, along with those of its rows.
_TABLES_OF_LOADS = ("loads", "quarantine", "failures", "retries")
_MOST_FAILED_LISTED = 100
FRESHNESS_POLICY = dg.FreshnessPolicy.time_window(
    fail_window=timedelta(hours=48), warn_window=timedelta(hours=30)
)
# A source can have thousands of addresses, and each may fail.
_LONGEST_REASON = 5_000


class FetchConfig(dg.Config):
    """First and last day to fetch, YYYY-MM-DD; the days of a run with partitions are theirs."""

    first_day: str | None = None
    last_day: str | None = None


def source_assets(
    sources: Iterable[Source], settings: Settings, *, retries: bool = True
) -> list[dg.AssetsDefinition]:
    """Return the assets of all sources whose licence permits serving them.

    ``retries``: what failed for a reason that may pass is repeated after some minutes.
    """
    permitted = [source for source in sources if source.permitted]
    fetching, loading = (_FETCH_RETRIES, _LOAD_RETRIES) if retries else (None, None)
    return [
        *(landed_asset(each, settings, fetching) for each in permitted if each.fetch is not None),
        *(loaded_assets(each, settings, loading) for each in permitted),
    ]


def landed_key(source: Source) -> dg.AssetKey:
    """Return the key of the asset that lands a source."""
    return dg.AssetKey(f"{load_step(source)}_landed")


def table_key(source: Source, table: RecordTable) -> dg.AssetKey:
    """Return the key of the asset that loads one table of a source."""
    return dg.AssetKey(f"{load_step(source)}_{table.name}")


def load_step(source: Source) -> str:
    """Return the name of the step that loads a source."""
    return source.key.replace("-", "_")


def partitions_of(source: Source) -> dg.PartitionsDefinition[str] | None:
    """Return the parts in which a source can be fetched; None if only as a whole."""
    return _PARTITIONS.get(source.cadence or "")


def landed_asset(
    source: Source, settings: Settings, retry_policy: dg.RetryPolicy | None
) -> dg.AssetsDefinition:
    """Return the asset that fetches a source; a range of partitions is one run."""

    @dg.asset(
        key=landed_key(source),
        group_name=source.subject,
        description=f"Documents of {source.title}, unchanged, as they were fetched. The sample "
        "world and recordings come in with the load.",
        partitions_def=partitions_of(source),
        required_resource_keys={ALIVE},
        retry_policy=retry_policy,
        freshness_policy=FRESHNESS_POLICY,
        kinds={"http"},
        tags=_tags(source),
        metadata={
            "address": dg.MetadataValue.url(require_base_url(source)),
            "licence": source.license_name,
        },
    )
    def landed(
        context: dg.AssetExecutionContext, config: FetchConfig
    ) -> dg.MaterializeResult[None]:
        with (
            _dagster_failures(),
            _source_lock(settings, source),
            counted_fetch(settings.metrics, source.key),
        ):
            require_withheld_key(settings.withheld_key, source.world)
            documents, documents_new = land_live(
                open_landing(settings),
                source,
                _window(context, config),
                settings,
                reporter(f"{source.key}: fetching"),
            )
        folder = dg.MetadataValue.path(f"{settings.landing}/documents/{source.key}")
        return dg.MaterializeResult(
            metadata={"documents": documents, "documents_new": documents_new, "landing": folder}
        )

    # Backfill policies are still marked as beta.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dg.BetaWarning)
        return landed.with_attributes(backfill_policy=dg.BackfillPolicy.single_run())


def loaded_assets(
    source: Source, settings: Settings, retry_policy: dg.RetryPolicy | None
) -> dg.AssetsDefinition:
    """Return the multi-asset that loads the landed documents of a source into its tables."""
    source = source.with_withheld_key(settings.withheld_key)
    specs = [
        dg.AssetSpec(
            table_key(source, table),
            deps=[landed_key(source)] if source.fetch is not None else [],
            description=f"{table.row.__doc__} From {source.title} ({source.license_name}).",
            group_name=source.subject,
            kinds={"deltalake"},
            tags=_tags(source),
            freshness_policy=FRESHNESS_POLICY,
            metadata=column_metadata(table.row),
        )
        for table in source.tables
    ]

    # One op for all tables: a document is parsed once.
    @dg.multi_asset(
        name=load_step(source),
        specs=specs,
        required_resource_keys={ALIVE},
        retry_policy=retry_policy,
    )
    def loaded() -> Iterator[dg.MaterializeResult[None]]:
        landing, record = open_landing(settings), open_record(settings)
        failed: ParserFailed | None = None
        with (
            _dagster_failures(),
            _source_lock(settings, source),
            counted_load(settings.metrics, source.key) as loaded_rows,
        ):
            documents, documents_new = land_sample(landing, settings.sample, source)
            require_withheld_key(settings.withheld_key, landing.world())
            progress = reporter(f"{source.key}: loading")
            tables = [*(table.name for table in source.tables), *_TABLES_OF_LOADS]
            require_intact(record, tables)
            try:
                entries = load_source(
                    record,
                    landing,
                    source,
                    progress,
                    processes=settings.processes,
                    limits=DocumentLimits.of(settings),
                )
            except ParserFailed as failure:
                failed, entries = failure, list(failure.entries)
            if entries:
                with record.shared():
                    note_files(record, tables)
            loaded_rows.entries = entries
            loaded_rows.documents_failed = 0 if failed is None else len(failed.failures)
        for table in source.tables:
            counts = {"documents": documents, "documents_new": documents_new}
            counts |= load_metadata(record, source, table, entries)
            yield dg.MaterializeResult(asset_key=table_key(source, table), metadata=counts)
        # Only now: what could be read is loaded and reported.
        if failed is not None:
            failures = [failure.model_dump(mode="json") for failure in failed.failures]
            listed = {FAILED_DOCUMENTS: failures[:_MOST_FAILED_LISTED]}
            raise dg.Failure(str(failed), metadata=listed, allow_retries=False) from failed

    return loaded


def _source_lock(settings: Settings, source: Source) -> AbstractContextManager[None]:
    """Let one run of this machine at a time fetch or load a source."""
    return named_lock(settings.dagster / "locks" / source.key, f"the source {source.key}")


def _window(context: dg.AssetExecutionContext, config: FetchConfig) -> Window:
    """Return what a run fetches: its partitions, and the days of its configuration."""
    days = _day(config.first_day), _day(config.last_day)
    if not context.has_partition_key and not context.has_partition_key_range:
        return Window(*days)
    if isinstance(context.assets_def.partitions_def, dg.TimeWindowPartitionsDefinition):
        span = context.partition_time_window
        # Dagster's windows end before their last day, ours with it.
        return Window(span.start.date(), span.end.date() - timedelta(days=1))
    return Window(*days, batches=frozenset(context.partition_keys))


def _day(text: str | None) -> date | None:
    try:
        return None if text is None else date.fromisoformat(text)
    except ValueError:
        raise SankofaError(f"{text!r} is not a day: write YYYY-MM-DD") from None


@contextmanager
def _dagster_failures() -> Iterator[None]:
    """Turn our errors into Dagster failures; allow retries only where they may help."""
    try:
        yield
    except SankofaError as error:
        retryable = isinstance(error, WriteConflict) or bool(getattr(error, "retryable", False))
        reason = str(error)
        if len(reason) > _LONGEST_REASON:
            reason = f"{reason[:_LONGEST_REASON]}… ({len(reason):,} characters)"
        raise dg.Failure(reason, allow_retries=retryable) from error


def _tags(source: Source) -> dict[str, str]:
    return {"sankofa/source": source.key, "sankofa/license_class": source.license_class}


COUNT_NAMES = ("read", "appended", "held", "quarantined", "withdrawn", "retracted")
# What people read instead of the names of the ledger's columns.
_COUNT_WORDS = {"held": "already stored", "retracted": "no longer read"}

# Dagster keeps metadata for ever, out of reach of what is withheld later.
_HIDDEN = "not shown: rows of this table can hold personal data"
_UNREADABLE = "see `sankofa quarantine list`"
_ROWS = 5
_CELL = 60


def total_counts(entries: Iterable[LoadEntry]) -> dict[str, int]:
    """Add up the counts of several loads."""
    entries_list = list(entries)
    return {name: sum(getattr(entry, name) or 0 for entry in entries_list) for name in COUNT_NAMES}


def counts_in_words(counts: Mapping[str, int]) -> str:
    """Return the counts that are not zero as text: "2 read, 1 appended, 1 already stored"."""
    words = (
        f"{number:,} {_COUNT_WORDS.get(name, name)}" for name, number in counts.items() if number
    )
    return ", ".join(words) or "nothing new"


def load_metadata(
    record: Record, source: Source, table: RecordTable, entries: Iterable[LoadEntry]
) -> dict[str, Any]:
    """Return the metadata of a load of one table of a source."""
    return {
        **total_counts(entry for entry in entries if entry.table_name == table.name),
        "sample": dg.MetadataValue.md(
            _sample(record, source, table) if table in TABLES_WITHOUT_PEOPLE else _HIDDEN
        ),
        "quarantine": dg.MetadataValue.path(f"{record.root}/quarantine"),
        "why quarantined": dg.MetadataValue.md(_reasons(record, source, table)),
    }


def column_metadata(row: type[SQLModel]) -> dict[str, Any]:
    """Return the column schema of a table, with descriptions, as metadata."""
    columns = [
        dg.TableColumn(
            field.name,
            str(field.type),
            row.model_fields[field.name].description,
            dg.TableColumnConstraints(nullable=field.nullable),
        )
        for field in arrow_schema(row)
    ]
    return {"dagster/column_schema": dg.TableSchema(columns)}


def _sample(record: Record, source: Source, table: RecordTable) -> str:
    """Return a Markdown table of rows from the newest load of a source."""
    columns = [*table.identity, *table.content, "available_at", "license_class", "source_ref"]
    selected = ", ".join(column for column in dict.fromkeys(columns) if column != "source")
    rows_of_source = f"{record.relation(table.name)} WHERE source = '{source.key}'"
    newest = f"load_seq = (SELECT max(load_seq) FROM {rows_of_source})"
    sample = f"SELECT {selected} FROM {rows_of_source} AND {newest} LIMIT {_ROWS}"
    return _markdown(record.query(sample))


def _reasons(record: Record, source: Source, table: RecordTable) -> str:
    """Return a Markdown table of the most frequent reasons for quarantine.

    A reason quotes a value: of tables that may name people, only the column at fault is given.
    """
    why = "reason"
    if table not in TABLES_WITHOUT_PEOPLE:
        columns = ", ".join(map(sql_text, arrow_schema(table.row).names))
        column = "regexp_extract(reason, '^(?:row [0-9]+, )?([a-z0-9_]+): ', 1)"
        why = f"CASE WHEN {column} IN ({columns}) THEN {column} ELSE '{_UNREADABLE}' END"
    reasons = record.query(
        f"SELECT count(*) AS records, {why} AS why FROM {record.relation('quarantine')} "
        f"WHERE source = '{source.key}' AND table_name = '{table.name}' "
        f"GROUP BY ALL ORDER BY records DESC, why LIMIT {_ROWS}"
    )
    return _markdown(reasons, 200)


def _markdown(rows: pa.Table, longest: int = _CELL) -> str:
    columns = rows.column_names
    lines = [[_cell(value, longest) for value in row.values()] for row in rows.to_pylist()]
    table = [columns, ["---"] * len(columns), *lines]
    return "\n".join(f"| {' | '.join(line)} |" for line in table)


def _cell(value: object, longest: int) -> str:
    text = " ".join(("" if value is None else str(value)).split()).replace("|", "/")
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
