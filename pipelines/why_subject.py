"""What a question of ``sankofa why`` is about: the tables and rows that can answer it."""

from calendar import monthrange
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from difflib import get_close_matches
from itertools import chain
from typing import Any

from assets.ingest.failures import in_words
from assets.ingest.quarantine import excerpt
from warehouse.methodology.line_items import LINE_ITEMS
from warehouse.methodology.metrics import FORMULAS
from warehouse.record.landing import Document, Landing
from warehouse.record.ledger import loaded_documents
from warehouse.record.quarantine import quarantined_rows
from warehouse.record.store import Record, sql_text
from warehouse.record.tables import (
    ENTITIES,
    FILINGS,
    FUNDAMENTALS,
    IDENTIFIERS,
    MACRO_ANNUAL,
    MACRO_SERIES,
    TENDER_PARTIES,
    TENDER_RELEASES,
    RecordTable,
)
from warehouse.serve.entities import ID_TYPES
from warehouse.shared.errors import SankofaError
from warehouse.tables import Entity, FailureEntry

# Documents and quarantined rows that belong to a question of ``sankofa why``.

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


_METRICS = {formula.slug: formula for formula in FORMULAS}
_PARTIES = ("suppliers", "tenderers", "procuringEntity")
_SUGGESTED = 5


@dataclass(frozen=True)
class Subject:
    """What is asked about: for each table the condition of its rows.

    ``shown`` names the column that a row of a table shows as its value; ``member`` is the member of
    the releases that is asked for; ``metric`` the metric. ``scopes`` are conditions of the rows
    that decide about them, where those are more. ``period`` is the one to which a series is
    narrowed, as it was given.
    """

    text: str
    meaning: str
    conditions: Mapping[RecordTable, str]
    shown: Mapping[RecordTable, str] = field(default_factory=dict)
    member: str | None = None
    metric: str | None = None
    scopes: Mapping[RecordTable, str] = field(default_factory=dict)
    period: str | None = None


def find_subject(
    record: Record, text: str, field_name: str | None, ids: Sequence[str] = ()
) -> Subject | None:
    """Return what a text and a field mean in the record; None if no row has the text.

    ``ids`` are all ids of an organisation: the record has its rows as they were minted.
    """
    ways = (
        (_organisation, (ENTITIES, FUNDAMENTALS, FILINGS, IDENTIFIERS), "service_id"),
        (_process, (TENDER_RELEASES, TENDER_PARTIES), "ocid"),
        (_series, (MACRO_SERIES,), "series"),
        (_indicator, (MACRO_ANNUAL,), "indicator"),
    )
    for make, tables, column in ways:
        condition = f"{column} = {sql_text(text)}"
        if column == "service_id" and len(ids) > 1:
            condition = f"{column} IN ({', '.join(map(sql_text, ids))})"
        if any(has_rows(record, table, condition) for table in tables):
            return make(record, text, condition, field_name)
    return None


def has_rows(record: Record, table: RecordTable, condition: str) -> bool:
    """Return whether any stored row of a table meets a condition."""
    statement = f"SELECT 1 FROM {record.relation(table.name)} WHERE {condition} LIMIT 1"
    return bool(len(record.query(statement)))


def suggestions(record: Record, text: str) -> list[str]:
    """Return ids and keys of the record that are spelled nearly like a text."""
    columns = (
        (ENTITIES, "service_id"),
        (FUNDAMENTALS, "service_id"),
        (TENDER_RELEASES, "ocid"),
        (MACRO_SERIES, "series"),
        (MACRO_ANNUAL, "indicator"),
    )
    known = chain.from_iterable(_distinct(record, table, column) for table, column in columns)
    return get_close_matches(text, set(known), _SUGGESTED, 0.8)


def _distinct(
    record: Record, table: RecordTable, column: str, condition: str = "TRUE"
) -> list[str]:
    relation = record.relation(table.name)
    statement = f"SELECT DISTINCT {column} AS value FROM {relation} WHERE {condition}"
    return [str(value) for value in record.query(statement)["value"].to_pylist()]


def _organisation(record: Record, text: str, condition: str, name: str | None) -> Subject:
    if name is None:
        conditions = dict.fromkeys((ENTITIES, IDENTIFIERS, FUNDAMENTALS, FILINGS), condition)
        return Subject(text, f"the organisation {text}", conditions)
    if name in _METRICS:
        inputs = {needed.line_item for needed in _METRICS[name].inputs}
        needed = ", ".join(map(sql_text, sorted(inputs)))
        return Subject(
            text,
            f"the metric {name} of {text}, and its inputs {', '.join(sorted(inputs))}",
            {FUNDAMENTALS: f"{condition} AND line_item IN ({needed})"},
            metric=name,
        )
    if name in ID_TYPES and name not in Entity.model_fields:
        of_type = f"{condition} AND id_type = {sql_text(name)}"
        return Subject(text, f"the {name} of {text}", {IDENTIFIERS: of_type})
    if name in Entity.model_fields:
        found = {ENTITIES: condition}
        if name in ID_TYPES:
            found[IDENTIFIERS] = f"{condition} AND id_type = {sql_text(name)}"
        return Subject(text, f"{name} of {text}", found, {ENTITIES: name})
    of_item = f"{condition} AND line_item = {sql_text(name)}"
    items = {item.name for item in LINE_ITEMS} | set(_distinct(record, FUNDAMENTALS, "line_item"))
    if name not in items:
        raise _unknown_field(name, text, (*items, *_METRICS, *ID_TYPES, *Entity.model_fields))
    return Subject(text, f"{name} of {text}", {FUNDAMENTALS: of_item})


def _process(record: Record, text: str, condition: str, name: str | None) -> Subject:
    conditions = dict.fromkeys((TENDER_RELEASES, TENDER_PARTIES), condition)
    if name is None:
        return Subject(text, f"the contracting process {text}", conditions)
    if name in _distinct(record, TENDER_RELEASES, "release_id", condition):
        of_release = f"{condition} AND release_id = {sql_text(name)}"
        conditions = dict.fromkeys((TENDER_RELEASES, TENDER_PARTIES), of_release)
        return Subject(text, f"the release {name} of {text}", conditions)
    if name in TENDER_RELEASES.row.model_fields:
        shown = {TENDER_RELEASES: name}
        return Subject(text, f"{name} of {text}", {TENDER_RELEASES: condition}, shown)
    if name.split(".")[0] not in ("tender", "buyer", "awards", "contracts"):
        members = ("buyer.name", "tender.title", "tender.value", "awards", "contracts")
        releases = _distinct(record, TENDER_RELEASES, "release_id", condition)
        raise _unknown_field(name, text, (*members, *releases, *TENDER_RELEASES.row.model_fields))
    # Only the members that name organisations have parties of their own.
    if not name.startswith("buyer") and name.rpartition(".")[-1] not in _PARTIES:
        del conditions[TENDER_PARTIES]
    return Subject(text, f"{name} in the releases of {text}", conditions, member=name)


def _series(record: Record, text: str, condition: str, name: str | None) -> Subject:
    return _of_table(MACRO_SERIES, "series", text, condition, name)


def _indicator(record: Record, text: str, condition: str, name: str | None) -> Subject:
    return _of_table(MACRO_ANNUAL, "indicator", text, condition, name)


def _of_table(
    table: RecordTable, kind: str, text: str, condition: str, name: str | None
) -> Subject:
    narrowed = _narrowed(condition, name, text)
    observed = f"the {kind} {text}" + (f", {name}" if name else "")
    period = None if name is None or _is_country(name) else name
    return Subject(text, observed, {table: narrowed}, scopes={table: condition}, period=period)


def _is_country(name: str) -> bool:
    return name.isalpha() and len(name) in (2, 3)


def _narrowed(condition: str, name: str | None, text: str) -> str:
    """Narrow a series to a country, or to the periods that a year, month or day lies in."""
    if name is None:
        return condition
    if _is_country(name):
        code = sql_text(name.upper())
        return f"{condition} AND (country = {code} OR country_iso3 = {code})"
    first, last = _span(name, text)
    return f"{condition} AND period_end >= DATE '{first}' AND period_start <= DATE '{last}'"


def _span(name: str, text: str) -> tuple[date, date]:
    parts = name.split("-")
    try:
        if len(parts) == 1:
            return date(int(name), 1, 1), date(int(name), 12, 31)
        if len(parts) == 2:
            first = date(int(parts[0]), int(parts[1]), 1)
            return first, first.replace(day=monthrange(first.year, first.month)[1])
        return date.fromisoformat(name), date.fromisoformat(name)
    except ValueError:
        raise SankofaError(
            f"{name!r} is no field of {text}; give a country, or a period as YYYY, YYYY-MM or "
            "YYYY-MM-DD"
        ) from None


def _unknown_field(name: str, text: str, known: Iterable[str]) -> SankofaError:
    choices: Sequence[str] = sorted(set(known))
    near = get_close_matches(name, choices, _SUGGESTED, 0.5) or choices[:_SUGGESTED]
    return SankofaError(f"{name!r} is no field of {text}; for example {', '.join(near)}")
