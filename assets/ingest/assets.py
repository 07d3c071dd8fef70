"""From a source to its Dagster assets: what it shows is landed, what is landed is loaded.

Landing is partitioned as the source can be asked, so that a past span can be fetched again;
loading is not: it reads whatever is landed and not read yet, once for all tables of a source.
"""

import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import dagster as dg

from assets.fetching.fetchers import Window
from assets.fetching.url_secrets import without_secrets
from assets.filings.fetch import BATCHES
from assets.ingest.land import fetch_folder, land_live
from assets.ingest.load import land_all, load_source
from assets.ingest.metadata import column_metadata, load_metadata
from assets.ingest.resources import IngestResource
from assets.source import Source, base_url_of
from warehouse.errors import SankofaError, WriteConflict
from warehouse.record.tables import RecordTable
from warehouse.settings import Settings

# Issuers come in batches with fixed names, each issuer always in the same one: a new issuer
# makes no batch stale, a backfill of all is the range from the first to the last, and nothing
# but the definitions has to know them, as it would have to if the instance kept a list.
_PARTITIONS: Mapping[str, dg.PartitionsDefinition[str]] = {
    "daily": dg.DailyPartitionsDefinition(start_date="2015-01-01", end_offset=1),
    "monthly": dg.MonthlyPartitionsDefinition(start_date="2015-01-01", end_offset=1),
    "by issuer": dg.StaticPartitionsDefinition(BATCHES),
}
_FETCH_AGAIN = dg.RetryPolicy(
    max_retries=3, delay=60, backoff=dg.Backoff.EXPONENTIAL, jitter=dg.Jitter.PLUS_MINUS
)
_LOAD_AGAIN = dg.RetryPolicy(max_retries=3, delay=5, backoff=dg.Backoff.EXPONENTIAL)
FRESHNESS_POLICY = dg.FreshnessPolicy.time_window(
    fail_window=timedelta(hours=48), warn_window=timedelta(hours=30)
)


def source_assets(sources: Iterable[Source], settings: Settings) -> list[dg.AssetsDefinition]:
    """Make the assets of sources; one whose licence does not permit serving has none."""
    permitted = [source for source in sources if source.permitted]
    landed = [landed_asset(source, settings) for source in permitted if source.fetch is not None]
    return [*landed, *(loaded_assets(source, settings) for source in permitted)]


def landed_key(source: Source) -> dg.AssetKey:
    """Name the asset of what is landed of a source."""
    return dg.AssetKey(f"{_name(source)}_landed")


def table_key(source: Source, table: RecordTable) -> dg.AssetKey:
    """Name the asset of one table of a source."""
    return dg.AssetKey(f"{_name(source)}_{table.name}")


def landed_asset(source: Source, settings: Settings) -> dg.AssetsDefinition:
    """Make the asset that fetches what a source shows; a range of partitions is one run."""

    @dg.asset(
        key=landed_key(source),
        group_name=source.subject,
        description=f"Documents of {source.title}, as they came.",
        partitions_def=_PARTITIONS.get(source.cadence or ""),
        retry_policy=_FETCH_AGAIN,
        freshness_policy=FRESHNESS_POLICY,
        pool=source.key,
        kinds={"http"},
        tags=_tags(source),
        metadata={
            "address": dg.MetadataValue.url(without_secrets(base_url_of(source, settings))),
            "licence": source.license_name,
        },
    )
    def landed(
        context: dg.AssetExecutionContext, storage: IngestResource
    ) -> dg.MaterializeResult[None]:
        with _failing_in_words():
            came, new = land_live(storage.landing(), source, _window(context), settings)
        return dg.MaterializeResult(
            metadata={
                "documents": came,
                "documents_new": new,
                "landing": dg.MetadataValue.path(f"{storage.landing_url}/documents/{source.key}"),
            }
        )

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dg.BetaWarning)
        return landed.with_attributes(backfill_policy=dg.BackfillPolicy.single_run())


def loaded_assets(source: Source, settings: Settings) -> dg.AssetsDefinition:
    """Make the assets that bring what is landed of a source into its tables."""
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

    @dg.multi_asset(name=_name(source), specs=specs, retry_policy=_LOAD_AGAIN, pool=source.key)
    def loaded(
        context: dg.AssetExecutionContext, storage: IngestResource
    ) -> Iterator[dg.MaterializeResult[None]]:
        landing, record = storage.landing(), storage.record()
        with _failing_in_words():
            files = fetch_folder(Path(storage.documents), storage.base_url, source)
            came, new = land_all(landing, files)
            entries = load_source(record, landing, source)
        for table in source.tables:
            counts = {"documents": came, "documents_new": new}
            counts |= load_metadata(record, source, table, entries)
            yield dg.MaterializeResult(asset_key=table_key(source, table), metadata=counts)

    return loaded


def _window(context: dg.AssetExecutionContext) -> Window:
    """Read from the partitions of a run what is to be asked for."""
    if not context.has_partition_key and not context.has_partition_key_range:
        return Window()
    if isinstance(context.assets_def.partitions_def, dg.TimeWindowPartitionsDefinition):
        span = context.partition_time_window
        return Window(span.start.date(), span.end.date() - timedelta(days=1))
    return Window(batches=frozenset(context.partition_keys))


@contextmanager
def _failing_in_words() -> Iterator[None]:
    """Let a failure say what happened; only what may pass is tried again."""
    try:
        yield
    except SankofaError as error:
        retryable = isinstance(error, WriteConflict) or bool(getattr(error, "retryable", False))
        raise dg.Failure(str(error), allow_retries=retryable) from error


def _tags(source: Source) -> dict[str, str]:
    return {"sankofa/source": source.key, "sankofa/license_class": source.license_class}


def _name(source: Source) -> str:
    return source.key.replace("-", "_")
