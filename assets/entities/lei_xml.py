"""LEI-CDF XML as a stream: each record as the JSON would write it.

A document type is refused before it is read: entities that grow need one.
"""

from collections.abc import Iterator
from typing import IO, Any
from xml.parsers import expat

_CHUNK = 1 << 16
_RECORD = "LEIRecord"
_LONGEST = 1 << 20


class _Refused(ValueError):
    """What is not read, and why, in words."""


def xml_records(body: IO[bytes]) -> Iterator[tuple[str, Any]]:
    """Give each record with its place; a text in place of a record says why there is none."""
    reader = _Reader()
    count, reason = 0, None
    while reason is None and (chunk := body.read(_CHUNK)):
        reason = reader.feed(chunk)
        for record in reader.taken():
            yield f"/LEIRecords/{count}", record
            count += 1
    reason = reason or reader.feed(b"", last=True)
    if reason:
        yield f"/LEIRecords/{count}", reason


class _Reader:
    """The records read so far, and the elements that are open within the next."""

    def __init__(self) -> None:
        self._parser = expat.ParserCreate(namespace_separator=" ")
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._text
        self._parser.StartDoctypeDeclHandler = self._refuse
        self._open: list[tuple[str, dict[str, Any], list[str]]] = []
        self._records: list[dict[str, Any]] = []
        self._length = 0

    def feed(self, chunk: bytes, last: bool = False) -> str | None:
        """Read on; give the reason where it cannot go on."""
        try:
            self._parser.Parse(chunk, last)
        except expat.ExpatError as error:
            return f"not XML from here on: {error}"
        except _Refused as refusal:
            return str(refusal)
        return None

    def taken(self) -> list[dict[str, Any]]:
        """Give the records that are complete, once."""
        taken, self._records = self._records, []
        return taken

    def _start(self, name: str, _: dict[str, str]) -> None:
        local = name.rpartition(" ")[2]
        if self._open or local == _RECORD:
            self._open.append((local, {}, []))

    def _text(self, text: str) -> None:
        if self._open:
            self._length += len(text)
            self._open[-1][2].append(text)
        if self._length > _LONGEST or len(self._open) > 100:
            raise _Refused("a record that is too long to be one")

    def _end(self, _: str) -> None:
        if not self._open:
            return
        name, members, text = self._open.pop()
        if not self._open:
            self._records.append(members)
            self._length = 0
            return
        above = self._open[-1][1]
        value = members or "".join(text)
        held = above.setdefault(name, value)
        if held is not value:
            above[name] = [*held, value] if isinstance(held, list) else [held, value]

    def _refuse(self, *_: object) -> None:
        raise _Refused("a document type is declared: refused")
