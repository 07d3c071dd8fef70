"""``sankofa up``: from nothing to a published build, and the greeting once it is served."""

import json
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pipelines.sample_world import unpack_world
from warehouse.errors import DatastoreUnavailable
from warehouse.read.conditions import Condition
from warehouse.read.mart import Mart
from warehouse.read.rows import fetch_rows
from warehouse.record.landing import open_landing
from warehouse.settings import Settings

if TYPE_CHECKING:
    import dagster as dg

    from pipelines.progress_display import Step, Steps


@dataclass(frozen=True)
class ServerUrls:
    """URL of each server; None if it does not run."""

    rest: str
    mcp: str | None
    dagster: str | None
    metrics: str | None = None


def is_ready(settings: Settings) -> bool:
    """Return whether a build of the current schema and rules is published."""
    from assets.tenders.portal_files import portals_of
    from pipelines.derivations import checks, derivations
    from pipelines.verify.examine import missing_files
    from warehouse.mart.builds import builds_at
    from warehouse.mart.candidate import versions_of_rules
    from warehouse.mart.tables import MART_SCHEMA_VERSION
    from warehouse.record.store import open_record

    builds = builds_at(settings.marts)
    current = builds.current()
    if current is None or any(missing_files(settings.marts, settings.exports)):
        return False
    made_from = json.loads(builds.metadata(current).get("made_from", "{}"))
    derived = derivations(portals_of(settings.portal_files))
    rules = versions_of_rules(open_record(settings), checks(), derived)
    ours = MART_SCHEMA_VERSION, rules
    return (made_from.get("layout"), made_from.get("rules")) == ours


def prepare(settings: Settings, steps: "Steps") -> None:
    """Run the pipeline through Dagster and publish; on the sample world if nothing is there."""
    # An object store may be reached by others who are about to land something.
    needs_sample = "://" not in settings.landing and open_landing(settings).world() is None
    steps.total += 2 + needs_sample
    if needs_sample:
        with steps.step("Unpacking the sample world, which is fictional"):
            unpack_world(settings.sample)
    with steps.step("Loading documents") as step:
        _ingest(settings, step)
    with steps.step("Deriving, auditing and publishing") as step:
        _publish(settings, step)


def _ingest(settings: Settings, step: "Step") -> None:
    """Load what there is; a document that failed stops nothing."""
    from assets.ingest.assets import table_key
    from assets.ingest.failures import ParserFailed
    from assets.ingest.metadata import COUNT_NAMES, counts_in_words
    from assets.ingest.sources import sources_of
    from assets.ingest.workers import start_ahead
    from pipelines.ingest import has_documents
    from pipelines.jobs import INGEST

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
    step.note(f"{len(sources)} sources, {documents:,} documents")
    step.note(counts_in_words(counts))


def _publish(settings: Settings, step: "Step") -> None:
    from pipelines.jobs import PUBLISH
    from pipelines.stages import STAGES
    from warehouse.mart.builds import builds_at

    _run(settings, PUBLISH, step, len(STAGES))
    step.note(f"published as data_version {builds_at(settings.marts).current()}")


def _run(
    settings: Settings,
    job: str,
    step: "Step",
    total: int,
    assets: "Collection[dg.AssetKey]" = (),
) -> dict[str, dict[str, Any]]:
    """Run a job, show how many of its steps are done, and return the metadata of each asset."""
    from pipelines.jobs import open_runner

    with open_runner(settings) as runner:
        run, done = runner.start(job, assets=assets), 0
        for event in run:
            if event.is_step_success or event.is_step_failure:
                done += 1
                step.show(done, max(total, done))
        run.finish()
    return run.metadata


def greeting(settings: Settings, urls: ServerUrls) -> str:
    """Return the URLs of all servers, a working key and three commands to try."""
    from warehouse.control.keys import KeyStore, sandbox

    key = sandbox(KeyStore(settings.control))
    lines = {
        "Pages": f"{urls.rest}/",
        "REST": f"{urls.rest}/docs",
        "MCP": urls.mcp and f"{urls.mcp}/mcp",
        # Dagster's first page is a timeline, empty after a quiet night: its lineage never is.
        "Pipeline": urls.dagster and f"{urls.dagster}/asset-groups (Dagster, still starting)",
        "Runs": urls.dagster and f"{urls.dagster}/runs",
        "Metrics": urls.metrics and f"{urls.metrics}/metrics",
        "Logs": str(settings.logs),
        "Sandbox key": key,
    }
    ask = f"curl -s -H 'X-API-Key: {key}' '{urls.rest}/v1"
    questions = [("Status of the service", "/status")]
    # The service starts although its build is damaged, and says so.
    with suppress(DatastoreUnavailable):
        questions = first_questions(Mart(settings.marts))
    return "\n".join(
        (
            *(f"{name:12}  {url}" for name, url in lines.items() if url),
            "",
            *(f"{words}\n  {ask}{path}'" for words, path in questions),
            "",
            "Stop with Ctrl-C.",
        )
    )


def first_questions(mart: Mart) -> list[tuple[str, str]]:
    """Return three questions that this build can answer, each in words and as a path."""
    build = mart.build()
    where = [Condition("vintage = 1 AND latest = 0 AND available_at > ''")]
    restated = fetch_rows(build, "service_id, available_at", "fundamentals", where, limit=1)
    questions = [("Status of the service", "/status")]
    for service_id, day in restated:
        path = f"/fundamentals/{service_id}"
        questions = [
            (f"What was known of an issuer on {day}, before it restated", f"{path}?as_of={day}"),
            ("Every vintage of its figures", f"{path}?vintages=all"),
        ]
    latest = [Condition("latest = 1")]
    series = fetch_rows(build, "series, frequency", "macro_series", latest, limit=1)
    questions += [
        ("A macroeconomic series", f"/macro?series={name}&frequency={frequency}&limit=5")
        for name, frequency in series
    ]
    return questions
