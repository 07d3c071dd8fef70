"""The states of a contracting process in a versioned release, one for each release that made it.

A versioned release has, in place of each value, all values that it ever had, with the release and
the day of each. So it tells what was known on every day, also where the releases themselves are
only linked.
"""

from collections.abc import Iterator
from typing import Any

_VERSION = frozenset({"releaseDate", "releaseID", "value"})
# A release by its day and id, in the order in which they were made.
Moment = tuple[str, str]


def states(versioned: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the process as each release left it, as a release with its id, day and tag."""
    tags: dict[Moment, Any] = {}
    for version in _versions(versioned):
        tags.setdefault(_moment(version), version.get("releaseTag"))
    for moment in sorted(tags):
        state = _at(versioned, moment)
        if isinstance(state, dict):
            yield {**state, "id": moment[1], "date": moment[0], "tag": tags[moment]}


def _versions(node: Any) -> Iterator[dict[str, Any]]:
    if _is_history(node):
        yield from node
    elif isinstance(node, dict | list):
        for child in node.values() if isinstance(node, dict) else node:
            yield from _versions(child)


def _is_history(node: Any) -> bool:
    return (
        isinstance(node, list)
        and bool(node)
        and all(isinstance(each, dict) and each.keys() >= _VERSION for each in node)
    )


def _moment(version: dict[str, Any]) -> Moment:
    return str(version["releaseDate"]), str(version["releaseID"])


def _at(node: Any, moment: Moment) -> Any:
    """Return a part of the process at a moment; None if nothing of it was there yet."""
    if _is_history(node):
        made = [version for version in node if _moment(version) <= moment]
        return max(made, key=_moment)["value"] if made else None
    if isinstance(node, list):
        return [part for each in node if (part := _at(each, moment)) is not None] or None
    if isinstance(node, dict):
        parts = {name: _at(child, moment) for name, child in node.items()}
        # An id alone is no evidence that the rest of its object was there.
        was_there = next(_versions(node), None) is None or any(
            part is not None and next(_versions(node[name]), None) is not None
            for name, part in parts.items()
        )
        return (
            {name: part for name, part in parts.items() if part is not None} if was_there else None
        )
    return node
