"""Find what a text means in the record, and its rows: for why, withhold, erase and quarantine.

People quote what the service showed: an id of an organisation, a series or a process, of a row or a
party, a source_ref, the address or the SHA-256 of a document. Each is looked up in the record, and
in the published builds where only those have the id.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from difflib import get_close_matches
from functools import partial
from itertools import chain
from typing import Any, Literal

import msgspec

from assets.ingest.failures import in_words
from assets.ingest.quarantine import excerpt
from assets.macro.periods import Span, period_of
from warehouse.methodology.line_items import LINE_ITEMS
from warehouse.methodology.metrics import FORMULAS
from warehouse.names.redaction import open_names, redaction_of
from warehouse.names.spellings import names_in
from warehouse.publish.builds import builds_at
from warehouse.publish.left_out import ROW_IDS
from warehouse.publish.served_rows import PARTY_ID
from warehouse.record.erase import documents_like
from warehouse.record.landing import Document, open_landing
from warehouse.record.ledger import loaded_documents
from warehouse.record.quarantine import (
    QuarantinedRow,
    last_failures,
    quarantined_rows,
    quarantined_with_id,
)
from warehouse.record.relations import sql_text
from warehouse.record.store import open_record
from warehouse.record.tables import (
    ELEMENTS,
    ENTITIES,
    FILINGS,
    FUNDAMENTALS,
    IDENTIFIERS,
    RECORD_TABLES,
    TENDER_PARTIES,
    TENDER_RELEASES,
    RecordTable,
    tables_by,
)
from warehouse.serve.build import Mart
from warehouse.serve.entities import ID_TYPES, organisation_ids
from warehouse.serve.rows import fetch_rows
from warehouse.shared.errors import NothingPublished, SankofaError
from warehouse.shared.settings import Settings
from warehouse.tables.entities import Entity

Kind = Literal["organisation", "process", "series", "indicator", "document", "row", "party"]
# What has an id that answers show: the column of the id, and its name in words.
_SERVED: Mapping[Kind, tuple[str, str]] = {
    "organisation": ("service_id", "the organisation"),
    "process": ("ocid", "the contracting process"),
    "series": ("series", "the series"),
    "indicator": ("indicator", "the indicator"),
}
# Figures of countries name no one.
_WITHHELD: tuple[Kind, ...] = ("organisation", "process")
_ID = re.compile(r"[0-9a-f]{32}")
_SHA256 = re.compile(r"[0-9a-f]{64}")
# As many characters of a SHA-256, or of an id in the quarantine, as commands print or take.
_BEGINNING, _SHORTEST_ID = re.compile(r"[0-9a-f]{12,63}"), 6
_METRICS = {formula.slug: formula for formula in FORMULAS}
_PARTIES = ("suppliers", "tenderers", "procuringEntity")
_SUGGESTED, _NAMED = 5, 5
_UNREAD = "landed and not read yet; run `sankofa ingest`"
_CHUNK = 1 << 20
# The newest of the quarantined rows whose text is read: each costs a look into its document.
_MOST_LOOKED_INTO = 500
_MOST_PLACES = 500


@dataclass(frozen=True)
class Found:
    """What a text means: for each table the condition of its rows.

    ``keys`` are the ids of an organisation, documents, or the sources and keys of parties. A field
    narrows it: ``shown`` names the column that a row of a table shows as its value; ``member`` is
    a member of the releases; ``metric`` a metric; ``period`` that of a series, as it was given.
    ``scopes`` are conditions of the rows that decide about them, where those are more.
    """

    kind: Kind
    text: str
    meaning: str
    conditions: Mapping[RecordTable, str]
    keys: tuple[Any, ...] = ()
    shown: Mapping[RecordTable, str] = field(default_factory=dict)
    member: str | None = None
    metric: str | None = None
    scopes: Mapping[RecordTable, str] = field(default_factory=dict)
    period: str | None = None


@dataclass(frozen=True)
class Mention:
    """A document that mentions something, and what became of it."""

    document: str
    source: str
    url: str | None
    observed_at: datetime | None
    state: str
    rows: int = 0

    @classmethod
    def of(cls, document: Document, state: str) -> "Mention":
        """Return a landed document with what became of it."""
        return cls(document.sha256, document.source, document.url, document.observed_at, state)


@dataclass(frozen=True)
class QuarantinedRows:
    """Rows that were read and not accepted, by table and reason, with the id of one of them."""

    table: str
    reason: str
    rows: int
    example: str


def only_one(ids: Collection[str], text: str, what: str = "ids") -> str | None:
    """Return the one id that begins like a text; None if there is none. Raise if there are more."""
    if len(ids) > 1:
        raise SankofaError(f"{len(ids)} {what} begin with {text!r}; give more characters")
    return next(iter(ids), None)


class Finder:
    """Looks texts up in the record, the landing and the published builds of an installation."""

    def __init__(self, settings: Settings) -> None:
        self.record, self.landing = open_record(settings), open_landing(settings)
        self.secret = settings.withheld_key.encode()
        self._marts = settings.marts

    def find(self, text: str) -> Found | None:
        """Return what a text means that a row, a file or an answer has."""
        text = text.strip()
        ways: Sequence[Callable[[str], Found | None]] = (
            (self._source_ref, self._address, self._release_address)
            if "://" in text
            else (self._row, self._served_id, self._document)
            if _ID.fullmatch(text)
            else (self._document, partial(self.served, kinds=_WITHHELD), self._party_key)
        )
        return next((found for way in ways if (found := way(text))), None)

    def served(self, text: str, kinds: Collection[Kind] = tuple(_SERVED)) -> Found | None:
        """Return the organisation, process, series or indicator with an id; None if no row has it.

        The record has the rows of an organisation, and of a process, under the ids that were
        minted first.
        """
        for kind in kinds:
            (column, words), keys = _SERVED[kind], [text]
            tables = tables_by(column)
            if kind == "organisation":
                keys = self._organisation_ids(text)
            elif kind == "process":
                keys = [self._stored_ocid(text)]
            condition = f"{column} IN ({_listed(keys)})"
            if any(self.rows(table, "1", condition, 1) for table in tables):
                conditions = dict.fromkeys(tables, condition)
                return Found(kind, text, f"{words} {text}", conditions, tuple(keys))
        return None

    def documents(self, text: str) -> list[str]:
        """Return the SHA-256 of the documents that a text names: by it, its beginning or a URL."""
        if _SHA256.fullmatch(text):
            return [text]
        if _BEGINNING.fullmatch(text):
            begin = {document.sha256 for document in self.landing.find(sha256=text)}
            begin |= documents_like(self.record, text)
            one = only_one(begin, text, "documents")
            return [] if one is None else [one]
        url = text.partition("#")[0]
        return list(dict.fromkeys(document.sha256 for document in self.landing.find(url=url)))

    def quarantined_row(self, text: str) -> QuarantinedRow:
        """Return the quarantined row with an id, or with the only id that begins like this."""
        if len(text) < _SHORTEST_ID:
            raise SankofaError(
                f"{text!r} is too short; give at least {_SHORTEST_ID} characters of the id"
            )
        rows = {row.quarantine_id: row for row in quarantined_with_id(self.record, text)}
        one = only_one(rows, text)
        if one is None:
            raise SankofaError(
                f"nothing quarantined has the id {text!r}; see `sankofa quarantine list`"
            )
        return rows[one]

    def rows(
        self, table: RecordTable, columns: str, condition: str, limit: int | None = None
    ) -> list[tuple[Any, ...]]:
        """Return columns of the stored rows of a table that meet a condition."""
        stored = f"(SELECT *, {ROW_IDS} FROM {self.record.relation(table.name)})"
        statement = f"SELECT {columns} FROM {stored} WHERE {condition}"
        if limit is not None:
            statement += f" LIMIT {limit}"
        found = self.record.query(statement).to_pydict()
        return list(zip(*found.values(), strict=True))

    def _document(self, text: str) -> Found | None:
        is_hash = _SHA256.fullmatch(text) or _BEGINNING.fullmatch(text)
        documents = self.documents(text) if is_hash else []
        return self._of_documents(f"the document {documents[0]}", documents) if documents else None

    def _address(self, text: str) -> Found | None:
        documents = [] if "#" in text else self.documents(text)
        return self._of_documents(f"what was read from {text}", documents) if documents else None

    def _of_documents(self, meaning: str, documents: Sequence[str]) -> Found | None:
        condition = f"document IN ({_listed(documents)})"
        landed = any(self.landing.find(sha256=document) for document in documents)
        if not landed and not any(self.rows(table, "1", condition, 1) for table in RECORD_TABLES):
            return None
        conditions = dict.fromkeys(RECORD_TABLES, condition)
        return Found("document", meaning, meaning, conditions, tuple(documents))

    def _source_ref(self, text: str) -> Found | None:
        return self._of_rows(f"the rows at {text}", f"source_ref = {sql_text(text)}", RECORD_TABLES)

    def _release_address(self, text: str) -> Found | None:
        condition = f"source_url = {sql_text(text)}"
        return self._of_rows(f"the releases at {text}", condition, (TENDER_RELEASES,))

    def _row(self, text: str) -> Found | None:
        return self._of_rows(f"the row {text}", f"row_id = {sql_text(text)}", RECORD_TABLES)

    def _of_rows(self, meaning: str, condition: str, tables: Sequence[RecordTable]) -> Found | None:
        if not any(self.rows(table, "1", condition, 1) for table in tables):
            return None
        return Found("row", meaning, meaning, dict.fromkeys(tables, condition))

    def _organisation_ids(self, service_id: str) -> list[str]:
        with closing(Mart(self._marts)) as mart, suppress(NothingPublished):
            return organisation_ids(mart.build(), service_id)
        return [service_id]

    def _stored_ocid(self, served: str) -> str:
        """Return the ocid of the record; a served one may have a hash in place of a name."""
        kept, mark, _ = served.partition("~")
        if not mark:
            return served
        condition = f"starts_with(ocid, {sql_text(kept)}) AND withheld_names IS NOT NULL"
        rows = self.rows(TENDER_RELEASES, "DISTINCT ocid, withheld_names", condition)
        for ocid, sealed in rows:
            written = open_names(self.secret, sealed)
            names = frozenset(name for text in written for name in names_in(text))
            if redaction_of(names, frozenset(), self.secret).identifier(ocid) == served:
                return str(ocid)
        return served

    def _party_key(self, text: str) -> Found | None:
        quoted = sql_text(text)
        condition = (
            f"name IS NOT NULL AND (party_key = {quoted} OR identifier_id = {quoted} "
            f"OR concat(identifier_scheme, ':', identifier_id) = {quoted})"
        )
        return self._parties(f"the party with the key {text}", condition)

    def _parties(self, meaning: str, condition: str) -> Found | None:
        keys = self.rows(TENDER_PARTIES, "DISTINCT source, party_key", condition)
        if not keys:
            return None
        pairs = ", ".join(f"({sql_text(source)}, {sql_text(key)})" for source, key in keys)
        of_key = f"name IS NOT NULL AND (source, party_key) IN ({pairs})"
        names = {name for (name,) in self.rows(TENDER_PARTIES, "DISTINCT name", of_key)}
        of_release, parties = "source, ocid, release_id", self.record.relation(TENDER_PARTIES.name)
        naming = f"({of_release}) IN (SELECT ({of_release}) FROM {parties} WHERE {of_key})"
        return Found(
            "party",
            meaning,
            f"{meaning}, named {', '.join(sorted(names)[:_NAMED])}",
            {TENDER_PARTIES: of_key, TENDER_RELEASES: naming},
            tuple(keys),
        )

    def _served_id(self, text: str) -> Found | None:
        """Look up an id that only builds have: of a party, or of an award."""
        for row in self._served_rows("tender_parties", "party_id", text):
            condition = (
                f"name IS NOT NULL AND {PARTY_ID} = {sql_text(text)}"
                # The id was made with the organisation that the build resolves the party to.
            ).replace("service_id", sql_text(str(row["service_id"] or "-")))
            return self._parties(f"the party {text}", condition)
        for row in self._served_rows("award_facts", "fact_id", text):
            return self._source_ref(str(row["source_ref"]))
        return None

    def _served_rows(self, table: str, member: str, value: str) -> Iterator[dict[str, object]]:
        """Yield the rows with an id, from the newest build that has any to the oldest."""
        stated = f'"{member}":"{value}"'.encode()
        with closing(Mart(self._marts)) as mart:
            for name in reversed(builds_at(self._marts).names()):
                # A build of another schema version cannot be searched.
                with suppress(SankofaError):
                    rows = fetch_rows(mart.at(name).build(), "row", table, [])
                    yield from (msgspec.json.decode(row) for (row,) in rows if stated in row)

    def distinct(self, table: RecordTable, column: str, condition: str = "TRUE") -> list[str]:
        """Return the different values of a column, as texts."""
        return [str(value) for (value,) in self.rows(table, f"DISTINCT {column}", condition)]

    def suggestions(self, text: str) -> list[str]:
        """Return ids and keys of the record that are spelled nearly like a text."""
        known = chain.from_iterable(
            self.distinct(table, column)
            for column, _ in _SERVED.values()
            for table in tables_by(column)
            if table not in (IDENTIFIERS, FILINGS, TENDER_PARTIES)
        )
        return get_close_matches(text, set(known), _SUGGESTED, 0.8)

    def narrowed(self, found: Found, name: str) -> Found:
        """Return what a field of something is: a line item, a metric, a member, a period."""
        if found.kind == "organisation":
            return self._field_of_organisation(found, name)
        if found.kind == "process":
            return self._field_of_process(found, name)
        ((table, condition),) = found.conditions.items()
        if name.isalpha() and len(name) in (2, 3):
            code = sql_text(name.upper())
            condition, period = f"{condition} AND {code} IN (country, country_iso3)", None
        else:
            first, last = _span(name, found.text)
            condition += f" AND period_end >= DATE '{first}' AND period_start <= DATE '{last}'"
            period = name
        meaning = f"{found.meaning}, {name}"
        # Other periods of a series decide on which base it is.
        scopes = found.conditions
        return replace(
            found, meaning=meaning, conditions={table: condition}, scopes=scopes, period=period
        )

    def _field_of_organisation(self, found: Found, name: str) -> Found:
        text, condition = found.text, found.conditions[FUNDAMENTALS]
        of_type = f"{condition} AND id_type = {sql_text(name)}"
        if name in _METRICS:
            inputs = sorted({needed.line_item for needed in _METRICS[name].inputs})
            meaning = f"the metric {name} of {text}, and its inputs {', '.join(inputs)}"
            conditions = {FUNDAMENTALS: f"{condition} AND line_item IN ({_listed(inputs)})"}
            return replace(
                found, meaning=meaning, conditions=conditions, scopes=found.conditions, metric=name
            )
        if name in Entity.model_fields:
            conditions = {ENTITIES: condition}
            conditions |= {IDENTIFIERS: of_type} if name in ID_TYPES else {}
            meaning, shown = f"{name} of {text}", {ENTITIES: name}
            return replace(found, meaning=meaning, conditions=conditions, shown=shown)
        if name in ID_TYPES:
            meaning = f"the {name} of {text}"
            return replace(found, meaning=meaning, conditions={IDENTIFIERS: of_type})
        if ":" in name:
            of_element = {ELEMENTS: f"{condition} AND element = {sql_text(name)}"}
            meaning = f"{name} of {text}"
            return replace(found, meaning=meaning, conditions=of_element, scopes=found.conditions)
        items = {item.name for item in LINE_ITEMS} | set(self.distinct(FUNDAMENTALS, "line_item"))
        if name not in items:
            raise _unknown_field(name, text, (*items, *_METRICS, *ID_TYPES, *Entity.model_fields))
        conditions = {FUNDAMENTALS: f"{condition} AND line_item = {sql_text(name)}"}
        # The other figures of a filing tell what its later statements are.
        return replace(
            found, meaning=f"{name} of {text}", conditions=conditions, scopes=found.conditions
        )

    def _field_of_process(self, found: Found, name: str) -> Found:
        text, condition = found.text, found.conditions[TENDER_RELEASES]
        releases = self.distinct(TENDER_RELEASES, "release_id", condition)
        if name in releases:
            of_release = f"{condition} AND release_id = {sql_text(name)}"
            conditions = dict.fromkeys(found.conditions, of_release)
            return replace(found, meaning=f"the release {name} of {text}", conditions=conditions)
        if name in TENDER_RELEASES.row.model_fields:
            conditions, shown = {TENDER_RELEASES: condition}, {TENDER_RELEASES: name}
            return replace(found, meaning=f"{name} of {text}", conditions=conditions, shown=shown)
        if name.split(".")[0] not in ("tender", "buyer", "awards", "contracts"):
            members = ("buyer.name", "tender.title", "tender.value", "awards", "contracts")
            columns = TENDER_RELEASES.row.model_fields
            raise _unknown_field(name, text, (*members, *releases, *columns))
        conditions = dict(found.conditions)
        # Only the members that name organisations have parties of their own.
        if not name.startswith("buyer") and name.rpartition(".")[-1] not in _PARTIES:
            del conditions[TENDER_PARTIES]
        meaning = f"{name} in the releases of {text}"
        return replace(found, meaning=meaning, conditions=conditions, member=name)

    def unread(self, source: str) -> dict[str, str]:
        """Return the documents of a source that were landed and not read, by key, with why."""
        unread = self.landing.readable_keys(source) - loaded_documents(self.record, source)
        failed = last_failures(self.record, source) if unread else {}
        return {
            key: f"the parser failed: {in_words(failed[key])}" if key in failed else _UNREAD
            for key in unread
        }

    def mentions(self, text: str, documents: Iterable[Document]) -> Iterator[Mention]:
        """Yield those of some documents whose bodies, of any size, contain a text."""
        wanted = text.encode()
        for document in documents:
            before = b""
            with suppress(SankofaError), self.landing.open(document) as body:
                while chunk := body.read(_CHUNK):
                    if wanted in before + chunk:
                        fate = self.unread(document.source).get(document.key, "read")
                        yield Mention.of(document, fate)
                        break
                    before = chunk[-len(wanted) :]

    def quarantined(
        self, text: str, places: Iterable[str] = (), documents: Iterable[str] = ()
    ) -> list[QuarantinedRows]:
        """Count quarantined rows by reason: those with a text, at places or in documents."""
        conditions = [
            f"contains(source_ref, {sql_text(text)}) OR contains(reason, {sql_text(text)})"
        ]
        # A row of the same release or the same observation has its location, or one below it.
        conditions += [
            f"source_ref = {sql_text(place)} OR starts_with(source_ref, {sql_text(f'{place}/')})"
            for place in sorted(set(places))[:_MOST_PLACES]
        ]
        conditions += [f"document = {sql_text(document)}" for document in documents]
        groups = self.record.query(f"""
            SELECT table_name, reason, count(*) AS rows, min(quarantine_id)[:12] AS example
            FROM {self.record.relation("quarantine")} WHERE {" OR ".join(conditions)}
            GROUP BY ALL ORDER BY rows DESC, table_name, reason
        """)
        return [QuarantinedRows(*group.values()) for group in groups.to_pylist()]

    def quarantined_in_period(
        self, table: RecordTable, condition: str, period: str
    ) -> Iterator[QuarantinedRows]:
        """Yield the rows quarantined from a series' documents where their text has a period.

        A quarantined row has a location and no period: the text at its location tells.
        """
        address = "split_part(source_ref, '#', 1)"
        places = self.rows(table, f"DISTINCT source, {address} AS address", condition)
        addresses = {address for _, address in places}
        refusals = [
            row
            for source in sorted({source for source, _ in places})
            for row in quarantined_rows(self.record, source)
            if row.table_name == table.name and row.source_ref.partition("#")[0] in addresses
        ][-_MOST_LOOKED_INTO:]
        bodies = tuple({row.document for row in refusals})
        landed = self.landing.find(sha256=bodies) if bodies else []
        documents = {document.sha256: document for document in landed}
        by_reason: dict[str, list[str]] = {}
        for row in refusals:
            document = documents.get(row.document)
            if document and period in (excerpt(self.landing, document, row) or ""):
                by_reason.setdefault(row.reason, []).append(row.quarantine_id)
        for reason, ids in by_reason.items():
            yield QuarantinedRows(table.name, reason, len(ids), min(ids)[:12])


def _listed(values: Iterable[str]) -> str:
    return ", ".join(map(sql_text, values))


def _span(name: str, text: str) -> Span:
    """Return the first and the last day of a period."""
    try:
        return period_of(name)[0]
    except ValueError:
        raise SankofaError(
            f"{name!r} is no field of {text}; give a country, or a period as YYYY, YYYY-MM or "
            "YYYY-MM-DD"
        ) from None


def _unknown_field(name: str, text: str, known: Iterable[str]) -> SankofaError:
    choices: Sequence[str] = sorted(set(known))
    near = get_close_matches(name, choices, _SUGGESTED, 0.5) or choices[:_SUGGESTED]
    return SankofaError(f"{name!r} is no field of {text}; for example {', '.join(near)}")
