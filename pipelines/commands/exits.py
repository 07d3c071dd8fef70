"""What the exit status of the command says."""

from enum import IntEnum
from typing import IO, Any

import click

from warehouse.errors import DatastoreUnavailable, NothingPublished, SankofaError


class Exit(IntEnum):
    """The exit statuses; 2 is given by click itself."""

    OK = 0
    FAILED = 1
    USAGE = 2
    NOTHING_PUBLISHED = 3
    AUDIT_REFUSED = 4
    STORE_DOWN = 5


MEANINGS = {
    Exit.OK: "done",
    Exit.FAILED: "failed, or `doctor` found a fault; a sentence says why",
    Exit.USAGE: "the command was not understood",
    Exit.NOTHING_PUBLISHED: "nothing has been published yet",
    Exit.AUDIT_REFUSED: "the audit refused the build; the one before is still read",
    Exit.STORE_DOWN: "the datastore, the key store or the usage store does not answer",
}


class Failed(click.ClickException):
    """An error of ours, told as a sentence, with the exit status that is its own."""

    def __init__(self, error: SankofaError | OSError) -> None:
        super().__init__(_sentence(error))
        self.exit_code = exit_of(error)  # type: ignore[misc]

    def show(self, file: IO[Any] | None = None) -> None:
        """Say it on standard error, so that what a script reads stays JSON."""
        click.echo(f"sankofa: {self.format_message()}", file=file, err=file is None)


def exit_of(error: Exception) -> Exit:
    """Give the exit status of an error."""
    # Loaded only once something failed: they bring more than `--help` has to wait for.
    from warehouse.keys.backends import KeyStoreUnavailable
    from warehouse.mart.audit import AuditFailed
    from warehouse.usage.counters import UsageUnavailable

    if isinstance(error, NothingPublished):
        return Exit.NOTHING_PUBLISHED
    if isinstance(error, AuditFailed):
        return Exit.AUDIT_REFUSED
    if isinstance(error, DatastoreUnavailable | KeyStoreUnavailable | UsageUnavailable):
        return Exit.STORE_DOWN
    return Exit.FAILED


def _sentence(error: SankofaError | OSError) -> str:
    if isinstance(error, SankofaError):
        return str(error)
    where = f"{error.filename}: " if error.filename else ""
    return f"{where}{error.strerror or error}; `sankofa doctor` looks for the fault"
