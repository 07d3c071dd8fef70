"""A sensor that loads a source as soon as it has new documents."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import dagster as dg

from assets.ingest.assets import table_key
from assets.ingest.load import has_unread
from assets.ingest.resources import IngestResource
from assets.parser_versions import effective_version
from assets.source import Source


def new_documents(
    ingest: Any, storage: IngestResource, sources: Sequence[Source]
) -> dg.SensorDefinition:
    """Return a sensor for new files in the documents folder and for unread landed documents."""
    description = "Load a source as soon as it has a new file or an unread document."

    @dg.sensor(job=ingest, minimum_interval_seconds=60, description=description)
    def new_files(context: dg.SensorEvaluationContext) -> Iterator[dg.RunRequest | dg.SkipReason]:
        """Request a load of every source with new documents since the last evaluation."""
        previous = json.loads(context.cursor or "{}")
        current = {
            source.key: _fingerprint(storage, source) for source in sources if source.permitted
        }
        context.update_cursor(json.dumps(current))
        nothing_new = True
        for source in sources:
            if not source.permitted or not _is_new(storage, source, previous, current):
                continue
            nothing_new = False
            tables = [table_key(source, table) for table in source.tables]
            yield dg.RunRequest(
                run_key=f"{source.key}:{current[source.key]}", asset_selection=tables
            )
        if nothing_new:
            yield dg.SkipReason("no new file")

    return new_files


def _is_new(
    storage: IngestResource,
    source: Source,
    previous: dict[str, list[int | str]],
    current: dict[str, list[int | str]],
) -> bool:
    """Return whether a source has a new file, or a landed document that is not loaded yet."""
    landed, version, *files = current[source.key]
    previous_landed, previous_version, *previous_files = previous.get(source.key, [0, "", 0, 0])
    if files != previous_files:
        return True
    # Reading the ledger is expensive: only if the number of landed documents or their parser
    # changed.
    changed = (landed, version) != (previous_landed, previous_version)
    return changed and has_unread(storage.record(), storage.landing(), source)


def _fingerprint(storage: IngestResource, source: Source) -> list[int | str]:
    """Return what a load depends on.

    The number of landed documents, the version of the parser, the number of files, and the newest
    time of a file.
    """
    landing = storage.landing()
    changed = []
    # A home of real documents does not read the folder of the sample world.
    if landing.world() != "real":
        folder = Path(storage.documents, source.key)
        changed = [path.stat().st_mtime_ns for path in folder.glob("*/**/*") if path.is_file()]
    version = effective_version(source.parser)
    return [len(landing.keys(source.key)), version, len(changed), max(changed, default=0)]
