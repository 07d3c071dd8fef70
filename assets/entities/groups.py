"""Things that belong together because each is tied to another of them."""

from collections.abc import Iterable


class Groups:
    """Groups of names; a tie puts all its names into one group."""

    def __init__(self, ties: Iterable[Iterable[str]]) -> None:
        self._above: dict[str, str] = {}
        for tie in ties:
            names = list(tie)
            for name in names:
                self._join(names[0], name)

    def of(self, name: str) -> str:
        """Give the one name that stands for the group of a name: the smallest in it."""
        top = name
        while (above := self._above.get(top, top)) != top:
            top = above
        while name != top:
            self._above[name], name = top, self._above[name]
        return top

    def groups(self) -> list[set[str]]:
        """Give the groups of two or more, in an order that follows from their names."""
        found: dict[str, set[str]] = {}
        for name in self._above:
            found.setdefault(self.of(name), set()).add(name)
        return [found[top] for top in sorted(found) if len(found[top]) > 1]

    def _join(self, one: str, other: str) -> None:
        low, high = sorted((self.of(one), self.of(other)))
        self._above.setdefault(low, low)
        self._above[high] = low
