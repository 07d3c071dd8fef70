"""Which names a build must not have, from the record and a snapshot; and the audit of its files."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from quality.withheld_search import (
    BuildSearch,
    Finding,
    Process,
    WithheldNames,
    names_complete_in,
)
from quality.word_search import WordSearch, strings
from warehouse.mart.redacted_rows import names_by_process
from warehouse.mart.snapshot import Snapshot
from warehouse.mart.withheld import find_withheld
from warehouse.names.redaction import redaction_of
from warehouse.names.spellings import Words
from warehouse.read.finished_files import FinishedFile
from warehouse.record.withheld import withheld_names, withheld_now

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
    found = find_withheld(snapshot, secret)
    if not found:
        return {}
    names = {
        tuple(name.split(" ")): _BY_KEY for name in found["withheld_everywhere"]["name"].to_pylist()
    }
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
    with closing(snapshot.sql.cursor()) as cursor:
        cursor.execute(statement, parameters or None)
        while rows := cursor.fetchmany(10_000):
            yield from rows
