"""Every error that a user can meet: a sentence in our words, translated once at each surface.

A message says what happened and what to do next.
"""

import re
from collections.abc import Sequence

# Some libraries draw what went wrong as a tree, in colours.
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class SankofaError(Exception):
    """Base of all errors that we foresee; anything else is a bug."""


def in_one_line(error: BaseException) -> str:
    """Return what an error of a library says, as a part of a sentence of ours."""
    return " ".join(_COLOUR.sub("", str(error)).split())


# What the system or a library says of a disk, and what to do. The words of errors are all that is
# left of some, as they come from other processes and languages.
_DISK_FAILURES = {
    ("no space left on device", "disk is full", "disk quota exceeded", "file too large"): (
        "the disk is full, or a quota is used up. Nothing that was committed is lost: free some "
        "space and run the command again"
    ),
    ("disk i/o error", "input/output error"): (
        "the disk is full, or it fails: `df` says which. Free some space or replace it, run the "
        "command again, and `sankofa verify` afterwards"
    ),
    ("read-only file system", "readonly database", "permission denied"): (
        "nothing can be written there: the folder or its file system is read-only, or belongs to "
        "another user. Give the user of this command the right to write, and run it again"
    ),
}


def disk_failure(error: Exception | str) -> str | None:
    """Return a sentence of ours for an error of a library about the disk; None for any other."""
    said = in_one_line(error) if isinstance(error, Exception) else " ".join(error.split())
    for words, sentence in _DISK_FAILURES.items():
        if any(word in said.lower() for word in words):
            return f"{sentence} ({said[:200]})"
    return None


class LandingError(SankofaError):
    """A landed body is missing, or is no longer the bytes that were fetched."""


class LicenceError(SankofaError):
    """The licence of a source forbids redistribution."""


class BadStore(SankofaError):
    """A folder or an object store cannot be used as what it is set to be."""


class AlreadyPublished(SankofaError):
    """A stage of a publication was to be made again after the switch."""


class BadTable(SankofaError):
    """An Arrow table does not have the columns or the types of the record."""


class WriteConflict(SankofaError):
    """Other writers kept committing first; nothing of this load was written."""


class UnknownVersion(SankofaError):
    """The requested data_version is not available; ``held`` lists those that are, oldest first."""

    def __init__(self, message: str, version: str = "", held: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.version, self.held = version, held


class NothingPublished(SankofaError):
    """No build has been published yet."""


class ControlUnavailable(SankofaError):
    """The control database cannot be read: it is down, missing or damaged."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"the control database is unavailable: {reason}")
        self.reason = reason


class DatastoreUnavailable(SankofaError):
    """The published build cannot be read at the moment."""


class DamagedFile(DatastoreUnavailable):
    """A published file is missing, or is no longer what was written."""


class DamagedRecord(SankofaError):
    """A file of the record is missing, or is no longer what was written; ``says`` is what and why.

    The message goes on with what to do.
    """

    def __init__(self, message: str, says: str = "") -> None:
        super().__init__(message)
        self.says = says or message


class AuditFailed(SankofaError):
    """A check failed; nothing was published, and the snapshot is kept for inspection."""
