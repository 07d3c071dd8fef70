"""A wide file of the World Bank of any length, read line by line, so that memory stays flat.

The bulk download of all indicators is a zip that unpacks to hundreds of megabytes.
"""

import codecs
import csv
import io
import tempfile
from collections import deque
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from shutil import copyfileobj
from typing import IO, cast

from assets.macro.worldbank_csv import (
    ZIP,
    Lines,
    data_member,
    line_rows,
    split_at_header,
    update_day,
)
from assets.parsing.csv_lines import LineTooLong, bounded_lines
from assets.parsing.limits import count_unpacked
from assets.parsing.parsed import Parsed
from assets.parsing.zips import UNREADABLE, open_zip
from warehouse.record.landing import Document
from warehouse.record.tables import MACRO_ANNUAL

# Rows of a part.
_ROWS = 20_000
_CHUNK = 1 << 20
# Bytes at the end of a file within which its notes stand.
_TAIL = 1 << 16
# The header stands within so many lines.
_HEAD_LINES = 40

Open = Callable[[], AbstractContextManager[IO[bytes]]]


def wide_parts(document: Document, start: bytes, body: IO[bytes]) -> Iterator[Parsed]:
    """Parse a wide file part by part: a zip, or the CSV itself.

    ``start`` is what was already read of it.
    """
    with tempfile.TemporaryFile() as spooled:
        spooled.write(start)
        copyfileobj(body, spooled, _CHUNK)
        try:
            with _opener(spooled) as opened:
                yield from _parts(document, opened)
        except (ValueError, csv.Error) as error:
            yield _rejected(document, "", str(error))
        except UNREADABLE as error:
            reason = f"the zip is damaged: {error or type(error).__name__}"
            yield _rejected(document, "", reason)


@contextmanager
def _opener(spooled: IO[bytes]) -> Iterator[Open]:
    """Return what opens the file of values from its beginning, any number of times."""
    spooled.seek(0)
    if spooled.read(len(ZIP)) != ZIP:

        @contextmanager
        def plain() -> Iterator[IO[bytes]]:
            spooled.seek(0)
            yield spooled

        yield plain
        return
    spooled.seek(0)
    with open_zip(spooled) as archive:
        member = data_member(archive)

        @contextmanager
        def zipped() -> Iterator[IO[bytes]]:
            with archive.open(member) as content:
                yield content

        yield zipped


def _parts(document: Document, opened: Open) -> Iterator[Parsed]:
    above, header, _ = split_at_header(_first_lines(opened))
    updated = update_day(above, _last_lines(opened)).isoformat()
    parsed, is_below = Parsed(), False
    with opened() as body, closing(_csv_lines(body)) as lines:
        while True:
            try:
                number, cells = next(lines)
            except StopIteration:
                break
            except (csv.Error, LineTooLong) as error:
                parsed.reject(MACRO_ANNUAL, document, "", f"not CSV from some line on: {error}")
                break
            # Lines of one cell are the notes below the data.
            if is_below and len(cells) > 1:
                line_rows(parsed, document, f"line {number}", header, cells, updated)
            is_below = is_below or cells == header
            if len(parsed.rows.get(MACRO_ANNUAL.name, ())) >= _ROWS:
                yield parsed
                parsed = Parsed()
    yield parsed


def _csv_lines(body: IO[bytes]) -> Generator[tuple[int, list[str]], None, None]:
    text = io.TextIOWrapper(cast(io.BufferedReader, body), "utf-8-sig", newline="")
    try:
        rows = csv.reader(bounded_lines(text), strict=True)
        for row in rows:
            if any(row):
                yield rows.line_num, [cell.strip() for cell in row]
    finally:
        text.detach()


def _first_lines(opened: Open) -> Lines:
    with opened() as body, closing(_csv_lines(body)) as lines:
        return [line for line, _ in zip(lines, range(_HEAD_LINES), strict=False)]


def _last_lines(opened: Open) -> Lines:
    """Return the last lines; ValueError if the file is not UTF-8."""
    decoder, tail, size = codecs.getincrementaldecoder("utf-8")(), b"", 0
    with opened() as body:
        while chunk := body.read(_CHUNK):
            count_unpacked(len(chunk))
            try:
                decoder.decode(chunk)
            except UnicodeDecodeError:
                raise ValueError(f"the document is not UTF-8 after byte {size}") from None
            size += len(chunk)
            tail = (tail + chunk)[-_TAIL:]
    ending = tail.decode("utf-8", "replace").splitlines()[1:]
    return [(0, cells) for cells in deque(csv.reader(ending), 8) if any(cells)]


def _rejected(document: Document, location: str, reason: str) -> Parsed:
    parsed = Parsed()
    parsed.reject(MACRO_ANNUAL, document, location, reason)
    return parsed
