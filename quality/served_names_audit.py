"""The last look at everyone who would be served: each must be established, none a person.

Parsing judged it with all that its document said; here only what would be served is known. A
foreign party's legal form may be one of another country, so every country is tried before a
name is called a fault. An organisation of a register is established by the register: the kind
that an LEI record or the SEC states, or the reports it filed. Only one that none of them
vouches for is judged by its name. Its other names are not the register's affair, and each is
looked at for a person. Whoever a release names is a party of it, or is established by itself.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import pyarrow as pa
import pycountry

from quality.persons import Evidence, Withheld, established, named_person
from warehouse.mart.snapshot import Snapshot

_COUNTRIES = tuple(country.alpha_2 for country in pycountry.countries)
# The rules whose verdict hangs on the country, of which a party may have another one.
_LOCAL = frozenset({"no_evidence", "several_names"})

_PARTIES = """
SELECT DISTINCT name, country, identifier_scheme, identifier_id
FROM tender_parties WHERE name IS NOT NULL
"""
_UNVOUCHED = """
SELECT DISTINCT legal_name AS name, coalesce(country, left(jurisdiction, 2)) AS country,
    CAST(NULL AS VARCHAR) AS identifier_scheme, CAST(NULL AS VARCHAR) AS identifier_id
FROM entities
WHERE legal_name IS NOT NULL AND entity_type IS NULL
    AND service_id NOT IN (SELECT service_id FROM identifiers WHERE id_type = 'cik')
"""
_OTHER_NAMES = """
SELECT row_id, unnest(CAST(CAST(other_names AS JSON) AS VARCHAR[])) AS name,
    coalesce(country, left(jurisdiction, 2)) AS country
FROM entities WHERE other_names IS NOT NULL
"""
# Every name in a release but those of units, where no party of the release has it. Of millions
# of parties only hashes of 64 bits are held: one name in 10^12 would pass for another's.
_NAMED = """
CREATE OR REPLACE TABLE named_elsewhere AS
WITH found AS (
    SELECT row_id, source, ocid, release_id, country,
        list_distinct(json_extract_string(release, '$..name')) AS names,
        CASE WHEN contains(release, '"unit"')
            THEN json_extract_string(release, '$..unit.name') ELSE [] END AS units
    FROM tender_releases WHERE release IS NOT NULL
), named AS (
    SELECT row_id, source, ocid, release_id, country,
        unnest(list_filter(names, lambda name: NOT list_contains(units, name))) AS name
    FROM found
), party AS (
    SELECT hash(source, ocid, release_id, name) AS mark FROM tender_parties
    WHERE name IS NOT NULL
)
SELECT row_id, name, country FROM named ANTI JOIN party
  ON party.mark = hash(named.source, named.ocid, named.release_id, named.name)
"""
_ELSEWHERE = """
SELECT DISTINCT name, country, CAST(NULL AS VARCHAR) AS identifier_scheme,
    CAST(NULL AS VARCHAR) AS identifier_id
FROM named_elsewhere
"""


class Shown(NamedTuple):
    """What would be served of a party."""

    name: str
    country: str | None
    scheme: str | None
    identifier: str | None


def not_established(parties: Iterable[Shown]) -> Iterator[tuple[Shown, str]]:
    """Give every party that must not be served, and by which rule."""
    for party in parties:
        verdict = _verdict(party, party.country)
        if isinstance(verdict, Withheld) and verdict.rule in _LOCAL:
            found = any(isinstance(_verdict(party, each), Evidence) for each in _COUNTRIES)
            verdict = Evidence("elsewhere", party.name) if found else verdict
        if isinstance(verdict, Withheld):
            yield party, verdict.rule


def find_persons(snapshot: Snapshot) -> None:
    """Make the tables of the rows that must not be served.

    ``found_persons`` of parties, ``found_named_persons`` and ``found_other_names`` of
    organisations, ``found_in_releases`` of releases.
    """
    _keep(snapshot, "unestablished_parties", _PARTIES)
    snapshot.sql.execute("""
CREATE OR REPLACE TABLE found_persons AS
SELECT row_id FROM tender_parties AS party JOIN unestablished_parties AS found
  ON found.name = party.name AND found.country IS NOT DISTINCT FROM party.country
 AND found.scheme IS NOT DISTINCT FROM party.identifier_scheme
 AND found.identifier IS NOT DISTINCT FROM party.identifier_id""")
    _keep(snapshot, "unestablished_entities", _UNVOUCHED)
    snapshot.sql.execute("""
CREATE OR REPLACE TABLE found_named_persons AS
SELECT row_id FROM entities JOIN unestablished_entities AS found
  ON found.name = entities.legal_name
 AND found.country IS NOT DISTINCT FROM coalesce(entities.country, left(jurisdiction, 2))
WHERE entity_type IS NULL
    AND service_id NOT IN (SELECT service_id FROM identifiers WHERE id_type = 'cik')""")
    snapshot.sql.execute(_NAMED)
    _keep(snapshot, "unestablished_elsewhere", _ELSEWHERE)
    snapshot.sql.execute("""
CREATE OR REPLACE TABLE found_in_releases AS
SELECT DISTINCT row_id FROM named_elsewhere AS named JOIN unestablished_elsewhere AS found
  ON found.name = named.name AND found.country IS NOT DISTINCT FROM named.country""")
    _find_other_names(snapshot)


def _find_other_names(snapshot: Snapshot) -> None:
    shown = snapshot.read(f"SELECT DISTINCT name, country FROM ({_OTHER_NAMES})")
    found = [
        pair
        for batch in shown.to_batches()
        for pair in zip(*(each.to_pylist() for each in batch.columns), strict=True)
        if pair[0] is not None and named_person(*pair)
    ]
    names, countries = zip(*found, strict=True) if found else ((), ())
    columns = {"name": names, "country": countries}
    held = pa.table({key: pa.array(each, pa.string()) for key, each in columns.items()})
    snapshot.sql.register("spoken_of", held)
    snapshot.sql.execute(f"""
CREATE OR REPLACE TABLE found_other_names AS
SELECT DISTINCT row_id FROM ({_OTHER_NAMES}) AS other JOIN spoken_of AS found
  ON found.name = other.name AND found.country IS NOT DISTINCT FROM other.country""")
    snapshot.sql.unregister("spoken_of")


def _keep(snapshot: Snapshot, name: str, statement: str) -> None:
    """Keep whoever of a statement's answer is not established, as a table."""
    shown = snapshot.read(statement)
    found = [party for party, _ in not_established(_shown(shown))]
    columns = zip(*found, strict=True) if found else [[]] * len(Shown._fields)
    held = pa.table(
        {
            field: pa.array(list(values), pa.string())
            for field, values in zip(Shown._fields, columns, strict=True)
        }
    )
    snapshot.sql.register("unestablished", held)
    snapshot.sql.execute(f"CREATE OR REPLACE TABLE {name} AS FROM unestablished")
    snapshot.sql.unregister("unestablished")


def _shown(rows: pa.Table) -> Iterator[Shown]:
    for batch in rows.to_batches():
        yield from map(Shown._make, zip(*(each.to_pylist() for each in batch.columns), strict=True))


def _verdict(party: Shown, country: str | None) -> Evidence | Withheld:
    return established(
        party.name, country=country, scheme=party.scheme, identifier=party.identifier
    )
