"""Where the traps of a world are, so that tests and demonstrations find them."""

from typing import Any

KEPT = 40


class Traps:
    """The places of each trap, by its name; the first 40 of a source are kept."""

    def __init__(self) -> None:
        self.places: dict[str, list[dict[str, Any]]] = {}

    def note(self, name: str, source: str, day: str, path: str, **where: Any) -> None:
        """Keep one place: a document, and the pointer or ids of the trap in it."""
        places = self.places.setdefault(name, [])
        if sum(place["source"] == source for place in places) < KEPT:
            places.append({"source": source, "day": day, "path": path, **where})
