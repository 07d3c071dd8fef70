"""The parties of one release, each with its verdict: served by name, or only as a keyed hash.

Releases of OCDS 1.0, and of portals that leave ``parties`` empty, name organisations only
where they act; those are parties here as well.
"""

from collections.abc import Iterator
from typing import Any

from assets.tenders.judge import Judge, Named, Party
from assets.tenders.shapes import Organisation, Release
from assets.tenders.values import text


class Parties:
    """The parties of a release, and which of them a reference names."""

    def __init__(self, release: Release, judge: Judge) -> None:
        self._judge = judge
        self._own: dict[str, Named] = {}
        self._shared: set[str] = set()
        listed = [(each, judge.named(each)) for each in release.parties or ()]
        acting = [(each, judge.named(each), role) for each, role in _acting(release)]
        self._learn_ids([named for _, named in listed] + [named for _, named, _ in acting])
        self._called = {named.plain: named for named in self._own.values()}
        # by the identity of a reference: the release holds them all as long as this lives
        self._found: dict[int, Party | None] = {}
        self.references = [each for each, _, _ in acting]
        self._roles = self._each_role(listed, acting)

    def rows(self) -> list[tuple[Party, str]]:
        """Give each party in each of its roles, once."""
        return list(self._roles)

    def withheld(self) -> int:
        """Count the parties that are not established to be organisations."""
        return len({party.key for party, _ in self._roles if party.evidence is None})

    def of(self, reference: Organisation | None) -> Party | None:
        """Say which party a reference of the release names; None where it names nobody."""
        return self._found.get(id(reference))

    def _learn_ids(self, everyone: list[Named | None]) -> None:
        """Learn whose id it is: that of the party listed with it; shared ids prove nothing."""
        for named in everyone:
            if named and named.id and named.name:
                own = self._own.setdefault(named.id, named)
                if own.plain != named.plain:
                    self._shared.add(named.id)

    def _each_role(
        self,
        listed: list[tuple[Organisation, Named | None]],
        acting: list[tuple[Organisation, Named | None, str]],
    ) -> dict[tuple[Party, str], None]:
        roles: dict[tuple[Party, str], None] = {}
        idle: list[Party] = []
        supplier = "tenderer" if self._judge.portal.supplier_means_bidder else "supplier"
        for organisation, named in listed:
            if named and (party := self._party(named)):
                idle.append(party)
                for role in _roles(organisation.roles):
                    roles[party, supplier if role == "supplier" else role] = None
        for organisation, named, role in acting:
            found = self._found[id(organisation)] = self._party(named) if named else None
            if found:
                roles[found, role] = None
        busy = {party for party, _ in roles}
        return roles | {(party, "unspecified"): None for party in idle if party not in busy}

    def _party(self, named: Named) -> Party:
        resolved = self._resolved(named)
        known = self._own.get(resolved.id or "")
        other = known is not None and known.plain != resolved.plain
        return self._judge.party(resolved, resolved.id in self._shared, other)

    def _resolved(self, named: Named) -> Named:
        if named.id is None:
            return self._called.get(named.plain, named)
        known = self._own.get(named.id)
        return known if known and named.plain in ("", known.plain) else named


def _acting(release: Release) -> Iterator[tuple[Organisation, str]]:
    if release.buyer:
        yield release.buyer, "buyer"
    if tender := release.tender:
        if tender.procuringEntity:
            yield tender.procuringEntity, "procuringEntity"
        for tenderer in tender.tenderers or ():
            yield tenderer, "tenderer"
    for award in release.awards or ():
        for supplier in award.suppliers or ():
            yield supplier, "supplier"


def _roles(stated: Any) -> list[str]:
    stated = stated if isinstance(stated, list) else [stated]
    return [role for each in stated if (role := text(each))]
