"""Why a value is served, or is not: from the documents to the answer.

The rows that a question is about go through the very steps of a publication: what an operator
withheld, the rule book, the organisation check, and the vintages. So what is said here is what the
next build would serve; what the current one serves can only differ by loads and entries since.
"""

import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec

from pipelines.finder import Finder, Found, Mention, QuarantinedRows
from pipelines.stages import checks
from warehouse.contract import lists
from warehouse.contract.listing import Listing
from warehouse.contract.organisations import FREE_ID_TYPES
from warehouse.methodology.metrics import ABSENT_REASONS
from warehouse.publish.left_out import STORED_ROW, listed_rows
from warehouse.publish.rebasing import is_rebasing
from warehouse.publish.row_json import NEVER
from warehouse.publish.snapshot import Snapshot
from warehouse.publish.withheld import withhold_rows
from warehouse.record.erase import erasures
from warehouse.record.tables import (
    ELEMENTS,
    ENTITIES,
    FILINGS,
    FUNDAMENTALS,
    IDENTIFIERS,
    MACRO_ANNUAL,
    MACRO_SERIES,
    RECORD_TABLES,
    TENDER_PARTIES,
    TENDER_RELEASES,
    RecordTable,
)
from warehouse.record.versions import load_seqs_of
from warehouse.record.withheld import withheld_fingerprint
from warehouse.serve.build import Build, Mart
from warehouse.serve.entities import ID_TYPES, organisation_id
from warehouse.serve.rows import equal, fetch_rows
from warehouse.serve.search import found_rows
from warehouse.shared.errors import SankofaError
from warehouse.shared.settings import Settings
from warehouse.shared.tiers import configured_tiers

SERVED = "served"
_ANSWER = "the answer"
# Columns of a figure's identity that are not repeated in each line: what was requested, what is
# shown as the value, and the keys of parties, which can be names.
_NOT_SHOWN = ("service_id", "series", "indicator", "ocid", "party_key", "id_value")
# What a name can find, and how much of it is named.
_SEARCHED_KINDS, _MOST_FOUND = ("organisation", "series", "indicator"), 5
_LINE_BREAKS = re.compile(r"\s+")
_LONGEST_VALUE = 80


@dataclass(frozen=True)
class Reading:
    """One stored row: a figure, its value, and why that is or is not the answer."""

    table: str
    figure: str
    value: str | None
    available_at: date | None
    state: str
    source_ref: str
    document: str


@dataclass(frozen=True)
class Explanation:
    """The answer, and everything it follows from."""

    subject: str
    meaning: str
    as_of: date | None
    data_version: str
    answer: str
    readings: tuple[Reading, ...] = ()
    metric: tuple[str, ...] = ()
    documents: tuple[Mention, ...] = ()
    quarantined: tuple[QuarantinedRows, ...] = ()
    notes: tuple[str, ...] = field(default=())


def explain(
    settings: Settings, text: str, field_name: str | None = None, as_of: date | None = None
) -> Explanation:
    """Say why a value is or is not served; raise NothingPublished before the first build."""
    with closing(Mart(settings.marts)) as mart:
        build, finder = mart.build(), Finder(settings)
        found = finder.served(text) or _named(finder, build, text)
        if found is None:
            return _explain_absent(finder, build, text, as_of)
        if field_name is not None:
            found = finder.narrowed(found, field_name)
        return _Inquiry(settings, finder, build, found, as_of).explanation()


class _Inquiry:
    """Answers one question."""

    def __init__(
        self,
        settings: Settings,
        finder: Finder,
        build: Build,
        subject: Found,
        as_of: date | None,
    ) -> None:
        self._settings = settings
        self._finder, self._record, self._landing = finder, finder.record, finder.landing
        self._build = build
        self._subject = subject
        self._as_of = as_of
        self._published = load_seqs_of(finder.record, build.data_version)

    def explanation(self) -> Explanation:
        stored = self._stored()
        readings = [reading for _, reading in sorted(self._readings(), key=lambda pair: pair[0])]
        metric = tuple(self._metric())
        documents = tuple(self._documents(stored))
        quarantined = tuple(self._quarantined(stored))
        return Explanation(
            self._subject.text,
            self._subject.meaning,
            self._as_of,
            self._build.data_version,
            _answer(readings, metric, self._subject, self._as_of, quarantined),
            tuple(readings),
            metric,
            documents,
            quarantined,
            tuple(self._notes(stored)),
        )

    def _quarantined(self, stored: Sequence[Mapping[str, Any]]) -> Iterator[QuarantinedRows]:
        if self._subject.period is None:
            places = {row["source_ref"] for row in stored}
            yield from self._finder.quarantined(self._subject.text, places)
            return
        # Rows of other periods have nothing to do with the question.
        for table, condition in self._subject.scopes.items():
            yield from self._finder.quarantined_in_period(table, condition, self._subject.period)

    def _stored(self) -> list[dict[str, Any]]:
        """Return where every stored row of the subject comes from, by table the first one first."""
        names = ("observed_at", "document", "source_ref", "source", "load_seq")
        return [
            {"table_name": table.name, **dict(zip(names, row, strict=True))}
            for table, condition in self._subject.conditions.items()
            for row in sorted(self._finder.rows(table, ", ".join(names), condition))
        ]

    def _readings(self) -> Iterator[tuple[tuple[str, ...], Reading]]:
        """Yield every vintage and every row that is left out, with its sort key."""
        loads = {table.name: self._record.load_seq(table) for table in RECORD_TABLES}
        with (
            tempfile.TemporaryDirectory(prefix="sankofa-why-") as folder,
            Snapshot(Path(folder), self._record, loads, self._build.data_version) as snapshot,
        ):
            for table in RECORD_TABLES:
                condition = self._subject.conditions.get(table, "FALSE")
                # Other periods of a series decide on which base it is.
                condition = self._subject.scopes.get(table, condition)
                snapshot.replace_rows(table, f"(SELECT * FROM {{stored}} WHERE {condition})")
            withhold_rows(snapshot, self._settings.withheld_key.encode())
            tables = tuple(self._subject.conditions)
            snapshot.apply_rules(tables)
            # A check of other tables has no row to leave out; one of these may read all tables.
            applied = [check for check in checks() if not set(check.tables).isdisjoint(tables)]
            snapshot.copy_record(RECORD_TABLES if applied else tables)
            for check in applied:
                check.leave_out(snapshot)
            rules = {
                (row["table_name"], *_stored_row(row)): str(row["rule"])
                for row in listed_rows(snapshot.sql).to_pylist()
            }
            for table, condition in self._subject.conditions.items():
                for row in snapshot.read(f"FROM {table.name} WHERE {condition}").to_pylist():
                    rule = rules.pop((table.name, *_stored_row(row)), None)
                    yield self._reading(table, row, self._state(table, row, rule))
                yield from self._left_out(table, condition, rules)
            yield from self._apparent(snapshot)

    def _apparent(self, snapshot: Snapshot) -> Iterator[tuple[tuple[str, ...], Reading]]:
        """Yield the statements of figures that only look like restatements: no vintages."""
        condition = self._subject.conditions.get(FUNDAMENTALS, "FALSE")
        rows = snapshot.remaining(FUNDAMENTALS)
        for row in snapshot.read(
            f"SELECT *, 0 AS vintage FROM {rows} "
            f"WHERE ({condition}) AND apparent_restatement IS NOT NULL"
        ).to_pylist():
            state = f"no vintage: only looks like a restatement ({row['apparent_restatement']})"
            yield self._reading(FUNDAMENTALS, row, state)

    def _left_out(
        self, table: RecordTable, condition: str, rules: Mapping[tuple[Any, ...], str]
    ) -> Iterator[tuple[tuple[str, ...], Reading]]:
        """Yield the rows that no vintage is made from, because they are left out."""
        if not any(name == table.name for name, *_ in rules):
            return
        relation = self._record.relation(table.name)
        rows = self._record.query(f"SELECT *, 0 AS vintage FROM {relation} WHERE {condition}")
        for row in rows.to_pylist():
            rule = rules.get((table.name, *_stored_row(row)))
            if rule is not None:
                # What must not be served is not shown here either.
                hide = rule.startswith("withheld") or table in (TENDER_PARTIES, ENTITIES)
                yield self._reading(table, row, f"left out: {rule}", hide=hide)

    def _reading(
        self, table: RecordTable, row: Mapping[str, Any], state: str, *, hide: bool = False
    ) -> tuple[tuple[str, ...], Reading]:
        columns = [name for name in table.identity if name not in _NOT_SHOWN]
        column = self._subject.shown.get(table, table.value)
        value = row[column]
        if table is TENDER_RELEASES and self._subject.member is not None:
            value = _member(row["release"], self._subject.member)
        figure = ", ".join(str(row[name]) for name in columns if row[name] is not None)
        available_at = row["available_at"]
        reading = Reading(
            table.name,
            figure,
            None if hide or value is None else _text(value),
            available_at,
            state,
            row["source_ref"],
            row["document"],
        )
        key = (table.name, figure, str(available_at or ""), f"{row['vintage']:06}")
        return (*key, reading.source_ref, reading.document), reading

    def _state(self, table: RecordTable, row: Mapping[str, Any], rule: str | None) -> str:
        """Say why a vintage is or is not the answer."""
        if rule is not None:
            return f"left out: {rule}"
        if row["load_seq"] > self._published[table.name]:
            return "loaded after the current build was published; run `sankofa publish`"
        available_at, superseded_at = row["available_at"], row["superseded_at"]
        if self._as_of is not None:
            if available_at is None:
                return "in no answer with as_of: there is no evidence of the day it was published"
            if available_at > self._as_of:
                return f"not known on {self._as_of}: it was published on {available_at}"
            if superseded_at is not None and superseded_at <= self._as_of:
                return f"superseded on {superseded_at}"
            return self._withdrawn_or_served(table, row)
        if superseded_at is not None:
            return f"superseded on {superseded_at}"
        if not row["latest"] and not row["withdrawn"]:
            return "superseded by a publication without a day"
        return self._withdrawn_or_served(table, row)

    def _withdrawn_or_served(self, table: RecordTable, row: Mapping[str, Any]) -> str:
        if row["withdrawn"] and is_rebasing(row["publication"]):
            return f"withdrawn: the publisher stated another base in {row['source_ref']}"
        if row["withdrawn"]:
            return f"withdrawn: the publisher no longer showed it on {row['observed_at']:%Y-%m-%d}"
        if table is TENDER_PARTIES and row["name"] is None:
            return "withheld: the party was not established to be an organisation"
        if table is TENDER_RELEASES and self._subject.member is not None:
            if _member(row["release"], self._subject.member) is None:
                withheld = row["parties_withheld"]
                parties = f"; {withheld} of its parties are withheld" if withheld else ""
                return f"not in the release: it was not stated, or may not be published{parties}"
        elif row[self._subject.shown.get(table, table.value)] is None:
            return "null: the source does not state it"
        return SERVED

    def _metric(self) -> Iterator[str]:
        """Say for which years the metric has a value, and why it has none for the others."""
        if self._subject.metric is None:
            return
        build, metric = self._build, self._subject.metric
        owner = organisation_id(build, self._subject.text)
        day = "9999-12-30" if self._as_of is None else self._as_of.isoformat()
        values = fetch_rows(
            build,
            "row, answers_from, answers_until",
            "metrics",
            equal(metric=metric, service_id=owner),
        )
        bodies = ((msgspec.json.decode(row), begins, ends) for row, begins, ends in values)
        for body, begins, ends in sorted(bodies, key=lambda value: value[0]["period_end"]):
            state = _interval_state(begins, ends, day, self._as_of)
            yield f"year to {body['period_end']}: {body['value']}, {state}"
        absences = fetch_rows(
            build,
            "reason, holds_from, holds_until",
            "metrics_absent",
            equal(metric=metric, service_id=owner),
        )
        for reason, begins, ends in absences:
            if begins <= day < ends or (self._as_of is None and ends == NEVER):
                yield f"no value: {reason}, {ABSENT_REASONS[reason]}"
        if not values and not absences:
            yield "no value: the issuer has no published figure that it is computed from"

    def _documents(self, stored: Iterable[Mapping[str, Any]]) -> Iterator[Mention]:
        by_document: dict[str, list[Mapping[str, Any]]] = {}
        for row in stored:
            by_document.setdefault(row["document"], []).append(row)
        # Reversed, so that the first reading of a document wins.
        readings = reversed(self._landing.find(sha256=tuple(by_document)))
        notes = {note.sha256: note for note in readings}
        for document, rows in by_document.items():
            note, source, place = notes.get(document), rows[0]["source"], rows[0]["source_ref"]
            state = "read; its body is no longer landed"
            if note is not None:
                state = "read" if note.removal is None else f"read; {note.removal.words}"
            url = place.partition("#")[0] if note is None else note.url
            observed_at = min(row["observed_at"] for row in rows)
            yield Mention(document, source, url, observed_at, state, len(rows))
        sources = {rows[0]["source"] for rows in by_document.values()}
        for entry in erasures(self._record):
            if entry.source in sources:
                state = f"erased on {entry.erased_at:%Y-%m-%d}: {entry.why}"
                yield Mention(entry.document, entry.source, None, entry.first_observed_at, state)
        for source in sorted(sources):
            unread = self._finder.unread(source)
            for landed in self._landing.documents(source) if unread else ():
                if landed.key in unread:
                    yield Mention.of(landed, unread[landed.key])

    def _notes(self, stored: Sequence[Mapping[str, Any]]) -> Iterator[str]:
        """Say what else can hide a value: later changes, and the tier of a key."""
        withheld = withheld_fingerprint(self._record)
        if f"withheld {withheld}" not in self._build.metadata["made_from"] and withheld:
            yield "what is withheld has changed since the build; run `sankofa publish`"
        for table in self._subject.conditions:
            yield from self._tier_notes(
                table, sum(row["table_name"] == table.name for row in stored)
            )
        wanted = self._subject.meaning.split()
        if IDENTIFIERS in self._subject.conditions and any(word in ID_TYPES for word in wanted):
            free = " and ".join(FREE_ID_TYPES)
            yield f"keys of the sample tier see only {free} in the crosswalk"

    def _tier_notes(self, table: RecordTable, rows: int) -> Iterator[str]:
        if table not in _LISTS:
            return
        rule = _LISTS[table].row_rule
        for tier in configured_tiers(self._settings.tiers_file).values():
            unlimited = rule == "uncapped" or (rule == "paid_unlimited" and tier.paid)
            if not unlimited and rows > tier.rows:
                yield (
                    f"a key of the {tier.name} tier gets {tier.rows} rows in a response, and at "
                    f"most {tier.ceiling} with limit; {table.name} has {rows:,} rows of this"
                )


# The list in which rows of each table are requested.
_LISTS: Mapping[RecordTable, Listing] = {
    FUNDAMENTALS: lists.FUNDAMENTALS,
    FILINGS: lists.FILINGS,
    ELEMENTS: lists.ELEMENTS,
    MACRO_SERIES: lists.MACRO,
    MACRO_ANNUAL: lists.MACRO,
    TENDER_RELEASES: lists.TENDERS,
    TENDER_PARTIES: lists.TENDER_PARTIES,
}


def _stored_row(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(row[name] for name in STORED_ROW)


def _answer(
    readings: Sequence[Reading],
    metric: Sequence[str],
    subject: Found,
    as_of: date | None,
    quarantined: Sequence[QuarantinedRows],
) -> str:
    day = "" if as_of is None else f" on {as_of}"
    if subject.metric is not None:
        current = [line for line in metric if line.startswith("no value") or line.endswith(_ANSWER)]
        return "; ".join(current) or f"no value{day}: no year had been published by then"
    served = [reading for reading in readings if reading.state == SERVED]
    if served:
        return f"served{day}: {len(served):,} of {len(readings):,} rows"
    reasons = list(dict.fromkeys(reading.state for reading in readings))
    if not reasons and quarantined:
        rows = sum(group.rows for group in quarantined)
        reasons = list(dict.fromkeys(group.reason for group in quarantined))
        return f"not served{day}: quarantined when it was read ({rows:,} rows): {reasons[0]}"
    if not reasons:
        return f"not served{day}: no row states it"
    more = f", and {len(reasons) - 3} other reasons" if len(reasons) > 3 else ""
    return f"not served{day}: {'; '.join(reasons[:3])}{more}"


def _interval_state(begins: str, ends: str, day: str, as_of: date | None) -> str:
    if begins == ends:
        return "never served: a later year was published first"
    if as_of is None:
        return _ANSWER if ends == NEVER else f"replaced by a later year on {ends}"
    if begins > day:
        return f"not known on {as_of}: computable from {begins}"
    return _ANSWER if ends > day else f"replaced by a later year on {ends}"


def _named(finder: Finder, build: Build, text: str) -> Found | None:
    """Return what has a name, ticker or LEI; raise SankofaError if several have it."""
    rows = [row for row in _search(build, text) if row["match"] != "near"]
    if len(rows) > 1:
        raise SankofaError(f"{text!r} may be any of these, name one: {', '.join(_ids(rows))}")
    return finder.served(rows[0]["id"]) if rows else None


def _search(build: Build, text: str) -> list[dict[str, Any]]:
    return found_rows(build, text, _SEARCHED_KINDS, None, _MOST_FOUND)


def _ids(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    return [
        row["id"] if row["name"] in (None, row["id"]) else f"{row['id']} ({row['name']})"
        for row in rows
    ]


def _explain_absent(finder: Finder, build: Build, text: str, as_of: date | None) -> Explanation:
    """Explain a text that no stored row has: search the documents themselves for it."""
    near = finder.suggestions(text) or _ids(_search(build, text))
    noted = finder.landing.find()
    landed = [document for document in noted if document.removal is None]
    removed = len(noted) - len(landed)
    mentions = tuple(finder.mentions(text, landed))
    quarantined = finder.quarantined(text, documents={each.document for each in mentions})
    if not mentions and not quarantined:
        hint = f"did you mean {', '.join(near)}?" if near else "give a part of the name to find ids"
        raise SankofaError(
            f"{text!r} is no service_id, series, indicator or ocid of the record, and none of "
            f"{len(landed):,} landed documents mentions it"
            f"{f' ({removed:,} more were removed after their time)' if removed else ''}; {hint}"
        )
    reason = (
        "its documents mention it, and no row of it was accepted: see what was quarantined"
        if quarantined
        else "a document mentions it, and no row of it was stored"
    )
    return Explanation(
        text,
        f"the text {text}",
        as_of,
        build.data_version,
        f"not served: {reason}",
        documents=mentions,
        quarantined=tuple(quarantined),
        notes=(f"nearly the same: {', '.join(near)}",) if near else (),
    )


def _member(release: str | None, path: str) -> Any:
    """Return a member of a release by its dotted path; of a list its items' members."""
    value: Any = None if release is None else msgspec.json.decode(release)
    for name in path.split("."):
        if isinstance(value, list):
            value = [item.get(name) for item in value if isinstance(item, dict)] or None
        else:
            value = value.get(name) if isinstance(value, dict) else None
    return value


def _text(value: Any) -> str:
    if isinstance(value, Decimal):
        return f"{value:f}".rstrip("0").rstrip(".") if "." in f"{value:f}" else f"{value:f}"
    text = value if isinstance(value, str) else msgspec.json.encode(value, enc_hook=str).decode()
    text = _LINE_BREAKS.sub(" ", text)
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}…"
