"""The lines of a CSV file of any length, each with its place."""

import csv
import io
from collections.abc import Iterator
from typing import IO


def read_lines(body: IO[bytes], strict: bool = False) -> Iterator[tuple[str, list[str] | str]]:
    """Give each line that holds something; a text in its place says why it cannot be read.

    Bytes that are no UTF-8 come as surrogates: see ``undecoded``.
    """
    text = io.TextIOWrapper(body, "utf-8-sig", "surrogateescape", newline="")
    reader = csv.reader(text, strict=strict)
    while True:
        try:
            line = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            yield f"line {reader.line_num}", f"not CSV: {error}"
        else:
            if any(each.strip() for each in line):
                yield f"line {reader.line_num}", line


def has_undecoded_bytes(value: str) -> bool:
    """Say whether a value has bytes that are no UTF-8."""
    return not value.isascii() and any("\udc80" <= each <= "\udcff" for each in value)


def decode_as_latin1(value: str) -> str:
    """Give a value that is no UTF-8 as Latin-1, which every byte is; others as they are."""
    if not has_undecoded_bytes(value):
        return value
    return value.encode("utf-8", "surrogateescape").decode("latin-1")
