"""Which landed documents of a source are to be read, and which failed.

What counts is what happened to a document last. If the current version of the parser read it, it
is read. If the current version failed on it, it is failed: it stays unread and is tried again, but
nothing waits for it. In all other cases it is unread. An attempt of another version that failed
before anything was appended changes nothing.

Every document must have been read after each document observed before it. So when one turns up
late, or is read at last, those observed after it are read again. That follows from the ledger
alone: a load that was killed in between is completed by the next one.
"""

import io
import math
from collections.abc import Iterable, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from itertools import accumulate, groupby
from typing import NamedTuple
from zipfile import BadZipFile

from assets.parser_versions import effective_version
from assets.parsing.unpacking import TruncatedBody, gunzip_chunks, open_zip
from assets.source import Source
from warehouse.record.documents import EarlierReadings, Removal
from warehouse.record.erase import enter_removals
from warehouse.record.landing import Document, Landing
from warehouse.record.ledger import Reading, readings
from warehouse.record.quarantine import last_failures
from warehouse.record.store import Record
from warehouse.shared.errors import LandingError
from warehouse.tables.operations import FailureEntry

# Whether a document is an archive that unpacks to more than its own size suggests.

_GZIP, _ZIP = b"\x1f\x8b", b"PK\x03\x04"
_CHUNK = 1 << 14
# A zip of more members is large, whatever they are.
_MANY_MEMBERS = 10_000


def unpacks_to_more(landing: Landing, document: Document, most: int) -> bool:
    """Return whether a document is a zip or gzip of more than ``most`` bytes.

    No more than that is unpacked to find out. A damaged one is left to whoever reads it.
    """
    with suppress(LandingError, TruncatedBody, BadZipFile):
        start = landing.beginning(document, 4)
        if start.startswith(_GZIP):
            with landing.open(document) as body:
                chunks = gunzip_chunks(iter(lambda: body.read(_CHUNK), b""))
                return any(total > most for total in accumulate(map(len, chunks)))
        if start.startswith(_ZIP):
            with open_zip(io.BytesIO(landing.read(document))) as archive:
                sizes = [member.file_size for member in archive.infolist()]
            return sum(sizes) > most or len(sizes) > _MANY_MEMBERS
    return False


@dataclass(frozen=True)
class ReadState:
    """What the record says of the documents of a source, for one version of its parser.

    ``failures`` are those that count: of documents that were not read since. ``reread`` are
    documents to read again whatever the ledger says.
    """

    version: str
    readings: Mapping[str, Reading]
    failures: Mapping[str, FailureEntry]
    reread: Set[str] = frozenset()

    def reading(self, key: str) -> Reading | None:
        """Return the readings of a document by this version; None if it is unread."""
        reading = self.readings.get(key)
        if reading is None or reading.parser_version != self.version:
            return None
        return None if key in self.failures or key in self.reread else reading

    def is_failed(self, key: str) -> bool:
        """Return whether this version failed on a document."""
        failure = None if key in self.reread else self.failures.get(key)
        return failure is not None and failure.parser_version == self.version

    def is_reread(self, key: str) -> bool:
        """Return whether other code has read a document, or a part of it, before."""
        before = (self.readings.get(key), self.failures.get(key))
        other = any(event and event.parser_version != self.version for event in before)
        return other or (key in self.reread and key in self.readings)

    def with_reread(self, keys: Set[str]) -> "ReadState":
        """Return the state in which these documents are to be read again as well."""
        return replace(self, reread=self.reread | keys)


def read_state(record: Record, source: Source) -> ReadState:
    """Return what the record says of the documents of a source."""
    # The last table is appended last: a document that is in its ledger is in those of all.
    read = readings(record, source.key, source.tables[-1])
    version = effective_version(source.parser)
    failures = {
        key: failure
        for key, failure in last_failures(record, source.key).items()
        if (failure.parser_version == version or failure.appended)
        and (key not in read or read[key].read_at < failure.failed_at)
    }
    return ReadState(version, read, failures)


def with_earlier_readings(landed: Sequence[Document]) -> list[Document]:
    """Return documents, in the order of observation, with the days of the readings before each."""
    of_address: dict[str, date] = {}
    first = last = before = None
    noted: list[Document] = []
    for observed_at, documents in groupby(landed, key=lambda document: document.observed_at):
        day, at_once = observed_at.date(), list(documents)
        before = last if last != day else before
        noted += [
            replace(each, earlier=EarlierReadings(of_address.get(each.url), before, first))
            for each in at_once
        ]
        of_address |= {document.url: day for document in at_once}
        first, last = first or day, day
    return noted


def documents_to_read(landed: Sequence[Document], state: ReadState) -> list[Document]:
    """Return the unread documents, and those read before one that was observed earlier.

    ``landed`` is in the order of observation, and so is what is returned. Failed documents are
    left out.
    """
    chosen: list[Document] = []
    # The last load in which a document observed earlier was read for the first time.
    newest: float = -1
    for _, documents in groupby(landed, key=lambda document: document.observed_at):
        newest_now = newest
        for document in documents:
            if state.is_failed(document.key):
                continue
            reading = state.reading(document.key)
            if reading is None or reading.last < newest:
                chosen.append(document)
            newest_now = max(newest_now, math.inf if reading is None else reading.first)
        newest = newest_now
    return chosen


# Remove the bodies of old documents that were read; their notes and their rows stay.
#
# What cannot be done without a body is not done, and each says so: a newer version of a parser, or
# ``quarantine retry``, does not read such a document again, and its rows stay as they were read.


class RemovedBodies(NamedTuple):
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
            stored = [each for each in landing.documents(source.key) if each.removal is None]
            before = removal.removed_at - timedelta(days=days)
            old = [document for document in stored if document.observed_at < before]
            # Those that the current version has read, if it has read all but those it failed on.
            complete: set[str] = set()
            state = read_state(record, source) if old else None
            if state is not None and not documents_to_read(stored, state):
                complete = {each.key for each in stored if state.reading(each.key) is not None}
            read |= {document.key: document for document in old if document.key in complete}
            unread += sum(document.key not in complete for document in old)
        chosen = landing.bodies_of_none_but(read.keys())
        removed = [document for document in read.values() if document.sha256 in chosen]
        enter_removals(record, removed, removal)
        return RemovedBodies(landing.remove_bodies(chosen, removal), unread, days)
