"""The releases of one value that is longer than fits: a package, an array, packages in one.

The value is read event by event, and only one release of it is held at a time. A licence may
stand behind the releases it is for: so the body is laid on disk and gone through twice.
"""

import tempfile
from collections.abc import Iterable, Iterator
from typing import IO, Any

import ijson
from ijson.common import JSONError, ObjectBuilder

from assets.tenders.json_lines import LONGEST
from assets.tenders.json_values import Part, Unread
from assets.tenders.releases import WRAPPERS

Member = tuple[Part, str | None]
Event = tuple[str, Any]

# More than this is not laid on disk: no portal publishes as much in one value.
LARGEST = 64 << 30

_ARRAYS = ("releases", "records")
_OPEN, _CLOSE = ("start_map", "start_array"), ("end_map", "end_array")


def members(pieces: Iterable[bytes]) -> Iterator[Member | Unread]:
    """Give each release or record, its place, and the licence that its package states."""
    with tempfile.TemporaryFile() as laid:
        for piece in pieces:
            if laid.tell() > LARGEST:
                yield Unread("", f"it opens to more than {LARGEST} bytes")
                return
            laid.write(piece)
        laid.seek(0)
        stated = _Walk(laid, {}, build=False)
        for _ in stated.members():
            pass
        laid.seek(0)
        yield from _Walk(laid, stated.licences, build=True).members()


class _Bounded:
    """A file of which only so much may be read between two releases."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.since = 0

    def read(self, size: int = -1) -> bytes:
        """Give at most so many bytes."""
        given = self._file.read(size)
        self.since += len(given)
        if self.since > LONGEST:
            raise ValueError(f"a release longer than {LONGEST} bytes")
        return given


class _Walk:
    """One way through the values of a file; ``licences`` are those of packages by place."""

    def __init__(self, file: IO[bytes], licences: dict[str, str], *, build: bool) -> None:
        self._file = _Bounded(file)
        self._events: Iterator[Event] = ijson.basic_parse(self._file, multiple_values=True)
        self._build = build
        self._around: list[str] = []
        self._last: str | None = None
        self.licences = licences

    def members(self) -> Iterator[Member | Unread]:
        """Give what there is; where the file breaks off, say so and end."""
        try:
            for number, (event, _) in enumerate(self._events):
                place = "" if number == 0 else f"value {number + 1}"
                yield from self._value(event, place)
        except (JSONError, ValueError, ArithmeticError, RecursionError) as error:
            yield Unread(f"after {self._last}" if self._last else "", _words(error))
        else:
            if self._last is None:
                yield Unread("", "no OCDS release, record or package")

    def _value(self, event: str, place: str) -> Iterator[Member | Unread]:
        if event == "start_map":
            yield from self._package(place)
        elif event == "start_array":
            yield from self._each(place)

    def _package(self, place: str) -> Iterator[Member | Unread]:
        """Go through the members of a package; this one's first event was read."""
        self._around.append(place)
        for event, name in self._events:
            if event == "end_map":
                break
            yield from self._member(place, name)
        self._around.pop()

    def _member(self, place: str, name: str) -> Iterator[Member | Unread]:
        event, value = next(self._events)
        if name == "license" and event == "string":
            self.licences[place] = value
        elif name in _ARRAYS and event == "start_array":
            yield from self._each(f"{place}/{name}")
        elif name in WRAPPERS and event in _OPEN:
            yield from self._value(event, f"{place}/{name}")
        else:
            self._rest(event, None)

    def _each(self, place: str) -> Iterator[Member | Unread]:
        for at, (event, value) in enumerate(self._events):
            if event == "end_array":
                if at == 0:
                    self._last = place
                    yield Unread(place, "holds no release")
                return
            if event == "start_map":
                yield from self._element(f"{place}/{at}")
            else:
                yield self._done(f"{place}/{at}", self._rest(event, value, self._builder()))

    def _element(self, place: str) -> Iterator[Member | Unread]:
        """Hold a release; where it turns out to be a package, go through it instead."""
        builder, names = self._builder("start_map"), set()
        for event, name in self._events:
            if event == "end_map":
                break
            names.add(name)
            if name in _ARRAYS and "ocid" not in names:
                yield from self._turned_out(place, name)
                return
            if builder:
                builder.event(event, name)
            event, value = next(self._events)
            if name == "license" and isinstance(value, str):
                self.licences[place] = value
            self._rest(event, value, builder)
        yield self._done(place, builder)

    def _turned_out(self, place: str, name: str) -> Iterator[Member | Unread]:
        self._around.append(place)
        yield from self._member(place, name)
        self._around.pop()
        yield from self._package(place)

    def _builder(self, event: str | None = None) -> ObjectBuilder | None:
        builder = ObjectBuilder() if self._build else None
        if builder and event:
            builder.event(event, None)
        return builder

    def _rest(
        self, event: str, value: Any, builder: ObjectBuilder | None = None
    ) -> ObjectBuilder | None:
        """Read on to the end of the value whose first event this is."""
        depth = 0
        while True:
            if builder:
                builder.event(event, value)
            depth += (event in _OPEN) - (event in _CLOSE)
            if depth == 0:
                return builder
            event, value = next(self._events)

    def _done(self, place: str, builder: ObjectBuilder | None) -> Member:
        self._last = place
        self._file.since = 0
        value = builder.value if builder else None
        stated = (self.licences.get(each) for each in reversed(self._around))
        return Part(place, value), next((each for each in stated if each), None)


def _words(error: Exception) -> str:
    said = error.args[0] if error.args else ""
    text = said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)
    return f"not JSON: {(text.splitlines() or ['nested too deeply'])[0]:.200}"
