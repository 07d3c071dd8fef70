"""Rows of releases and parties, collected as Arrow columns.

A party row copies columns from its release and from its party. They are copied by index with
Arrow's ``take``: building a Python object for each value takes ten times as long.
"""

from typing import Any

import pyarrow as pa

from assets.parsing.parsed import Parsed
from assets.tenders.parties import Party
from warehouse.record.incoming import MISFITS
from warehouse.record.tables import TENDER_PARTIES, TENDER_RELEASES, incoming_schema

_RELEASES, _PARTIES = incoming_schema(TENDER_RELEASES), incoming_schema(TENDER_PARTIES)
# The columns of a release that differ from row to row; the parser names them.
ReleaseRow = dict[str, Any]


class ReleaseColumns:
    """Collects rows of releases and their parties until ``flush`` makes tables of them."""

    def __init__(self, common: dict[str, Any]) -> None:
        """Take the columns that all rows have in common; a row may have its own value of one."""
        self._common = common
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
        # All rows have the same columns: they come from one place in the parser.
        stated = self._releases[0].keys()
        unknown = stated - set(_RELEASES.names)
        if unknown:
            raise KeyError(f"{TENDER_RELEASES.name} has no column {sorted(unknown)[0]!r}")

        def column(field: pa.Field) -> pa.Array:
            name = field.name
            if name == "release":
                return pa.array(self._release_json, field.type)
            if name in stated:
                return pa.array([row[name] for row in self._releases], field.type)
            return self._repeated(field, len(self._releases))

        return pa.Table.from_arrays([column(field) for field in _RELEASES], schema=_RELEASES)

    def _repeated(self, field: pa.Field, count: int) -> pa.Array:
        """Return the value that all rows have in common; null if the parser reads none."""
        return pa.repeat(pa.scalar(self._common.get(field.name), field.type), count)

    def _party_table(self, releases: pa.Table) -> pa.Table:
        release_index = pa.array(self._release_numbers, pa.int32())
        party_index = pa.array(self._party_numbers, pa.int32())
        parties = [party.columns() for party in self._party_number]

        def column(field: pa.Field) -> pa.Array | pa.ChunkedArray:
            name = field.name
            if name == "role":
                return pa.array(self._roles, field.type)
            if name in parties[0]:
                return pa.array([party[name] for party in parties], field.type).take(party_index)
            if name in self._releases[0]:
                return releases[name].take(release_index)
            return self._repeated(field, len(release_index))

        return pa.Table.from_arrays([column(field) for field in _PARTIES], schema=_PARTIES)

    def _flush_plain_rows(self, parsed: Parsed) -> None:
        releases = [
            self._common | row | {"release": release_json}
            for row, release_json in zip(self._releases, self._release_json, strict=True)
        ]
        shared = [{name: row[name] for name in _PARTIES.names if name in row} for row in releases]
        parties = [party.columns() for party in self._party_number]
        parsed.add(TENDER_RELEASES, releases)
        parsed.add(
            TENDER_PARTIES,
            (
                shared[release] | {"role": role} | parties[party]
                for release, party, role in zip(
                    self._release_numbers, self._party_numbers, self._roles, strict=True
                )
            ),
        )
