"""From a body to OCDS releases with their places, whatever they are wrapped in.

Release packages, record packages, bare releases and records, arrays of any of them, and
the wrappers that portals put around. What a release says is read in ``parse``.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from assets.tenders.bodies import Unread, parts

# Members under which portals hide a package.
_WRAPPERS = ("releasePackage", "recordPackage", "arrayReleasePackage", "result", "results", "data")
_RELEASE_MEMBERS = frozenset({"ocid", "tag", "tender", "awards", "contracts", "buyer", "planning"})
_DEEPEST = 8


@dataclass(frozen=True)
class Found:
    """One release, its place in the document and the licence its package states."""

    place: str
    release: dict[str, Any]
    licence: str | None


def releases(body: bytes) -> Iterator[Found | Unread]:
    """Give every release of a body, and every place that should have held one."""
    for part in parts(body):
        if isinstance(part, Unread):
            yield part
        else:
            for each in _walk(part.value, part.place, None, 0):
                yield _whole(each) if part.broken else each


def _whole(found: Found | Unread) -> Found | Unread:
    if isinstance(found, Found):
        try:
            msgspec.json.encode(found.release)
        except UnicodeEncodeError:
            return Unread(found.place, "holds bytes that are no text")
    return found


def _walk(value: Any, place: str, licence: str | None, depth: int) -> Iterator[Found | Unread]:
    if depth > _DEEPEST:
        yield Unread(place, "nested too deeply for a package")
    elif isinstance(value, list):
        yield from _each(value, place, licence, depth)
    elif not isinstance(value, dict):
        yield Unread(place, f"{_kind(value)}, not a release")
    elif isinstance(value.get("releases"), list) and "ocid" not in value:
        yield from _each(value["releases"], f"{place}/releases", _licence(value, licence), depth)
    elif isinstance(value.get("records"), list):
        yield from _each(value["records"], f"{place}/records", _licence(value, licence), depth)
    elif "releases" in value or "compiledRelease" in value or "versionedRelease" in value:
        yield from _record(value, place, licence)
    elif not _RELEASE_MEMBERS.isdisjoint(value):
        yield Found(place, value, licence)
    else:
        yield from _wrapped(value, place, licence, depth)


def _each(
    values: list[Any], place: str, licence: str | None, depth: int
) -> Iterator[Found | Unread]:
    if not values:
        yield Unread(place, "holds no release")
    for position, value in enumerate(values):
        yield from _walk(value, f"{place}/{position}", licence, depth + 1)


def _record(record: dict[str, Any], place: str, licence: str | None) -> Iterator[Found | Unread]:
    """Give the releases inside a record; its compiled release only if there is nothing else."""
    inside = record.get("releases")
    inside = inside if isinstance(inside, list) else []
    found = [_inside(each, f"{place}/releases/{at}", licence) for at, each in enumerate(inside)]
    compiled = record.get("compiledRelease")
    if any(isinstance(each, Found) for each in found):
        yield from found
    elif isinstance(compiled, dict):
        yield Found(f"{place}/compiledRelease", compiled, licence)
    else:
        yield Unread(place, "a record with links only, no release in it")


def _inside(value: Any, place: str, licence: str | None) -> Found | Unread:
    if isinstance(value, dict) and ("id" in value or "url" not in value):
        return Found(place, value, licence)
    return Unread(place, "a link, not a release")


def _wrapped(
    value: dict[str, Any], place: str, licence: str | None, depth: int
) -> Iterator[Found | Unread]:
    inner = next((name for name in _WRAPPERS if isinstance(value.get(name), (dict, list))), None)
    if inner is None:
        yield Unread(place, "no OCDS release, record or package")
    else:
        stated = _licence(value, licence)
        yield from _walk(value[inner], f"{place}/{inner}", stated, depth + 1)


def _licence(package: dict[str, Any], outer: str | None) -> str | None:
    stated = package.get("license")
    return stated if isinstance(stated, str) else outer


def _kind(value: Any) -> str:
    kinds = {str: "a text", bool: "true or false", type(None): "null"}
    return kinds.get(type(value), "a number")
