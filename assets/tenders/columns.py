"""Rows of releases and parties, collected as Arrow columns.

A party row copies columns from its release and from its party. They are copied by index with
Arrow's ``take``: building a Python object for each value takes ten times as long.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from assets.parsing.parsed import Parsed
from assets.tenders.parties import Party
from warehouse.record.incoming import MISFITS
from warehouse.record.tables import TENDER_PARTIES, TENDER_RELEASES, incoming_schema

_RELEASES, _PARTIES = incoming_schema(TENDER_RELEASES), incoming_schema(TENDER_PARTIES)
# Column of a party row -> position in the Party tuple.
_PARTY_FIELDS = {
    "party_key": 0,
    "name": 1,
    "identifier_scheme": 2,
    "identifier_id": 3,
    "org_evidence": 4,
}


class ReleaseRow(NamedTuple):
    """The columns of a release row that differ from row to row."""

    source_ref: str
    license_class: str
    available_at: Any
    publication: str
    ocid: str
    release_id: str
    released_on: Any
    tag: str | None
    category: str | None
    tender_status: str | None
    procurement_method: str | None
    buyer_key: str | None
    tender_value: Any
    tender_currency: str | None
    tender_start: Any
    tender_end: Any
    number_of_tenderers: int | None
    parties_withheld: int
    source_url: str | None


class ReleaseColumns:
    """Collects rows of releases and their parties until ``flush`` makes tables of them."""

    def __init__(self, common: dict[str, Any]) -> None:
        self._common = {
            name: value for name, value in common.items() if name not in ReleaseRow._fields
        }
        self._clear()

    def _clear(self) -> None:
        self._releases: list[ReleaseRow] = []
        self._release_json: list[bytes] = []
        # Distinct parties, numbered in order of appearance: most occur many times.
        self._party_number: dict[Party, int] = {}
        # Per party row: its release, its party and its role.
        self._release_numbers: list[int] = []
        self._party_numbers: list[int] = []
        self._roles: list[str] = []

    def add(self, row: ReleaseRow, roles: dict[tuple[Party, str], None]) -> None:
        """Add a release, and a row for each party in each of its roles."""
        number, numbers = len(self._releases), self._party_number
        self._releases.append(row)
        for party, role in roles:
            self._release_numbers.append(number)
            # The same buyer is in many releases: its columns are stored once and taken by number.
            self._party_numbers.append(numbers.setdefault(party, len(numbers)))
            self._roles.append(role)

    def add_json(self, release_json: list[bytes]) -> None:
        """Add the published JSON of releases, in the order in which they were added."""
        self._release_json += release_json

    def flush(self, parsed: Parsed) -> None:
        """Move all rows to ``parsed``; as plain rows if a value does not fit its column.

        Plain rows are checked one by one later, so that only the misfits are rejected.
        """
        if self._releases:
            try:
                releases = self._release_table()
                parsed.add_typed(TENDER_RELEASES, releases)
                if self._roles:
                    parsed.add_typed(TENDER_PARTIES, self._party_table(releases))
            except MISFITS:
                self._flush_plain_rows(parsed)
        self._clear()

    def _release_table(self) -> pa.Table:
        values_by_column: dict[str, Sequence[Any]] = {"release": self._release_json}
        values_by_column |= zip(ReleaseRow._fields, zip(*self._releases, strict=True), strict=True)
        count = len(self._releases)
        arrays = [
            pa.array(values_by_column[field.name], field.type)
            if field.name in values_by_column
            else pa.repeat(pa.scalar(self._common[field.name], field.type), count)
            for field in _RELEASES
        ]
        return pa.Table.from_arrays(arrays, schema=_RELEASES)

    def _party_table(self, releases: pa.Table) -> pa.Table:
        release_index = pa.array(self._release_numbers, pa.int32())
        party_index = pa.array(self._party_numbers, pa.int32())
        parties = list(zip(*self._party_number, strict=True))

        def column(field: pa.Field) -> pa.Array | pa.ChunkedArray:
            if field.name == "role":
                return pa.array(self._roles, field.type)
            if field.name in _PARTY_FIELDS:
                return pa.array(parties[_PARTY_FIELDS[field.name]], field.type).take(party_index)
            if field.name in self._common:
                common = pa.scalar(self._common[field.name], field.type)
                return pa.repeat(common, len(release_index))
            return releases[field.name].take(release_index)

        return pa.Table.from_arrays([column(field) for field in _PARTIES], schema=_PARTIES)

    def _flush_plain_rows(self, parsed: Parsed) -> None:
        releases = [
            self._common | row._asdict() | {"release": release_json}
            for row, release_json in zip(self._releases, self._release_json, strict=True)
        ]
        shared = [{name: row[name] for name in _PARTIES.names if name in row} for row in releases]
        parties: Sequence[Party] = list(self._party_number)
        parsed.add(TENDER_RELEASES, releases)
        parsed.add(
            TENDER_PARTIES,
            (
                shared[release]
                | {"role": role}
                | {name: parties[party][position] for name, position in _PARTY_FIELDS.items()}
                for release, party, role in zip(
                    self._release_numbers, self._party_numbers, self._roles, strict=True
                )
            ),
        )
