"""Quarantined records beside their documents: an excerpt of one, and another try at many."""

import re
from collections.abc import Collection, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import msgspec

from assets.ingest.load import Progress, Reread, load_source
from assets.source import Source, refuse_restricted
from warehouse.record.landing import Document, Landing
from warehouse.record.ledger import code_version
from warehouse.record.quarantine import QuarantinedRow, add_retries, quarantined_rows
from warehouse.record.store import Record
from warehouse.record.tables import FUNDAMENTALS, MACRO_ANNUAL, MACRO_SERIES
from warehouse.tables import RetryEntry, RetryOutcome

# Tables whose documents state figures, and name nobody but issuers and countries.
_OF_FIGURES = frozenset(table.name for table in (FUNDAMENTALS, MACRO_ANNUAL, MACRO_SERIES))
_LARGEST = 32 << 20
_SHOWN = 600
_LINE = re.compile(r"line ([0-9]+)")
_decode = msgspec.json.Decoder(float_hook=Decimal).decode
_encode = msgspec.json.Encoder(decimal_format="number").encode


def may_name_people(source: Source | None) -> bool:
    """Say whether a document can hold personal data; one of an unknown source can."""
    return source is None or not {table.name for table in source.tables} <= _OF_FIGURES


def document_of(landing: Landing, refusal: QuarantinedRow) -> Document | None:
    """Find the document in which a refused record stands; None if it is not landed."""
    landed = [each for each in landing.documents(refusal.source) if each.sha256 == refusal.document]
    named = [each for each in landed if refusal.source_ref.startswith(each.url)]
    return next(iter((*named, *landed)), None)


def excerpt(landing: Landing, document: Document, refusal: QuarantinedRow) -> str | None:
    """Give what stands at the place of a refused record; None if the body is no short text."""
    if document.size > _LARGEST:
        return None
    body = landing.read(document)
    if b"\0" in body[:_SHOWN]:
        return None
    place = refusal.source_ref.removeprefix(document.url).removeprefix("#")
    found = _at(body.decode("utf-8", "replace"), place)
    return found if len(found) <= _SHOWN else f"{found[:_SHOWN]}…"


def retry(
    record: Record,
    landing: Landing,
    source: Source,
    chosen: Sequence[QuarantinedRow],
    progress: Progress | None = None,
) -> list[RetryEntry]:
    """Read the documents of refusals again with the code of today; say what became of each.

    What was observed after them is read again too, as for a document that turns up late. Nothing
    is deleted: what is understood now is appended, and so is what became of each.
    """
    refuse_restricted(source)
    bodies = {each.document for each in chosen}
    landed = [each for each in landing.documents(source.key) if each.sha256 in bodies]
    again = Reread(frozenset(each.key for each in landed))
    if landed:
        load_source(record, landing, source, progress, again)
    met = [
        each for each in quarantined_rows(record, source.key) if each.quarantine_id in again.refused
    ]
    now, held = datetime.now(UTC), {each.sha256 for each in landed}
    rows = [
        RetryEntry(
            quarantine_id=each.quarantine_id,
            became=_became(each, met) if each.document in held else "not landed",
            code_version=code_version(),
            retried_at=now,
        )
        for each in chosen
    ]
    add_retries(record, rows)
    return rows


def _became(refusal: QuarantinedRow, met: Collection[QuarantinedRow]) -> RetryOutcome:
    """Compare with all refusals of the new reading; one of a whole document is of every place."""
    same = [each for each in met if each.document == refusal.document]
    if any(each.quarantine_id == refusal.quarantine_id for each in same):
        return "refused again"
    whole = refusal.source_ref.partition("#")[0]
    if any(each.source_ref in (refusal.source_ref, whole) for each in same):
        return "refused otherwise"
    return "read"


def _at(text: str, place: str) -> str:
    """Follow a place, a line or a JSON pointer, into a body; else give how it begins."""
    lines = text.splitlines()
    if (line := _LINE.match(place)) and 0 < int(line[1]) <= len(lines):
        return lines[int(line[1]) - 1]
    if place.startswith("/"):
        with suppress(msgspec.DecodeError, ValueError, LookupError, TypeError):
            found = _encode(_pointed(_decode(text), place))
            return msgspec.json.format(found, indent=1).decode()
    return text


def _pointed(value: Any, pointer: str) -> Any:
    for part in pointer.split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        value = value[int(name)] if isinstance(value, list) else value[name]
    return value
