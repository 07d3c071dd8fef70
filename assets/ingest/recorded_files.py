"""What a file does not say of itself: its headers are beside it, its moment follows from a day.

Response headers that a parser needs are in a JSON file beside the document, named like it plus
``.headers.json``.
"""

import json
from datetime import UTC, date, datetime, time
from pathlib import Path

from warehouse.errors import SankofaError

_HEADERS = ".headers.json"


def is_document(path: Path) -> bool:
    """Return whether a path is a file that is not the headers of another."""
    return path.is_file() and not path.name.endswith(_HEADERS)


def headers_beside(path: Path) -> dict[str, str]:
    """Return the headers in the file beside a document; none if there is no such file."""
    beside = path.with_name(path.name + _HEADERS)
    try:
        headers = json.loads(beside.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise SankofaError(f"{beside}: not JSON ({error}); correct it or remove it") from None
    if not isinstance(headers, dict):
        raise SankofaError(f"{beside}: write one JSON object of header names and values")
    return {str(name).lower(): str(value) for name, value in headers.items()}


def start_of_reading(day: date) -> datetime:
    """Return the moment that stands for a day: a fixed hour, so that keys are reproducible."""
    return datetime.combine(day, time(6), UTC)
