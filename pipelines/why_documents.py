"""Documents and quarantined rows that belong to a question of ``sankofa why``."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from assets.ingest.failures import in_words
from assets.ingest.quarantine import excerpt
from warehouse.record.landing import Document, Landing
from warehouse.record.ledger import loaded_documents
from warehouse.record.quarantine import quarantined_rows
from warehouse.record.store import Record, sql_text
from warehouse.record.tables import RecordTable
from warehouse.tables import FailureEntry

_UNREAD = "landed and not read yet; run `sankofa ingest`"
_CHUNK = 1 << 20
# The newest of the quarantined rows whose text is read: each costs a look into its document.
_MOST_LOOKED_INTO = 500


@dataclass(frozen=True)
class Mention:
    """A document that mentions the subject, and what became of it."""

    document: str
    source: str
    url: str | None
    observed_at: datetime | None
    state: str
    rows: int = 0


@dataclass(frozen=True)
class QuarantinedRows:
    """Rows that were read at the place of the subject and not accepted."""

    table: str
    reason: str
    rows: int
    example: str


def quarantined_at(
    record: Record, text: str, stored: Sequence[Mapping[str, Any]]
) -> Iterator[QuarantinedRows]:
    """Yield what was quarantined where the subject stands, or because of it, by reason."""
    places = sorted({row["source_ref"] for row in stored})
    # A row of the same release or the same observation has its location, or one below it.
    at = " OR ".join(
        f"source_ref = {sql_text(place)} OR starts_with(source_ref, {sql_text(f'{place}/')})"
        for place in places[:500]
    )
    named = f"contains(source_ref, {sql_text(text)}) OR contains(reason, {sql_text(text)})"
    groups = record.query(f"""
        SELECT table_name, reason, count(*) AS rows, min(quarantine_id) AS example
        FROM {record.relation("quarantine")} WHERE {named} {f"OR {at}" if at else ""}
        GROUP BY ALL ORDER BY rows DESC, table_name, reason
    """)
    for group in groups.to_pylist():
        yield QuarantinedRows(
            group["table_name"], group["reason"], group["rows"], group["example"][:12]
        )


def quarantined_in_period(
    record: Record, landing: Landing, table: RecordTable, condition: str, period: str
) -> list[QuarantinedRows]:
    """Return what was quarantined in the documents of a series where a period stands, by reason.

    A quarantined row has a location and no period: the text at its location tells.
    """
    places = record.query(
        f"SELECT DISTINCT source, split_part(source_ref, '#', 1) AS address "
        f"FROM {record.relation(table.name)} WHERE {condition}"
    ).to_pylist()
    addresses = {place["address"] for place in places}
    refusals = [
        row
        for source in sorted({place["source"] for place in places})
        for row in quarantined_rows(record, source)
        if row.table_name == table.name and row.source_ref.partition("#")[0] in addresses
    ][-_MOST_LOOKED_INTO:]
    landed = landing.find(sha256=tuple({row.document for row in refusals})) if refusals else []
    documents = {document.sha256: document for document in landed}
    by_reason: dict[str, list[str]] = {}
    for row in refusals:
        document = documents.get(row.document)
        if document is not None and period in (excerpt(landing, document, row) or ""):
            by_reason.setdefault(row.reason, []).append(row.quarantine_id)
    return [
        QuarantinedRows(table.name, reason, len(ids), min(ids)[:12])
        for reason, ids in by_reason.items()
    ]


def unread_documents(record: Record, landing: Landing, sources: Iterable[str]) -> Iterator[Mention]:
    """Yield the documents of sources that were landed and not read."""
    for source in sorted(sources):
        unread = landing.readable_keys(source) - loaded_documents(record, source)
        if unread:
            failed = _failed(record, source)
            for document in landing.documents(source):
                if document.key in unread:
                    yield mention_of(document, failed.get(document.key, _UNREAD))


def _failed(record: Record, source: str) -> dict[str, str]:
    """Return for each document at which a parser raised what it raised last."""
    rows = record.query(
        f"SELECT * FROM {record.relation('failures')} WHERE source = {sql_text(source)} "
        "ORDER BY failed_at"
    ).to_pylist()
    failures = (FailureEntry.model_validate(row) for row in rows)
    return {failure.document: f"the parser failed: {in_words(failure)}" for failure in failures}


def mention_of(document: Document, state: str) -> Mention:
    """Return a landed document with what became of it."""
    return Mention(document.sha256, document.source, document.url, document.observed_at, state)


def fate_of(record: Record, document: Document) -> str:
    """Say whether a landed document was read, and if a parser failed on it, how."""
    if document.key in loaded_documents(record, document.source):
        return read_state_of(document)
    return _failed(record, document.source).get(document.key, _UNREAD)


def read_state_of(document: Document) -> str:
    """Say that a landed document was read, and whether it can be read again."""
    return "read" if document.removal is None else f"read; {document.removal.words}"


def body_contains(landing: Landing, document: Document, wanted: bytes) -> bool:
    """Return whether a body of any size contains some bytes."""
    before = b""
    with landing.open(document) as body:
        while chunk := body.read(_CHUNK):
            if wanted in before + chunk:
                return True
            before = chunk[-len(wanted) :]
    return False
