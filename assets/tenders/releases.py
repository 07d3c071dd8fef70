"""From a body to located OCDS releases, whatever they are wrapped in.

Release packages, record packages, bare releases and records, arrays of any of them, the wrappers
that portals put around them, and zips of all these. The content of a release is read in ``parse``.
"""

import io
import json
import re
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import IO, Any, NamedTuple, cast

import msgspec

from assets.parsing.unpacking import Item, gunzip, in_zip, located_in, read_member
from assets.tenders.ocds import OcdsRelease, convert_release, decode_release

# From bytes to located JSON values: nothing here knows what a release is. Numbers are read exactly.
# Bytes that are not JSON are reported with their location, never replaced.

_BOMS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))
_DECODER = msgspec.json.Decoder(float_hook=Decimal)
# Only the standard library says where a value ends; msgspec, which is faster, refuses what follows.
_ENDS = json.JSONDecoder(parse_float=Decimal)
# After a value that cannot be read: the next line that could begin one.
_RESTART = re.compile(r"\n(?=[\[{])")
_SPACE = re.compile(r"\s*")
_BEYOND_ASCII = re.compile("[\x80-\ud7ff\ue000-\U0010ffff]")
# Characters that may be read in vain, at least and for each character of a text: a value without an
# end is read up to the end of the text, and so is the next one.
_IN_VAIN, _IN_VAIN_EACH = 1 << 20, 4
# Characters in which a value is looked for first, and of the longest token but a string or number.
_WINDOW, _LONGEST_TOKEN = 1 << 14, 16
# What failing at values that are nested too deeply costs, as characters.
_NESTED_COST = 20_000
DECODE_ERRORS = (ValueError, ArithmeticError, RecursionError)


@dataclass(frozen=True)
class JsonValue:
    """One JSON value; ``damaged`` if its text may contain undecodable bytes.

    ``location`` is empty if it is the whole body; ``line`` is where it begins then.
    """

    location: str
    value: Any
    damaged: bool = False
    line: int = 1


@dataclass(frozen=True)
class Unreadable:
    """A location where nothing could be read, and why."""

    location: str
    reason: str


# Decodes a text that is one value; raises only DECODE_ERRORS.
Decode = Callable[[str], Any]


def json_values(body: bytes, decode: Decode = _DECODER.decode) -> Iterator[JsonValue | Unreadable]:
    """Yield the values of a body: one value, JSON Lines or concatenated, gzipped or not."""
    try:
        text = decode_text(gunzip(body) if body.startswith(b"\x1f\x8b") else body)
    except (OSError, EOFError, zlib.error, ValueError) as error:
        yield Unreadable("", f"the body cannot be opened: {error}")
        return
    if not text.strip():
        yield Unreadable("", "the body is empty")
        return
    try:
        yield JsonValue("", decode(text), line=1 + text.count("\n", 0, _space(text, 0)))
    except DECODE_ERRORS:
        yield from read_concatenated(text, decode)


def decode_text(body: bytes) -> str:
    """Decode as UTF-8 or UTF-16, else Latin-1; undecodable bytes stay as lone surrogates.

    A text that mixes real UTF-8 with wrong bytes, or has C1 control characters if read as
    Latin-1, is damaged UTF-8 rather than Latin-1.
    """
    for mark, encoding in _BOMS:
        if body.startswith(mark):
            return body[len(mark) :].decode(encoding, "surrogateescape")
    try:
        return body.decode()
    except UnicodeDecodeError:
        marked = body.decode("utf-8", "surrogateescape")
        latin = body.decode("latin-1")
        mixed = _BEYOND_ASCII.search(marked)
        return marked if mixed or re.search("[\x80-\x9f]", latin) else latin


def read_concatenated(
    text: str, decode: Decode = _DECODER.decode, first_line: int = 1
) -> Iterator[JsonValue | Unreadable]:
    """Yield concatenated values, located by the line on which each begins."""
    start, line, counted = _space(text, 0), first_line, 0
    left, line_end = max(_IN_VAIN, _IN_VAIN_EACH * len(text)), -1
    while start < len(text):
        line += text.count("\n", counted, start)
        counted = start
        if left < 0:
            reason = "not JSON from here on: too many values without an end"
            yield Unreadable(f"line {line}", reason)
            return
        # A line is tried as one value once: what follows a value on it is read value by value.
        begins_line = start > line_end
        if begins_line:
            line_end = text.find("\n", start)
            line_end = len(text) if line_end < 0 else line_end
        value, end, in_vain = _value(text, start, line_end if begins_line else None, decode)
        left -= in_vain
        if isinstance(value, Unreadable):
            whole = first_line == 1 and start == _space(text, 0) and end == len(text)
            yield Unreadable("" if whole else f"line {line}", value.reason)
        else:
            yield JsonValue(f"line {line}", value.value, value.damaged)
        start = _space(text, end)


def _value(
    text: str, start: int, line_end: int | None, decode: Decode
) -> tuple[JsonValue | Unreadable, int, int]:
    """Decode the value at ``start``: the line if it is one, else as far as the value goes.

    Return it, where to go on, and how many characters were read in vain. On failure, resume at
    the next line that could begin a value.
    """
    if line_end is not None:
        try:
            return JsonValue("", decode(text[start:line_end])), line_end, 0
        except DECODE_ERRORS:
            pass
    try:
        value, end = _decode_at(text, start)
        return JsonValue("", value, damaged=True), end, 0
    except DECODE_ERRORS as error:
        failed_at = error.pos if isinstance(error, json.JSONDecodeError) else start + _NESTED_COST
        restart = _RESTART.search(text, start + 1)
        resume = restart.end() if restart else len(text)
        in_vain = max(0, min(failed_at, len(text)) - resume) if restart else 0
        return Unreadable("", f"not JSON: {_reason(error)}"), resume, in_vain


def _decode_at(text: str, start: int) -> tuple[Any, int]:
    """Decode the value at ``start``; return it and where it ends.

    An error counts the lines before it, so no more than needed of the text is given: each error
    would cost the whole text.
    """
    size = _WINDOW
    while True:
        window, is_all = text[start : start + size], start + size >= len(text)
        try:
            value, end = _ENDS.raw_decode(window)
        except json.JSONDecodeError as error:
            cut_off = error.pos > len(window) - _LONGEST_TOKEN or "Unterminated" in error.msg
            if is_all or not cut_off:
                error.pos += start
                raise
        else:
            # A number may go on where the window ends.
            if is_all or end < len(window):
                return value, start + end
        size *= 8


def _reason(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "nested too deeply"
    return error.msg if isinstance(error, json.JSONDecodeError) else "a number out of range"


def _space(text: str, start: int) -> int:
    return cast(re.Match[str], _SPACE.match(text, start)).end()


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
    is_filled = isinstance(node, list) and bool(node)
    return is_filled and all(isinstance(each, dict) and each.keys() >= _VERSION for each in node)


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


class PackageTerms(NamedTuple):
    """What a package states of all its releases: their licence, and when it was published."""

    licence: str | None = None
    published: str | None = None

    def within(self, package: Mapping[str, Any]) -> "PackageTerms":
        """Return the terms of a package inside this one: its own, where it states them."""
        both = zip(map(package.get, PACKAGE_TERMS), self, strict=True)
        return PackageTerms(*(own if isinstance(own, str) else outer for own, outer in both))


# The members of a package with its terms, and those of a release that no package encloses.
PACKAGE_TERMS, NO_TERMS = ("license", "publishedDate"), PackageTerms()


@dataclass(frozen=True, slots=True)
class LocatedRelease:
    """One release, its location in the document, and the terms that its package states.

    ``misplaced`` are its members that are not what they should be, and count as absent.
    """

    location: str
    release: OcdsRelease
    terms: PackageTerms
    misplaced: Sequence[str] = ()


class _RawRelease(NamedTuple):
    location: str
    release: dict[str, Any]
    terms: PackageTerms


def releases_in(body: bytes) -> Iterator[LocatedRelease | Unreadable]:
    """Yield every release of a body, and every location that should contain one but does not.

    A zip is the sum of its members.
    """
    if not body.startswith(ZIP):
        yield from releases_in_json(body)
        return
    for name, item in members_in(
        io.BytesIO(body), lambda member: releases_in_json(read_member(member))
    ):
        yield replace(item, location=located_in(name, item.location))


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


def members_in(
    body: IO[bytes], read: Callable[[IO[bytes]], Iterator[Item]]
) -> Iterator[tuple[str, Item | Unreadable]]:
    """Yield what ``read`` finds in each member of a zip, with the name of the member."""
    is_empty = True
    for name, item in in_zip(body, read):
        is_empty = False
        yield name, Unreadable("", item) if isinstance(item, str) else item
    if is_empty:
        yield "", Unreadable("", "the zip holds no release")


def decode_release_or_value(text: str) -> Any:
    """Decode a text: a bare release straight to its struct, anything else as plain JSON.

    Most texts are bare releases, and decoding into structs is several times faster.
    """
    return decode_release(text) or _DECODER.decode(text)


def releases_in_value(
    value: JsonValue, terms: PackageTerms = NO_TERMS
) -> Iterator[LocatedRelease | Unreadable]:
    """Yield every release of a value; ``terms`` are those of the enclosing package."""
    if isinstance(value.value, OcdsRelease):
        yield LocatedRelease(value.location, value.value, terms)
        return
    for item in _walk(value.value, value.location, terms, 0):
        yield item if isinstance(item, Unreadable) else _typed(item, value.damaged)


def _typed(raw: _RawRelease, damaged: bool) -> LocatedRelease | Unreadable:
    if damaged:
        try:
            msgspec.json.encode(raw.release)
        except UnicodeEncodeError:
            return Unreadable(raw.location, "holds bytes that are no text")
    release, misplaced = convert_release(raw.release)
    return LocatedRelease(raw.location, release, raw.terms, misplaced)


def _walk(
    value: Any, location: str, terms: PackageTerms, depth: int
) -> Iterator[_RawRelease | Unreadable]:
    if depth > _DEEPEST:
        yield Unreadable(location, "nested too deeply for a package")
    elif isinstance(value, list):
        yield from _walk_list(value, location, terms, depth)
    elif not isinstance(value, dict):
        yield Unreadable(location, f"{_kind(value)}, not a release")
    # A record has releases, too, but an ocid of its own.
    elif isinstance(found := value.get("releases"), list) and "ocid" not in value:
        yield from _walk_list(found, f"{location}/releases", terms.within(value), depth)
    elif isinstance(found := value.get("records"), list):
        yield from _walk_list(found, f"{location}/records", terms.within(value), depth)
    elif "releases" in value or "compiledRelease" in value or "versionedRelease" in value:
        yield from _record(value, location, terms)
    elif not _RELEASE_MEMBERS.isdisjoint(value):
        yield _RawRelease(location, value, terms)
    elif inner := [name for name in WRAPPERS if isinstance(value.get(name), dict | list)]:
        within = f"{location}/{inner[0]}"
        yield from _walk(value[inner[0]], within, terms.within(value), depth + 1)
    else:
        yield Unreadable(location, "no OCDS release, record or package")


def _walk_list(
    values: list[Any], location: str, terms: PackageTerms, depth: int
) -> Iterator[_RawRelease | Unreadable]:
    if not values:
        yield Unreadable(location, "holds no release")
    for position, value in enumerate(values):
        yield from _walk(value, f"{location}/{position}", terms, depth + 1)


def _record(
    record: dict[str, Any], location: str, terms: PackageTerms
) -> Iterator[_RawRelease | Unreadable]:
    """Yield the releases of a record, or what its versioned release tells of them.

    The compiled release only if there is nothing else.
    """
    embedded = record.get("releases")
    releases: list[_RawRelease | Unreadable] = []
    for position, item in enumerate(embedded if isinstance(embedded, list) else []):
        here = f"{location}/releases/{position}"
        if isinstance(item, dict) and ("id" in item or "url" not in item):
            releases.append(_RawRelease(here, item, terms))
        else:
            releases.append(Unreadable(here, "a link, not a release"))
    versioned, compiled = record.get("versionedRelease"), record.get("compiledRelease")
    history = list(states(versioned)) if isinstance(versioned, dict) else []
    # The compiled release only repeats the others.
    if any(isinstance(release, _RawRelease) for release in releases):
        yield from releases
    elif history:
        for position, state in enumerate(history):
            yield _RawRelease(f"{location}/versionedRelease#{position}", state, terms)
    elif isinstance(compiled, dict):
        yield _RawRelease(f"{location}/compiledRelease", compiled, terms)
    else:
        yield Unreadable(location, "a record with links only, no release in it")


def _kind(value: Any) -> str:
    kinds = {str: "a text", bool: "true or false", type(None): "null"}
    return kinds.get(type(value), "a number")
