"""Findings of the checks, and how a check that itself fails is reported."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from warehouse.shared.errors import DatastoreUnavailable
from warehouse.shared.settings import SettingError, Settings

State = Literal["ok", "note", "fault"]


@dataclass(frozen=True)
class Finding:
    """The result of one check; a note or a fault says what to do."""

    subject: str
    state: State
    says: str
    do: str | None = None


@dataclass(frozen=True)
class CheckContext:
    """What the checks run against; ``live`` also sends a request to each source."""

    settings: Settings
    host: str
    ports: dict[str, int]
    live: bool = False
    setting_errors: Sequence[SettingError] = ()


Check = Callable[[CheckContext], Iterable[Finding]]


def ok(subject: str, says: str) -> Finding:
    """Return a finding that something is in order."""
    return Finding(subject, "ok", says)


def note(subject: str, says: str, do: str | None = None) -> Finding:
    """Return a finding that is worth knowing but no fault."""
    return Finding(subject, "note", says, do)


def fault(subject: str, says: str, do: str) -> Finding:
    """Return a fault and what to do about it."""
    return Finding(subject, "fault", says, do)


def run_check(check: Check, context: CheckContext) -> Iterator[Finding]:
    """Run a check; an exception in it is reported as a fault."""
    subject = check.__name__.replace("_", " ")
    try:
        yield from check(context)
    except DatastoreUnavailable:
        yield note(subject, "not checked, because the datastore does not answer: see Stores")
    # Libraries raise exceptions of any kind; report them all.
    except Exception as error:
        yield fault(subject, f"could not be checked: {error}", "fix that, then run the check again")
