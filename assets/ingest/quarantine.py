"""Quarantined records: show the excerpt of the document, and retry with the current code."""

import re
from collections.abc import Collection, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import msgspec

from assets.ingest.failures import ParserFailed
from assets.ingest.load import Progress, load_source
from assets.parsing.limits import DocumentLimits
from assets.source import Source, refuse_restricted
from warehouse.record.landing import Document, Landing
from warehouse.record.quarantine import QuarantinedRow, add_retries, quarantined_rows
from warehouse.record.store import Record
from warehouse.shared.code_version import release
from warehouse.tables.operations import RetryEntry, RetryOutcome

_LARGEST = 32 << 20
_EXCERPT = 600
_LINE = re.compile(r"line ([0-9]+)")
_decode = msgspec.json.Decoder(float_hook=Decimal).decode
_encode = msgspec.json.Encoder(decimal_format="number").encode


def document_of(landing: Landing, refusal: QuarantinedRow) -> Document | None:
    """Return the document of a refused record; None if it is not landed."""
    landed = landing.documents(refusal.source)
    same_body = [document for document in landed if document.sha256 == refusal.document]
    # One body may have been landed from several URLs: prefer the one that the refusal names.
    same_url = [document for document in same_body if refusal.source_ref.startswith(document.url)]
    return next(iter((*same_url, *same_body)), None)


def excerpt(landing: Landing, document: Document, refusal: QuarantinedRow) -> str | None:
    """Return the text at the location of a refused record.

    None if the body is large or binary, or was removed.
    """
    if document.size > _LARGEST or document.removal is not None:
        return None
    body = landing.read(document)
    # A zip or another binary file: there is nothing to show.
    if b"\0" in body[:_EXCERPT]:
        return None
    location = refusal.source_ref.removeprefix(document.url).removeprefix("#")
    text = _at(body.decode("utf-8", "replace"), location)
    return text if len(text) <= _EXCERPT else f"{text[:_EXCERPT]}…"


def retry(
    record: Record,
    landing: Landing,
    source: Source,
    chosen: Sequence[QuarantinedRow],
    progress: Progress | None = None,
    processes: int = 1,
    limits: DocumentLimits | None = None,
) -> list[RetryEntry]:
    """Read the documents of refusals again with the current code; return each outcome.

    Documents observed after them are read again too, as for one that turns up late. Nothing is
    deleted: what can be read now is appended, and so is the outcome of each retry.
    """
    refuse_restricted(source)
    bodies = {refusal.document for refusal in chosen}
    noted = [document for document in landing.documents(source.key) if document.sha256 in bodies]
    landed = [document for document in noted if document.removal is None]
    reread = frozenset(document.key for document in landed)
    refused, failed = set[str](), set[str]()
    if landed:
        try:
            load_source(record, landing, source, progress, reread, processes, limits, refused)
        except ParserFailed as failure:
            failed = {entry.document.partition("-")[0] for entry in failure.failures}
    refused_now = [
        refusal
        for refusal in quarantined_rows(record, source.key)
        if refusal.quarantine_id in refused
    ]
    retried_at, landed_bodies = datetime.now(UTC), {document.sha256 for document in landed}
    removed_bodies = {document.sha256 for document in noted} - landed_bodies
    rows = [
        RetryEntry(
            quarantine_id=refusal.quarantine_id,
            became="body removed"
            if refusal.document in removed_bodies
            else _outcome(refusal, refused_now, landed_bodies, failed),
            code_version=release(),
            retried_at=retried_at,
        )
        for refusal in chosen
    ]
    add_retries(record, rows)
    return rows


def _outcome(
    refusal: QuarantinedRow,
    refused_now: Collection[QuarantinedRow],
    landed_bodies: Collection[str],
    failed_bodies: Collection[str],
) -> RetryOutcome:
    """Compare a refusal with those of the new reading.

    A refusal of the whole document counts for every location in it.
    """
    if refusal.document not in landed_bodies:
        return "not landed"
    if refusal.document in failed_bodies:
        return "failed"
    same_body = [other for other in refused_now if other.document == refusal.document]
    if any(other.quarantine_id == refusal.quarantine_id for other in same_body):
        return "refused again"
    whole_document = refusal.source_ref.partition("#")[0]
    if any(other.source_ref in (refusal.source_ref, whole_document) for other in same_body):
        return "refused otherwise"
    return "read"


def _at(text: str, location: str) -> str:
    """Return the text at a line or JSON pointer; the whole text if the location is neither."""
    lines = text.splitlines()
    if (line := _LINE.match(location)) and 0 < int(line[1]) <= len(lines):
        return lines[int(line[1]) - 1]
    if location.startswith("/"):
        with suppress(msgspec.DecodeError, ValueError, LookupError, TypeError):
            value: Any = _decode(text)
            for part in location.split("/")[1:]:
                name = part.replace("~1", "/").replace("~0", "~")
                value = value[int(name)] if isinstance(value, list) else value[name]
            return msgspec.json.format(_encode(value), indent=1).decode()
    return text
