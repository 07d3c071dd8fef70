"""OCDS releases to rows: one of the release, one of each party in each of its roles."""

from datetime import date
from functools import lru_cache
from typing import Any
from urllib.parse import quote

import pyarrow as pa

from assets.parsing.parsed import Parsed, provenance, source_ref
from assets.tenders.code_lists import unlisted_reason
from assets.tenders.ocds import OcdsMoney, OcdsPeriod, OcdsTender, PublicRelease
from assets.tenders.parties import Parties, Party, party_checker
from assets.tenders.portal_files import Portal, license_of
from assets.tenders.redact import Redactor
from assets.tenders.releases import LocatedRelease, PackageTerms, Unreadable, releases_in
from assets.tenders.values import ReleaseRefused, calendar_day, count, day_of_moment, ident, text
from warehouse.record.incoming import MISFITS
from warehouse.record.landing import Document
from warehouse.record.tables import TENDER_PARTIES, TENDER_RELEASES, incoming_schema
from warehouse.shared.urls import is_fictional
from warehouse.tables.sighting import FIRST_READ, OPEN_CLASSES, PUBLISHED, DayEvidence, LicenseClass

# Rows of releases and parties, collected as Arrow columns.
#
# A party row copies columns from its release and from its party. They are copied by index with
# Arrow's ``take``: building a Python object for each value takes ten times as long.

_RELEASES, _PARTIES = incoming_schema(TENDER_RELEASES), incoming_schema(TENDER_PARTIES)
# The columns of a release that differ from row to row; the parser names them.
ReleaseRow = dict[str, Any]


class ReleaseColumns:
    """Collects rows of releases and their parties until ``flush`` makes tables of them."""

    def __init__(self, common: dict[str, Any]) -> None:
        """Take the columns that all rows have in common; a row may have its own value of one."""
        self._common = common
        self._releases: list[ReleaseRow] = []
        # The published JSON of the releases, in the same order.
        self.release_json: list[bytes] = []
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

    def flush(self, parsed: Parsed) -> None:
        """Add all rows to ``parsed``; as plain rows if a value does not fit its column.

        Plain rows are checked one by one later, so that only the misfits are rejected.
        """
        if not self._releases:
            return
        try:
            releases = self._release_table()
            parsed.add_typed(TENDER_RELEASES, releases)
            if self._roles:
                parsed.add_typed(TENDER_PARTIES, self._party_table(releases))
        except MISFITS:
            self._flush_plain_rows(parsed)

    def _release_table(self) -> pa.Table:
        # All rows have the same columns: they come from one place in the parser.
        stated = self._releases[0].keys()
        unknown = stated - set(_RELEASES.names)
        if unknown:
            raise KeyError(f"{TENDER_RELEASES.name} has no column {sorted(unknown)[0]!r}")

        def column(field: pa.Field) -> pa.Array:
            name = field.name
            if name == "release":
                return pa.array(self.release_json, field.type)
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
            for row, release_json in zip(self._releases, self.release_json, strict=True)
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


# Releases whose texts are searched for contacts in one call.
_SEARCHED_TOGETHER = 2_000
_NO_TENDER, _NO_MONEY, _NO_PERIOD = OcdsTender(), OcdsMoney(), OcdsPeriod()


def parse_portal(document: Document, body: bytes, portal: Portal, key: bytes) -> Parsed:
    """Parse every release; one that cannot be stored is rejected with its location and reason.

    ``key`` is the secret under which withheld parties are hashed.
    """
    reader = ReleaseReader(document, portal, key)
    for item in releases_in(body):
        reader.read(item)
    return reader.parsed()


class ReleaseReader:
    """Turns the releases of one document into rows."""

    def __init__(self, document: Document, portal: Portal, key: bytes) -> None:
        self._document = document
        self._portal = portal
        self._observed_on = document.observed_at.date()
        # The portal has no page of a release of the sample world.
        self._release_page = None if is_fictional(document.url) else portal.release_url
        self._party_checker = party_checker(portal, key)
        self._redactor = Redactor(portal, self._observed_on)
        common = provenance(document, "", portal.method) | {"country": portal.country}
        self._columns = ReleaseColumns(common)
        # Many packages state the same licence.
        self._licences = lru_cache(maxsize=256)(self._license)
        self._parsed = Parsed()
        # For each member with values that are no code: the first release, and their number.
        self._unlisted: dict[str, tuple[str, int]] = {}
        # The date with which each release was met first.
        self._dates: dict[tuple[str, str], Any] = {}
        self._bodies: list[PublicRelease] = []
        self._texts: list[str] = []

    def read(self, item: LocatedRelease | Unreadable) -> None:
        """Add the rows of a release, or the reason why it has none."""
        if isinstance(item, Unreadable):
            self._reject(item.location, item.reason)
            return
        try:
            self._add(item)
        except ReleaseRefused as refusal:
            self._reject(item.location, str(refusal))

    def parsed(self) -> Parsed:
        """Return all that was read; call it once."""
        self._redact_texts()
        # Once a member: a portal may write its own words in each of a million releases.
        for member, (first, number) in self._unlisted.items():
            self._reject(first, unlisted_reason(member, number), partial=True)
        self._columns.flush(self._parsed)
        return self._parsed

    def _reject(self, location: str, reason: str, *, partial: bool = False) -> None:
        self._parsed.reject(TENDER_RELEASES, self._document, location, reason, partial=partial)

    def _add(self, item: LocatedRelease) -> None:
        release = item.release
        ocid, release_id = text(release.ocid), ident(release.id)
        if ocid is None or release_id is None:
            raise ReleaseRefused(f"a release without {'an ocid' if ocid is None else 'an id'}")
        license_class = self._licences(item.terms.licence)
        released_on = day_of_moment(release.date, self._portal, self._observed_on)
        available_at, evidence = self._availability(released_on, item.terms)
        # Records have a release that was edited under its id once for each of its dates: each is a
        # publication of its own.
        is_first = self._dates.setdefault((ocid, release_id), release.date) == release.date
        parties = Parties(release, self._party_checker)
        body, texts, numbers = self._redactor.redact(release, parties)
        tender = body.tender or _NO_TENDER
        value, period = tender.value or _NO_MONEY, tender.tenderPeriod or _NO_PERIOD
        page = self._release_page
        row = {
            "source_ref": source_ref(self._document, item.location),
            "license_class": license_class,
            "available_at": available_at,
            "available_at_evidence": evidence,
            "publication": release_id if is_first else f"{release_id}/{release.date}",
            "ocid": ocid,
            "release_id": release_id,
            "released_on": released_on,
            "released_at": None if released_on is None else release.date,
            "tag": self._redactor.tags(release.tag),
            "category": tender.mainProcurementCategory,
            "tender_status": tender.status,
            "procurement_method": tender.procurementMethod,
            "buyer_key": parties.buyer and parties.buyer.key,
            "tender_value": value.amount,
            "tender_currency": value.currency,
            "tender_start": self._day(period.startDate),
            "tender_end": self._day(period.endDate),
            "number_of_tenderers": count(tender.numberOfTenderers),
            "joint_bids": parties.joint_bids,
            "numbers_as_text": numbers.as_text,
            "parties_withheld": parties.withheld(),
            "withheld_names": "\n".join(sorted(parties.withheld_names)) or None,
            "source_url": page.format(ocid=quote(ocid, safe="")) if page else None,
        }
        for reason in (*item.misplaced, *numbers.unread):
            self._reject(item.location, reason, partial=True)
        for member in self._redactor.unlisted:
            first, before = self._unlisted.get(member, (item.location, 0))
            self._unlisted[member] = first, before + 1
        self._columns.add(row, parties.roles)
        self._bodies.append(body)
        self._texts.append(texts)
        if len(self._bodies) == _SEARCHED_TOGETHER:
            self._redact_texts()

    def _redact_texts(self) -> None:
        self._columns.release_json += self._redactor.encode(self._bodies, self._texts)
        self._bodies.clear()
        self._texts.clear()

    def _availability(
        self, released_on: date | None, terms: PackageTerms
    ) -> tuple[date, DayEvidence]:
        """Return the first day on which a release is known to have been public, and how.

        Its own day, unless an earlier reading of the portal contradicts it: a later day that did
        not show it. Then the day that its package states, or that of this reading.
        """
        observed_on = self._observed_on
        if released_on is None or released_on > observed_on:
            return observed_on, FIRST_READ
        last = self._document.earlier.last_after(released_on)
        if last is None:
            return released_on, PUBLISHED
        published = day_of_moment(terms.published, self._portal, observed_on)
        if published is not None and last <= published <= observed_on:
            return published, PUBLISHED
        return observed_on, FIRST_READ

    def _day(self, value: Any) -> date | None:
        return calendar_day(value, self._portal, self._observed_on)

    def _license(self, licence_text: str | None) -> LicenseClass:
        license_class = license_of(licence_text) or self._portal.license_class
        if license_class is None:
            raise ReleaseRefused(f"no open licence is stated: {licence_text or 'nothing':.100}")
        if license_class not in OPEN_CLASSES:
            raise ReleaseRefused(
                f"the licence does not let us pass it on: {licence_text or license_class:.100}"
            )
        return license_class
