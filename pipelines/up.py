"""The first build of ``sankofa up``: load what there is, or else a world of the package."""

from collections.abc import Collection
from typing import Any

import dagster as dg

from assets.ingest.assets import COUNT_NAMES, counts_in_words, table_key
from assets.ingest.failures import ParserFailed
from assets.ingest.land import world_in
from assets.ingest.sources import sources_of
from assets.ingest.workers import start_ahead
from pipelines.dagster_home import INGEST, PUBLISH
from pipelines.ingest import has_documents
from pipelines.jobs import run_job
from pipelines.output import Step, Steps
from pipelines.sample_world import WORLDS, PackagedWorld, unpack_world
from pipelines.stages import STAGES
from warehouse.publish.builds import builds_at
from warehouse.record.landing import open_landing
from warehouse.shared.settings import Settings


def prepare(settings: Settings, steps: Steps, world: PackagedWorld | None = None) -> None:
    """Run the pipeline through Dagster and publish; on a world of the package if there is none."""
    # An object store may be reached by others who are about to land something.
    needs_world = "://" not in settings.landing and open_landing(settings).world() is None
    steps.total += 2 + needs_world
    if needs_world:
        with steps.step("Unpacking the documents of the package") as step:
            unpack_world(settings.sample, world)
            step.note(WORLDS[world_in(settings.sample)])
    with steps.step("Loading documents") as step:
        _ingest(settings, step)
    with steps.step("Deriving, auditing and publishing") as step:
        _publish(settings, step)


def _ingest(settings: Settings, step: Step) -> None:
    """Load what there is; a document that failed stops nothing."""
    # It imports what it needs while Dagster does.
    start_ahead()
    sources = [
        source
        for source in sources_of(settings)
        if source.permitted and has_documents(settings, source)
    ]
    assets = [table_key(source, table) for source in sources for table in source.tables]
    try:
        metadata = _run(settings, INGEST, step, len(sources), assets)
    except ParserFailed as failed:
        step.note(str(failed))
        return
    tables = list(metadata.values())
    counts = {name: sum(table[name] for table in tables) for name in COUNT_NAMES}
    # The tables of a source are loaded from the same documents.
    documents = sum(
        metadata[table_key(source, source.tables[0]).to_user_string()]["documents"]
        for source in sources
    )
    of = sources[0].key if len(sources) == 1 else f"{len(sources)} sources"
    step.note(f"{documents:,} documents of {of}")
    step.note(counts_in_words(counts))


def _publish(settings: Settings, step: Step) -> None:
    _run(settings, PUBLISH, step, len(STAGES))
    step.note(f"published as data_version {builds_at(settings.marts).current()}")


def _run(
    settings: Settings, job: str, step: Step, total: int, assets: Collection[dg.AssetKey] = ()
) -> dict[str, dict[str, Any]]:
    """Run a job, show how many of its steps are done, and return the metadata of each asset."""
    done = 0

    def show(*_: object) -> None:
        nonlocal done
        done += 1
        step.show(done, max(total, done))

    return run_job(settings, job, assets=assets, when_step_ends=show)
