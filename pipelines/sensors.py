"""A sensor that loads a source as soon as there is something new of it."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg

from assets.ingest.assets import table_key
from assets.ingest.load import has_unread
from assets.ingest.resources import IngestResource
from assets.ingest.sources import SOURCES
from assets.source import Source


def new_documents(ingest: Any, storage: IngestResource) -> dg.SensorDefinition:
    """Return a sensor for new files in the documents folder and for unread landed documents."""
    description = "Load a source as soon as it has a new file or a newly landed document."

    @dg.sensor(job=ingest, minimum_interval_seconds=60, description=description)
    def new_files(context: dg.SensorEvaluationContext) -> Iterator[dg.RunRequest | dg.SkipReason]:
        """Ask for a load of each source that has something new since the last look."""
        seen = json.loads(context.cursor or "{}")
        marks = {source.key: _mark(storage, source) for source in SOURCES if source.permitted}
        context.update_cursor(json.dumps(marks))
        quiet = True
        for source in SOURCES:
            if not source.permitted or not _is_new(storage, source, seen, marks):
                continue
            quiet = False
            tables = [table_key(source, table) for table in source.tables]
            yield dg.RunRequest(run_key=f"{source.key}:{marks[source.key]}", asset_selection=tables)
        if quiet:
            yield dg.SkipReason("no new file")

    return new_files


def _is_new(
    storage: IngestResource, source: Source, seen: dict[str, list[int]], marks: dict[str, list[int]]
) -> bool:
    """Say whether a file came, or something that was landed and is not read."""
    landed, *files = marks[source.key]
    seen_landed, *seen_files = seen.get(source.key, [0, 0, 0])
    if files != seen_files:
        return True
    return landed != seen_landed and has_unread(storage.record(), storage.landing(), source)


def _mark(storage: IngestResource, source: Source) -> list[int]:
    """Count what is landed of a source and what lies in its folder, with its newest moment."""
    folder = Path(storage.documents, source.key)
    changed = [path.stat().st_mtime_ns for path in folder.glob("*/**/*") if path.is_file()]
    return [len(storage.landing().keys(source.key)), len(changed), max(changed, default=0)]
