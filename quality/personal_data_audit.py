"""Audit what would be served for personal data: names of people, and contacts in free text.

Every name must be an organisation's. When a document was parsed, a name was judged with
everything the document stated; this audit only sees what would be served. A foreign party may
have a legal form of another country, so every country is tried before a name fails. An
organisation in a register is established by that register: by the entity type in its LEI or SEC
record, or by the reports it filed. Only one that no register vouches for is judged by its name.
Registers do not vouch for its other names: each is checked for a person's. Whoever a release
names is one of its parties, or must pass by itself.

A row that fails is left out of the build before anything is derived from it. The audit reads the
tables of failing rows again, which are then empty.
"""

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pycountry

from quality.catalogue import Tables
from quality.contacts import has_contact, remove_contacts
from quality.persons import Evidence, Verdict, Withheld, judge_name, personal_name_rule
from quality.withheld_search import (
    BuildSearch,
    Finding,
    Process,
    WithheldNames,
    WordSearch,
    names_complete_in,
    strings,
)
from warehouse.names.redaction import redaction_of
from warehouse.names.spellings import Words
from warehouse.publish.left_out import STORED_ROW, is_in
from warehouse.publish.redacted_rows import names_by_process, text_table
from warehouse.publish.snapshot import Snapshot
from warehouse.publish.withheld import find_withheld
from warehouse.record.relations import create_table
from warehouse.record.tables import (
    ENTITIES,
    IDENTIFIERS,
    TENDER_PARTIES,
    TENDER_RELEASES,
    RecordTable,
)
from warehouse.record.withheld import withheld_names, withheld_now
from warehouse.serve.finished_files import FinishedFile
from warehouse.shared.data_files import csv_rows, sql_file
from warehouse.tables.column import columns_of
from warehouse.tables.tenders import TenderRelease

# Which names a build must not have, from the record and a snapshot; and the audit of its files.

_BY_KEY = "of a party that is withheld by its key"
# Every name under which an organisation is published.
_ORGANISATIONS = """
SELECT DISTINCT name FROM tender_parties WHERE name IS NOT NULL
UNION
SELECT DISTINCT unnest([legal_name, other_names, former_names, trading_names]) FROM entities
"""


def audit_finished(
    snapshot: Snapshot, files: Iterable[FinishedFile], secret: bytes, work: Path
) -> list[Finding]:
    """Return every place in the files of a build that has a withheld name.

    If there is none, that is remembered in the folder ``work`` for the next build.
    """
    search = BuildSearch(names_of_build(snapshot, secret), secret, work)
    findings = list(search.findings(files))
    doubtful = {finding.name for finding in findings if finding.is_doubtful}
    excused = _namesakes(snapshot, search.names, doubtful) if doubtful else set()
    found = [each for each in findings if not (each.is_doubtful and each.name in excused)]
    if not found:
        search.remember()
    return found


def names_of_build(snapshot: Snapshot, secret: bytes) -> WithheldNames:
    """Return the names that a build of a snapshot must not have."""
    everywhere = names_everywhere(snapshot, secret)
    by_process = names_by_process(snapshot, secret)
    served: dict[str, frozenset[Words]] = {}
    for (ocid,), names in by_process.items():
        # Its id is another one in the build if it has the name.
        redacted = redaction_of(names, frozenset(everywhere), secret).identifier(ocid)
        served |= dict.fromkeys((ocid, redacted), names)
    sources = _by_ocid(snapshot, "tender_releases", "source", served)
    parties = _by_ocid(snapshot, "tender_parties", "name", served)
    processes = {
        ocid: Process(", ".join(sorted(sources[ocid])), names, frozenset(parties[ocid]))
        for ocid, names in served.items()
    }
    every_name = frozenset(name for names in by_process.values() for name in names)
    return WithheldNames(everywhere, processes, every_name)


def names_everywhere(snapshot: Snapshot, secret: bytes) -> Mapping[Words, str]:
    """Return the names that operators withheld, with the id of the tombstone of each."""
    names = dict.fromkeys(find_withheld(snapshot, secret).everywhere.names, _BY_KEY)
    for entry in withheld_now(snapshot.record):
        names |= dict.fromkeys(withheld_names([entry], secret), entry.withheld_id[:12])
    return names


def _by_ocid(
    snapshot: Snapshot, table: str, column: str, ocids: Iterable[str]
) -> Mapping[str, set[str]]:
    """Return the values of a column for some processes; none for one that is not published."""
    found = defaultdict[str, set[str]](set)
    statement = f"""SELECT DISTINCT ocid, {column} FROM {table}
        WHERE {column} IS NOT NULL AND ocid IN (SELECT unnest($ocids))"""
    for ocid, value in _rows(snapshot, statement, ocids=list(ocids)):
        found[ocid].add(value)
    return found


def _namesakes(snapshot: Snapshot, names: WithheldNames, doubtful: set[Words]) -> set[Words]:
    """Return the names that an organisation is published under, or a release of other processes."""
    search = WordSearch(doubtful, every_word=True)
    borne = {
        found
        for (text,) in _rows(snapshot, _ORGANISATIONS)
        for found in names_complete_in(text or "", search)
    }
    if borne >= doubtful:
        return borne
    for ocid, release in _rows(snapshot, "SELECT ocid, release FROM tender_releases"):
        process = names.processes.get(ocid)
        of_process = process.names if process else frozenset()
        candidates = search.names_in(release or "") - of_process - borne
        if candidates:
            borne |= candidates & {
                found
                for _, text in strings("release", release)
                for found in names_complete_in(text, search)
            }
    return borne


def _rows(snapshot: Snapshot, statement: str, **parameters: object) -> Iterator[tuple[Any, ...]]:
    with snapshot.cursor() as cursor:
        cursor.execute(statement, parameters or None)
        while rows := cursor.fetchmany(10_000):
            yield from rows


@dataclass(frozen=True)
class PersonalDataRule:
    """A rule that no SQL condition can state: the rows that fail it are in a table, ``failing``.

    ``reads`` are the tables that decide which those are.
    """

    table: RecordTable
    column: str
    words: str
    failing: str
    reads: tuple[str, ...]


# Tables with names of people, and all that decide about theirs.
_DECIDED_BY = {
    TENDER_PARTIES: (TENDER_RELEASES.name, TENDER_PARTIES.name),
    TENDER_RELEASES: (TENDER_RELEASES.name, TENDER_PARTIES.name),
    ENTITIES: (ENTITIES.name, IDENTIFIERS.name),
}
PERSONAL_DATA_RULES = tuple(
    PersonalDataRule(table, row["column"], row["words"], row["failing"], reads)
    for row in csv_rows(__name__, "personal_data_rules")
    for table, reads in _DECIDED_BY.items()
    if table.name == row["table"]
)

_CHECKED = frozenset(_DECIDED_BY)
_COUNTRIES = tuple(country.alpha_2 for country in pycountry.countries)
# The rules whose verdict depends on the country, since a party may come from another one.
_COUNTRY_RULES = frozenset({"no_evidence", "several_names"})


class ServedParty(NamedTuple):
    """What would be served of a party."""

    name: str
    country: str | None
    scheme: str | None
    identifier: str | None


def not_established(parties: Iterable[ServedParty]) -> Iterator[tuple[ServedParty, str]]:
    """Yield every party that must not be served, with the rule that withholds it."""
    for party in parties:
        verdict = _verdict(party, party.country)
        if isinstance(verdict, Withheld) and verdict.rule in _COUNTRY_RULES:
            # Only for these rules: a title or a contact means the same in every country.
            abroad = any(isinstance(_verdict(party, code), Evidence) for code in _COUNTRIES)
            verdict = Evidence("elsewhere", party.name) if abroad else verdict
        if isinstance(verdict, Withheld):
            yield party, verdict.rule


def leave_out_personal_data(snapshot: Snapshot) -> None:
    """Leave out every row that names a person or contains a contact.

    An older reading that appears in its place is checked too, and so is a release that names a
    party that is gone.
    """
    find_personal_data(snapshot)
    while _leave_out_failing(snapshot):
        find_personal_data(snapshot)


def _leave_out_failing(snapshot: Snapshot) -> int:
    left_out = 0
    for rule in PERSONAL_DATA_RULES:
        # Usually there is none, and then the record need not be read.
        if snapshot.sql.execute(f"SELECT 1 FROM {rule.failing} LIMIT 1").fetchall():
            left_out += snapshot.leave_out(rule.table, {rule.words: is_in(rule.failing)})
    return left_out


def find_personal_data(tables: Tables, of: Collection[RecordTable] = _CHECKED) -> None:
    """Create the table of each rule, or of those ``of`` some tables: rows that are not served."""
    if ENTITIES in of:
        find_persons_in_registers(tables)
    if TENDER_PARTIES in of or TENDER_RELEASES in of:
        find_persons_in_tenders(tables)
        find_contacts(tables)


def find_persons_in_registers(tables: Tables) -> None:
    """Create ``failing_entities`` and ``failing_other_names``: rows with names of people."""
    _judge(tables, "unvouched_entities", "unestablished_entities")
    _SQL.run(tables.sql, "failing_entities")
    _find_other_names(tables)


def find_persons_in_tenders(tables: Tables) -> None:
    """Create ``failing_parties`` and ``failing_releases``: rows with names of people."""
    _judge(tables, "parties", "unestablished_parties")
    _SQL.run(tables.sql, "failing_parties")
    _SQL.run(tables.sql, "names_without_party")
    _judge(tables, "release_names", "unestablished_names")
    _SQL.run(tables.sql, "failing_releases")


def _find_other_names(tables: Tables) -> None:
    _SQL.run(tables.sql, "named_entities")
    personal = [
        (row["name"], row["country"])
        for batch in _read(tables, "other_names").to_batches()
        for row in batch.to_pylist()
        if personal_name_rule(row["name"], row["country"])
    ]
    create_table(tables.sql, "personal_names", text_table(personal, "name", "country"))
    _SQL.run(tables.sql, "failing_other_names")
    tables.sql.execute("DROP TABLE personal_names")
    tables.sql.execute("DROP TABLE named_entities")


def _read(tables: Tables, query: str) -> pa.Table:
    return _SQL.query(tables.sql, query).to_arrow_table()


def _judge(tables: Tables, query: str, table: str) -> None:
    """Create a table of the parties selected by a query that are not established."""
    failing = [party for party, _ in not_established(_parties(_read(tables, query)))]
    create_table(tables.sql, table, text_table(failing, *ServedParty._fields))


def _parties(rows: pa.Table) -> Iterator[ServedParty]:
    # Batch by batch: millions of names are never Python objects at once.
    for batch in rows.to_batches():
        columns = (column.to_pylist() for column in batch.columns)
        yield from map(ServedParty._make, zip(*columns, strict=True))


def _verdict(party: ServedParty, country: str | None) -> Verdict:
    return judge_name(party.name, country=country, scheme=party.scheme, identifier=party.identifier)


# Members that no served release has.
_FORBIDDEN_MEMBERS = ("contactPoint", "telephone", "faxNumber", "email", "legalName")
_CANDIDATES = (
    r"@|(?i)\b(tel|phone|telephone|cell|mobile|fax|whatsapp)\b.{0,12}\d"
    r"|contact person|enquir|" + "|".join(f'"{member}"' for member in _FORBIDDEN_MEMBERS)
)
_BATCH_ROWS = 10_000
# Columns of a release that people write, besides the texts inside its JSON.
_FREE_TEXTS = tuple(name for name, column in columns_of(TenderRelease).items() if column.free_text)


def _searched() -> dict[str, str]:
    """Return the columns in which marks are looked for, as fragments."""
    names = ("release", *_FREE_TEXTS)
    return {
        "searched": ", ".join(names),
        "has_marks": " OR ".join(f"regexp_matches({name}, $marks)" for name in names),
    }


_SQL = sql_file(
    __name__,
    "personal_data",
    fragments={"stored_row": ", ".join(STORED_ROW)},
    parameters={"marks": _CANDIDATES},
)


def find_contacts(tables: Tables) -> None:
    """Create ``releases_with_contact``: the row ids of releases in which a contact is left."""
    with_marks = _SQL.query(tables.sql, "releases_with_marks", fill=_searched()).to_arrow_table()
    row_ids = [
        row["row_id"]
        for batch in with_marks.to_batches(_BATCH_ROWS)
        for row in batch.to_pylist()
        if release_has_contact(
            [json.loads(row["release"] or "null"), {name: row[name] for name in _FREE_TEXTS}]
        )
    ]
    create_table(tables.sql, "contact_rows", text_table(zip(row_ids, strict=True), "row_id"))
    _SQL.run(tables.sql, "releases_with_contact")
    tables.sql.execute("DROP TABLE contact_rows")


def release_has_contact(release: Any) -> bool:
    """Return whether any text in a release contains something that would be removed."""
    return any(_is_contact(name, text) for name, text in _texts("", release))


def _is_contact(name: str, text: str) -> bool:
    if name in _FORBIDDEN_MEMBERS:
        return True
    if name == "name":
        return has_contact(text)
    # Ids ("awardID" too) and dates are not free text and never cleaned.
    is_free_text = not name.lower().endswith(("id", "date"))
    return is_free_text and remove_contacts(text) != text


def _texts(name: str, value: Any) -> Iterator[tuple[str, str]]:
    """Yield every text in a JSON value with the name of its member."""
    if isinstance(value, dict):
        for key, member in value.items():
            if key in _FORBIDDEN_MEMBERS:
                yield key, ""
            # The name of a unit is free text, that of an organisation is not.
            yield from _texts("unit" if (name, key) == ("unit", "name") else key, member)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(name, item)
    elif isinstance(value, str):
        yield name, value
