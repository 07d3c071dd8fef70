"""The Dagster assets of a source: one that lands its documents, one per table that loads them.

Landing is partitioned the way a source can be queried, so that a past span can be fetched again.
Loading is not: it reads whatever is landed and unread, once for all tables of a source.
"""

import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import dagster as dg

from assets.fetching.fetchers import Window
from assets.filings.fetch import BATCHES
from assets.ingest.land import land_live, land_sample
from assets.ingest.load import load_source
from assets.ingest.metadata import column_metadata, load_metadata
from assets.ingest.resources import IngestResource
from assets.source import Source, require_base_url
from warehouse.errors import SankofaError, WriteConflict
from warehouse.record.tables import RecordTable
from warehouse.settings import Settings

# Issuers are hashed into a fixed set of batches: a new issuer makes no batch stale, a backfill of
# all is one range of partitions, and the Dagster instance need not store a dynamic list.
_PARTITIONS: Mapping[str, dg.PartitionsDefinition[str]] = {
    "daily": dg.DailyPartitionsDefinition(start_date="2015-01-01", end_offset=1),
    "monthly": dg.MonthlyPartitionsDefinition(start_date="2015-01-01", end_offset=1),
    "by issuer": dg.StaticPartitionsDefinition(BATCHES),
}
_FETCH_RETRIES = dg.RetryPolicy(
    max_retries=3, delay=60, backoff=dg.Backoff.EXPONENTIAL, jitter=dg.Jitter.PLUS_MINUS
)
_LOAD_RETRIES = dg.RetryPolicy(max_retries=3, delay=5, backoff=dg.Backoff.EXPONENTIAL)
FRESHNESS_POLICY = dg.FreshnessPolicy.time_window(
    fail_window=timedelta(hours=48), warn_window=timedelta(hours=30)
)


def source_assets(sources: Iterable[Source], settings: Settings) -> list[dg.AssetsDefinition]:
    """Return the assets of all sources whose licence permits serving them."""
    permitted = [source for source in sources if source.permitted]
    landed = [landed_asset(source, settings) for source in permitted if source.fetch is not None]
    return [*landed, *(loaded_assets(source, settings) for source in permitted)]


def landed_key(source: Source) -> dg.AssetKey:
    """Return the key of the asset that lands a source."""
    return dg.AssetKey(f"{_name(source)}_landed")


def table_key(source: Source, table: RecordTable) -> dg.AssetKey:
    """Return the key of the asset that loads one table of a source."""
    return dg.AssetKey(f"{_name(source)}_{table.name}")


def landed_asset(source: Source, settings: Settings) -> dg.AssetsDefinition:
    """Return the asset that fetches a source; a range of partitions is one run."""

    @dg.asset(
        key=landed_key(source),
        group_name=source.subject,
        description=f"Documents of {source.title}, unchanged.",
        partitions_def=_PARTITIONS.get(source.cadence or ""),
        retry_policy=_FETCH_RETRIES,
        freshness_policy=FRESHNESS_POLICY,
        pool=source.key,
        kinds={"http"},
        tags=_tags(source),
        metadata={
            "address": dg.MetadataValue.url(require_base_url(source)),
            "licence": source.license_name,
        },
    )
    def landed(
        context: dg.AssetExecutionContext, storage: IngestResource
    ) -> dg.MaterializeResult[None]:
        with _dagster_failures():
            documents, documents_new = land_live(
                storage.landing(), source, _window(context), settings
            )
        return dg.MaterializeResult(
            metadata={
                "documents": documents,
                "documents_new": documents_new,
                "landing": dg.MetadataValue.path(f"{storage.landing_url}/documents/{source.key}"),
            }
        )

    # Backfill policies are still marked as beta.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dg.BetaWarning)
        return landed.with_attributes(backfill_policy=dg.BackfillPolicy.single_run())


def loaded_assets(source: Source, settings: Settings) -> dg.AssetsDefinition:
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
    @dg.multi_asset(name=_name(source), specs=specs, retry_policy=_LOAD_RETRIES, pool=source.key)
    def loaded(
        context: dg.AssetExecutionContext, storage: IngestResource
    ) -> Iterator[dg.MaterializeResult[None]]:
        landing, record = storage.landing(), storage.record()
        with _dagster_failures():
            documents, documents_new = land_sample(landing, Path(storage.documents), source)
            entries = load_source(record, landing, source)
        for table in source.tables:
            counts = {"documents": documents, "documents_new": documents_new}
            counts |= load_metadata(record, source, table, entries)
            yield dg.MaterializeResult(asset_key=table_key(source, table), metadata=counts)

    return loaded


def _window(context: dg.AssetExecutionContext) -> Window:
    """Translate the partitions of a run into a window."""
    if not context.has_partition_key and not context.has_partition_key_range:
        return Window()
    if isinstance(context.assets_def.partitions_def, dg.TimeWindowPartitionsDefinition):
        span = context.partition_time_window
        # Dagster's windows end before their last day, ours with it.
        return Window(span.start.date(), span.end.date() - timedelta(days=1))
    return Window(batches=frozenset(context.partition_keys))


@contextmanager
def _dagster_failures() -> Iterator[None]:
    """Turn our errors into Dagster failures; allow retries only where they may help."""
    try:
        yield
    except SankofaError as error:
        retryable = isinstance(error, WriteConflict) or bool(getattr(error, "retryable", False))
        raise dg.Failure(str(error), allow_retries=retryable) from error


def _tags(source: Source) -> dict[str, str]:
    return {"sankofa/source": source.key, "sankofa/license_class": source.license_class}


def _name(source: Source) -> str:
    return source.key.replace("-", "_")
