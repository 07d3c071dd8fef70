"""Read documents up to what the record takes: parsed, typed, checked and hashed.

Nothing here looks at the record, so it can be done in any process and in any order. What is new
is decided by the one process that appends (``load.py``).
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import duckdb
import pyarrow as pa

from assets.ingest.failures import Raised
from assets.parsing.limits import Budget, DocumentLimits, LimitExceeded, spending
from assets.parsing.parsed import InPieces, Parsed, to_table
from assets.source import Parser
from warehouse.names.redaction import sealed_rows
from warehouse.record.append import prepare
from warehouse.record.incoming import CheckedRows, RejectedRow
from warehouse.record.landing import Document, Landing
from warehouse.record.tables import TENDER_RELEASES, RecordTable
from warehouse.shared.errors import LandingError

Typed = list[tuple[RecordTable, pa.Table, list[RejectedRow]]]
# Is told the number of each document of a job when it is begun; None once all have been parsed.
Begin = Callable[[int | None], None]

_OUT_OF_MEMORY = (MemoryError, duckdb.OutOfMemoryException)


@dataclass(frozen=True)
class Job:
    """What is read at once.

    ``documents``: all that one load appends. ``piece``: a part of one large document. ``end``: a
    document of which every piece has been read; ``piece`` then says how cutting it ended.
    ``stream``: a large document that is read part by part, ``cut``: one that is cut into pieces.
    ``check``: a document that is only parsed, to see whether that fails; ``piece`` then says
    whether it is a large one. ``size`` is that of a piece.
    """

    kind: Literal["documents", "piece", "end", "stream", "cut", "check"]
    documents: tuple[Document, ...]
    piece: Any = None
    size: int = 0

    @property
    def is_reading(self) -> bool:
        """Whether there is something to read that any process can read."""
        return self.kind in ("documents", "piece", "check")

    @property
    def is_last(self) -> bool:
        """Whether nothing more is read of its documents."""
        return self.kind != "piece"


@dataclass(frozen=True)
class ReadTable:
    """The rows of a job for one table, and what the parser could not read."""

    prepared: CheckedRows
    rejected: list[RejectedRow]


@dataclass(frozen=True)
class Outcome:
    """How a job ended: documents that were read, their rows, and documents that failed.

    ``exceeded``: documents that exceeded a limit, with the reason. ``is_too_much``: together they
    did, and each is to be read by itself. ``error``: what ends the whole load, such as a damaged
    body.
    """

    read: tuple[str, ...] = ()
    tables: list[ReadTable] = field(default_factory=list)
    failed: list[tuple[str, Raised]] = field(default_factory=list)
    exceeded: list[tuple[str, str]] = field(default_factory=list)
    is_too_much: bool = False
    error: Exception | None = None


@dataclass(frozen=True)
class Reader:
    """Reads documents of one source."""

    landing: Landing
    parser: Parser
    tables: tuple[RecordTable, ...]
    limits: DocumentLimits
    # Is told how many bytes a document unpacks to.
    unpacking: Callable[[int], None] | None = None

    def run(self, job: Job, begin: Begin = lambda _: None) -> Outcome:
        """Do a job. What a parser raises is a failure of its document, not of the job."""
        try:
            if job.kind == "piece":
                return self._read_piece(job, begin)
            if job.kind == "check":
                return self._check(job, begin)
            return self._read_documents(job.documents, begin)
        except Exception as error:
            return Outcome(error=error)

    def nothing(self) -> list[ReadTable]:
        """Return no rows for each table."""
        return self._prepared(self._typed([]))

    def parts(self, document: Document) -> Iterator[Outcome]:
        """Yield a large document part by part; the last outcome says how it ended."""
        try:
            for part in self._stream(document):
                yield Outcome(tables=self._prepared(self._typed([part])))
        except Exception as error:
            yield self._ended(document, error)
        else:
            yield Outcome((document.key,))

    def pieces(self, document: Document) -> Iterator[Any]:
        """Yield the pieces of a large document; an Outcome as the last says how it ended."""
        assert isinstance(self.parser.stream, InPieces)
        try:
            with (
                spending(Budget(self.limits, document.size, is_stream=True)),
                self.landing.open(document) as body,
            ):
                yield from self.parser.stream.cut(body)
        except Exception as error:
            yield self._ended(document, error)
        else:
            yield Outcome((document.key,))

    def _stream(self, document: Document) -> Iterator[Parsed]:
        assert self.parser.stream is not None
        budget = Budget(self.limits, document.size, is_stream=True)
        with spending(budget), self.landing.open(document) as body:
            yield from self.parser.stream(document, body)

    def _ended(self, document: Document, error: Exception) -> Outcome:
        """Return how reading a document ended that raised an exception."""
        if isinstance(error, LandingError):
            return Outcome(error=error)
        if isinstance(error, LimitExceeded):
            reason = str(error)
        elif isinstance(error, _OUT_OF_MEMORY):
            reason = self.limits.out_of_memory(document.size)
        elif isinstance(error, RecursionError):
            reason = "limit of depth exceeded: it is nested more deeply than can be read"
        else:
            return Outcome(failed=[(document.key, Raised.of(error))])
        return Outcome(exceeded=[(document.key, reason)])

    def _typed(self, parsed: Sequence[Parsed]) -> Typed:
        """Return the rows and rejections for each table; names that are withheld are sealed."""
        return [
            (table, sealed_rows(rows, self.parser.secret), rejected)
            for table in self.tables
            for rows, rejected in (to_table(table, parsed),)
        ]

    def _prepared(self, typed: Typed) -> list[ReadTable]:
        """Check and hash the rows for each table."""
        return [ReadTable(prepare(table, rows), rejected) for table, rows, rejected in typed]

    def _read_documents(self, documents: Sequence[Document], begin: Begin) -> Outcome:
        read: dict[str, Parsed] = {}
        failed: list[tuple[str, Raised]] = []
        exceeded: list[tuple[str, str]] = []
        for number, document in enumerate(documents):
            begin(number)
            try:
                read[document.key] = self._parse(document)
            except Exception as error:
                ended = self._ended(document, error)
                if ended.error is not None:
                    return ended
                failed += ended.failed
                exceeded += ended.exceeded
        begin(None)
        try:
            typed = self._typed_documents(read, failed)
            tables = self._prepared(typed) if read else []
            too_many = self._too_many_rejections(documents, tables)
            if too_many is not None:
                raise LimitExceeded(too_many)
        except (*_OUT_OF_MEMORY, LimitExceeded) as error:
            # Together they exceed a limit: each is to be read by itself.
            is_one = len(documents) == 1
            return self._ended(documents[0], error) if is_one else Outcome(is_too_much=True)
        return Outcome(tuple(read), tables, failed, exceeded)

    def _parse(self, document: Document) -> Parsed:
        budget = Budget(self.limits, document.size, unpacking=self.unpacking)
        budget.require_size(document.size)
        try:
            with spending(budget):
                parsed = self.parser.parse(document, self.landing.read(document))
                self._report_nothing(document, parsed)
                return parsed
        except _OUT_OF_MEMORY:
            raise LimitExceeded(self.limits.out_of_memory(budget.size)) from None

    def _report_nothing(self, document: Document, parsed: Parsed) -> None:
        """Reject a document that gives neither row nor rejection; a portal may have nothing new."""
        tables = (parsed.rows, parsed.typed, parsed.rejected)
        if TENDER_RELEASES not in self.tables and not any(map(any, map(dict.values, tables))):
            reason = "the document was read, but has no rows that are stored from this source"
            parsed.reject(self.tables[0], document, "", reason, partial=True)

    def _too_many_rejections(
        self, documents: Sequence[Document], tables: list[ReadTable]
    ) -> str | None:
        """Return the reason if too much of a document is rejected, by its parser or by rules."""
        counts = Counter(
            row.document
            for table in tables
            for rows in (table.rejected, table.prepared.rejected)
            for row in rows
        )
        sizes = {document.sha256: document.size for document in documents}
        for sha256, count in counts.items():
            size = sizes.get(sha256, 0)
            if count > self.limits.most_rejections(size):
                return self.limits.too_many_rejections(count, size)
        return None

    def _typed_documents(self, read: dict[str, Parsed], failed: list[tuple[str, Raised]]) -> Typed:
        """Return the rows of a batch; a document whose rows are none fails and is taken out."""
        try:
            return self._typed(list(read.values()))
        except _OUT_OF_MEMORY:
            raise
        except Exception:
            for key, parsed in list(read.items()):
                try:
                    self._typed([parsed])
                except Exception as error:
                    failed.append((key, Raised.of(error)))
                    del read[key]
            return self._typed(list(read.values()))

    def _read_piece(self, job: Job, begin: Begin) -> Outcome:
        (document,) = job.documents
        begin(0)
        try:
            with spending(Budget(self.limits, job.size, is_stream=True)):
                parsed = self.parser.stream.read(document, job.piece)  # type: ignore[union-attr]
            tables = self._prepared(self._typed([parsed]))
        except Exception as error:
            return self._ended(document, error)
        return Outcome((document.key,), tables)

    def _check(self, job: Job, begin: Begin) -> Outcome:
        (document,) = job.documents
        begin(0)
        try:
            if not job.piece:
                self._typed([self._parse(document)])
            else:
                for part in self._stream(document):
                    begin(0)
                    self._typed([part])
        except Exception as error:
            return self._ended(document, error)
        return Outcome((document.key,))
