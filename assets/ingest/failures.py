"""A parser that raises is our bug: its document is recorded as failed and stays unread."""

import logging
import traceback
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from assets.source import Source
from warehouse.code_version import ROOT, release
from warehouse.errors import SankofaError
from warehouse.record.landing import Document
from warehouse.record.ledger import PARSER_FAILED
from warehouse.record.quarantine import add_retries, quarantined_rows
from warehouse.record.store import Record
from warehouse.record.tables import TABLES_WITHOUT_PEOPLE
from warehouse.tables import FailureEntry, LoadEntry, RetryEntry

_LONGEST_MESSAGE = 300
_MOST_NAMED = 5

_log = logging.getLogger(__name__)


class ParserFailed(SankofaError):
    """The parser raised at some documents of a source; all others have been loaded.

    ``entries`` are the loads, ``failures`` the last attempt at each document that stays unread.
    """

    def __init__(
        self,
        message: str,
        entries: Sequence[LoadEntry] = (),
        failures: Sequence[FailureEntry] = (),
    ) -> None:
        super().__init__(message)
        self.entries, self.failures = entries, failures


def may_name_people(source: Source | None) -> bool:
    """Return whether documents of a source can contain personal data; True if unknown."""
    return source is None or not set(source.tables) <= set(TABLES_WITHOUT_PEOPLE)


def failure_of(
    source: Source, document: Document, version: str, error: Exception, appended: int = 0
) -> FailureEntry:
    """Describe an exception that a parser raised, without values that may be personal data."""
    message = " ".join(str(error).split())[:_LONGEST_MESSAGE]
    return FailureEntry(
        document=document.key,
        source=source.key,
        url=document.url,
        parser_version=version,
        error=type(error).__name__,
        message=None if may_name_people(source) else message or None,
        location=_location(error),
        appended=appended,
        code_version=release(),
        failed_at=datetime.now(UTC),
    )


def log_failure(source: Source, failure: FailureEntry, error: Exception) -> None:
    """Log a failure with its traceback, unless that may end with personal data."""
    traced = None if may_name_people(source) else error
    _log.error("%s: the parser failed: %s", failure.url, in_words(failure), exc_info=traced)


def settle_old_failures(record: Record, source: Source, entries: Iterable[LoadEntry]) -> None:
    """Note what was read of the documents whose failure release 0.1 put into the quarantine."""
    read = {key.partition("-")[0] for entry in entries for key in entry.documents}
    retries = [
        RetryEntry(
            quarantine_id=row.quarantine_id,
            became="read",
            code_version=release(),
            retried_at=datetime.now(UTC),
        )
        for row in quarantined_rows(record, source.key, PARSER_FAILED)
        if row.document in read and row.became != "read"
    ]
    add_retries(record, retries)


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
    return "\n".join(
        (
            f"the parser of {source} failed on {number}; the rest of the source was loaded.",
            *lines,
            "  This is a bug in Sankofa, not in the documents: report it, or correct the parser. "
            f"They stay unread, and the next `sankofa ingest {source}` reads them by itself.",
        )
    )


def _location(error: Exception) -> str:
    """Return the innermost place in our code that an exception passed."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if Path(frame.filename).is_relative_to(ROOT)]
    frame = (ours or frames)[-1]
    path = Path(frame.filename)
    shown = path.relative_to(ROOT) if ours else Path(path.name)
    return f"{shown.as_posix()}:{frame.lineno} in {frame.name}"
