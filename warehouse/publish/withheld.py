"""Apply to a snapshot what is withheld: rows that an operator named, and names of people.

Rows of withheld documents, processes, organisations and single rows are left out, names are taken
out of all others (``redacted_rows``). A withheld party is stored as the parser stores one that is
not established to be an organisation: under a keyed hash, without name, number and evidence. All of
this happens before vintages are computed, so every derived table, file and page follows.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from warehouse.names.spellings import NameFinder, Words, names_in
from warehouse.publish.redacted_rows import Everywhere, redact_rows, text_table
from warehouse.publish.snapshot import Snapshot
from warehouse.record.relations import create_table, sql_text
from warehouse.record.tables import (
    ENTITIES,
    RECORD_TABLES,
    SUBJECTS,
    TENDER_PARTIES,
    TENDER_RELEASES,
    RecordTable,
    tables_by,
)
from warehouse.record.withheld import (
    check_secret,
    parts,
    party_key_subject,
    withheld_names,
    withheld_now,
)
from warehouse.tables.operations import WithheldBy

_OF_RELEASE = ("source", "ocid", "release_id")

# Which rows are left out, in the words of the table ``left_out``.
WITHHELD_RULES: Mapping[WithheldBy, str] = {
    "document": "withheld by the operator: its document",
    "sighting": "withheld by the operator: the row",
    "process": "withheld by the operator: its contracting process",
    "service_id": "withheld by the operator: its organisation",
}


@dataclass(frozen=True)
class Withheld:
    """Everything that is withheld in the whole record.

    It contains the names of people: it must not outlast a publication.
    """

    subjects: Mapping[WithheldBy, Sequence[str]]
    organisations: Sequence[str]
    everywhere: Everywhere

    @property
    def content(self) -> str:
        """A hash of it."""
        parties = sorted(self.everywhere.names), sorted(self.everywhere.keys)
        content = repr((sorted(self.subjects.items()), self.organisations, parties))
        return hashlib.sha256(content.encode()).hexdigest()


NOTHING = Withheld({}, (), Everywhere())


def withhold_rows(snapshot: Snapshot, secret: bytes) -> None:
    """Leave out of a snapshot what is withheld; call it before the record is copied."""
    apply_withheld(snapshot, find_withheld(snapshot, secret), secret)


def find_withheld(snapshot: Snapshot, secret: bytes) -> Withheld:
    """Return what the tombstones withhold, of the whole record; nothing if there are none."""
    entries = withheld_now(snapshot.record)
    if not entries:
        return NOTHING
    check_secret(entries, secret)
    subjects: dict[WithheldBy, list[str]] = {}
    for entry in entries:
        subjects.setdefault(entry.by, []).append(entry.subject)
    keys = _withheld_keys(snapshot, secret, frozenset(subjects.get("party_key", ())))
    names = {*withheld_names(entries, secret), *_names_under(snapshot, keys)}
    organisations = {
        *subjects.get("service_id", ()),
        *_organisations_named(snapshot, NameFinder(names)),
    }
    return Withheld(
        {by: sorted(given) for by, given in subjects.items()},
        sorted(organisations),
        Everywhere(frozenset(names), frozenset(keys)),
    )


def apply_withheld(
    snapshot: Snapshot,
    withheld: Withheld,
    secret: bytes,
    tables: Sequence[RecordTable] = RECORD_TABLES,
) -> None:
    """Leave everything withheld in the whole record out of the given tables of a snapshot."""
    if withheld.subjects:
        organisations = text_table(((id_,) for id_ in withheld.organisations), "service_id")
        create_table(snapshot.sql, "withheld_organisations", organisations)
        for table, rules in _rules(snapshot, withheld).items():
            if table in tables:
                snapshot.leave_out(table, rules)
    redact_rows(snapshot, tables, withheld.everywhere, secret)


def _withheld_keys(
    snapshot: Snapshot, secret: bytes, hashes: frozenset[str]
) -> set[tuple[str, str]]:
    """Return the parties whose keys are withheld; the tombstones have hashes of them."""
    if not hashes:
        return set()
    every_key = f"SELECT DISTINCT source, party_key FROM {snapshot.stored(TENDER_PARTIES)}"
    return {
        (source, key)
        for source, key in snapshot.rows(every_key)
        if party_key_subject(secret, source, key).value in hashes
    }


def _names_under(snapshot: Snapshot, keys: Iterable[tuple[str, str]]) -> Iterator[Words]:
    """Yield every name under which a withheld party is known."""
    pairs = ", ".join(f"({sql_text(source)}, {sql_text(key)})" for source, key in keys)
    if pairs:
        parties = snapshot.stored(TENDER_PARTIES)
        named = f"name IS NOT NULL AND (source, party_key) IN ({pairs})"
        for (name,) in snapshot.rows(f"SELECT DISTINCT name FROM {parties} WHERE {named}"):
            yield from names_in(name)


def _organisations_named(snapshot: Snapshot, finder: NameFinder) -> Iterator[str]:
    """Yield the ids of organisations whose legal name is, or contains, a withheld one."""
    entities = snapshot.stored(ENTITIES)
    named = f"SELECT DISTINCT service_id, legal_name FROM {entities} WHERE legal_name IS NOT NULL"
    for service_id, name in snapshot.rows(named):
        if finder.has(name):
            yield service_id


def _rules(snapshot: Snapshot, withheld: Withheld) -> dict[RecordTable, dict[str, str]]:
    """Return for each table which rows are left out, and why."""
    subjects = withheld.subjects
    rules: dict[RecordTable, dict[str, str]] = {table: {} for table in RECORD_TABLES}
    if documents := ", ".join(map(sql_text, subjects.get("document", ()))):
        for table in RECORD_TABLES:
            rules[table][WITHHELD_RULES["document"]] = f"document IN ({documents})"
    for table in RECORD_TABLES:
        hashes = [
            f"({', '.join(str(int(part)) for part in numbers)})"
            for name, *numbers in (parts(subject, 4) for subject in subjects.get("sighting", ()))
            if name == table.name
        ]
        if hashes:
            condition = f"(figure, figure_check, sighting) IN ({', '.join(hashes)})"
            rules[table][WITHHELD_RULES["sighting"]] = condition
    _withhold_parties_of_rows(snapshot, rules)
    processes = [
        f"({sql_text(source)}, {sql_text(ocid)})"
        for source, ocid in (parts(subject, 2) for subject in subjects.get("process", ()))
    ]
    if processes:
        for table in SUBJECTS["tenders"]:
            condition = f"(source, ocid) IN ({', '.join(processes)})"
            rules[table][WITHHELD_RULES["process"]] = condition
    if withheld.organisations:
        for table in tables_by("service_id"):
            condition = "service_id IN (SELECT service_id FROM withheld_organisations)"
            rules[table][WITHHELD_RULES["service_id"]] = condition
    return {table: conditions for table, conditions in rules.items() if conditions}


def _withhold_parties_of_rows(snapshot: Snapshot, rules: dict[RecordTable, dict[str, str]]) -> None:
    """Let the parties of a release go with its row."""
    rule = WITHHELD_RULES["sighting"]
    if rule not in rules[TENDER_RELEASES]:
        return
    columns = ", ".join(_OF_RELEASE)
    snapshot.sql.execute(
        f"CREATE OR REPLACE TABLE withheld_releases AS SELECT DISTINCT {columns} "
        f"FROM {snapshot.stored(TENDER_RELEASES)} WHERE {rules[TENDER_RELEASES][rule]}"
    )
    of_release = f"({columns}) IN (SELECT ({columns}) FROM withheld_releases)"
    of_party = rules[TENDER_PARTIES].get(rule)
    rules[TENDER_PARTIES][rule] = f"{of_party} OR {of_release}" if of_party else of_release
