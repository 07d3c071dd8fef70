"""Remove the bodies of old documents that were read; their notes and their rows stay.

What cannot be done without a body is not done, and each says so: a newer version of a parser, or
``quarantine retry``, does not read such a document again, and its rows stay as they were read.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from assets.ingest.unread import documents_to_read, read_state
from assets.source import Source
from warehouse.record.documents import Document, Removal
from warehouse.record.erase import enter_removals
from warehouse.record.landing import Landing
from warehouse.record.store import Record


@dataclass(frozen=True)
class RemovedBodies:
    """How many bodies were removed, and how many old documents wait to be read first."""

    bodies: int
    unread: int
    days: int

    @property
    def words(self) -> str:
        """What was done, in one line; empty if nothing was."""
        done = [f"{self.bodies:,} bodies removed after {self.days:,} days"] if self.bodies else []
        if self.unread:
            done.append(f"{self.unread:,} older documents stay until they are read")
        return "; ".join(done)


def remove_old_bodies(
    record: Record,
    landing: Landing,
    sources: Iterable[Source],
    days: int,
    now: datetime | None = None,
) -> RemovedBodies:
    """Remove the bodies of all documents that are older than ``days`` and completely read.

    A body that was read several times counts by its last reading. Of a source that has documents
    to read, all bodies stay: those observed later may have to be read again after them.
    """
    removal = Removal(now or datetime.now(UTC), days)
    read: dict[str, Document] = {}
    unread = 0
    with record.upkeep():
        for source in sources:
            old = _older(landing, source, removal.removed_at - timedelta(days=days))
            complete = _completely_read(record, landing, source) if old else set()
            read |= {document.key: document for document in old if document.key in complete}
            unread += sum(document.key not in complete for document in old)
        chosen = landing.bodies_of_none_but(read.keys())
        removed = [document for document in read.values() if document.sha256 in chosen]
        enter_removals(record, removed, removal)
        return RemovedBodies(landing.remove_bodies(chosen, removal), unread, days)


def _older(landing: Landing, source: Source, moment: datetime) -> list[Document]:
    return [
        document
        for document in landing.documents(source.key)
        if document.removal is None and document.observed_at < moment
    ]


def _completely_read(record: Record, landing: Landing, source: Source) -> set[str]:
    """Return the keys of the documents that the current version has read, if it has read all.

    Documents on which it failed are left out: they are tried again.
    """
    state = read_state(record, source)
    landed = [document for document in landing.documents(source.key) if document.removal is None]
    if documents_to_read(landed, state):
        return set()
    return {document.key for document in landed if state.reading(document.key) is not None}
