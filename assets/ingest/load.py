"""From landed documents to the record: parse, append, and report the counts.

Documents are read in the order in which they were observed. When one turns up late, everything
observed after it is read again, which appends nothing unless the late one made a difference.
"""

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime

from assets.parsing.parsed import Parsed, to_table
from assets.source import Source, Stream
from warehouse.record.append import Load, append
from warehouse.record.landing import Document, Landing
from warehouse.record.ledger import loaded_documents
from warehouse.record.merge import CompleteScope
from warehouse.record.store import Record
from warehouse.tables import LoadEntry

# Documents per append: each append is one Delta commit, which costs more than parsing a page.
BATCH = 64
# Bytes per append: the rows of a batch are in memory together. A longer document is one by itself.
BATCH_BYTES = 32 << 20
# Larger bodies are streamed, if their source can.
LARGE = 16 << 20

_log = logging.getLogger(__name__)

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
) -> list[LoadEntry]:
    """Load the documents of a source that this version of the code has not read yet."""
    landed = landing.documents(source.key)
    if not landed:
        return []
    reread = reread or Reread()
    # The last table is appended last: a document that is in its ledger is in those of all.
    read_now, read_ever = loaded_documents(record, source.key, source.tables[-1])
    read_now -= reread.documents
    pending = _pending(landed, read_now)
    is_reread = not (read_ever - read_now).isdisjoint(document.key for document in pending)
    # Reversed, so that the first document of a URL wins.
    first_read = {document.url: document.observed_at for document in reversed(landed)}
    entries: list[LoadEntry] = []
    done = 0
    for batch in _batches(source, pending, first_read):
        load = Load(
            source.key, tuple(document.key for document in batch), quarantine_ids=reread.refused
        )
        stream = source.parser.stream
        if stream is not None and batch[0].size > LARGE:
            entries += _load_stream(record, landing, source, stream, batch[0], load)
        else:
            entries += _load(record, landing, source, batch, first_read, is_reread, load)
        done += len(batch)
        if progress is not None:
            progress(done, len(pending))
    return entries


def has_unread(record: Record, landing: Landing, source: Source) -> bool:
    """Return whether a landed document has not been read by this version of the code."""
    landed = landing.keys(source.key)
    return bool(landed) and bool(
        landed - loaded_documents(record, source.key, source.tables[-1])[0]
    )


def _pending(landed: list[Document], done: set[str]) -> list[Document]:
    """Return the unread documents, and all that were observed after the first of them."""
    unread = [document for document in landed if document.key not in done]
    if not unread:
        return []
    return [
        document
        for document in landed
        if document.key not in done or document.observed_at > unread[0].observed_at
    ]


def _batches(
    source: Source, pending: list[Document], first_read: dict[str, datetime]
) -> Iterator[list[Document]]:
    """Group documents; one that is large or may withdraw something gets its own batch."""
    batch: list[Document] = []
    size = 0
    for document in pending:
        large = source.parser.stream is not None and document.size > LARGE
        own_batch = large or _may_withdraw(source, document, first_read)
        if batch and (own_batch or len(batch) == BATCH or size + document.size > BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(document)
        size += document.size
        if own_batch:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _may_withdraw(source: Source, document: Document, first_read: dict[str, datetime]) -> bool:
    return source.complete and document.observed_at > first_read[document.url]


def _load(
    record: Record,
    landing: Landing,
    source: Source,
    batch: list[Document],
    first_read: dict[str, datetime],
    is_reread: bool,
    load: Load,
) -> list[LoadEntry]:
    parsed = [_parsed(landing, source, document) for document in batch]
    complete = None
    if _may_withdraw(source, batch[0], first_read):
        complete = _complete_address(source, batch[0])
    return _append(record, source, parsed, load, complete, is_reread)


def _load_stream(
    record: Record,
    landing: Landing,
    source: Source,
    stream: Stream,
    document: Document,
    load: Load,
) -> list[LoadEntry]:
    """Load a large document part by part; the last append marks it as read.

    A load that dies half-way is repeated: its parts are appended without the document key.
    """
    partial_load, entries = replace(load, documents=()), []
    with landing.open(document) as body:
        for part in stream(document, body):
            entries += _append(record, source, [part], partial_load)
    return entries + _append(record, source, [], load)


def _append(
    record: Record,
    source: Source,
    parsed: list[Parsed],
    load: Load,
    complete: CompleteScope | None = None,
    is_reread: bool = False,
) -> list[LoadEntry]:
    """Append to every table; if anything was unreadable, nothing is withdrawn."""
    tables = [(table, *to_table(table, parsed)) for table in source.tables]
    # What is unreadable may be the very release that seems to be missing.
    if any(rejected for _, _, rejected in tables):
        complete = None
    return [
        append(record, table, rows, load, rejected=rejected, complete=complete, reread=is_reread)
        for table, rows, rejected in tables
    ]


def _complete_address(source: Source, document: Document) -> CompleteScope:
    return CompleteScope(
        {"source": source.key},
        document.observed_at,
        document.sha256,
        document.url,
        address=document.url,
    )


def _parsed(landing: Landing, source: Source, document: Document) -> Parsed:
    body = landing.read(document)
    try:
        return source.parser.parse(document, body)
    except Exception as error:
        # A parser must not raise. If it does, quarantine its document and go on with the others.
        _log.exception("%s: the parser failed", document.url)
        parsed = Parsed()
        reason = f"the parser failed ({type(error).__name__}: {error}); report it"
        parsed.reject(source.tables[0], document, "", reason)
        return parsed
