"""A parser that raises is our bug: its document is recorded as failed and stays unread."""

import logging
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from assets.source import Source
from warehouse.record.landing import Document
from warehouse.record.tables import TABLES_WITHOUT_PEOPLE
from warehouse.shared.code_version import ROOT, release
from warehouse.shared.errors import SankofaError
from warehouse.tables.operations import FailureEntry, LoadEntry

_LONGEST_MESSAGE = 300
_MOST_NAMED = 5

_log = logging.getLogger(__name__)


class ParserFailed(SankofaError):
    """The parser raised at some documents of a source; all others have been loaded.

    ``entries`` are the loads, ``failures`` the last attempt at each document that stays unread.
    """

    def __init__(
        self, message: str, entries: Sequence[LoadEntry] = (), failures: Sequence[FailureEntry] = ()
    ) -> None:
        super().__init__(message)
        self.entries, self.failures = entries, failures


@dataclass(frozen=True)
class Raised:
    """An exception that was raised in any process: its name, what it says, and where it was."""

    error: str
    message: str
    location: str
    trace: str = ""

    @classmethod
    def of(cls, error: Exception) -> "Raised":
        """Describe an exception."""
        trace = "".join(traceback.format_exception(error))
        return cls(type(error).__name__, str(error), _location(error), trace)


def may_name_people(source: Source | None) -> bool:
    """Return whether documents of a source can contain personal data; True if unknown."""
    return source is None or not set(source.tables) <= set(TABLES_WITHOUT_PEOPLE)


def failure_of(
    source: Source, document: Document, version: str, raised: Raised, appended: int = 0
) -> FailureEntry:
    """Describe an exception that a parser raised, without values that may be personal data."""
    message = " ".join(raised.message.split())[:_LONGEST_MESSAGE]
    is_hidden = may_name_people(source)
    return FailureEntry(
        document=document.key,
        source=source.key,
        url=document.url,
        parser_version=version,
        error=raised.error,
        message=None if is_hidden else message or None,
        location=raised.location,
        appended=appended,
        code_version=release(),
        failed_at=datetime.now(UTC),
    )


def log_failure(source: Source, failure: FailureEntry, raised: Raised) -> None:
    """Log a failure with its traceback, unless that may end with personal data."""
    trace = "" if may_name_people(source) or not raised.trace else f"\n{raised.trace}"
    _log.error("%s: the parser failed: %s%s", failure.url, in_words(failure), trace)


def in_words(failure: FailureEntry) -> str:
    """Return the exception of a failure and where it was raised."""
    raised = failure.error if failure.message is None else f"{failure.error}: {failure.message}"
    return f"{raised} ({failure.location})"


def describe_failures(source: str, failures: Sequence[FailureEntry]) -> str:
    """Return what failed and what to do, for a person."""
    number = f"{len(failures)} document{'s' if len(failures) > 1 else ''}"
    lines = [f"  {failure.url}: {in_words(failure)}" for failure in failures[:_MOST_NAMED]]
    if len(failures) > _MOST_NAMED:
        lines.append(f"  … and {len(failures) - _MOST_NAMED} more")
    first = f"the parser of {source} failed on {number}; the rest of the source was loaded."
    advice = (
        "  This is a bug in Sankofa, not in the documents: report it, or correct the parser. "
        f"They stay unread, and the next `sankofa ingest {source}` reads them by itself."
    )
    return "\n".join((first, *lines, advice))


def _location(error: Exception) -> str:
    """Return the innermost place in our code that an exception passed."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if Path(frame.filename).is_relative_to(ROOT)]
    frame = (ours or frames)[-1]
    path = Path(frame.filename)
    shown = path.relative_to(ROOT) if ours else Path(path.name)
    return f"{shown.as_posix()}:{frame.lineno} in {frame.name}"
