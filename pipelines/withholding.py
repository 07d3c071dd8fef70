"""Withhold and release: tombstones for what an operator has in hand, with what they affect."""

import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from pipelines.finder import Finder, Found, only_one
from quality.personal_data_audit import names_everywhere
from quality.withheld_search import BuildSearch, Finding, WithheldNames
from warehouse.control.models import current_user, recorded
from warehouse.names.reading import plain_name
from warehouse.names.spellings import Words, names_in
from warehouse.publish.builds import builds_at
from warehouse.publish.left_out import STORED_ROW
from warehouse.publish.redacted_rows import NamePlace, find_names
from warehouse.publish.snapshot import Snapshot
from warehouse.record.relations import sql_text
from warehouse.record.store import Record, open_record
from warehouse.record.tables import (
    ENTITIES,
    IDENTIFIERS,
    RECORD_TABLES,
    SUBJECTS,
    TENDER_RELEASES,
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
    withheld_now,
    withhold,
)
from warehouse.serve.engines import NOTHING_PUBLISHED
from warehouse.serve.finished_files import finished_files
from warehouse.shared.errors import NothingPublished, SankofaError
from warehouse.shared.settings import Settings
from warehouse.tables.operations import WithheldEntry, WithheldKind

# ``sankofa withheld --check``: whether the current build has a name that an operator withheld.


def served_names(settings: Settings) -> list[Finding]:
    """Return every place of the current build that has a name that an operator withheld."""
    builds = builds_at(settings.marts)
    current = builds.current()
    manifest = None if current is None else builds.manifest(current)
    if current is None or manifest is None:
        raise NothingPublished(NOTHING_PUBLISHED)
    record, secret = open_record(settings), settings.withheld_key.encode()
    with _whole_record(record) as stored:
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
    finder = _finder(settings)
    found = _match(finder, text)
    if found is None:
        if not in_advance:
            raise SankofaError(
                f"{text!r} is nowhere in the record; looked for {_LOOKED_FOR}. To withhold a name "
                "before it arrives, use --in-advance"
            )
        meaning = f"the name {text!r} in every spelling, from when it arrives"
        found = Match("party", meaning, (name_subject(finder.secret, text),), {}, ())
    _refuse_names(why, text, found)
    check_secret(withheld_now(finder.record), finder.secret)
    return found


def withhold_found(settings: Settings, found: Match, why: str) -> Change:
    """Withhold what was found."""
    finder = _finder(settings)
    with recorded(settings.control, "withhold", found.kind, why) as action:
        new = withhold(finder.record, found.subjects, why, current_user(), finder.secret)
        action.what = _ids(found.kind, new)
    return Change(found, tuple(new))


def _ids(kind: WithheldKind, entries: Sequence[WithheldEntry]) -> str:
    """Return how the trail of operators describes entries: without the name of a person."""
    ids = ", ".join(entry.withheld_id[:12] for entry in entries)
    return f"{kind} {ids}" if ids else f"{kind}, as before"


def release_text(settings: Settings, text: str, why: str, *, dry_run: bool = False) -> Change:
    """Release what a text means, or the tombstone whose id begins like it."""
    finder = _finder(settings)
    withheld = {entry.withheld_id: entry for entry in withheld_now(finder.record)}
    begun = [name for name in withheld if len(text) >= _SHORTEST_ID and name.startswith(text)]
    one = only_one(begun, text)
    by_id = [] if one is None else [withheld[one]]
    found = _match(finder, text)
    subjects = [
        *(found.subjects if found else ()),
        *([name_subject(finder.secret, text)] if names_in(text) else []),
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


def _finder(settings: Settings) -> Finder:
    finder = Finder(settings)
    require_withheld_key(settings.withheld_key, finder.landing.world())
    return finder


def _match(finder: Finder, text: str) -> Match | None:
    """Return what a text means; the first of the meanings that has any row."""
    found = finder.find(text)
    if found is None:
        return _named(finder, text.strip())
    subjects, meaning = _subjects(finder, found), found.meaning
    counts = _counts(finder, found)
    spellings: tuple[tuple[str, int], ...] = ()
    if found.kind == "process":
        meaning = f"{meaning}, with later releases"
    elif found.kind == "organisation":
        meaning = f"{meaning} with its names"
        names = _names(finder, found)
        places = _places(finder, frozenset(words for name in names for words in names_in(name)))
        subjects += [name_subject(finder.secret, name) for name in names]
        counts, spellings = {**_row_counts(places), **counts}, _spellings(places)
    chosen = tuple(dict.fromkeys(subjects))
    return Match(chosen[0].kind, meaning, chosen, counts, _examples(finder, found), spellings)


def _subjects(finder: Finder, found: Found) -> list[Subject]:
    """Return by what rows are recognised that are to be withheld."""
    if found.kind == "document":
        return [Subject("document", document) for document in found.keys]
    if found.kind == "organisation":
        return [Subject("service_id", service_id) for service_id in found.keys]
    if found.kind == "party":
        return [party_key_subject(finder.secret, source, key) for source, key in found.keys]
    if found.kind == "process":
        sources = finder.rows(TENDER_RELEASES, "DISTINCT source", found.conditions[TENDER_RELEASES])
        return [process_subject(source, found.text) for (source,) in sources]
    # Each row by its publication.
    return [
        sighting_subject(table, *hashes)
        for table, condition in found.conditions.items()
        for hashes in finder.rows(table, "DISTINCT figure, figure_check, sighting", condition)
    ]


def _counts(finder: Finder, found: Found) -> dict[str, int]:
    return {
        table.name: int(count)
        for table, condition in found.conditions.items()
        for (count,) in finder.rows(table, "count(*)", condition)
        if count
    }


def _examples(finder: Finder, found: Found) -> tuple[str, ...]:
    places = [
        str(source_ref)
        for table, condition in found.conditions.items()
        for (source_ref,) in finder.rows(
            table, "DISTINCT source_ref", f"{condition} ORDER BY source_ref", _EXAMPLES
        )
    ]
    return tuple(dict.fromkeys(places))[:_EXAMPLES]


def _names(finder: Finder, found: Found) -> list[str]:
    """Return the names of an organisation, those too that the register calls other names."""
    others = "CAST(CAST(coalesce(other_names, '[]') AS JSON) AS VARCHAR[])"
    named = f"DISTINCT unnest(list_concat([legal_name], {others}))"
    return [name for (name,) in finder.rows(ENTITIES, named, found.conditions[ENTITIES]) if name]


def _named(finder: Finder, text: str) -> Match | None:
    """Look a name up in every spelling, in every text, id and address of the record."""
    places = _places(finder, frozenset(names_in(text)))
    if not places:
        return None
    counts = _row_counts(places)
    organisations = sorted(
        {place.row["service_id"] for place in places if place.column == "legal_name"}
    )
    if quoted := ", ".join(map(sql_text, organisations)):
        for table in (IDENTIFIERS, *SUBJECTS["issuers"]):
            ((count,),) = finder.rows(table, "count(*)", f"service_id IN ({quoted})")
            counts[table.name] = max(counts.get(table.name, 0), int(count))
    return Match(
        "party",
        f"the name {text} in every spelling",
        (name_subject(finder.secret, text),),
        {name: count for name, count in counts.items() if count},
        tuple(sorted({str(place.row["source_ref"]) for place in places}))[:_EXAMPLES],
        _spellings(places),
    )


def _places(finder: Finder, names: frozenset[Words]) -> list[NamePlace]:
    """Return every place of the record that has one of the names."""
    with _whole_record(finder.record) as stored:
        return list(find_names(stored, names)) if names else []


@contextmanager
def _whole_record(record: Record) -> Iterator[Snapshot]:
    loads = {table.name: record.load_seq(table) for table in RECORD_TABLES}
    with (
        tempfile.TemporaryDirectory() as folder,
        Snapshot(Path(folder), record, loads, "") as snapshot,
    ):
        yield snapshot
