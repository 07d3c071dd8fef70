"""From landed documents to the record: read, append, and report the counts.

Documents are parsed, checked and hashed in ``reading.py``, in this process or in several
(``workers.py``); only this one compares with the record and appends.

Documents are read in the order in which they were observed. When one turns up late, everything
observed after it is read again, which appends nothing unless the late one made a difference.
Which documents those are is decided in ``unread.py``.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from assets.ingest.failures import (
    KILLED,
    ParserFailed,
    Raised,
    describe_failures,
    failure_of,
    log_failure,
    settle_old_failures,
)
from assets.ingest.reading import Job, Outcome, Reader, ReadTable
from assets.ingest.unread import ReadState, documents_to_read, read_state
from assets.ingest.workers import readers
from assets.parsing.pieces import InPieces
from assets.source import Source
from warehouse.errors import LandingError
from warehouse.record.append import Load, append_prepared
from warehouse.record.failures import add_failures
from warehouse.record.landing import Document, Landing
from warehouse.record.merge import CompleteScope
from warehouse.record.retractions import Rereading
from warehouse.record.store import Record
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
    processes: int = 1,
) -> list[LoadEntry]:
    """Load the documents of a source that this version of its parser has not read yet.

    With several ``processes`` documents are read in so many, if they are long enough to be worth
    it, and appended in this one: the record is the same.

    A document at which the parser raises is recorded as failed and the others go on; at the end,
    ParserFailed names all that are unread because of that.
    """
    landed = landing.documents(source.key)
    if not landed:
        return []
    reread = reread or Reread()
    state = read_state(record, source).with_reread(reread.documents)
    loading = _Loading(record, landing, source, state, landed, reread.refused)
    readable = loading.try_failed_again()
    pending = documents_to_read(landed, state.with_reread(readable))
    entries: list[LoadEntry] = []
    done = 0
    with readers(loading.reader, pending, processes) as pool:
        for job, outcome in pool.run(loading.jobs(pending)):
            entries += loading.load(job, outcome)
            if job.is_last:
                done += len(job.documents)
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


@dataclass
class _Streaming:
    """A large document on its way: its load, what is read again, and the entries so far.

    ``is_failed``: the parser raised at a part of it, and nothing more of it is appended.
    """

    load: Load
    rereading: Rereading | None
    appended: int = 0
    is_failed: bool = False


class _Loading:
    """One load of a source; ``failed`` has the last failure of each document it leaves unread."""

    def __init__(
        self,
        record: Record,
        landing: Landing,
        source: Source,
        state: ReadState,
        landed: list[Document],
        refused: set[str],
    ) -> None:
        self._refused = refused
        self._record, self._landing, self._source, self._state = record, landing, source, state
        self.reader = Reader(landing, replace(source.parser, bind_key=None), source.tables)
        self._is_logged = False
        self._unwritten: list[FailureEntry] = []
        self._streaming: dict[str, _Streaming] = {}
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
            if failed_again == MOST_FAILED_AGAIN or (self._is_large(document) and recent):
                continue
            # One at which a process died may end this one, too.
            with readers(self.reader, [document], 1, apart=failure.error == KILLED) as pool:
                ((_, outcome),) = pool.run(
                    iter([Job("check", (document,), self._is_large(document))])
                )
            outcome = _require(outcome)
            for _, raised in outcome.failed:
                self._fail(document, raised)
                failed_again += 1
            if not outcome.failed:
                readable.add(document.key)
                del self.failed[document.key]
        self._write_failures()
        return readable

    def jobs(self, pending: list[Document]) -> Iterator[Job]:
        """Yield what is to be read, in order: batches of documents, and large ones in pieces."""
        for batch in self._batches(pending):
            if not self._is_large(batch[0]):
                yield Job("documents", tuple(batch))
            elif isinstance(self._source.parser.stream, InPieces):
                yield from self._pieces(batch[0], self._source.parser.stream)
            else:
                yield Job("stream", (batch[0],))

    def _pieces(self, document: Document, stream: InPieces) -> Iterator[Job]:
        streaming = self._stream_of(document)
        raised: Exception | None = None
        try:
            with self._landing.open(document) as body:
                for piece in stream.cut(body):
                    if streaming.is_failed:
                        break
                    yield Job("piece", (document,), piece)
        except Exception as error:
            raised = error
        # Raised here it would come before what is still to be appended: it waits for its turn.
        yield Job("end", (document,), raised)

    def _batches(self, pending: list[Document]) -> Iterator[list[Document]]:
        """Group documents; one that is large or may withdraw something gets its own batch."""
        batch: list[Document] = []
        size = 0
        for document in pending:
            own_batch = self._is_large(document) or self._may_withdraw(document)
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

    def load(self, job: Job, outcome: Outcome | None) -> list[LoadEntry]:
        """Append what was read; documents that failed are left out."""
        try:
            if job.kind == "documents":
                return self._load_documents(job, _require(outcome))
            (document,) = job.documents
            streaming = self._stream_of(document)
            if job.kind == "stream":
                return self._load_stream(document, streaming)
            if job.kind == "piece":
                return self._load_piece(document, streaming, _require(outcome))
            return self._end_stream(document, streaming, job.piece)
        finally:
            self._write_failures()

    def _new_load(self, documents: Iterable[str]) -> Load:
        return Load(
            self._source.key,
            tuple(documents),
            quarantine_ids=self._refused,
            parser_version=self._state.version,
        )

    def _load_documents(self, job: Job, outcome: Outcome) -> list[LoadEntry]:
        for key, raised in outcome.failed:
            self._fail(self._landed[key], raised)
        if not outcome.read:
            return []
        first = job.documents[0]
        complete = self._complete_address(first) if self._may_withdraw(first) else None
        load = self._new_load(outcome.read)
        return self._append(outcome.tables, load, self._rereading(outcome.read), complete)

    def _stream_of(self, document: Document) -> _Streaming:
        """Return the state of a large document that is loaded part by part.

        Its last append marks it as read. A load that dies or fails half-way is repeated: its
        parts are appended without the document key, and once more they are found to be stored.
        """
        if document.key not in self._streaming:
            load = self._new_load([document.key])
            self._streaming[document.key] = _Streaming(load, self._rereading([document.key]))
        return self._streaming[document.key]

    def _load_piece(
        self, document: Document, streaming: _Streaming, outcome: Outcome
    ) -> list[LoadEntry]:
        if streaming.is_failed:
            return []
        for _, raised in outcome.failed:
            return self._fail_stream(document, streaming, raised)
        return self._append_part(streaming, outcome.tables)

    def _load_stream(self, document: Document, streaming: _Streaming) -> list[LoadEntry]:
        """Read a large document that is not cut into pieces, part by part, in this process."""
        entries: list[LoadEntry] = []
        parts = self.reader.parts(document)
        while True:
            try:
                part = next(parts, None)
                typed = self.reader.typed([] if part is None else [part])
            except LandingError:
                raise
            except Exception as error:
                return entries + self._fail_stream(document, streaming, Raised.of(error))
            if part is None:
                return entries + self._end_stream(document, streaming, None)
            entries += self._append_part(streaming, self.reader.prepared(typed))

    def _append_part(self, streaming: _Streaming, rows: list[ReadTable]) -> list[LoadEntry]:
        if streaming.rereading is not None:
            streaming.rereading.finished = False
        entries = self._append(rows, replace(streaming.load, documents=()), streaming.rereading)
        streaming.appended += sum(entry.appended for entry in entries)
        return entries

    def _end_stream(
        self, document: Document, streaming: _Streaming, raised: Exception | None
    ) -> list[LoadEntry]:
        if streaming.is_failed:
            return []
        if isinstance(raised, LandingError):
            raise raised
        if raised is not None:
            return self._fail_stream(document, streaming, Raised.of(raised))
        if streaming.rereading is not None:
            streaming.rereading.finished = True
        return self._append(self.reader.nothing(), streaming.load, streaming.rereading)

    def _fail_stream(
        self, document: Document, streaming: _Streaming, raised: Raised
    ) -> list[LoadEntry]:
        streaming.is_failed = True
        self._fail(document, raised, streaming.appended)
        return []

    def _append(
        self,
        rows: list[ReadTable],
        load: Load,
        rereading: Rereading | None,
        complete: CompleteScope | None = None,
    ) -> list[LoadEntry]:
        """Append to every table; if anything was unreadable, nothing is withdrawn."""
        # What is unreadable may be the very release that seems to be missing.
        if any(not row.partial for table in rows for row in table.rejected):
            complete = None
        return [
            append_prepared(
                self._record,
                table,
                read.prepared,
                load,
                rejected=read.rejected,
                complete=complete,
                reread=rereading,
            )
            for table, read in zip(self._source.tables, rows, strict=True)
        ]

    def _rereading(self, keys: Iterable[str]) -> Rereading | None:
        """Return what other code has read before; None if that is none of the documents."""
        reread = [self._landed[key] for key in keys if self._state.is_reread(key)]
        return Rereading(reread) if reread else None

    def _fail(self, document: Document, raised: Raised, appended: int = 0) -> None:
        failure = failure_of(self._source, document, self._state.version, raised, appended)
        if not self._is_logged:
            log_failure(self._source, failure, raised)
            self._is_logged = True
        self._unwritten.append(failure)
        self.failed[document.key] = failure

    def _write_failures(self) -> None:
        """Record the failures of a batch, in one commit."""
        failures, self._unwritten = self._unwritten, []
        add_failures(self._record, failures)

    def _is_large(self, document: Document) -> bool:
        """Return whether a document is read part by part."""
        return document.size > LARGE and self._source.parser.stream is not None

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


def _require(outcome: Outcome | None) -> Outcome:
    """Return an outcome; raise what ends the whole load."""
    if outcome is None:
        raise RuntimeError("a job that should have been read was not")
    if outcome.error is not None:
        raise outcome.error
    return outcome
