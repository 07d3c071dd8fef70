"""What registers and lists state of ids: the evidence by which they may be joined."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from datetime import date
from typing import NamedTuple


class Claim(NamedTuple):
    """An id has a key, in the records of a source; a listing, from a day to a day.

    Of a name, ``subdivision`` is that under whose law its owner is, if the record states it.
    """

    method: str
    key: str
    service_id: str
    source: str
    is_current: bool
    begins: date | None = None
    ends: date | None = None
    subdivision: str | None = None

    @property
    def side(self) -> str:
        """The register or list under all names of its sources: gleif and gleif-api are one."""
        return self.source.partition("-")[0]


class Number(NamedTuple):
    """An identifier of an id, as it is written in its source."""

    service_id: str
    id_type: str
    value: str
    issuer: str | None


class Evidence(NamedTuple):
    """What ids share, their identifiers and names, and the duplicates that registers declare.

    ``community`` are the lists that no exchange or regulator makes.
    """

    claims: list[Claim]
    numbers: list[Number]
    declared: dict[str, str]
    names: Mapping[str, Collection[str]]
    community: frozenset[str]


class DisjointSets:
    """Union-find over names: all names of a link are in one group."""

    def __init__(self, links: Iterable[Iterable[str]]) -> None:
        self._parent: dict[str, str] = {}
        for link in links:
            names = list(link)
            for name in names:
                low, high = sorted((self.root(names[0]), self.root(name)))
                self._parent.setdefault(low, low)
                self._parent[high] = low

    def root(self, name: str) -> str:
        """Return the name that represents the group of a name: the smallest in it."""
        root = name
        while (parent := self._parent.get(root, root)) != root:
            root = parent
        # Path compression: the next lookup of these names is one step.
        while name != root:
            self._parent[name], name = root, self._parent[name]
        return root

    def groups(self) -> list[set[str]]:
        """Return the groups of two or more, sorted by their smallest name."""
        members: dict[str, set[str]] = defaultdict(set)
        for name in self._parent:
            members[self.root(name)].add(name)
        return [members[root] for root in sorted(members) if len(members[root]) > 1]
