"""The releases of one value that does not fit in memory: a package, or an array.

The value is read event by event, one release in memory at a time. A package may state its licence
after its releases, so the body is spooled to disk and read twice: licences first.
"""

import tempfile
from collections.abc import Iterable, Iterator
from typing import IO, Any

import ijson
from ijson.common import JSONError, ObjectBuilder

from assets.parsing.csv_lines import BoundedRecords, Readable, RecordTooLong
from assets.tenders.json_lines import LONGEST
from assets.tenders.json_values import JsonValue, Unreadable
from assets.tenders.releases import WRAPPERS

LocatedMember = tuple[JsonValue, str | None]
Event = tuple[str, Any]

_ARRAYS = ("releases", "records")
_OPEN, _CLOSE = ("start_map", "start_array"), ("end_map", "end_array")


def members(chunks: Iterable[bytes]) -> Iterator[LocatedMember | Unreadable]:
    """Yield each release or record with its location and the licence of its package."""
    with tempfile.TemporaryFile() as spooled:
        # Spooled while it is read: of what breaks off nothing more is unpacked.
        first_pass = _PackageWalk(_Spooling(chunks, spooled), {}, build=False)
        for _ in first_pass.members():
            pass
        spooled.seek(0)
        yield from _PackageWalk(spooled, first_pass.licences, build=True).members()


class _Spooling:
    """Chunks as a file that is written to another one as it is read."""

    def __init__(self, chunks: Iterable[bytes], spooled: IO[bytes]) -> None:
        self._chunks, self._spooled = iter(chunks), spooled
        self._rest = b""

    def read(self, size: int) -> bytes:
        """Read at most ``size`` bytes."""
        if not self._rest:
            self._rest = next(self._chunks, b"")
            self._spooled.write(self._rest)
        content, self._rest = self._rest[:size], self._rest[size:]
        return content


class _PackageWalk:
    """One pass through the values of a file; ``licences`` maps package locations to licences.

    Without ``build`` members are skipped, not built: only the licences are collected.
    """

    def __init__(self, file: Readable, licences: dict[str, str], *, build: bool) -> None:
        self._file = BoundedRecords(file, LONGEST)
        # ijson reads numbers as int or Decimal, so amounts keep their digits.
        self._events: Iterator[Event] = ijson.basic_parse(self._file, multiple_values=True)
        self._build = build
        self._enclosing: list[str] = []
        self._last_location: str | None = None
        self.licences = licences

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
        if name == "license" and event == "string":
            self.licences[location] = value
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
                yield self._done(
                    f"{location}/{position}", self._consume(event, value, self._builder())
                )

    def _element(self, location: str) -> Iterator[LocatedMember | Unreadable]:
        """Build a release; if it turns out to be a package, walk it instead."""
        builder, names = self._builder("start_map"), set()
        for event, name in self._events:
            if event == "end_map":
                break
            names.add(name)
            if name in _ARRAYS and "ocid" not in names:
                yield from self._walk_as_package(location, name)
                return
            if builder:
                builder.event(event, name)
            event, value = next(self._events)
            if name == "license" and isinstance(value, str):
                self.licences[location] = value
            self._consume(event, value, builder)
        yield self._done(location, builder)

    def _walk_as_package(self, location: str, name: str) -> Iterator[LocatedMember | Unreadable]:
        self._enclosing.append(location)
        yield from self._member(location, name)
        self._enclosing.pop()
        yield from self._package(location)

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
        # The innermost enclosing package that states a licence wins.
        licences = (self.licences.get(package) for package in reversed(self._enclosing))
        return JsonValue(location, value), next((licence for licence in licences if licence), None)


def _reason(error: Exception) -> str:
    message = error.args[0] if error.args else ""
    text = message.decode("utf-8", "replace") if isinstance(message, bytes) else str(message)
    return f"not JSON: {(text.splitlines() or ['nested too deeply'])[0]:.200}"
