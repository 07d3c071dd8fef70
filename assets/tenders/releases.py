"""From a body to located OCDS releases, whatever they are wrapped in.

Release packages, record packages, bare releases and records, arrays of any of them, the wrappers
that portals put around them, and zips of all these. The content of a release is read in ``parse``.
"""

import io
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import IO, Any

import msgspec

from assets.parsing.unpacking import UNREADABLE, open_zip, read_member, zip_members
from assets.tenders.json_values import JsonValue, Unreadable, decode_json, json_values
from assets.tenders.ocds import OcdsRelease, convert_release, decode_release

# The states of a contracting process in a versioned release, one for each release that made it.
#
# A versioned release has, in place of each value, all values that it ever had, with the release and
# the day of each. So it tells what was known on every day, also where the releases themselves are
# only linked.


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


# Members under which portals hide a package.
WRAPPERS = ("releasePackage", "recordPackage", "arrayReleasePackage", "result", "results", "data")
_RELEASE_MEMBERS = frozenset({"ocid", "tag", "tender", "awards", "contracts", "buyer", "planning"})
# Packages nest a few levels; the limit stops hostile nesting.
_DEEPEST = 8
# How a zip begins.
ZIP = b"PK\x03\x04"


@dataclass(frozen=True, slots=True)
class LocatedRelease:
    """One release, its location in the document, and the licence its package states.

    ``misplaced`` are its members that are not what they should be, and count as absent.
    """

    location: str
    release: OcdsRelease
    licence: str | None
    misplaced: Sequence[str] = ()


@dataclass(frozen=True)
class _RawRelease:
    location: str
    release: dict[str, Any]
    licence: str | None


ReadMember = Callable[[IO[bytes]], Iterator[LocatedRelease | Unreadable]]


def releases_in(body: bytes) -> Iterator[LocatedRelease | Unreadable]:
    """Yield every release of a body, and every location that should contain one but does not.

    A zip is the sum of its members.
    """
    if body.startswith(ZIP):
        yield from releases_in_zip(io.BytesIO(body), _releases_in_member)
    else:
        yield from releases_in_json(body)


def releases_in_json(body: bytes) -> Iterator[LocatedRelease | Unreadable]:
    """Yield every release of a body that is JSON, gzipped or not."""
    for value in json_values(body, decode_release_or_value):
        if isinstance(value, Unreadable):
            yield value
            continue
        for item in releases_in_value(value):
            # A release that is the whole body is located as in JSON Lines, which may be one line.
            is_whole = isinstance(item, LocatedRelease) and not item.location
            yield replace(item, location=f"line {value.line}") if is_whole else item


def releases_in_zip(body: IO[bytes], read: ReadMember) -> Iterator[LocatedRelease | Unreadable]:
    """Yield what ``read`` finds in each member of a zip, located by the name of the member."""
    is_empty = True
    try:
        with open_zip(body) as archive:
            for info in zip_members(archive):
                is_empty = False
                yield from _inside(archive, info, read)
    except zipfile.BadZipFile as error:
        yield Unreadable("", f"not a zip: {error}")
        return
    if is_empty:
        yield Unreadable("", "the zip holds no release")


def _inside(
    archive: zipfile.ZipFile, info: zipfile.ZipInfo, read: ReadMember
) -> Iterator[LocatedRelease | Unreadable]:
    try:
        with archive.open(info) as member:
            for item in read(member):
                location = f"{info.filename}#{item.location}" if item.location else info.filename
                yield replace(item, location=location)
    except UNREADABLE as error:
        yield Unreadable(info.filename, f"damaged from here on: {type(error).__name__}")


def _releases_in_member(member: IO[bytes]) -> Iterator[LocatedRelease | Unreadable]:
    yield from releases_in_json(read_member(member))


def decode_release_or_value(text: str) -> Any:
    """Decode a text: a bare release straight to its struct, anything else as plain JSON.

    Most texts are bare releases, and decoding into structs is several times faster.
    """
    return decode_release(text) or decode_json(text)


def releases_in_value(
    value: JsonValue, licence: str | None = None
) -> Iterator[LocatedRelease | Unreadable]:
    """Yield every release of a value; ``licence`` is that of the enclosing package."""
    if isinstance(value.value, OcdsRelease):
        yield LocatedRelease(value.location, value.value, licence)
        return
    for item in _walk(value.value, value.location, licence, 0):
        yield item if isinstance(item, Unreadable) else _typed(item, value.damaged)


def _typed(raw: _RawRelease, damaged: bool) -> LocatedRelease | Unreadable:
    if damaged:
        try:
            msgspec.json.encode(raw.release)
        except UnicodeEncodeError:
            return Unreadable(raw.location, "holds bytes that are no text")
    release, misplaced = convert_release(raw.release)
    return LocatedRelease(raw.location, release, raw.licence, misplaced)


def _walk(
    value: Any, location: str, licence: str | None, depth: int
) -> Iterator[_RawRelease | Unreadable]:
    if depth > _DEEPEST:
        yield Unreadable(location, "nested too deeply for a package")
    elif isinstance(value, list):
        yield from _walk_list(value, location, licence, depth)
    elif not isinstance(value, dict):
        yield Unreadable(location, f"{_kind(value)}, not a release")
    # A record has releases, too, but an ocid of its own.
    elif isinstance(value.get("releases"), list) and "ocid" not in value:
        yield from _walk_list(
            value["releases"], f"{location}/releases", _licence(value, licence), depth
        )
    elif isinstance(value.get("records"), list):
        yield from _walk_list(
            value["records"], f"{location}/records", _licence(value, licence), depth
        )
    elif "releases" in value or "compiledRelease" in value or "versionedRelease" in value:
        yield from _record(value, location, licence)
    elif not _RELEASE_MEMBERS.isdisjoint(value):
        yield _RawRelease(location, value, licence)
    else:
        yield from _wrapped(value, location, licence, depth)


def _walk_list(
    values: list[Any], location: str, licence: str | None, depth: int
) -> Iterator[_RawRelease | Unreadable]:
    if not values:
        yield Unreadable(location, "holds no release")
    for position, value in enumerate(values):
        yield from _walk(value, f"{location}/{position}", licence, depth + 1)


def _record(
    record: dict[str, Any], location: str, licence: str | None
) -> Iterator[_RawRelease | Unreadable]:
    """Yield the releases of a record, or what its versioned release tells of them.

    The compiled release only if there is nothing else.
    """
    embedded = record.get("releases")
    embedded = embedded if isinstance(embedded, list) else []
    releases = [
        _embedded(item, f"{location}/releases/{position}", licence)
        for position, item in enumerate(embedded)
    ]
    versioned, compiled = record.get("versionedRelease"), record.get("compiledRelease")
    history = list(states(versioned)) if isinstance(versioned, dict) else []
    # The compiled release only repeats the others.
    if any(isinstance(release, _RawRelease) for release in releases):
        yield from releases
    elif history:
        for position, state in enumerate(history):
            yield _RawRelease(f"{location}/versionedRelease#{position}", state, licence)
    elif isinstance(compiled, dict):
        yield _RawRelease(f"{location}/compiledRelease", compiled, licence)
    else:
        yield Unreadable(location, "a record with links only, no release in it")


def _embedded(value: Any, location: str, licence: str | None) -> _RawRelease | Unreadable:
    if isinstance(value, dict) and ("id" in value or "url" not in value):
        return _RawRelease(location, value, licence)
    return Unreadable(location, "a link, not a release")


def _wrapped(
    value: dict[str, Any], location: str, licence: str | None, depth: int
) -> Iterator[_RawRelease | Unreadable]:
    inner = next((name for name in WRAPPERS if isinstance(value.get(name), (dict, list))), None)
    if inner is None:
        yield Unreadable(location, "no OCDS release, record or package")
    else:
        inner_licence = _licence(value, licence)
        yield from _walk(value[inner], f"{location}/{inner}", inner_licence, depth + 1)


def _licence(package: dict[str, Any], outer: str | None) -> str | None:
    licence = package.get("license")
    return licence if isinstance(licence, str) else outer


def _kind(value: Any) -> str:
    kinds = {str: "a text", bool: "true or false", type(None): "null"}
    return kinds.get(type(value), "a number")
