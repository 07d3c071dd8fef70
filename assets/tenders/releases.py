"""From a body to OCDS releases with their places, whatever they are wrapped in.

Release packages, record packages, bare releases and records, arrays of any of them, and
the wrappers that portals put around. What a release says is read in ``parse``.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from assets.tenders.json_values import Part, Unread, decoded, parts
from assets.tenders.ocds import Release, alone, typed

# Members under which portals hide a package.
WRAPPERS = ("releasePackage", "recordPackage", "arrayReleasePackage", "result", "results", "data")
_RELEASE_MEMBERS = frozenset({"ocid", "tag", "tender", "awards", "contracts", "buyer", "planning"})
_DEEPEST = 8


@dataclass(frozen=True, slots=True)
class Found:
    """One release, its place in the document and the licence its package states."""

    place: str
    release: Release
    licence: str | None


@dataclass(frozen=True)
class _Raw:
    place: str
    release: dict[str, Any]
    licence: str | None


def releases(body: bytes) -> Iterator[Found | Unread]:
    """Give every release of a body, and every place that should have held one."""
    for part in parts(body, release_or_value):
        if isinstance(part, Unread):
            yield part
        else:
            yield from inside(part)


def release_or_value(text: str) -> Any:
    """Read a text: a release as such, all else as the value it is."""
    return alone(text) or decoded(text)


def inside(part: Part, licence: str | None = None) -> Iterator[Found | Unread]:
    """Give every release of a value; ``licence`` is what stands around it."""
    if isinstance(part.value, Release):
        yield Found(part.place, part.value, licence)
        return
    for each in _walk(part.value, part.place, licence, 0):
        yield each if isinstance(each, Unread) else _typed(each, part.broken)


def _typed(raw: _Raw, broken: bool) -> Found | Unread:
    if broken:
        try:
            msgspec.json.encode(raw.release)
        except UnicodeEncodeError:
            return Unread(raw.place, "holds bytes that are no text")
    return Found(raw.place, typed(raw.release), raw.licence)


def _walk(value: Any, place: str, licence: str | None, depth: int) -> Iterator[_Raw | Unread]:
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
        yield _Raw(place, value, licence)
    else:
        yield from _wrapped(value, place, licence, depth)


def _each(
    values: list[Any], place: str, licence: str | None, depth: int
) -> Iterator[_Raw | Unread]:
    if not values:
        yield Unread(place, "holds no release")
    for position, value in enumerate(values):
        yield from _walk(value, f"{place}/{position}", licence, depth + 1)


def _record(record: dict[str, Any], place: str, licence: str | None) -> Iterator[_Raw | Unread]:
    """Give the releases inside a record; its compiled release only if there is nothing else."""
    inside = record.get("releases")
    inside = inside if isinstance(inside, list) else []
    found = [_inside(each, f"{place}/releases/{at}", licence) for at, each in enumerate(inside)]
    compiled = record.get("compiledRelease")
    if any(isinstance(each, _Raw) for each in found):
        yield from found
    elif isinstance(compiled, dict):
        yield _Raw(f"{place}/compiledRelease", compiled, licence)
    else:
        yield Unread(place, "a record with links only, no release in it")


def _inside(value: Any, place: str, licence: str | None) -> _Raw | Unread:
    if isinstance(value, dict) and ("id" in value or "url" not in value):
        return _Raw(place, value, licence)
    return Unread(place, "a link, not a release")


def _wrapped(
    value: dict[str, Any], place: str, licence: str | None, depth: int
) -> Iterator[_Raw | Unread]:
    inner = next((name for name in WRAPPERS if isinstance(value.get(name), (dict, list))), None)
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
