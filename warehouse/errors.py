"""Every error that a user can meet: a sentence in our words, translated once at each surface.

A message says what happened and what to do next.
"""

import re
from collections.abc import Sequence

# Some libraries draw what went wrong as a tree, in colours.
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class SankofaError(Exception):
    """Base of all errors that we foresee; anything else is a bug."""


def in_one_line(error: Exception) -> str:
    """Return what an error of a library says, as a part of a sentence of ours."""
    return " ".join(_COLOUR.sub("", str(error)).split())


class LandingError(SankofaError):
    """A landed body is missing, or is no longer the bytes that were fetched."""


class MixedWorlds(SankofaError):
    """Documents of fictional and of real sources must not meet in one home."""


class LicenceError(SankofaError):
    """The licence of a source forbids redistribution."""


class BadStore(SankofaError):
    """A folder or an object store cannot be used as what it is set to be."""


class AlreadyPublished(SankofaError):
    """A stage of a publication was to be made again after the switch."""


class BadTable(SankofaError):
    """An Arrow table does not have the columns or the types of the record."""


class ColumnsChanged(SankofaError):
    """A row class no longer fits the columns that a table of the record has stored."""


class WriteConflict(SankofaError):
    """Other writers kept committing first; nothing of this load was written."""


class LeaseLost(SankofaError):
    """Another machine may have taken over what only one may do at a time."""


class UnknownVersion(SankofaError):
    """The requested data_version is not held; ``held`` are those that are, oldest first."""

    def __init__(self, message: str, version: str = "", held: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.version, self.held = version, held


class NothingPublished(SankofaError):
    """No build has been published yet."""


class DatastoreUnavailable(SankofaError):
    """The published build cannot be read at the moment."""


class BadParameters(SankofaError):
    """The parameters of a read contradict each other; ``parameter`` is the one to change."""

    def __init__(self, message: str, parameter: str) -> None:
        super().__init__(message)
        self.parameter = parameter
