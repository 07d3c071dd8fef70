"""What a look at an installation finds, and how a look that itself fails is told."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from warehouse.errors import DatastoreUnavailable
from warehouse.settings import SettingError, Settings

State = Literal["ok", "note", "fault"]


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at; a note or a fault says what to do."""

    subject: str
    state: State
    says: str
    do: str | None = None


@dataclass(frozen=True)
class Asked:
    """What is looked at: the places, the ports, and whether sources are asked over the network."""

    settings: Settings
    host: str
    ports: dict[str, int]
    live: bool = False
    setting_errors: Sequence[SettingError] = ()


Look = Callable[[Asked], Iterable[Finding]]


def ok(subject: str, says: str) -> Finding:
    """Tell that something is as it should be."""
    return Finding(subject, "ok", says)


def note(subject: str, says: str, do: str | None = None) -> Finding:
    """Tell what is no fault, but worth knowing."""
    return Finding(subject, "note", says, do)


def fault(subject: str, says: str, do: str) -> Finding:
    """Tell a fault, and what to do."""
    return Finding(subject, "fault", says, do)


def looked(look: Look, asked: Asked) -> Iterator[Finding]:
    """Look; what keeps a look from ending is a fault as well, told once."""
    subject = look.__name__.replace("_", " ")
    try:
        yield from look(asked)
    except DatastoreUnavailable:
        yield note(subject, "not looked at, since the datastore does not answer: see Stores")
    # A library raises what it likes; a person is told all the same.
    except Exception as error:
        yield fault(subject, f"could not be looked at: {error}", "mend that, then look again")
