"""What Dagster runs to bring documents into the record, and to keep the record in order.

A source is fetched by the clock, everything else is made when it can be: a source that is late is
loaded when it comes, and published then. The conditions are evaluated by two sensors, so that
fetching, which sends requests to others, is turned on by itself.

Apart from ``definitions.py``, because importing what publishes takes longer than many an ingest.
"""

import json
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any

import dagster as dg

from assets.ingest.assets import ALIVE, landed_key, source_assets, table_key
from assets.ingest.load import has_unread
from assets.ingest.sources import sources_of
from assets.ingest.unread import remove_old_bodies
from assets.parser_versions import effective_version
from assets.source import Source
from pipelines.dagster_home import COMPACT, INGEST, alive_folder
from warehouse.record.landing import open_landing
from warehouse.record.store import open_record
from warehouse.record.upkeep import keep_up
from warehouse.shared.locks import alive_file
from warehouse.shared.settings import Settings

# How far back partitions are fetched again every night: as long as a source still edits what it
# published, and over the end of a month. A window counts if it lies in this span as a whole.
_LOOK_BACK: dict[type, timedelta] = {
    dg.DailyPartitionsDefinition: timedelta(days=31),
    dg.MonthlyPartitionsDefinition: timedelta(days=62),
}
FETCH_SENSOR, FETCH_CRON = "fetch_every_night", "0 3 * * *"
_AT_THREE: dg.AutomationCondition[Any] = dg.AutomationCondition.cron_tick_passed(FETCH_CRON)
_NIGHTLY = _AT_THREE.since_last_handled()
# Not `eager`, which waits until every upstream partition was fetched once.
WHEN_INPUTS_CHANGE = (
    (
        dg.AutomationCondition.any_deps_updated()
        | dg.AutomationCondition.any_deps_match(dg.AutomationCondition.will_be_requested())
    ).since_last_handled()
    & ~dg.AutomationCondition.any_deps_in_progress()
    & ~dg.AutomationCondition.in_progress()
)
COMPACTED = "compacted_record"


def ingest_definitions(settings: Settings, *, retries: bool = True) -> dg.Definitions:
    """Return the definitions that fetch and load sources, and that keep the record in order."""
    sources = sources_of(settings)
    assets = source_assets(sources, settings, retries=retries)
    landed_keys = {landed_key(source) for source in sources}
    landed = [
        asset.with_attributes(automation_condition=_nightly(asset.partitions_def))
        for asset in assets
        if not landed_keys.isdisjoint(asset.keys)
    ]
    loaded = [
        asset.with_attributes(automation_condition=WHEN_INPUTS_CHANGE)
        for asset in assets
        if landed_keys.isdisjoint(asset.keys)
    ]
    ingest = dg.define_asset_job(
        INGEST,
        dg.AssetSelection.assets(*loaded),
        description="Load the landed documents of every source into the record.",
    )
    compacted = _compacted_record(settings)
    compact = dg.define_asset_job(
        COMPACT,
        dg.AssetSelection.assets(compacted),
        description="Merge small files of the record and delete old ones.",
    )
    return dg.Definitions(
        assets=[*landed, *loaded, compacted],
        jobs=[ingest, *map(_fetch_job, landed), compact],
        sensors=[
            _new_documents(settings, ingest, sources),
            *_automation_sensors(settings, dg.AssetSelection.assets(*landed)),
        ],
        schedules=[
            dg.ScheduleDefinition(
                job=compact,
                cron_schedule="30 6 * * *",
                # It sends nothing to anybody, and every load pays for the files of those before it.
                default_status=dg.DefaultScheduleStatus.RUNNING,
                description="Merge small files of the record every night, after loading and "
                "publishing.",
            )
        ],
        executor=dg.in_process_executor,
        resources={ALIVE: alive_resource(settings)},
    )


def alive_resource(settings: Settings) -> dg.ResourceDefinition:
    """Return the resource that shows, while the steps of a run are executed, that it is alive."""

    @dg.resource(description="Shows that the process of a run is alive, by a locked file.")
    def alive(context: dg.InitResourceContext) -> Iterator[None]:
        assert context.run is not None
        with alive_file(alive_folder(settings) / context.run.run_id):
            yield

    return alive


def fetch_job(landed: dg.AssetKey) -> str:
    """Return the name of the job that fetches a source by itself: a failure stops no other."""
    return f"fetch_{landed.to_user_string()}"


def _fetch_job(landed: dg.AssetsDefinition) -> Any:
    return dg.define_asset_job(
        fetch_job(landed.key),
        dg.AssetSelection.assets(landed),
        description=f"Fetch. {landed.descriptions_by_key[landed.key]}",
    )


def _compacted_record(settings: Settings) -> dg.AssetsDefinition:
    """Return the asset; the record makes a second run wait, of this machine or another."""

    @dg.asset(
        name=COMPACTED,
        group_name="record",
        description="The files of the record, merged where there are many small ones; those that "
        "it no longer consists of are deleted, and bodies of documents that are kept no longer.",
        kinds={"parquet"},
        required_resource_keys={ALIVE},
    )
    def compacted_record() -> dg.MaterializeResult[None]:
        record = open_record(settings)
        done = dict(keep_up(record, settings.vacuum_hours))
        if settings.landing_days is not None:
            sources, days = sources_of(settings), settings.landing_days
            done["landing"] = remove_old_bodies(record, open_landing(settings), sources, days).words
        return dg.MaterializeResult(metadata={name: words for name, words in done.items() if words})

    return compacted_record


def _nightly(partitions: dg.PartitionsDefinition[str] | None) -> dg.AutomationCondition[Any]:
    """Return when a source is fetched: at 3:00, with the partitions that it may have changed."""
    look_back = _LOOK_BACK.get(type(partitions))
    if look_back is None:
        return _NIGHTLY
    return _NIGHTLY & dg.AutomationCondition.in_latest_time_window(look_back)


def _automation_sensors(
    settings: Settings, fetched: dg.AssetSelection
) -> list[dg.AutomationConditionSensorDefinition]:
    """Return what evaluates the conditions: of fetching with a contact, of the rest always."""
    return [
        dg.AutomationConditionSensorDefinition(
            FETCH_SENSOR,
            target=fetched,
            description="Fetch every source at 3:00, with what it may have changed. On by itself "
            "if SANKOFA_CONTACT is set.",
            default_status=_status(bool(settings.contact)),
        ),
        dg.AutomationConditionSensorDefinition(
            "load_and_publish",
            target=dg.AssetSelection.all() - fetched,
            description="Load what was fetched and publish what was loaded, once it is there.",
            default_status=_status(True),
        ),
    ]


def _status(running: bool) -> dg.DefaultSensorStatus:
    return dg.DefaultSensorStatus.RUNNING if running else dg.DefaultSensorStatus.STOPPED


def _new_documents(
    settings: Settings, ingest: Any, sources: Sequence[Source]
) -> dg.SensorDefinition:
    """Return a sensor for landed documents that are unread."""
    description = "Load a source as soon as it has an unread document."
    permitted = [source for source in sources if source.permitted]

    @dg.sensor(job=ingest, minimum_interval_seconds=60, description=description)
    def new_files(context: dg.SensorEvaluationContext) -> Iterator[dg.RunRequest | dg.SkipReason]:
        """Request a load of every source with new documents since the last evaluation."""
        landing, previous = open_landing(settings), json.loads(context.cursor or "{}")
        # The number of landed documents, and the version of the parser.
        current = {
            source.key: [len(landing.keys(source.key)), effective_version(source.parser)]
            for source in permitted
        }
        context.update_cursor(json.dumps(current))
        # Reading the ledger is expensive: only of sources of which one of the two changed.
        unread = [
            source
            for source in permitted
            if current[source.key] != previous.get(source.key)
            and has_unread(open_record(settings), landing, source)
        ]
        for source in unread:
            tables = [table_key(source, table) for table in source.tables]
            yield dg.RunRequest(
                run_key=f"{source.key}:{current[source.key]}", asset_selection=tables
            )
        if not unread:
            yield dg.SkipReason("no new document")

    return new_files
