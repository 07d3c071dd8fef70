"""Exit statuses of the command, and the exception that carries one."""

from enum import IntEnum
from typing import IO, Any

import click

from warehouse.shared.errors import (
    AuditFailed,
    ControlUnavailable,
    DatastoreUnavailable,
    NothingPublished,
    SankofaError,
    disk_failure,
)


class Exit(IntEnum):
    """The exit statuses; click itself exits with 2."""

    OK = 0
    FAILED = 1
    USAGE = 2
    NOTHING_PUBLISHED = 3
    AUDIT_REFUSED = 4
    STORE_DOWN = 5


MEANINGS = {
    Exit.OK: "success",
    Exit.FAILED: "failure, or `doctor` or `verify` found a fault; the message says why",
    Exit.USAGE: "wrong command line",
    Exit.NOTHING_PUBLISHED: "nothing has been loaded or published yet",
    Exit.AUDIT_REFUSED: "the audit refused the build; the previous one is still served",
    Exit.STORE_DOWN: "the datastore, the control database or the usage store does not answer",
}


class CommandError(click.ClickException):
    """An expected error, shown as one sentence, with its exit status."""

    def __init__(self, error: SankofaError | OSError) -> None:
        super().__init__(_sentence(error))
        self.exit_code = exit_of(error)  # type: ignore[misc]

    def show(self, file: IO[Any] | None = None) -> None:
        """Print the message to standard error, so that standard output stays JSON."""
        click.echo(f"sankofa: {self.format_message()}", file=file, err=file is None)


def exit_of(error: Exception) -> Exit:
    """Return the exit status of an error."""
    # Imported only after a failure: `--help` should not wait for these.
    from warehouse.serve.counters import UsageUnavailable

    if isinstance(error, NothingPublished):
        return Exit.NOTHING_PUBLISHED
    if isinstance(error, AuditFailed):
        return Exit.AUDIT_REFUSED
    if isinstance(error, DatastoreUnavailable | ControlUnavailable | UsageUnavailable):
        return Exit.STORE_DOWN
    return Exit.FAILED


def _sentence(error: SankofaError | OSError) -> str:
    if isinstance(error, SankofaError):
        return str(error)
    file = f"{error.filename}: " if error.filename else ""
    if (words := disk_failure(error)) is not None:
        return f"{file}{words}"
    return f"{file}{error.strerror or error}; run `sankofa doctor` to find the cause"
