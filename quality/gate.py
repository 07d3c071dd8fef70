"""The last look at everyone who would be served: each must be established, none a person.

Parsing judged it with all that its document said; here only what would be served is known. A
foreign party's legal form may be one of another country, so every country is tried before a
name is called a fault. An organisation of a register is established by the register: the kind
that an LEI record or the SEC states, or the reports it filed. Only one that none of them
vouches for is judged by its name.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import pyarrow as pa
import pycountry

from quality.persons import Evidence, Withheld, established
from warehouse.mart.stage import Stage

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


def find_persons(stage: Stage) -> None:
    """Make ``found_persons`` and ``found_named_persons``: the rows that must not be served."""
    _keep(stage, "unestablished_parties", _PARTIES)
    stage.sql.execute("""
CREATE OR REPLACE TABLE found_persons AS
SELECT row_id FROM tender_parties AS party JOIN unestablished_parties AS found
  ON found.name = party.name AND found.country IS NOT DISTINCT FROM party.country
 AND found.scheme IS NOT DISTINCT FROM party.identifier_scheme
 AND found.identifier IS NOT DISTINCT FROM party.identifier_id""")
    _keep(stage, "unestablished_entities", _UNVOUCHED)
    stage.sql.execute("""
CREATE OR REPLACE TABLE found_named_persons AS
SELECT row_id FROM entities JOIN unestablished_entities AS found
  ON found.name = entities.legal_name
 AND found.country IS NOT DISTINCT FROM coalesce(entities.country, left(jurisdiction, 2))
WHERE entity_type IS NULL
    AND service_id NOT IN (SELECT service_id FROM identifiers WHERE id_type = 'cik')""")


def _keep(stage: Stage, name: str, statement: str) -> None:
    """Keep whoever of a statement's answer is not established, as a table."""
    shown = stage.read(statement)
    found = [party for party, _ in not_established(_shown(shown))]
    columns = zip(*found, strict=True) if found else [[]] * len(Shown._fields)
    held = pa.table(
        {
            field: pa.array(list(values), pa.string())
            for field, values in zip(Shown._fields, columns, strict=True)
        }
    )
    stage.sql.register("unestablished", held)
    stage.sql.execute(f"CREATE OR REPLACE TABLE {name} AS FROM unestablished")
    stage.sql.unregister("unestablished")


def _shown(rows: pa.Table) -> Iterator[Shown]:
    for batch in rows.to_batches():
        yield from map(Shown._make, zip(*(each.to_pylist() for each in batch.columns), strict=True))


def _verdict(party: Shown, country: str | None) -> Evidence | Withheld:
    return established(
        party.name, country=country, scheme=party.scheme, identifier=party.identifier
    )
