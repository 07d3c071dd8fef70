"""From landed documents to the record: read, append, and report the counts.

Documents are parsed, checked and hashed in ``reading.py``, in other processes (``workers.py``);
only this one compares with the record and appends.

A document that exceeds a limit, or ends its reader twice, is quarantined as a whole and counts as
read: another version of its parser, or ``sankofa quarantine retry``, reads it again.

Documents are read in the order in which they were observed. When one turns up late, everything
observed after it is read again, which appends nothing unless the late one made a difference.
Which documents those are is decided in ``unread.py``.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from assets.ingest.failures import ParserFailed, Raised, describe_failures, failure_of, log_failure
from assets.ingest.reading import Job, Outcome, Reader, ReadTable
from assets.ingest.unread import (
    ReadState,
    documents_to_read,
    read_state,
    unpacks_to_more,
    with_earlier_readings,
)
from assets.ingest.workers import WorkerPool, readers
from assets.parsing.limits import DocumentLimits
from assets.parsing.parsed import InPieces
from assets.source import Source
from warehouse.record.append import Load, append
from warehouse.record.incoming import RejectedRow
from warehouse.record.landing import Document, Landing
from warehouse.record.ledger import loaded_documents, write_missing_entries
from warehouse.record.merge import CompleteScope, Rereading
from warehouse.record.quarantine import add_failures
from warehouse.record.store import Record
from warehouse.record.upkeep import compact_after_appends
from warehouse.tables.operations import FailureEntry, LoadEntry

# Documents per append: each append is one Delta commit, which costs more than parsing a page.
BATCH = 64
# Bytes per append: the rows of a batch are in memory together. A longer document is one by itself.
BATCH_BYTES = 16 << 20
# Bodies that are larger, or unpack to more, are streamed, if their source can.
LARGE = 8 << 20
# Trying a failed document again must stay cheap while its bug is not fixed: each load tries until
# this many have failed, those first that were tried longest ago, and large ones once a day.
MOST_FAILED_AGAIN = 64
# Loads that wait to be entered in the ledger. What a killed process did not enter, the next load
# finds in the commits, and documents of which nothing was new are read again.
MOST_NOT_ENTERED = 64
_LARGE_AGAIN_AFTER = timedelta(days=1)

Progress = Callable[[int, int], None]


def load_source(
    record: Record,
    landing: Landing,
    source: Source,
    progress: Progress | None = None,
    reread: frozenset[str] = frozenset(),
    processes: int = 1,
    limits: DocumentLimits | None = None,
    refused: set[str] | None = None,
) -> list[LoadEntry]:
    """Load the documents of a source that this version of its parser has not read yet.

    ``reread`` are the keys of documents to read again; ``refused`` collects all refusals.
    With several ``processes`` documents are read in so many, if they are long enough to be worth
    it: the record is the same. Each document is read within ``limits``.

    A document at which the parser raises is recorded as failed and the others go on; at the end,
    ParserFailed names all that are unread because of that.
    """
    landed = with_earlier_readings(landing.documents(source.key))
    if not landed:
        return []
    write_missing_entries(record, source.tables)
    state, limits = read_state(record, source).with_reread(reread), limits or DocumentLimits()
    refused = set() if refused is None else refused
    loading = _Loading(record, landing, source, state, landed, refused, limits)
    readable = loading.try_failed_again()
    # Rows read from a removed body stay as they are.
    stored = [document for document in landed if document.removal is None]
    pending = documents_to_read(stored, state.with_reread(readable))
    entries: list[LoadEntry] = []
    done = 0
    try:
        with readers(loading.reader, pending, processes) as pool:
            for job, outcome in pool.run(loading.jobs(pending, pool)):
                entries += loading.load(job, outcome, pool)
                if job.is_last:
                    done += len(job.documents)
                    if progress is not None:
                        progress(done, len(pending))
    finally:
        loading.enter()
    if loading.failed:
        failures = list(loading.failed.values())
        raise ParserFailed(describe_failures(source.key, failures), entries, failures)
    return entries


def has_unread(record: Record, landing: Landing, source: Source) -> bool:
    """Return whether a landed document is unread, other than by a failure of the parser."""
    landed = landing.readable_keys(source.key)
    if not landed:
        return False
    state = read_state(record, source)
    return any(state.reading(key) is None and not state.is_failed(key) for key in landed)


def lost_documents(record: Record, landing: Landing, source: Source) -> set[str]:
    """Return the documents whose bodies were removed and that this record has never read."""
    removed = landing.keys(source.key) - landing.readable_keys(source.key)
    return removed - loaded_documents(record, source.key) if removed else removed


def failed_documents(record: Record, landing: Landing, source: Source) -> list[FailureEntry]:
    """Return the last failure of each landed document on which the current parser failed."""
    state, landed = read_state(record, source), landing.keys(source.key)
    return [
        failure for key, failure in state.failures.items() if key in landed and state.is_failed(key)
    ]


@dataclass
class _Streaming:
    """A large document on its way: its load, what is read again, and the counts so far.

    ``is_over``: the parser raised at a part of it, or it exceeded a limit, and nothing more of it
    is appended.
    """

    load: Load
    rereading: Rereading | None
    appended: int = 0
    size: int = 0
    rejected: int = 0
    is_over: bool = False


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
        limits: DocumentLimits,
    ) -> None:
        self._refused, self._limits = refused, limits
        self._record, self._landing, self._source, self._state = record, landing, source, state
        self.reader = Reader(landing, replace(source.parser, bind_key=None), source.tables, limits)
        self._is_logged = False
        self._large: dict[str, bool] = {}
        self._unwritten: list[FailureEntry] = []
        self._not_entered: list[LoadEntry] = []
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
            with readers(self.reader, [document], 1) as pool:
                check = Job("check", (document,), self._is_large(document))
                ((_, outcome),) = pool.run(iter([check]))
            outcome = _require(outcome)
            for _, raised in outcome.failed:
                self._fail(document, raised)
                failed_again += 1
            # One that exceeds a limit is read once more, to be quarantined.
            if not outcome.failed:
                readable.add(document.key)
                del self.failed[document.key]
        self._write_failures()
        return readable

    def jobs(self, pending: list[Document], pool: WorkerPool) -> Iterator[Job]:
        """Yield what is to be read, in order: batches of documents, and large ones in pieces."""
        for batch in self._batches(pending):
            if not self._is_large(batch[0]):
                yield Job("documents", tuple(batch))
            elif pool.is_parallel and isinstance(self._source.parser.stream, InPieces):
                yield from self._pieces(batch[0], pool)
            else:
                yield Job("stream", (batch[0],))

    def _pieces(self, document: Document, pool: WorkerPool) -> Iterator[Job]:
        streaming = self._stream_of(document)
        for piece in pool.pieces(document):
            if isinstance(piece, Outcome):
                # How cutting ended waits for its turn, after what is still to be appended.
                yield Job("end", (document,), piece)
            elif streaming.is_over:
                yield Job("end", (document,), Outcome())
                return
            else:
                yield Job("piece", (document,), piece, piece.stat().st_size)

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

    def load(self, job: Job, outcome: Outcome | None, pool: WorkerPool) -> list[LoadEntry]:
        """Append what was read; documents that failed are left out."""
        try:
            if job.kind == "documents":
                return self._load_documents(job, _require(outcome), pool)
            (document,) = job.documents
            streaming = self._stream_of(document)
            if job.kind == "stream":
                return self._load_stream(document, streaming, pool)
            if job.kind == "piece":
                streaming.size += job.size
                return self._load_part(document, streaming, _require(outcome))
            return self._end_stream(document, streaming, _require(job.piece))
        finally:
            self._write_failures()

    def _new_load(self, documents: Iterable[str]) -> Load:
        return Load(
            self._source.key,
            tuple(documents),
            quarantine_ids=self._refused,
            parser_version=self._state.version,
        )

    def _load_documents(self, job: Job, outcome: Outcome, pool: WorkerPool) -> list[LoadEntry]:
        if outcome.is_too_much:
            alone = [replace(job, documents=(document,)) for document in job.documents]
            return [
                entry
                for one, read in pool.run(iter(alone))
                for entry in self._load_documents(one, _require(read), pool)
            ]
        for key, raised in outcome.failed:
            self._fail(self._landed[key], raised)
        if not outcome.read and not outcome.exceeded:
            return []
        first = job.documents[0]
        complete = self._complete_address(first) if self._may_withdraw(first) else None
        exceeded = [key for key, _ in outcome.exceeded]
        load = self._new_load([*outcome.read, *exceeded])
        tables = self._with_exceeded(outcome.tables, outcome.exceeded)
        # What an earlier version read of a document that cannot be read now stays.
        return self._append(tables, load, self._rereading(outcome.read), complete)

    def _with_exceeded(
        self, tables: list[ReadTable], exceeded: Iterable[tuple[str, str]]
    ) -> list[ReadTable]:
        """Add a rejection of each whole document that exceeded a limit to those of a load."""
        first, *others = tables or self.reader.nothing()
        documents = [(self._landed[key], reason) for key, reason in exceeded]
        rejected = [
            RejectedRow(document.sha256, document.url, reason) for document, reason in documents
        ]
        return [replace(first, rejected=[*first.rejected, *rejected]), *others]

    def _stream_of(self, document: Document) -> _Streaming:
        """Return the state of a large document that is loaded part by part.

        Its last append marks it as read. A load that dies or fails half-way is repeated: its
        parts are appended without the document key, and once more they are found to be stored.
        """
        if document.key not in self._streaming:
            load = self._new_load([document.key])
            self._streaming[document.key] = _Streaming(load, self._rereading([document.key]))
        return self._streaming[document.key]

    def _load_stream(
        self, document: Document, streaming: _Streaming, pool: WorkerPool
    ) -> list[LoadEntry]:
        """Read a large document part by part, and append each."""
        entries: list[LoadEntry] = []
        streaming.size = document.size
        for outcome in pool.parts(document):
            if not outcome.tables:
                return entries + self._end_stream(document, streaming, _require(outcome))
            entries += self._load_part(document, streaming, outcome)
            if streaming.is_over:
                break
        return entries

    def _load_part(
        self, document: Document, streaming: _Streaming, outcome: Outcome
    ) -> list[LoadEntry]:
        if streaming.is_over:
            return []
        if outcome.failed or outcome.exceeded:
            return self._end_stream(document, streaming, outcome)
        # Rows that fail a rule count as well: the budget of a parser knows only its own.
        streaming.rejected += sum(
            len(table.rejected) + len(table.prepared.rejected) for table in outcome.tables
        )
        if streaming.rejected > self._limits.most_rejections(streaming.size):
            reason = self._limits.too_many_rejections(streaming.rejected, streaming.size)
            exceeded = Outcome(exceeded=[(document.key, reason)])
            return self._end_stream(document, streaming, exceeded)
        if streaming.rereading is not None:
            streaming.rereading.finished = False
        load = replace(streaming.load, documents=())
        entries = self._append(outcome.tables, load, streaming.rereading)
        streaming.appended += sum(entry.appended for entry in entries)
        return entries

    def _end_stream(
        self, document: Document, streaming: _Streaming, outcome: Outcome
    ) -> list[LoadEntry]:
        """Mark a large document as read, as failed, or as one that exceeded a limit.

        In the last case what came before is kept, and nothing that was read earlier is retracted.
        """
        if streaming.is_over:
            return []
        streaming.is_over = True
        for _, raised in outcome.failed:
            self._fail(document, raised, streaming.appended)
            return []
        if outcome.exceeded:
            return self._append(self._with_exceeded([], outcome.exceeded), streaming.load, None)
        if streaming.rereading is not None:
            streaming.rereading.finished = True
        return self._append(self.reader.nothing(), streaming.load, streaming.rereading)

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
        entries = [
            append(
                self._record,
                table,
                read.prepared,
                load,
                rejected=read.rejected,
                complete=complete,
                reread=rereading,
                enter=False,
            )
            for table, read in zip(self._source.tables, rows, strict=True)
        ]
        self._not_entered += entries
        if len(self._not_entered) >= MOST_NOT_ENTERED:
            self.enter()
        return entries

    def enter(self) -> None:
        """Write what was loaded to the ledger, in one commit; merge files if there are many."""
        entries, self._not_entered = self._not_entered, []
        if entries:
            write_missing_entries(self._record, self._source.tables, entries)
            written = (table.name for table in self._source.tables)
            compact_after_appends(self._record, [*written, "loads", "quarantine"])

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
        """Return whether a document is read part by part: by its size when unpacked."""
        if self._source.parser.stream is None:
            return False
        if document.key not in self._large:
            self._large[document.key] = document.size > LARGE or unpacks_to_more(
                self._landing, document, LARGE
            )
        return self._large[document.key]

    def _may_withdraw(self, document: Document) -> bool:
        return self._source.complete and document.observed_at > self._first_read[document.url]

    def _complete_address(self, document: Document) -> CompleteScope | None:
        """Return the scope of which a document shows all.

        None after a failed document of the same URL: what that one showed is not known yet, and
        this one will be read again after it. None if this one is read again after one whose body
        was removed: what this version would have read there, and this one shows no more, is not
        known, and rows that an earlier version read differently are not withdrawn for it.
        """
        unknown = [self._landed[key] for key in self.failed]
        if self._state.is_reread(document.key):
            unknown += [other for other in self._landed.values() if other.removal is not None]
        for other in unknown:
            if other.url == document.url and other.observed_at < document.observed_at:
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
