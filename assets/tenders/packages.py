"""The releases of one value that does not fit in memory: a package, or an array.

The value is read event by event, one release in memory at a time. A package may state its licence
after its releases, so the body is spooled to disk and read twice: licences first.
"""

import tempfile
from collections.abc import Iterable, Iterator
from typing import IO, Any

import ijson
from ijson.common import JSONError, ObjectBuilder

from assets.tenders.json_lines import LONGEST
from assets.tenders.json_values import JsonValue, Unreadable
from assets.tenders.releases import WRAPPERS

LocatedMember = tuple[JsonValue, str | None]
Event = tuple[str, Any]

# Most bytes to spool to disk: no portal publishes as much in one value.
LARGEST = 64 << 30

_ARRAYS = ("releases", "records")
_OPEN, _CLOSE = ("start_map", "start_array"), ("end_map", "end_array")


def members(chunks: Iterable[bytes]) -> Iterator[LocatedMember | Unreadable]:
    """Yield each release or record with its location and the licence of its package."""
    with tempfile.TemporaryFile() as spooled:
        for chunk in chunks:
            if spooled.tell() > LARGEST:
                yield Unreadable("", f"it opens to more than {LARGEST} bytes")
                return
            spooled.write(chunk)
        spooled.seek(0)
        first_pass = _PackageWalk(spooled, {}, build=False)
        for _ in first_pass.members():
            pass
        spooled.seek(0)
        yield from _PackageWalk(spooled, first_pass.licences, build=True).members()


class _BoundedFile:
    """A file that raises when a single release is longer than ``LONGEST``."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.bytes_since_release = 0

    def read(self, size: int = -1) -> bytes:
        """Read at most ``size`` bytes."""
        content = self._file.read(size)
        self.bytes_since_release += len(content)
        if self.bytes_since_release > LONGEST:
            raise ValueError(f"a release longer than {LONGEST} bytes")
        return content


class _PackageWalk:
    """One pass through the values of a file; ``licences`` maps package locations to licences.

    Without ``build`` members are skipped, not built: only the licences are collected.
    """

    def __init__(self, file: IO[bytes], licences: dict[str, str], *, build: bool) -> None:
        self._file = _BoundedFile(file)
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
        except (JSONError, ValueError, ArithmeticError, RecursionError) as error:
            yield Unreadable(
                f"after {self._last_location}" if self._last_location else "", _reason(error)
            )
        else:
            if self._last_location is None:
                yield Unreadable("", "no OCDS release, record or package")

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
        self._file.bytes_since_release = 0
        value = builder.value if builder else None
        # The innermost enclosing package that states a licence wins.
        licences = (self.licences.get(package) for package in reversed(self._enclosing))
        return JsonValue(location, value), next((licence for licence in licences if licence), None)


def _reason(error: Exception) -> str:
    message = error.args[0] if error.args else ""
    text = message.decode("utf-8", "replace") if isinstance(message, bytes) else str(message)
    return f"not JSON: {(text.splitlines() or ['nested too deeply'])[0]:.200}"
