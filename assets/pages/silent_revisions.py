"""What the page of silent revisions shows: how many there are of each source, and the newest."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from assets.pages.cards import OPEN
from warehouse.mart.served_rows import NAMED_ENTITIES
from warehouse.mart.snapshot import Snapshot

# Revisions of a source that the page shows; the file has all.
_NEWEST = 25
_SOURCES = f"""
SELECT source, dataset, count(*) AS revisions,
    count(*) FILTER (WHERE kind = 'edited') AS edited,
    count(*) FILTER (WHERE kind = 'overwritten') AS overwritten,
    count(*) FILTER (WHERE kind = 'removed') AS removed,
    count(*) FILTER (WHERE kind = 'restored') AS restored,
    max(after_first_seen_at) AS last_seen_at
FROM silent_revisions WHERE {OPEN} GROUP BY ALL ORDER BY revisions DESC, source, dataset"""
_ROWS = f"""
SELECT revisions.*, legal_name AS company
FROM silent_revisions AS revisions LEFT JOIN ({NAMED_ENTITIES}) USING (service_id)
WHERE {OPEN}
QUALIFY row_number() OVER (
    PARTITION BY source, dataset ORDER BY after_first_seen_at DESC, revision_id
) <= {_NEWEST}
ORDER BY after_first_seen_at DESC, revision_id"""


@dataclass(frozen=True)
class RevisedSource:
    """A source whose publisher changed something without saying so, and its newest revisions."""

    source: str
    dataset: str
    revisions: int
    edited: int
    overwritten: int
    removed: int
    restored: int
    last_seen_at: datetime
    newest: tuple[dict[str, Any], ...]


def read_silent_revisions(snapshot: Snapshot) -> tuple[RevisedSource, ...]:
    """Return the sources with open revisions, those with most of them first."""
    rows = snapshot.read(_ROWS).to_pylist()
    return tuple(
        RevisedSource(
            **counts,
            newest=tuple(
                row
                for row in rows
                if (row["source"], row["dataset"]) == (counts["source"], counts["dataset"])
            ),
        )
        for counts in snapshot.read(_SOURCES).to_pylist()
    )
