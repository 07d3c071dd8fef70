"""The lines of a CSV file of any length, with their locations."""

import csv
import io
from collections.abc import Callable, Iterable, Iterator
from typing import IO


class RecordTooLong(Exception):
    """A record is longer than any; the message is the reason."""


class BoundedRecords:
    """A file that raises RecordTooLong if too much is read of it without a record."""

    def __init__(self, read: Callable[[int], bytes], longest: int) -> None:
        self._read_file, self._longest = read, longest
        self._read = 0

    def next_record(self) -> None:
        """Note that a record is complete."""
        self._read = 0

    def read(self, size: int = -1) -> bytes:
        """Read at most ``size`` bytes."""
        content = self._read_file(size)
        self._read += len(content)
        if self._read > self._longest:
            raise RecordTooLong(f"a record longer than {self._longest} bytes")
        return content


# Characters of a line: a longer one is no line of a table, and would have to fit into memory.
_LONGEST = 1 << 20


class LineTooLong(ValueError):
    """A line that is too long to be one of a table; the message is the reason."""


def located_cells(
    text: Iterable[str], delimiter: str = ","
) -> Iterator[tuple[str, list[str] | str]]:
    """Yield the location and cells of every line of CSV; a reason if it is unreadable."""
    reader = csv.reader(text, delimiter=delimiter)
    while True:
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            yield f"line {reader.line_num}", f"not CSV: {error}"
        except LineTooLong as error:
            yield f"line {reader.line_num + 1}", f"not CSV from here on: {error}"
            return
        else:
            yield f"line {reader.line_num}", cells


def text_lines(body: IO[bytes]) -> Iterator[str]:
    """Yield the lines of a body in UTF-8; bytes that are not become surrogates."""
    # utf-8-sig drops the byte order mark that Excel writes.
    return bounded_lines(io.TextIOWrapper(body, "utf-8-sig", "surrogateescape", newline=""))


def bounded_lines(text: io.TextIOWrapper) -> Iterator[str]:
    """Yield the lines of a text; raise LineTooLong at one that is too long."""
    while line := text.readline(_LONGEST + 1):
        if len(line) > _LONGEST:
            raise LineTooLong(f"a line of more than {_LONGEST:,} characters")
        yield line


def has_undecoded_bytes(value: str) -> bool:
    """Return whether a value has bytes that are not UTF-8."""
    return not value.isascii() and any("\udc80" <= char <= "\udcff" for char in value)


def decode_as_latin1(value: str) -> str:
    """Return a value, decoded as Latin-1 (which accepts every byte) if it is not UTF-8."""
    if not has_undecoded_bytes(value):
        return value
    return value.encode("utf-8", "surrogateescape").decode("latin-1")


def cells_by_column(header: list[str], cells: list[str]) -> dict[str, str]:
    """Return the cells of a line by the names in its header."""
    if len(cells) != len(header):
        raise ValueError("the line has more or fewer cells than the header")
    return dict(zip(header, cells, strict=True))
