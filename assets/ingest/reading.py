"""Read documents up to what the record takes: parsed, typed, checked and hashed.

Nothing here looks at the record, so it can be done in any process and in any order. What is new
is decided by the one process that appends (``load.py``).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import pyarrow as pa

from assets.ingest.failures import Raised
from assets.parsing.parsed import Parsed, to_table
from assets.source import Parser
from warehouse.errors import LandingError
from warehouse.record.append import PreparedRows, prepare
from warehouse.record.incoming import RejectedRow
from warehouse.record.landing import Document, Landing
from warehouse.record.tables import RecordTable

Typed = list[tuple[RecordTable, pa.Table, list[RejectedRow]]]
# Is told the number of each document of a job when it is begun; None once all have been parsed.
Begin = Callable[[int | None], None]


@dataclass(frozen=True)
class Job:
    """What is read at once.

    ``documents``: all that one load appends. ``piece``: a part of one large document. ``end``: a
    document of which every piece has been read. ``stream``: a large document that is not cut.
    ``check``: a document that is only parsed, to see whether that fails; ``piece`` then says
    whether it is a large one.
    """

    kind: Literal["documents", "piece", "end", "stream", "check"]
    documents: tuple[Document, ...]
    piece: Any = None

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

    prepared: PreparedRows
    rejected: list[RejectedRow]


@dataclass(frozen=True)
class Outcome:
    """How a job ended: documents that were read, their rows, and documents that failed.

    ``error``: what ends the whole load, such as a damaged body.
    """

    read: tuple[str, ...] = ()
    tables: list[ReadTable] = field(default_factory=list)
    failed: list[tuple[str, Raised]] = field(default_factory=list)
    error: Exception | None = None


def _ignore(_: int | None) -> None:
    return


@dataclass(frozen=True)
class Reader:
    """Reads documents of one source."""

    landing: Landing
    parser: Parser
    tables: tuple[RecordTable, ...]

    def run(self, job: Job, begin: Begin = _ignore) -> Outcome:
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
        return self.prepared(self.typed([]))

    def parts(self, document: Document) -> Iterator[Parsed]:
        """Yield a large document as it is read, part by part."""
        assert self.parser.stream is not None
        with self.landing.open(document) as body:
            yield from self.parser.stream(document, body)

    def typed(self, parsed: Sequence[Parsed]) -> Typed:
        """Return the rows and rejections for each table."""
        return [(table, *to_table(table, parsed)) for table in self.tables]

    def prepared(self, typed: Typed) -> list[ReadTable]:
        """Check and hash the rows for each table."""
        return [ReadTable(prepare(table, rows), rejected) for table, rows, rejected in typed]

    def _read_documents(self, documents: Sequence[Document], begin: Begin) -> Outcome:
        read: dict[str, Parsed] = {}
        failed: list[tuple[str, Raised]] = []
        for number, document in enumerate(documents):
            begin(number)
            body = self.landing.read(document)
            try:
                read[document.key] = self.parser.parse(document, body)
            except Exception as error:
                failed.append((document.key, Raised.of(error)))
        begin(None)
        typed = self._typed_documents(read, failed)
        return Outcome(tuple(read), self.prepared(typed) if read else [], failed)

    def _typed_documents(self, read: dict[str, Parsed], failed: list[tuple[str, Raised]]) -> Typed:
        """Return the rows of a batch; a document whose rows are none fails and is taken out."""
        try:
            return self.typed(list(read.values()))
        except Exception:
            for key, parsed in list(read.items()):
                try:
                    self.typed([parsed])
                except Exception as error:
                    failed.append((key, Raised.of(error)))
                    del read[key]
            return self.typed(list(read.values()))

    def _read_piece(self, job: Job, begin: Begin) -> Outcome:
        (document,) = job.documents
        begin(0)
        try:
            typed = self.typed([self.parser.stream.read(document, job.piece)])  # type: ignore[union-attr]
        except Exception as error:
            return Outcome(failed=[(document.key, Raised.of(error))])
        return Outcome((document.key,), self.prepared(typed))

    def _check(self, job: Job, begin: Begin) -> Outcome:
        (document,) = job.documents
        begin(0)
        try:
            if not job.piece:
                self.typed([self.parser.parse(document, self.landing.read(document))])
            else:
                for part in self.parts(document):
                    self.typed([part])
        except LandingError:
            raise
        except Exception as error:
            return Outcome(failed=[(document.key, Raised.of(error))])
        return Outcome((document.key,))
