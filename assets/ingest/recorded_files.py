"""What a file does not say of itself: its headers are beside it, its moment follows from a day.

Response headers that a parser needs are in a JSON file beside the document, named like it plus
``.headers.json``.
"""

import json
from datetime import UTC, date, datetime, time
from pathlib import Path, PurePosixPath

from warehouse.errors import SankofaError

_HEADERS = ".headers.json"


def is_headers_name(name: str) -> bool:
    """Return whether a file contains the headers of another."""
    return name.endswith(_HEADERS)


def is_hidden(name: str) -> bool:
    """Return whether a path is of what systems leave beside files: .DS_Store, __MACOSX."""
    return any(
        (part.startswith(".") and not part.startswith("..")) or part == "__MACOSX"
        for part in PurePosixPath(name).parts
    )


def is_document(path: Path) -> bool:
    """Return whether a path is a file that is not the headers of another."""
    return path.is_file() and not is_headers_name(path.name)


def headers_beside(path: Path) -> dict[str, str]:
    """Return the headers in the file beside a document; none if there is no such file."""
    beside = path.with_name(path.name + _HEADERS)
    if beside.is_symlink() and not beside.resolve().is_relative_to(path.parent.resolve()):
        raise SankofaError(f"{beside} is a link out of its folder, not followed; copy it here")
    return read_headers(beside.read_bytes() if beside.is_file() else None, str(beside))


def read_headers(content: bytes | None, name: str) -> dict[str, str]:
    """Read a file of headers; None is no such file."""
    try:
        headers = {} if content is None else json.loads(content)
    except (ValueError, RecursionError) as error:
        raise SankofaError(f"{name}: not JSON ({error}); correct it or remove it") from None
    if not isinstance(headers, dict):
        raise SankofaError(f"{name}: write one JSON object of header names and values")
    return {str(key).lower(): str(value) for key, value in headers.items()}


def start_of_reading(day: date) -> datetime:
    """Return the moment that stands for a day: a fixed hour, so that keys are reproducible."""
    return datetime.combine(day, time(6), UTC)
