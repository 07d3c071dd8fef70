"""Apply the tombstones to a snapshot: what is withheld never enters it.

Rows of withheld documents, processes, organisations and single rows are left out. A withheld
party is stored as the parser stores one that is not established to be an organisation: under a
keyed hash, without name, number and evidence; and it disappears from the releases that name it.
All of this happens before vintages are computed, so every derived table, file and page follows.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from warehouse.mart.left_out import ROW_IDS, STORED_ROW
from warehouse.mart.redaction import Redaction, may_mention
from warehouse.mart.snapshot import Snapshot
from warehouse.names import withheld_party_key
from warehouse.record.store import sql_text
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
from warehouse.record.withheld import (
    check_secret,
    name_subject,
    parts,
    party_key_subject,
    withheld_now,
)
from warehouse.sql_files import sql_file
from warehouse.tables import WithheldBy
from warehouse.tables.entities import NAME_LISTS

_BATCH = 2_000
_OF_RELEASE = ("source", "ocid", "release_id")

# Which rows are left out, in the words of the table ``left_out``.
WITHHELD_RULES: Mapping[WithheldBy, str] = {
    "document": "withheld by the operator: its document",
    "sighting": "withheld by the operator: the row",
    "process": "withheld by the operator: its contracting process",
    "service_id": "withheld by the operator: its organisation",
}
WITHHELD_PARTIES = "withheld by the operator: the party, whose name is removed"
_IS_WITHHELD_PARTY = (
    "name IN (SELECT name FROM withheld_names) OR name IS NOT NULL "
    "AND (source, party_key) IN (SELECT (source, party_key) FROM withheld_keys)"
)
# A list of names without those that are withheld.
_NAMES = """CASE
    WHEN list_has_any(TRY_CAST(TRY_CAST({0} AS JSON) AS VARCHAR[]), gone.names)
    THEN CAST(to_json(list_filter(TRY_CAST(TRY_CAST({0} AS JSON) AS VARCHAR[]),
        lambda other: NOT list_contains(gone.names, other))) AS VARCHAR)
    ELSE {0}
END AS {0}"""
_SQL = sql_file(
    __name__,
    "withheld",
    fragments={
        "stored_row": ", ".join(STORED_ROW),
        "row_ids": ROW_IDS,
        "is_withheld": _IS_WITHHELD_PARTY,
        "same_reading": " AND ".join(f"fixed.{name} = stored.{name}" for name in STORED_ROW),
        "other_names": ", ".join(map(_NAMES.format, NAME_LISTS)),
    },
    parameters={"rule": WITHHELD_PARTIES},
    examples={
        "releases": "tender_releases",
        "entities": "entities",
        "parties": "(SELECT * EXCLUDE (row_id, provenance_id) FROM tender_parties)",
        "redacted": "redacted",
        "may_mention": "FALSE",
    },
)


def withhold_rows(snapshot: Snapshot, secret: bytes) -> None:
    """Leave out of a snapshot what the tombstones withhold; call it before the record is copied."""
    apply_withheld(snapshot, find_withheld(snapshot, secret))


# What is withheld, as tables of texts: ``subjects`` as the tombstones have them, and what they name
# in the whole record. They contain the names of people: they must not outlast a publication.
WithheldTables = Mapping[str, pa.Table]


def find_withheld(snapshot: Snapshot, secret: bytes) -> WithheldTables:
    """Return what the tombstones withhold of all stored rows; nothing if there are none."""
    entries = withheld_now(snapshot.record)
    if not entries:
        return {}
    check_secret(entries, secret)
    subjects: dict[WithheldBy, list[str]] = {}
    for entry in entries:
        subjects.setdefault(entry.by, []).append(entry.subject)
    _create_names(snapshot, secret, subjects)
    _create_organisations(snapshot, subjects)
    _create_party_keys(snapshot, secret)
    given = [(by, subject) for by in sorted(subjects) for subject in sorted(subjects[by])]
    columns: dict[str, list[str]] = {
        "by": [by for by, _ in given],
        "subject": [subject for _, subject in given],
    }
    return {
        "withheld_subjects": _texts(columns),
        **{name: snapshot.read(f"FROM {name} ORDER BY ALL") for name in _FOUND},
    }


# The tables that ``find_withheld`` returns beside the subjects.
_FOUND = (
    *("withheld_names", "withheld_keys", "withheld_organisations"),
    *("withheld_party_keys", "withheld_in_texts"),
)


def apply_withheld(snapshot: Snapshot, withheld: WithheldTables) -> None:
    """Leave out of a snapshot what is withheld of the whole record."""
    if not withheld:
        return
    for name in _FOUND:
        snapshot.sql.register("withheld_rows", withheld[name])
        snapshot.sql.execute(f"CREATE OR REPLACE TABLE {name} AS FROM withheld_rows")
        snapshot.sql.unregister("withheld_rows")
    subjects: dict[WithheldBy, list[str]] = {}
    for row in withheld["withheld_subjects"].to_pylist():
        subjects.setdefault(row["by"], []).append(row["subject"])
    for table, rules in _rules(snapshot, subjects).items():
        snapshot.leave_out(table, rules)
    if any(_rows(snapshot, f"FROM {name} LIMIT 1") for name in ("withheld_names", "withheld_keys")):
        _replace_parties(snapshot)


def _rows(snapshot: Snapshot, statement: str) -> list[tuple[Any, ...]]:
    with closing(snapshot.sql.cursor()) as cursor:
        return cursor.execute(statement).fetchall()


def _texts(columns: Mapping[str, Iterable[object]]) -> pa.Table:
    return pa.table(
        {column: pa.array(list(values), pa.string()) for column, values in columns.items()}
    )


def _create(snapshot: Snapshot, name: str, columns: Mapping[str, Iterable[object]]) -> None:
    """Create a table of texts; it lasts as long as the snapshot is open."""
    snapshot.sql.register("withheld_rows", _texts(columns))
    snapshot.sql.execute(f"CREATE OR REPLACE TABLE {name} AS FROM withheld_rows")
    snapshot.sql.unregister("withheld_rows")


def _create_names(
    snapshot: Snapshot, secret: bytes, subjects: Mapping[WithheldBy, Sequence[str]]
) -> None:
    """Create the names and the keys of parties whose hashes are withheld."""
    parties, entities = snapshot.stored(TENDER_PARTIES), snapshot.stored(ENTITIES)
    hashes = frozenset(subjects.get("name", ()))
    every_name = _SQL.statement("every_name", parties=parties, entities=entities)
    names = [
        name
        for (name,) in (_rows(snapshot, every_name) if hashes else ())
        if name is not None and name_subject(secret, name).value in hashes
    ]
    _create(snapshot, "withheld_names", {"name": names})
    hashes = frozenset(subjects.get("party_key", ()))
    every_key = f"SELECT DISTINCT source, party_key FROM {parties}"
    keys = [
        key
        for key in (_rows(snapshot, every_key) if hashes else ())
        if party_key_subject(secret, *key).value in hashes
    ]
    columns = {"source": [source for source, _ in keys], "party_key": [key for _, key in keys]}
    _create(snapshot, "withheld_keys", columns)


def _create_organisations(snapshot: Snapshot, subjects: Mapping[WithheldBy, Sequence[str]]) -> None:
    """Create the ids of withheld organisations: those given, and those that bear a name."""
    bearing = _rows(
        snapshot,
        f"SELECT service_id FROM {snapshot.stored(ENTITIES)} "
        "WHERE legal_name IN (SELECT name FROM withheld_names)",
    )
    ids = {*subjects.get("service_id", ()), *(service_id for (service_id,) in bearing)}
    _create(snapshot, "withheld_organisations", {"service_id": sorted(ids)})


def _create_party_keys(snapshot: Snapshot, secret: bytes) -> None:
    """Create the hashes of withheld parties' keys, and every name under which one is known."""
    parties = f"FROM {snapshot.stored(TENDER_PARTIES)} WHERE {_IS_WITHHELD_PARTY}"
    keys = _rows(snapshot, f"SELECT DISTINCT source, party_key {parties}")
    hashed = {
        "source": [source for source, _ in keys],
        "party_key": [key for _, key in keys],
        "hashed": [withheld_party_key(secret, *pair) for pair in keys],
    }
    _create(snapshot, "withheld_party_keys", hashed)
    named = f"SELECT name {parties} UNION SELECT name FROM withheld_names"
    _create(snapshot, "withheld_in_texts", {"name": [name for (name,) in _rows(snapshot, named)]})


def _rules(
    snapshot: Snapshot, subjects: Mapping[WithheldBy, Sequence[str]]
) -> dict[RecordTable, dict[str, str]]:
    """Return for each table which rows are left out, and why."""
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
        for table in (TENDER_RELEASES, TENDER_PARTIES):
            condition = f"(source, ocid) IN ({', '.join(processes)})"
            rules[table][WITHHELD_RULES["process"]] = condition
    if _rows(snapshot, "FROM withheld_organisations LIMIT 1"):
        for table in (ENTITIES, IDENTIFIERS, FUNDAMENTALS, FILINGS):
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


def _replace_parties(snapshot: Snapshot) -> None:
    """Take the names of withheld parties out of the tables that have them."""
    parties = snapshot.stored(TENDER_PARTIES)
    _SQL.run(snapshot.sql, "withheld_parties", fill={"parties": parties})
    _SQL.run(snapshot.sql, "list_replaced")
    redacted = f"read_parquet({sql_text(str(_write_releases(snapshot)))})"
    # The snapshot puts its stored rows in.
    stored = "{stored}"
    replacing = {
        TENDER_RELEASES: _SQL.statement("redacted_releases", releases=stored, redacted=redacted),
        TENDER_PARTIES: _SQL.statement("redacted_parties", parties=stored),
        ENTITIES: _SQL.statement("redacted_entities", entities=stored),
    }
    for table, rows in replacing.items():
        snapshot.replace_rows(table, f"({rows})")


def _write_releases(snapshot: Snapshot) -> Path:
    """Write every release that names a withheld party, without the name."""
    # In a folder of its own: it is not one of the tables of the snapshot.
    path = snapshot.folder / "withheld" / "releases.parquet"
    path.parent.mkdir(exist_ok=True)
    names = [name for (name,) in _rows(snapshot, "SELECT name FROM withheld_in_texts")]
    redaction = Redaction(names)
    candidates = _SQL.statement(
        "releases_to_redact",
        releases=snapshot.stored(TENDER_RELEASES),
        may_mention=f"({may_mention(names)})",
    )
    with closing(snapshot.sql.cursor()) as sql, pq.ParquetWriter(path, _RELEASE_SCHEMA) as file:
        for batch in sql.sql(candidates).to_arrow_reader(_BATCH):
            rows = pa.Table.from_batches([batch])
            texts = map(redaction.release, rows["release"].to_pylist())
            position = rows.schema.get_field_index("release")
            rows = rows.set_column(position, "release", pa.array(texts, pa.string()))
            file.write_table(rows.select(_RELEASE_SCHEMA.names).cast(_RELEASE_SCHEMA))
    return path


_RELEASE_SCHEMA = pa.schema(
    [
        ("sighting", pa.int64()),
        ("figure_check", pa.int32()),
        ("load_seq", pa.int64()),
        ("observed_at", pa.timestamp("us", "UTC")),
        ("content", pa.int64()),
        ("release", pa.string()),
        ("newly_withheld", pa.int64()),
    ]
)
