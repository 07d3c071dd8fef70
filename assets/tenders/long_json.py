"""The JSON values of a body that does not fit in memory: concatenated, or one huge value.

Concatenated values are located by the line on which each begins. Usually a line is a value. Where
it is not, the lines up to the next one that could begin a value are read together.

One value (a package, or an array) is read event by event, one release in memory at a time. A
package may state its terms after its releases, so the body is spooled to disk and read twice:
terms first.

A value, or a release, that is too long is rejected, so that memory stays flat.
"""

import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any, Literal

import ijson
import msgspec
from ijson.common import JSONError, ObjectBuilder

from assets.parsing.csv_lines import BoundedRecords, RecordTooLong
from assets.tenders.ocds import decode_release
from assets.tenders.releases import (
    NO_TERMS,
    PACKAGE_TERMS,
    WRAPPERS,
    JsonValue,
    PackageTerms,
    Unreadable,
    decode_release_or_value,
    decode_text,
    read_concatenated,
)

# A longer value is refused: it is not a release, or it is a bomb.
LONGEST = 16 << 20

# How a line that could begin a value begins, after the end of the line before it.
_BEGINNINGS = (b"\n{", b"\n[")

Line = tuple[int, bytes | None]


def first_value_is_complete(start: bytes) -> bool:
    """Return whether the first value of a body ends within its beginning ``start``."""
    # The usual case, decided without decoding megabytes.
    line = start.lstrip().partition(b"\n")[0].rstrip()
    if line.startswith(b"{") and line.endswith(b"}"):
        return True
    try:
        # Raw: nothing is built of what is read.
        msgspec.json.decode(start, type=msgspec.Raw)
    except RecursionError:
        return False
    except msgspec.DecodeError as error:
        # Something follows a complete value.
        return "trailing characters" in str(error)
    return True


@dataclass(frozen=True)
class Part:
    """Some releases of a body, as bytes.

    ``whole``: a body by itself. ``lines``: whole lines, of which ``first_line`` is the number of
    the first; ``utf8`` if a line before them proved the body to be UTF-8. ``values``: pickled
    values with their locations and licences. ``within`` is the member of a zip they are in.
    """

    kind: Literal["whole", "lines", "values"]
    content: bytes
    first_line: int = 1
    utf8: bool = False
    within: str | None = None


def cut_lines(
    chunks: Iterable[bytes], size: int, longest: int = LONGEST
) -> Iterator[Part | JsonValue | Unreadable]:
    """Cut a body into parts of some ``size`` bytes, each before a line that could begin a value.

    Where there is none for too long, the rest is read here, value by value.
    """
    # Bytes that can be added to: a body of gigabytes comes in chunks of one megabyte.
    rest, first_line, utf8, searched = bytearray(), 1, False, 0
    pending = iter(chunks)
    while True:
        try:
            chunk = next(pending, None)
        except Exception:
            # The body is damaged from here on: its whole lines are kept.
            if at := rest.rfind(b"\n") + 1:
                yield Part("lines", bytes(rest[:at]), first_line, utf8)
            raise
        if chunk is None:
            break
        rest += chunk
        while len(rest) > size and (at := _boundary(rest, size, searched)):
            content = bytes(rest[:at])
            del rest[:at]
            searched = 0
            yield Part("lines", content, first_line, utf8)
            first_line += content.count(b"\n")
            utf8 = utf8 or _proves_utf8(content)
        # Up to here nothing begins a value; the last byte may be the first of a mark.
        searched = len(rest) - 1 if len(rest) > size else 0
        if len(rest) > max(size, longest):
            yield from values(chain([bytes(rest)], pending), longest, first_line, utf8)
            return
    if rest:
        yield Part("lines", bytes(rest), first_line, utf8)


def _boundary(lines: bytearray, size: int, searched: int) -> int:
    """Return where the last line within ``size`` that could begin a value begins, or the next.

    Before ``searched`` there is none.
    """
    if not searched and (before := max(lines.rfind(mark, 0, size + 2) for mark in _BEGINNINGS) + 1):
        return before
    start = max(size, searched)
    return min((at + 1 for mark in _BEGINNINGS if (at := lines.find(mark, start)) >= 0), default=0)


def _proves_utf8(content: bytes) -> bool:
    """Return whether a reader of these lines would know that the body is UTF-8."""
    if content.isascii():
        return False
    try:
        content.decode()
    except UnicodeDecodeError:
        reader = _ValueReader()
        for number, line in _lines([content], len(content)):
            for _ in reader.read(number, line or b""):
                pass
        for _ in reader.rest():
            pass
        return reader.utf8
    return True


def values(
    chunks: Iterable[bytes], longest: int = LONGEST, first_line: int = 1, utf8: bool = False
) -> Iterator[JsonValue | Unreadable]:
    """Yield the values of a body of any length, or of its lines from ``first_line`` on."""
    reader = _ValueReader(utf8)
    for number, line in _lines(chunks, longest, first_line):
        if line is None:
            yield from reader.rest()
            yield Unreadable(f"line {number}", f"longer than {longest} bytes")
        else:
            yield from reader.read(number, line)
            if reader.size > longest:
                yield reader.too_long(longest)
    yield from reader.rest()


class _ValueReader:
    """Collects lines until one begins a new value."""

    def __init__(self, utf8: bool = False) -> None:
        self._pending: list[bytes] = []
        self._first = 1
        # Once a line was UTF-8 beyond ASCII, wrong bytes are damage and not Latin-1.
        self.utf8 = utf8
        self.size = 0

    def read(self, number: int, line: bytes) -> Iterator[JsonValue | Unreadable]:
        """Yield the values that end before this line, and the line itself if it is a release."""
        if self._pending and line[:1] not in (b"{", b"["):
            self._add(line)
            return
        yield from self.rest()
        # The usual line is a release: decode it straight to its struct, without a text first.
        if release := decode_release(line):
            self.utf8 = self.utf8 or not line.isascii()
            yield JsonValue(f"line {number}", release)
        elif line.strip():
            self._first = number
            self._add(line)

    def rest(self) -> Iterator[JsonValue | Unreadable]:
        """Yield the values of the pending lines."""
        pending, self._pending, self.size = b"\n".join(self._pending), [], 0
        if not pending:
            return
        try:
            text = pending.decode()
            self.utf8 = self.utf8 or not text.isascii()
        except UnicodeDecodeError:
            # In a UTF-8 body the wrong bytes become surrogates.
            in_utf8 = self.utf8
            text = pending.decode("utf-8", "surrogateescape") if in_utf8 else decode_text(pending)
        for value in read_concatenated(text, decode_release_or_value, self._first):
            # Only an unreadable value can have no location: give it that of the first line.
            yield value if value.location else Unreadable(f"line {self._first}", value.reason)  # type: ignore[union-attr]

    def too_long(self, longest: int) -> Unreadable:
        """Discard the pending lines."""
        self._pending, self.size = [], 0
        return Unreadable(f"line {self._first}", f"longer than {longest} bytes")

    def _add(self, line: bytes) -> None:
        self._pending.append(line)
        self.size += len(line) + 1


def _lines(chunks: Iterable[bytes], longest: int, first_line: int = 1) -> Iterator[Line]:
    """Yield numbered lines; None instead of one that is too long, which is not kept in memory."""
    # The parts of the last line are joined once: it can be as long as many chunks.
    number, rest, length, too_long = first_line, list[bytes](), 0, False
    for chunk in chunks:
        first, *following = chunk.split(b"\n")
        length += len(first)
        too_long = too_long or length > longest
        rest = [] if too_long else [*rest, first]
        for line in following:
            yield number, None if too_long else b"".join(rest)
            number, rest, length, too_long = number + 1, [line], len(line), False
    if length or too_long:
        yield number, None if too_long else b"".join(rest)


LocatedMember = tuple[JsonValue, PackageTerms]
Event = tuple[str, Any]

_ARRAYS = ("releases", "records")
_OPEN, _CLOSE = ("start_map", "start_array"), ("end_map", "end_array")


def members(chunks: Iterable[bytes]) -> Iterator[LocatedMember | Unreadable]:
    """Yield each release or record with its location and the terms of its package."""
    with tempfile.TemporaryFile() as spooled:
        # Spooled while it is read: of what breaks off nothing more is unpacked.
        remaining, rest = iter(chunks), b""

        def read(size: int) -> bytes:
            nonlocal rest
            if not rest:
                rest = next(remaining, b"")
                spooled.write(rest)
            content, rest = rest[:size], rest[size:]
            return content

        first_pass = _PackageWalk(read, {}, build=False)
        for _ in first_pass.members():
            pass
        spooled.seek(0)
        yield from _PackageWalk(spooled.read, first_pass.terms, build=True).members()


class _PackageWalk:
    """One pass through the values of a file; ``terms`` has what each package states, by location.

    Without ``build`` members are skipped, not built: only the terms are collected.
    """

    def __init__(
        self, read: Callable[[int], bytes], terms: dict[str, dict[str, str]], *, build: bool
    ) -> None:
        self._file = BoundedRecords(read, LONGEST)
        # ijson reads numbers as int or Decimal, so amounts keep their digits.
        self._events: Iterator[Event] = ijson.basic_parse(self._file, multiple_values=True)
        self._build = build
        self._enclosing: list[str] = []
        self._last_location: str | None = None
        self.terms = terms

    def members(self) -> Iterator[LocatedMember | Unreadable]:
        """Yield all members; where the file breaks off, an Unreadable is the last."""
        try:
            for number, (event, _) in enumerate(self._events):
                location = "" if number == 0 else f"value {number + 1}"
                yield from self._value(event, location)
        except RecordTooLong:
            yield self._broken_off(f"not JSON: a release longer than {LONGEST} bytes")
        except (JSONError, ValueError, ArithmeticError, RecursionError) as error:
            yield self._broken_off(_reason(error))
        else:
            if self._last_location is None:
                yield Unreadable("", "no OCDS release, record or package")

    def _broken_off(self, reason: str) -> Unreadable:
        return Unreadable(f"after {self._last_location}" if self._last_location else "", reason)

    def _value(self, event: str, location: str) -> Iterator[LocatedMember | Unreadable]:
        if event == "start_map":
            yield from self._package(location)
        elif event == "start_array":
            yield from self._array(location)

    def _package(self, location: str) -> Iterator[LocatedMember | Unreadable]:
        """Walk the members of a package whose first event has been read."""
        self._enclosing.append(location)
        for event, name in self._events:
            if event == "end_map":
                break
            yield from self._member(location, name)
        self._enclosing.pop()

    def _member(self, location: str, name: str) -> Iterator[LocatedMember | Unreadable]:
        event, value = next(self._events)
        if name in PACKAGE_TERMS and event == "string":
            self.terms.setdefault(location, {})[name] = value
        elif name in _ARRAYS and event == "start_array":
            yield from self._array(f"{location}/{name}")
        elif name in WRAPPERS and event in _OPEN:
            yield from self._value(event, f"{location}/{name}")
        else:
            self._consume(event, None)

    def _array(self, location: str) -> Iterator[LocatedMember | Unreadable]:
        for position, (event, value) in enumerate(self._events):
            if event == "end_array":
                if position == 0:
                    self._last_location = location
                    yield Unreadable(location, "holds no release")
                return
            if event == "start_map":
                yield from self._element(f"{location}/{position}")
            else:
                value = self._consume(event, value, self._builder())
                yield self._done(f"{location}/{position}", value)

    def _element(self, location: str) -> Iterator[LocatedMember | Unreadable]:
        """Build a release; if it turns out to be a package, walk it instead."""
        builder, names = self._builder("start_map"), set()
        for event, name in self._events:
            if event == "end_map":
                break
            names.add(name)
            if name in _ARRAYS and "ocid" not in names:
                self._enclosing.append(location)
                yield from self._member(location, name)
                self._enclosing.pop()
                yield from self._package(location)
                return
            if builder:
                builder.event(event, name)
            event, value = next(self._events)
            if name in PACKAGE_TERMS and isinstance(value, str):
                self.terms.setdefault(location, {})[name] = value
            self._consume(event, value, builder)
        yield self._done(location, builder)

    def _builder(self, event: str | None = None) -> ObjectBuilder | None:
        builder = ObjectBuilder() if self._build else None
        if builder and event:
            builder.event(event, None)
        return builder

    def _consume(
        self, event: str, value: Any, builder: ObjectBuilder | None = None
    ) -> ObjectBuilder | None:
        """Consume the value that begins with this event."""
        depth = 0
        while True:
            if builder:
                builder.event(event, value)
            depth += (event in _OPEN) - (event in _CLOSE)
            if depth == 0:
                return builder
            event, value = next(self._events)

    def _done(self, location: str, builder: ObjectBuilder | None) -> LocatedMember:
        self._last_location = location
        self._file.next_record()
        value = builder.value if builder else None
        terms = NO_TERMS
        for package in self._enclosing:
            terms = terms.within(self.terms.get(package, {}))
        return JsonValue(location, value), terms


def _reason(error: Exception) -> str:
    message = error.args[0] if error.args else ""
    text = message.decode("utf-8", "replace") if isinstance(message, bytes) else str(message)
    return f"not JSON: {(text.splitlines() or ['nested too deeply'])[0]:.200}"
