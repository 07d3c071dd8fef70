"""From landed documents to the record: parse, append, and report the counts.

Documents are read in the order in which they were observed. When one turns up late, everything
observed after it is read again, which appends nothing unless the late one made a difference.
Which documents those are is decided in ``unread.py``.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

import pyarrow as pa

from assets.ingest.failures import (
    ParserFailed,
    describe_failures,
    failure_of,
    log_failure,
    settle_old_failures,
)
from assets.ingest.unread import ReadState, documents_to_read, read_state
from assets.parsing.parsed import Parsed, to_table
from assets.source import Source, Stream
from warehouse.errors import LandingError
from warehouse.record.append import Load, append
from warehouse.record.failures import add_failures
from warehouse.record.incoming import RejectedRow
from warehouse.record.landing import Document, Landing
from warehouse.record.merge import CompleteScope
from warehouse.record.retractions import Rereading
from warehouse.record.store import Record
from warehouse.record.tables import RecordTable
from warehouse.tables import FailureEntry, LoadEntry

# Documents per append: each append is one Delta commit, which costs more than parsing a page.
BATCH = 64
# Bytes per append: the rows of a batch are in memory together. A longer document is one by itself.
BATCH_BYTES = 32 << 20
# Larger bodies are streamed, if their source can.
LARGE = 16 << 20
# Trying a failed document again must stay cheap while its bug is not fixed: each load tries until
# this many have failed, those first that were tried longest ago, and large ones once a day.
MOST_FAILED_AGAIN = 64
_LARGE_AGAIN_AFTER = timedelta(days=1)

Progress = Callable[[int, int], None]
TypedRows = list[tuple[RecordTable, pa.Table, list[RejectedRow]]]


@dataclass(frozen=True)
class Reread:
    """Keys of documents to read again; ``refused`` collects all refusals of that reading."""

    documents: frozenset[str] = frozenset()
    refused: set[str] = field(default_factory=set)


def load_source(
    record: Record,
    landing: Landing,
    source: Source,
    progress: Progress | None = None,
    reread: Reread | None = None,
) -> list[LoadEntry]:
    """Load the documents of a source that this version of its parser has not read yet.

    A document at which the parser raises is recorded as failed and the others go on; at the end,
    ParserFailed names all that are unread because of that.
    """
    landed = landing.documents(source.key)
    if not landed:
        return []
    reread = reread or Reread()
    state = read_state(record, source).with_reread(reread.documents)
    loading = _Loading(record, landing, source, state, landed)
    readable = loading.try_failed_again()
    pending = documents_to_read(landed, state.with_reread(readable))
    entries: list[LoadEntry] = []
    done = 0
    for batch in loading.batches(pending):
        entries += loading.load(batch, reread.refused)
        done += len(batch)
        if progress is not None:
            progress(done, len(pending))
    if entries:
        settle_old_failures(record, source, entries)
    if loading.failed:
        failures = list(loading.failed.values())
        raise ParserFailed(describe_failures(source.key, failures), entries, failures)
    return entries


def has_unread(record: Record, landing: Landing, source: Source) -> bool:
    """Return whether a landed document is unread, other than by a failure of the parser."""
    landed = landing.keys(source.key)
    if not landed:
        return False
    state = read_state(record, source)
    return any(state.reading(key) is None and not state.is_failed(key) for key in landed)


def failed_documents(record: Record, landing: Landing, source: Source) -> list[FailureEntry]:
    """Return the last failure of each landed document on which the current parser failed."""
    state, landed = read_state(record, source), landing.keys(source.key)
    return [
        failure for key, failure in state.failures.items() if key in landed and state.is_failed(key)
    ]


class _Loading:
    """One load of a source; ``failed`` has the last failure of each document it leaves unread."""

    def __init__(
        self,
        record: Record,
        landing: Landing,
        source: Source,
        state: ReadState,
        landed: list[Document],
    ) -> None:
        self._record, self._landing, self._source, self._state = record, landing, source, state
        self._is_logged = False
        self._unwritten: list[FailureEntry] = []
        self._landed = {document.key: document for document in landed}
        # Reversed, so that the first document of a URL wins.
        self._first_read = {document.url: document.observed_at for document in reversed(landed)}
        self.failed: dict[str, FailureEntry] = {
            document.key: state.failures[document.key]
            for document in landed
            if state.is_failed(document.key)
        }

    def try_failed_again(self) -> set[str]:
        """Parse failed documents again, to no effect; return the keys of those that succeed.

        If they were simply read again, everything observed after them would be, too, each time.
        """
        readable: set[str] = set()
        failed_again = 0
        for failure in sorted(self.failed.values(), key=lambda failure: failure.failed_at):
            document = self._landed[failure.document]
            recent = datetime.now(UTC) - failure.failed_at < _LARGE_AGAIN_AFTER
            if failed_again == MOST_FAILED_AGAIN or (self._stream(document) and recent):
                continue
            try:
                for part in self._parts(document):
                    self._typed([part])
            except LandingError:
                raise
            except Exception as error:
                self._fail(document, error)
                failed_again += 1
            else:
                readable.add(document.key)
                del self.failed[document.key]
        self._write_failures()
        return readable

    def batches(self, pending: list[Document]) -> Iterator[list[Document]]:
        """Group documents; one that is large or may withdraw something gets its own batch."""
        batch: list[Document] = []
        size = 0
        for document in pending:
            own_batch = self._stream(document) is not None or self._may_withdraw(document)
            full = len(batch) == BATCH or size + document.size > BATCH_BYTES
            if batch and (own_batch or full):
                yield batch
                batch, size = [], 0
            batch.append(document)
            size += document.size
            if own_batch:
                yield batch
                batch, size = [], 0
        if batch:
            yield batch

    def load(self, batch: list[Document], refused: set[str]) -> list[LoadEntry]:
        """Read a batch and append it; documents that fail are left out."""
        try:
            return self._load(batch, refused)
        finally:
            self._write_failures()

    def _load(self, batch: list[Document], refused: set[str]) -> list[LoadEntry]:
        load = Load(
            self._source.key,
            tuple(document.key for document in batch),
            quarantine_ids=refused,
            parser_version=self._state.version,
        )
        if self._stream(batch[0]) is not None:
            return self._load_stream(batch[0], load)
        read = {document.key: parsed for document in batch for parsed in self._parsed(document)}
        rows = self._typed_batch(read)
        if not read:
            return []
        complete = self._complete_address(batch[0]) if self._may_withdraw(batch[0]) else None
        load = replace(load, documents=tuple(read))
        return self._append(rows, load, self._rereading(read), complete)

    def _load_stream(self, document: Document, load: Load) -> list[LoadEntry]:
        """Load a large document part by part; the last append marks it as read.

        A load that dies or fails half-way is repeated: its parts are appended without the document
        key, and once more they are found to be stored.
        """
        partial_load = replace(load, documents=())
        entries: list[LoadEntry] = []
        rereading = self._rereading([document.key])
        parts = self._parts(document)
        while True:
            try:
                part = next(parts, None)
                rows = self._typed([] if part is None else [part])
            except LandingError:
                raise
            except Exception as error:
                self._fail(document, error, sum(entry.appended for entry in entries))
                return entries
            if rereading is not None:
                rereading.finished = part is None
            if part is None:
                return entries + self._append(rows, load, rereading)
            entries += self._append(rows, partial_load, rereading)

    def _parsed(self, document: Document) -> list[Parsed]:
        """Return what the parser reads in a document; nothing if it raises."""
        body = self._landing.read(document)
        try:
            return [self._source.parser.parse(document, body)]
        except Exception as error:
            self._fail(document, error)
            return []

    def _parts(self, document: Document) -> Iterator[Parsed]:
        """Yield a document as it is read: a large one part by part."""
        stream = self._stream(document)
        if stream is None:
            yield self._source.parser.parse(document, self._landing.read(document))
            return
        with self._landing.open(document) as body:
            yield from stream(document, body)

    def _typed(self, parsed: list[Parsed]) -> TypedRows:
        return [(table, *to_table(table, parsed)) for table in self._source.tables]

    def _typed_batch(self, read: dict[str, Parsed]) -> TypedRows:
        """Return the rows of a batch; a document whose rows are none fails and is taken out."""
        try:
            return self._typed(list(read.values()))
        except Exception:
            for key, parsed in list(read.items()):
                try:
                    self._typed([parsed])
                except Exception as error:
                    self._fail(self._landed[key], error)
                    del read[key]
            return self._typed(list(read.values()))

    def _append(
        self,
        rows: TypedRows,
        load: Load,
        rereading: Rereading | None,
        complete: CompleteScope | None = None,
    ) -> list[LoadEntry]:
        """Append to every table; if anything was unreadable, nothing is withdrawn."""
        # What is unreadable may be the very release that seems to be missing.
        if any(not row.partial for _, _, rejected in rows for row in rejected):
            complete = None
        return [
            append(
                self._record,
                table,
                accepted,
                load,
                rejected=rejected,
                complete=complete,
                reread=rereading,
            )
            for table, accepted, rejected in rows
        ]

    def _rereading(self, keys: Iterable[str]) -> Rereading | None:
        """Return what other code has read before; None if that is none of the documents."""
        reread = [self._landed[key] for key in keys if self._state.is_reread(key)]
        return Rereading(reread) if reread else None

    def _fail(self, document: Document, error: Exception, appended: int = 0) -> None:
        failure = failure_of(self._source, document, self._state.version, error, appended)
        if not self._is_logged:
            log_failure(self._source, failure, error)
            self._is_logged = True
        self._unwritten.append(failure)
        self.failed[document.key] = failure

    def _write_failures(self) -> None:
        """Record the failures of a batch, in one commit."""
        failures, self._unwritten = self._unwritten, []
        add_failures(self._record, failures)

    def _stream(self, document: Document) -> Stream | None:
        """Return the function that reads a document part by part; None if it is read whole."""
        return self._source.parser.stream if document.size > LARGE else None

    def _may_withdraw(self, document: Document) -> bool:
        return self._source.complete and document.observed_at > self._first_read[document.url]

    def _complete_address(self, document: Document) -> CompleteScope | None:
        """Return the scope of which a document shows all.

        None after a failed document of the same URL: what that one showed is not known yet, and
        this one will be read again after it.
        """
        for key in self.failed:
            failed = self._landed[key]
            if failed.url == document.url and failed.observed_at < document.observed_at:
                return None
        return CompleteScope(
            {"source": self._source.key},
            document.observed_at,
            document.sha256,
            document.url,
            address=document.url,
        )
