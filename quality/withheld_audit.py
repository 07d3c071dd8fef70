"""Which names a build must not have, from the record and a snapshot; and the audit of its files."""

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
    processes: dict[str, list[Process]] = {}
    by_process = names_by_process(snapshot, secret)
    for (source, ocid), names in by_process.items():
        # Its id is another one in the build if it has the name.
        served = redaction_of(names, frozenset(everywhere), secret).identifier(ocid)
        for id_ in {ocid, served}:
            processes.setdefault(id_, []).append(Process(source, names))
    parties = _published_parties(snapshot, processes)
    return WithheldNames(
        everywhere,
        {
            ocid: tuple(
                Process(each.source, each.names, frozenset(parties.get((each.source, ocid), ())))
                for each in found
            )
            for ocid, found in processes.items()
        },
        frozenset(name for names in by_process.values() for name in names),
    )


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


def _published_parties(
    snapshot: Snapshot, processes: Iterable[str]
) -> Mapping[tuple[str, str], set[str]]:
    """Return the names of the published parties of some processes."""
    found: dict[tuple[str, str], set[str]] = {}
    statement = """SELECT DISTINCT source, ocid, name FROM tender_parties
        WHERE name IS NOT NULL AND ocid IN (SELECT unnest($ocids))"""
    for source, ocid, name in _rows(snapshot, statement, ocids=list(processes)):
        found.setdefault((source, ocid), set()).add(name)
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
        of_process = {name for each in names.processes.get(ocid, ()) for name in each.names}
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
