"""The parties of one release, each with its verdict: served by name, or only as a keyed hash.

Releases of OCDS 1.0, and of portals that leave ``parties`` empty, name organisations only
where they act; those are parties here as well.
"""

from functools import cached_property
from typing import Any

from assets.tenders.judge import Judge, Named, Party
from assets.tenders.shapes import Organisation, Release
from assets.tenders.values import text


class Parties:
    """The parties of a release: ``roles`` are theirs, ``references`` name them."""

    def __init__(self, release: Release, judge: Judge) -> None:
        judge.begin()
        self._judge = judge
        self._own: dict[str, Named] = {}
        self._shared: set[str] = set()
        listed = self._named([(each, "") for each in release.parties or ()])
        acting = self._named(_acting(release))
        self.roles: dict[tuple[Party, str], None] = {}
        idle = self._list(listed)
        self.references = [
            (each, self._act(named, role) if named else None) for each, named, role in acting
        ]
        if idle:
            busy = {party for party, _ in self.roles}
            self.roles |= {(party, "unspecified"): None for party in idle if party not in busy}
        self.buyer = self.references[0][1] if release.buyer else None

    def withheld(self) -> int:
        """Count the parties that are not established to be organisations."""
        return len({party.key for party, _ in self.roles if party.evidence is None})

    def _named(
        self, organisations: list[tuple[Organisation, str]]
    ) -> list[tuple[Organisation, Named | None, str]]:
        """Read who is named, and learn whose id it is: shared ids prove nothing."""
        found, own = [], self._own
        for each, role in organisations:
            named = self._judge.named(each)
            found.append((each, named, role))
            if named and named.id and named.name:
                first = own.setdefault(named.id, named)
                if first is not named and first.plain != named.plain:
                    self._shared.add(named.id)
        return found

    def _list(self, listed: list[tuple[Organisation, Named | None, str]]) -> list[Party]:
        """Keep the roles of those that are listed; give those that have none."""
        idle = []
        supplier = "tenderer" if self._judge.portal.supplier_means_bidder else "supplier"
        for organisation, named, _ in listed:
            if named:
                party, roles = self._party(named), _roles(organisation.roles)
                for role in roles:
                    self.roles[party, supplier if role == "supplier" else role] = None
                if not roles:
                    idle.append(party)
        return idle

    def _act(self, named: Named, role: str) -> Party:
        party = self._party(named)
        self.roles[party, role] = None
        return party

    def _party(self, named: Named) -> Party:
        known = self._own.get(named.id) if named.id else None
        if known and not self._shared and (known is named or named.plain in ("", known.plain)):
            return known.verdict or self._judge.party(known, False, False)
        resolved = self._resolved(named)
        known = self._own.get(resolved.id) if resolved.id else None
        other = known is not None and known is not resolved and known.plain != resolved.plain
        return self._judge.party(resolved, resolved.id in self._shared, other)

    @cached_property
    def _called(self) -> dict[str, Named]:
        return {named.plain: named for named in self._own.values()}

    def _resolved(self, named: Named) -> Named:
        if named.id is None:
            return self._called.get(named.plain, named)
        known = self._own.get(named.id)
        return known if known and named.plain in ("", known.plain) else named


def _acting(release: Release) -> list[tuple[Organisation, str]]:
    acting = [(release.buyer, "buyer")] if release.buyer else []
    if tender := release.tender:
        if tender.procuringEntity:
            acting.append((tender.procuringEntity, "procuringEntity"))
        acting += [(tenderer, "tenderer") for tenderer in tender.tenderers or ()]
    for award in release.awards or ():
        acting += [(supplier, "supplier") for supplier in award.suppliers or ()]
    return acting


def _roles(stated: Any) -> list[str]:
    stated = stated if isinstance(stated, list) else [stated]
    return [role for each in stated if (role := text(each))]
