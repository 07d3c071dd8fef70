"""``sankofa up``: from nothing to a published build, and the greeting once it is served."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from warehouse.read.conditions import Condition
from warehouse.read.mart import Mart
from warehouse.read.rows import fetch_rows
from warehouse.record.landing import open_landing
from warehouse.settings import Settings

Say = Callable[[str], object]


@dataclass(frozen=True)
class ServerUrls:
    """URL of each server; None if it does not run."""

    rest: str
    mcp: str | None
    dagster: str | None


def is_ready(settings: Settings) -> bool:
    """Return whether a build of the current schema and rules is published."""
    from assets.tenders.portal_files import portals_of
    from pipelines.derivations import checks, derivations
    from warehouse.mart.builds import builds_at
    from warehouse.mart.candidate import versions_of_rules
    from warehouse.mart.tables import MART_SCHEMA_VERSION
    from warehouse.record.store import open_record

    builds = builds_at(settings.marts)
    current = builds.current()
    if current is None:
        return False
    made_from = json.loads(builds.metadata(current).get("made_from", "{}"))
    derived = derivations(portals_of(settings.portal_files))
    rules = versions_of_rules(open_record(settings), checks(), derived)
    ours = MART_SCHEMA_VERSION, rules
    return (made_from.get("layout"), made_from.get("rules")) == ours


def prepare(settings: Settings, say: Say) -> None:
    """Run the pipeline through Dagster and publish; on the sample world if nothing is there."""
    from assets.ingest.metadata import COUNT_NAMES, counts_in_words
    from assets.sample.world import GENERATOR, SampleWorld, world_in, write_world
    from pipelines.jobs import PUBLISH, run_job
    from warehouse.mart.builds import builds_at

    # An object store may be reached by others who are about to land something.
    if "://" not in settings.landing and open_landing(settings).world() is None:
        written = world_in(settings.sample)
        if written is None or written.generator != GENERATOR:
            say("Writing sample data: fictional issuers, portals, series and registers")
            write_world(settings.sample, SampleWorld(datetime.now(UTC).date()))
    say("Running the pipeline through Dagster")
    for asset, metadata in _ingested(settings, say).items():
        counts = counts_in_words({name: metadata[name] for name in COUNT_NAMES})
        say(f"  {asset:34} {metadata['documents']:>4} documents; {counts}")
    metadata_by_asset = run_job(settings, PUBLISH)
    data_version = builds_at(settings.marts).current()
    if parties := metadata_by_asset.get("party_matches"):
        say(f"  {parties['resolved']:,} of {parties['parties']:,} tender parties resolved")
    say(f"Published as data_version {data_version}")


def _ingested(settings: Settings, say: Say) -> dict[str, dict[str, Any]]:
    """Ingest, and return the metadata of each asset; a document that failed stops nothing."""
    from assets.ingest.assets import table_key
    from assets.ingest.failures import ParserFailed
    from assets.ingest.sources import sources_of
    from pipelines.ingest import has_documents
    from pipelines.jobs import INGEST, run_job

    assets = [
        table_key(source, table)
        for source in sources_of(settings)
        if source.permitted and has_documents(settings, source)
        for table in source.tables
    ]
    try:
        return run_job(settings, INGEST, assets=assets)
    except ParserFailed as failed:
        say(str(failed))
        return {}


def greeting(settings: Settings, urls: ServerUrls) -> str:
    """Return the URLs of all servers, a working key and three commands to try."""
    from warehouse.keys.store import KeyStore, sandbox

    key = sandbox(KeyStore(settings.keys))
    lines = {
        "Pages": f"{urls.rest}/",
        "REST": f"{urls.rest}/docs",
        "MCP": urls.mcp and f"{urls.mcp}/mcp",
        "Runs": urls.dagster and f"{urls.dagster} (Dagster, a few seconds after the others)",
        "Sandbox key": key,
    }
    ask = f"curl -s -H 'X-API-Key: {key}' '{urls.rest}/v1"
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
