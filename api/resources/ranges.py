"""Which part of a file a request asks for (RFC 9110, section 14)."""

import re

_ONE_RANGE = re.compile(r"bytes=[ \t]*([0-9]{0,18})-([0-9]{0,18})[ \t]*")


class Unsatisfiable(Exception):
    """The file has no byte of the part that was asked for."""


def part(header: str | None, size: int) -> tuple[int, int] | None:
    """Give the first and the last byte asked for; None for the whole file.

    What is malformed, in other units or in several parts may be answered with the whole.
    """
    found = _ONE_RANGE.fullmatch(header or "")
    if found is None or found.groups() == ("", ""):
        return None
    first, last = found.groups()
    if not first:
        start, end = max(size - int(last), 0), size - 1
    else:
        start, end = int(first), min(int(last), size - 1) if last else size - 1
        if last and int(last) < start:
            return None
    if start > end:
        raise Unsatisfiable
    return start, end
