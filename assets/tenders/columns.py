"""The rows of many releases as typed columns; what all of them share is written once.

A row of a party takes what it shares with its release, and what it shares with the other
rows of the same party, by their numbers: making a Python object for each takes ten times
as long.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from assets.parsing.parsed import Parsed
from assets.tenders.parties import Party
from warehouse.record.incoming import MISFITS
from warehouse.record.tables import TENDER_PARTIES, TENDER_RELEASES, incoming_schema

_RELEASES, _PARTIES = incoming_schema(TENDER_RELEASES), incoming_schema(TENDER_PARTIES)
_OWN = {"party_key": 0, "name": 1, "identifier_scheme": 2, "identifier_id": 3, "org_evidence": 4}


class ReleaseRow(NamedTuple):
    """What is its own in the row of a release."""

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


class Columns:
    """The rows of releases and of their parties, until they are taken as tables."""

    def __init__(self, common: dict[str, Any]) -> None:
        self._common = {
            name: value for name, value in common.items() if name not in ReleaseRow._fields
        }
        self._begin()

    def _begin(self) -> None:
        self._releases: list[ReleaseRow] = []
        self._shown: list[bytes] = []
        self._numbers: dict[Party, int] = {}
        self._release_numbers: list[int] = []
        self._party_numbers: list[int] = []
        self._roles: list[str] = []

    def add(self, row: ReleaseRow, roles: dict[tuple[Party, str], None]) -> None:
        """Add a release and each of its parties in each of its roles."""
        number, numbers = len(self._releases), self._numbers
        self._releases.append(row)
        for party, role in roles:
            self._release_numbers.append(number)
            self._party_numbers.append(numbers.setdefault(party, len(numbers)))
            self._roles.append(role)

    def show(self, shown: list[bytes]) -> None:
        """Add what is served of releases, in the order in which they were added."""
        self._shown += shown

    def take(self, parsed: Parsed) -> None:
        """Hand over what was added; one by one where a value does not fit its column."""
        if self._releases:
            try:
                releases = self._release_table()
                parsed.add_typed(TENDER_RELEASES, releases)
                if self._roles:
                    parsed.add_typed(TENDER_PARTIES, self._party_table(releases))
            except MISFITS:
                self._take_each(parsed)
        self._begin()

    def _release_table(self) -> pa.Table:
        own: dict[str, Sequence[Any]] = {"release": self._shown}
        own |= zip(ReleaseRow._fields, zip(*self._releases, strict=True), strict=True)
        count = len(self._releases)
        arrays = [
            pa.array(own[field.name], field.type)
            if field.name in own
            else pa.repeat(pa.scalar(self._common[field.name], field.type), count)
            for field in _RELEASES
        ]
        return pa.Table.from_arrays(arrays, schema=_RELEASES)

    def _party_table(self, releases: pa.Table) -> pa.Table:
        of_release = pa.array(self._release_numbers, pa.int32())
        of_party = pa.array(self._party_numbers, pa.int32())
        parties = list(zip(*self._numbers, strict=True))

        def column(field: pa.Field) -> pa.Array | pa.ChunkedArray:
            if field.name == "role":
                return pa.array(self._roles, field.type)
            if field.name in _OWN:
                return pa.array(parties[_OWN[field.name]], field.type).take(of_party)
            if field.name in self._common:
                common = pa.scalar(self._common[field.name], field.type)
                return pa.repeat(common, len(of_release))
            return releases[field.name].take(of_release)

        return pa.Table.from_arrays([column(field) for field in _PARTIES], schema=_PARTIES)

    def _take_each(self, parsed: Parsed) -> None:
        releases = [
            self._common | row._asdict() | {"release": shown}
            for row, shown in zip(self._releases, self._shown, strict=True)
        ]
        shared = [{name: row[name] for name in _PARTIES.names if name in row} for row in releases]
        parties: Sequence[Party] = list(self._numbers)
        parsed.add(TENDER_RELEASES, releases)
        parsed.add(
            TENDER_PARTIES,
            (
                shared[release]
                | {"role": role}
                | {name: parties[party][at] for name, at in _OWN.items()}
                for release, party, role in zip(
                    self._release_numbers, self._party_numbers, self._roles, strict=True
                )
            ),
        )
