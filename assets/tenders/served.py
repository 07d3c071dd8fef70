"""What is served of a release: the members of its shape, each as its kind may be shown.

Texts are cleaned, organisations are shown where they are established, unknown amounts and
impossible dates are left out, and so is an object of which nothing is left.
"""

from collections.abc import Callable, Sequence
from datetime import date

import msgspec

from assets.tenders.cut import cutter
from assets.tenders.judge import Party
from assets.tenders.parties import Parties
from assets.tenders.portals import Portal
from assets.tenders.shapes import Body, Money, Organisation, Release
from assets.tenders.values import amount, day, ident, text
from quality.contact_prefilter import texts_with_contact
from quality.free_text import remove_contacts

_ENCODER = msgspec.json.Encoder(decimal_format="number")
_SHORT, _MOST = 40, 1 << 14


class Shown(dict[str, str | None]):
    """What is shown of short texts that come again and again; the others are not kept."""

    def __init__(self, read: Callable[[str], str | None]) -> None:
        self._read = read

    def __missing__(self, value: str) -> str | None:
        shown = self._read(value)
        if len(value) < _SHORT:
            if len(self) == _MOST:
                self.clear()
            self[value] = shown
        return shown


class Served:
    """What may be shown of the releases of one portal, read on one day."""

    def __init__(self, portal: Portal, latest: date) -> None:
        self._portal = portal
        self._latest = latest
        self._texts: list[str] = []
        self.codes = Shown(_cleaned)
        days = Shown(self._day)
        self._cut = cutter(self.codes, days, self._money, note=self._texts.append)
        self._cut_clean = cutter(self.codes, days, self._money, clean=_cleaned)

    def cut(self, release: Release, parties: Parties) -> tuple[Body, str]:
        """Cut a release down to what may be served but for cleaning; give it and its texts."""
        for organisation, party in parties.references:
            _show(organisation, party)
        body = Body(release.awards, release.buyer, release.contracts, release.tender)
        self._texts.clear()
        self._cut(body)
        return body, "\n".join(self._texts)

    def shown(self, bodies: Sequence[Body], texts: list[str]) -> list[bytes]:
        """Clean what was cut, and give it as canonical JSON, every digit as published.

        The texts of many releases are looked through together: in most is nothing to clean.
        """
        for number in texts_with_contact(texts):
            self._cut_clean(bodies[number])
        return [_ENCODER.encode(body) for body in bodies]

    def _day(self, value: str) -> str | None:
        return text(value) if day(value, self._portal, self._latest) else None

    def _money(self, value: Money) -> Money | None:
        value.amount = amount(value.amount, self._portal)
        if value.amount is None:
            return None
        currency = value.currency
        value.currency = self.codes[currency] if type(currency) is str else None
        return value


def _cleaned(value: str) -> str | None:
    return text(remove_contacts(value.strip()))


def _show(organisation: Organisation, party: Party | None) -> None:
    """Leave the id and the name; nothing where the party is withheld."""
    shown = party is not None and party.name is not None
    organisation.id = ident(organisation.id) if shown else None
    organisation.name = party.name if party and shown else None
    organisation.address = organisation.identifier = organisation.roles = None
