"""Tombstones: what an operator withheld from every later build, and what was released again.

A tombstone is appended and never removed; a release is another entry. The record itself is not
changed: the snapshot of a build leaves out what the tombstones name.

Names are stored encrypted and keys of parties as keyed hashes, so that whoever has a copy of the
list learns no name from it.
"""

import hashlib
import hmac
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from warehouse.names.redaction import open_names, seal_names
from warehouse.names.spellings import Words, names_in
from warehouse.record.erase import erasures
from warehouse.record.store import Record, commit_entries
from warehouse.record.tables import RecordTable
from warehouse.shared.data_files import sql_file
from warehouse.shared.errors import SankofaError
from warehouse.tables.operations import WithheldBy, WithheldEntry, WithheldKind

_SQL = sql_file(__name__, "own_tables")
_KINDS: dict[WithheldBy, WithheldKind] = {
    "name": "party",
    "party_key": "party",
    "service_id": "party",
    "document": "document",
    "sighting": "row",
    "process": "row",
}
_UNDER_KEY = ("name", "party_key")
# Separates the parts of a subject; no key of a source contains it.
_PART = "|"


@dataclass(frozen=True)
class Subject:
    """What is withheld, and how it is recognised; ``value`` is stored."""

    by: WithheldBy
    value: str

    @property
    def kind(self) -> WithheldKind:
        """Party, document or row."""
        return _KINDS[self.by]

    @property
    def id(self) -> str:
        """Id of its tombstones."""
        return hashlib.sha256(f"{self.by}{_PART}{self.value}".encode()).hexdigest()[:32]


def name_subject(secret: bytes, name: str) -> Subject:
    """Return the subject of a name: of its distinctive words, so that every spelling is covered.

    Raise if it has none.
    """
    sealed = seal_names(secret, (" ".join(words) for words in names_in(name)))
    if sealed is None:
        raise SankofaError(f"{name!r} is no name: it has no word but titles and numbers")
    return Subject("name", sealed)


def withheld_names(entries: Iterable[WithheldEntry], secret: bytes) -> list[Words]:
    """Return the words of each name that tombstones withhold."""
    sealed = [entry.subject for entry in entries if entry.by == "name"]
    return [tuple(name.split(" ")) for text in sealed for name in open_names(secret, text)]


def party_key_subject(secret: bytes, source: str, party_key: str) -> Subject:
    """Return the subject of all parties with one key in one source."""
    return Subject("party_key", _hash(secret, "party", source, party_key))


def sighting_subject(table: RecordTable, figure: int, figure_check: int, sighting: int) -> Subject:
    """Return the subject of a row: one figure in one publication, however often it is read."""
    return Subject("sighting", f"{table.name}{_PART}{figure}{_PART}{figure_check}{_PART}{sighting}")


def process_subject(source: str, ocid: str) -> Subject:
    """Return the subject of a contracting process: all its releases, also later ones."""
    return Subject("process", f"{source}{_PART}{ocid}")


def parts(subject: str, count: int) -> list[str]:
    """Return the parts of a stored subject that has several."""
    return subject.split(_PART, count - 1)


def tombstones(record: Record) -> list[WithheldEntry]:
    """Return the last entry of everything ever withheld, in the order of entry."""
    entries = record.query(_SQL.statement("tombstones", withheld=record.relation("withheld")))
    return [WithheldEntry.model_validate(row) for row in entries.to_pylist()]


def withheld_now(record: Record) -> list[WithheldEntry]:
    """Return the tombstones that have not been released."""
    return [entry for entry in tombstones(record) if not entry.released]


def withheld_fingerprint(record: Record) -> str:
    """Return a hash of what is withheld and erased; another one means another build."""
    withheld = sorted(entry.withheld_id for entry in withheld_now(record))
    erased = sorted({entry.document for entry in erasures(record)})
    if not withheld and not erased:
        return ""
    return hashlib.sha256(repr((withheld, erased)).encode()).hexdigest()[:16]


def withhold(
    record: Record, subjects: Iterable[Subject], why: str, who: str, secret: bytes
) -> list[WithheldEntry]:
    """Withhold what is not withheld yet; return the new entries."""
    stored = {entry.withheld_id for entry in withheld_now(record)}
    new = [subject for subject in dict.fromkeys(subjects) if subject.id not in stored]
    return _enter(record, [_entry(subject, why, who, secret) for subject in new])


def release(
    record: Record, entries: Sequence[WithheldEntry], why: str, who: str
) -> list[WithheldEntry]:
    """Release what these tombstones withhold; return the new entries."""
    changes = {"why": why, "who": who, "released": True, "entered_at": datetime.now(UTC)}
    return _enter(record, [entry.model_copy(update=changes) for entry in entries])


def check_secret(entries: Iterable[WithheldEntry], secret: bytes) -> None:
    """Raise if a tombstone was hashed under another key: it would no longer match anyone."""
    other = [entry for entry in entries if entry.key_check not in (None, _key_check(secret))]
    if other:
        raise SankofaError(
            f"{len(other)} withheld parties were hashed under another SANKOFA_WITHHELD_KEY and "
            "could not be recognised; set the key of that time again"
        )


def _enter(record: Record, entries: list[WithheldEntry]) -> list[WithheldEntry]:
    if entries:
        commit_entries(record, "withheld", entries)
    return entries


def _entry(subject: Subject, why: str, who: str, secret: bytes) -> WithheldEntry:
    return WithheldEntry(
        withheld_id=subject.id,
        kind=subject.kind,
        by=subject.by,
        subject=subject.value,
        key_check=_key_check(secret) if subject.by in _UNDER_KEY else None,
        why=why,
        who=who,
        released=False,
        entered_at=datetime.now(UTC),
    )


def _hash(secret: bytes, *texts: str) -> str:
    return hmac.digest(secret, _PART.join(texts).encode(), "sha256").hex()[:32]


def _key_check(secret: bytes) -> str:
    return _hash(secret, "key check")[:8]
