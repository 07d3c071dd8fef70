"""Withhold, release: from what an operator has in hand to tombstones, with what they affect.

Whoever reports a person or a wrong row quotes what the service showed: a name, an id of a row or a
party, an ocid, a service_id, a source_ref, the address or the SHA-256 of a document. Each is
looked up in the record, and in the published builds where only those have the id.
"""

import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec

from quality.personal_data_audit import names_everywhere
from quality.withheld_search import BuildSearch, Finding, WithheldNames
from warehouse.control.models import current_user, recorded
from warehouse.names.reading import plain_name
from warehouse.names.redaction import open_names, redaction_of
from warehouse.names.spellings import Words, names_in
from warehouse.publish.builds import builds_at
from warehouse.publish.left_out import ROW_IDS, STORED_ROW
from warehouse.publish.redacted_rows import NamePlace, find_names
from warehouse.publish.served_rows import PARTY_ID
from warehouse.publish.snapshot import Snapshot
from warehouse.record.erase import documents_like
from warehouse.record.landing import Landing, open_landing
from warehouse.record.store import Record, open_record, sql_text
from warehouse.record.tables import (
    ENTITIES,
    FILINGS,
    FUNDAMENTALS,
    IDENTIFIERS,
    RECORD_TABLES,
    TENDER_PARTIES,
    TENDER_RELEASES,
    RecordTable,
)
from warehouse.record.versions import require_withheld_key
from warehouse.record.withheld import (
    Subject,
    check_secret,
    name_subject,
    party_key_subject,
    process_subject,
    release,
    sighting_subject,
    tombstones,
    withheld_now,
    withhold,
)
from warehouse.serve.build import Mart
from warehouse.serve.engines import NOTHING_PUBLISHED
from warehouse.serve.entities import organisation_ids
from warehouse.serve.finished_files import finished_files
from warehouse.serve.rows import fetch_rows
from warehouse.shared.errors import NothingPublished, SankofaError
from warehouse.shared.settings import Settings
from warehouse.tables import WithheldEntry, WithheldKind

# ``sankofa withheld --check``: whether the current build has a name that an operator withheld.


def served_names(settings: Settings) -> list[Finding]:
    """Return every place of the current build that has a name that an operator withheld."""
    builds = builds_at(settings.marts)
    current = builds.current()
    manifest = None if current is None else builds.manifest(current)
    if current is None or manifest is None:
        raise NothingPublished(NOTHING_PUBLISHED)
    record, secret = open_record(settings), settings.withheld_key.encode()
    loads = {table.name: record.load_seq(table) for table in RECORD_TABLES}
    with (
        tempfile.TemporaryDirectory() as folder,
        Snapshot(Path(folder), record, loads, "") as stored,
    ):
        names = WithheldNames(names_everywhere(stored, secret))
    files = finished_files(
        builds.path,
        manifest.files,
        settings.exports,
        current,
        manifest.metadata,
    )
    return list(BuildSearch(names, secret).findings(files))


_EXAMPLES = 5
_SHORTEST_ID = 8
_ID = re.compile(r"[0-9a-f]{32}")
_LOOKED_FOR = (
    "the name of a party or an organisation, the key or number of a party, a service_id, an ocid, "
    "the id of a row or a party (fact_id, record_id, party_id), a source_ref, and the address or "
    "the SHA-256 of a document"
)


@dataclass(frozen=True)
class Match:
    """What a text means in the record, and the rows that withholding it concerns.

    ``spellings`` are what a name is written as: the whole name of a party or an organisation, the
    passage of a text, each with the number of its places.
    """

    kind: WithheldKind
    meaning: str
    subjects: tuple[Subject, ...] = field(repr=False)
    rows: Mapping[str, int]
    examples: tuple[str, ...]
    spellings: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True)
class Change:
    """What was found for a text, and the entries that were made; none if only shown."""

    found: Match
    entries: tuple[WithheldEntry, ...]


def find_to_withhold(settings: Settings, text: str, why: str, *, in_advance: bool = False) -> Match:
    """Return what a text means that is to be withheld; raise if it cannot be, or not for ``why``.

    ``in_advance`` takes a text that is found nowhere for the name of a party.
    """
    finder = Finder(settings)
    found = finder.find(text)
    if found is None:
        if not in_advance:
            raise SankofaError(_not_found(text))
        meaning = f"the name {text!r} in every spelling, from when it arrives"
        found = Match("party", meaning, (finder.name(text),), {}, ())
    _refuse_names(why, text, found)
    check_secret(withheld_now(finder.record), finder.secret)
    return found


def withhold_found(settings: Settings, found: Match, why: str) -> Change:
    """Withhold what was found."""
    finder = Finder(settings)
    with recorded(settings.control, "withhold", found.kind, why) as action:
        new = withhold(finder.record, found.subjects, why, current_user(), finder.secret)
        action.what = _ids(found.kind, new)
    return Change(found, tuple(new))


def _ids(kind: WithheldKind, entries: Sequence[WithheldEntry]) -> str:
    """Return what is said of entries in the trail of operators: no name of a person."""
    ids = ", ".join(entry.withheld_id[:12] for entry in entries)
    return f"{kind} {ids}" if ids else f"{kind}, as before"


def _not_found(text: str) -> str:
    return (
        f"{text!r} is nowhere in the record; looked for {_LOOKED_FOR}. To withhold a name "
        "before it arrives, use --in-advance"
    )


def release_text(settings: Settings, text: str, why: str, *, dry_run: bool = False) -> Change:
    """Release what a text means, or the tombstone whose id begins like it."""
    finder = Finder(settings)
    withheld = {entry.withheld_id: entry for entry in withheld_now(finder.record)}
    by_id = [
        entry
        for entry in withheld.values()
        if len(text) >= _SHORTEST_ID and entry.withheld_id.startswith(text)
    ]
    if len(by_id) > 1:
        raise SankofaError(f"{len(by_id)} ids begin with {text!r}; give more characters")
    found = finder.find(text)
    subjects = [
        *(found.subjects if found else ()),
        *([finder.name(text)] if names_in(text) else []),
    ]
    chosen = by_id or [
        withheld[subject.id] for subject in dict.fromkeys(subjects) if subject.id in withheld
    ]
    if not chosen:
        raise SankofaError(f"{text!r} is not withheld; see `sankofa withheld`")
    if by_id or found is None:
        found = Match(chosen[0].kind, f"the {chosen[0].kind} withheld as {text}", (), {}, ())
    _refuse_names(why, text, found)
    if dry_run:
        return Change(found, ())
    with recorded(settings.control, "release", _ids(found.kind, chosen), why):
        return Change(found, tuple(release(finder.record, chosen, why, current_user())))


def list_withheld(settings: Settings) -> list[WithheldEntry]:
    """Return everything ever withheld with its last entry, the newest last."""
    return tombstones(open_record(settings))


def _refuse_names(why: str, text: str, found: Match) -> None:
    """Refuse a reason that repeats the name: it is stored, and outlasts an erasure."""
    is_party = found.kind == "party" and plain_name(text)
    if is_party and f" {plain_name(text)} " in f" {plain_name(why)} ":
        raise SankofaError("--why is stored for ever: say why without the name")


def _row_counts(places: Iterable[NamePlace]) -> dict[str, int]:
    """Return how many rows of each table have a place."""
    rows = {(place.table.name, *(place.row[name] for name in STORED_ROW)) for place in places}
    return dict(Counter(str(table) for table, *_ in rows))


def _spellings(places: Iterable[NamePlace]) -> tuple[tuple[str, int], ...]:
    """Return what a name is written as, the most frequent first."""
    counts = Counter(
        place.value if place.column in ("name", "legal_name") else place.passage for place in places
    )
    return tuple(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


class Finder:
    """Looks texts up in the record and the published build of an installation."""

    def __init__(self, settings: Settings) -> None:
        self.record = open_record(settings)
        self._landing = open_landing(settings)
        require_withheld_key(settings.withheld_key, self._landing.world())
        self.secret = settings.withheld_key.encode()
        self._marts = settings.marts

    def name(self, text: str) -> Subject:
        """Return the subject of a text as the name of a party."""
        return name_subject(self.secret, text)

    def find(self, text: str) -> Match | None:
        """Return what a text means; the first of the meanings that has any row."""
        text = text.strip()
        meanings: Sequence[Callable[[str], Match | None]] = (
            (self._source_ref, self._address, self._release_address)
            if "://" in text
            else (self._row, self._served_id, self._document)
            if _ID.fullmatch(text)
            else (self._document, self._process, self._organisation, self._party_key, self._named)
        )
        return next((found for meaning in meanings if (found := meaning(text))), None)

    def _document(self, text: str) -> Match | None:
        document = document_id(self._landing, self.record, text)
        return None if document is None else self._documents(f"the document {document}", [document])

    def _address(self, text: str) -> Match | None:
        url = text.partition("#")[0]
        documents = [document.sha256 for document in self._landing.find(url=url)]
        if "#" in text or not documents:
            return None
        return self._documents(f"what was read from {url}", list(dict.fromkeys(documents)))

    def _documents(self, meaning: str, documents: list[str]) -> Match | None:
        condition = f"document IN ({', '.join(map(sql_text, documents))})"
        found = self._match(
            meaning,
            [Subject("document", document) for document in documents],
            dict.fromkeys(RECORD_TABLES, condition),
        )
        landed = any(self._landing.find(sha256=document) for document in documents)
        return found if found.rows or landed else None

    def _source_ref(self, text: str) -> Match | None:
        return self._stored(f"the rows at {text}", f"source_ref = {sql_text(text)}", RECORD_TABLES)

    def _release_address(self, text: str) -> Match | None:
        condition = f"source_url = {sql_text(text)}"
        return self._stored(f"the releases at {text}", condition, (TENDER_RELEASES,))

    def _row(self, text: str) -> Match | None:
        return self._stored(f"the row {text}", f"row_id = {sql_text(text)}", RECORD_TABLES)

    def _stored(self, meaning: str, condition: str, tables: Sequence[RecordTable]) -> Match | None:
        """Return the rows of tables that meet a condition, each by its publication."""
        subjects = [
            sighting_subject(table, *hashes)
            for table in tables
            for hashes in self._rows(table, "DISTINCT figure, figure_check, sighting", condition)
        ]
        if not subjects:
            return None
        return self._match(meaning, subjects, dict.fromkeys(tables, condition))

    def _process(self, text: str) -> Match | None:
        condition = f"ocid = {sql_text(self._stored_ocid(text))}"
        sources = self._rows(TENDER_RELEASES, "DISTINCT source", condition)
        if not sources:
            return None
        return self._match(
            f"the contracting process {text}, with later releases",
            [process_subject(source, text) for (source,) in sources],
            dict.fromkeys((TENDER_RELEASES, TENDER_PARTIES), condition),
        )

    def _stored_ocid(self, served: str) -> str:
        """Return the ocid of the record; a served one may have a hash in place of a name."""
        kept, mark, _ = served.partition("~")
        if not mark:
            return served
        condition = f"starts_with(ocid, {sql_text(kept)}) AND withheld_names IS NOT NULL"
        rows = self._rows(TENDER_RELEASES, "DISTINCT ocid, withheld_names", condition)
        for ocid, sealed in rows:
            written = open_names(self.secret, sealed)
            names = frozenset(name for text in written for name in names_in(text))
            if redaction_of(names, frozenset(), self.secret).identifier(ocid) == served:
                return str(ocid)
        return served

    def _organisation(self, text: str) -> Match | None:
        ids = self._organisation_ids(text)
        condition = f"service_id IN ({', '.join(map(sql_text, ids))})"
        tables = (ENTITIES, IDENTIFIERS, FUNDAMENTALS, FILINGS)
        if not any(self._rows(table, "1", condition, 1) for table in tables):
            return None
        # Names that the register calls other names count as well.
        others = "CAST(CAST(coalesce(other_names, '[]') AS JSON) AS VARCHAR[])"
        named = f"DISTINCT unnest(list_concat([legal_name], {others}))"
        names = self._rows(ENTITIES, named, condition)
        spoken = frozenset(words for (name,) in names if name for words in names_in(name))
        places = self._places(spoken)
        subjects = [
            *(Subject("service_id", service_id) for service_id in ids),
            *(self.name(name) for (name,) in names if name),
        ]
        conditions = dict.fromkeys(tables, condition)
        found = self._match(f"the organisation {text} with its names", subjects, conditions)
        counts = {**_row_counts(places), **found.rows}
        return replace(found, rows=counts, spellings=_spellings(places))

    def _organisation_ids(self, service_id: str) -> list[str]:
        """Return all ids of an organisation: the record has its rows as they were minted."""
        with closing(Mart(self._marts)) as mart, suppress(NothingPublished):
            return organisation_ids(mart.build(), service_id)
        return [service_id]

    def _named(self, text: str) -> Match | None:
        """Look a name up in every spelling, in every text, id and address of the record."""
        names = frozenset(names_in(text))
        if not names:
            return None
        places = self._places(names)
        if not places:
            return None
        counts = _row_counts(places)
        organisations = sorted(
            {place.row["service_id"] for place in places if place.column == "legal_name"}
        )
        if quoted := ", ".join(map(sql_text, organisations)):
            for table in (IDENTIFIERS, FUNDAMENTALS, FILINGS):
                ((count,),) = self._rows(table, "count(*)", f"service_id IN ({quoted})")
                counts[table.name] = max(counts.get(table.name, 0), int(count))
        return Match(
            "party",
            f"the name {text} in every spelling",
            (self.name(text),),
            {name: count for name, count in counts.items() if count},
            tuple(sorted({str(place.row["source_ref"]) for place in places}))[:_EXAMPLES],
            _spellings(places),
        )

    def _places(self, names: frozenset[Words]) -> list[NamePlace]:
        """Return every place of the record that has one of the names."""
        loads = {table.name: self.record.load_seq(table) for table in RECORD_TABLES}
        with (
            tempfile.TemporaryDirectory() as folder,
            Snapshot(Path(folder), self.record, loads, "") as snapshot,
        ):
            return list(find_names(snapshot, names))

    def _party_key(self, text: str) -> Match | None:
        quoted = sql_text(text)
        condition = (
            f"name IS NOT NULL AND (party_key = {quoted} OR identifier_id = {quoted} "
            f"OR concat(identifier_scheme, ':', identifier_id) = {quoted})"
        )
        return self._parties(f"the party with the key {text}", condition)

    def _parties(self, meaning: str, condition: str) -> Match | None:
        keys = self._rows(TENDER_PARTIES, "DISTINCT source, party_key", condition)
        if not keys:
            return None
        pairs = ", ".join(f"({sql_text(source)}, {sql_text(key)})" for source, key in keys)
        of_key = f"name IS NOT NULL AND (source, party_key) IN ({pairs})"
        names = {name for (name,) in self._rows(TENDER_PARTIES, "DISTINCT name", of_key)}
        return self._match(
            f"{meaning}, named {', '.join(sorted(names)[:_EXAMPLES])}",
            [party_key_subject(self.secret, source, key) for source, key in keys],
            {TENDER_PARTIES: of_key, TENDER_RELEASES: self._releases_naming(of_key)},
        )

    def _releases_naming(self, condition: str) -> str:
        parties = self.record.relation(TENDER_PARTIES.name)
        of_release = "source, ocid, release_id"
        return f"({of_release}) IN (SELECT ({of_release}) FROM {parties} WHERE {condition})"

    def _served_id(self, text: str) -> Match | None:
        """Look up an id that only builds have: of a party, or of an award."""
        for table, member in (("tender_parties", "party_id"), ("award_facts", "fact_id")):
            for row in self._served(table, member, text):
                if table == "award_facts":
                    return self._source_ref(str(row["source_ref"]))
                condition = (
                    f"name IS NOT NULL AND {PARTY_ID} = {sql_text(text)}"
                    # The id was made with the organisation that the build resolves the party to.
                ).replace("service_id", sql_text(str(row["service_id"] or "-")))
                return self._parties(f"the party {text}", condition)
        return None

    def _served(self, table: str, member: str, value: str) -> Iterator[dict[str, object]]:
        """Yield the rows with an id, from the newest build that has any to the oldest."""
        stated = f'"{member}":"{value}"'.encode()
        with closing(Mart(self._marts)) as mart:
            for name in reversed(builds_at(self._marts).names()):
                # A build of another schema version cannot be searched.
                with suppress(SankofaError):
                    rows = fetch_rows(mart.at(name).build(), "row", table, [])
                    yield from (msgspec.json.decode(row) for (row,) in rows if stated in row)

    def _match(
        self, meaning: str, subjects: Sequence[Subject], conditions: Mapping[RecordTable, str]
    ) -> Match:
        counts = {
            table.name: int(count)
            for table, condition in conditions.items()
            for (count,) in self._rows(table, "count(*)", condition or "FALSE")
            if count
        }
        examples = [
            str(source_ref)
            for table, condition in conditions.items()
            if table.name in counts
            for (source_ref,) in self._rows(
                table, "DISTINCT source_ref", f"{condition} ORDER BY source_ref", _EXAMPLES
            )
        ]
        chosen = tuple(dict.fromkeys(subjects))
        kept = tuple(dict.fromkeys(examples))[:_EXAMPLES]
        return Match(chosen[0].kind, meaning, chosen, counts, kept)

    def _rows(
        self, table: RecordTable, columns: str, condition: str, limit: int | None = None
    ) -> list[tuple[Any, ...]]:
        stored = f"(SELECT *, {ROW_IDS} FROM {self.record.relation(table.name)})"
        statement = f"SELECT {columns} FROM {stored} WHERE {condition}"
        if limit is not None:
            statement += f" LIMIT {limit}"
        rows = self.record.query(statement).to_pydict()
        return list(zip(*rows.values(), strict=True))


_WHOLE = re.compile(r"[0-9a-f]{64}")
# As many characters as commands print.
_BEGINNING = re.compile(r"[0-9a-f]{12,63}")


def document_id(landing: Landing, record: Record, text: str) -> str | None:
    """Return the SHA-256 that a text is or begins; None if it is no such text, or of no document.

    Raise if several documents begin like it.
    """
    if _WHOLE.fullmatch(text):
        return text
    if not _BEGINNING.fullmatch(text):
        return None
    found = {document.sha256 for document in landing.find(sha256=text)}
    found.update(documents_like(record, text))
    if len(found) > 1:
        raise SankofaError(f"{len(found)} documents begin with {text!r}; give more characters")
    return next(iter(found), None)
