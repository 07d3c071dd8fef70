"""The trail of operators: who did what, when and why, and whether it succeeded."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from getpass import getuser
from typing import Literal, get_args

from sqlmodel import col, select

from warehouse.control.models import Action, ControlDatabase
from warehouse.shared.errors import in_one_line

ActionKind = Literal[
    "keys create",
    "keys rotate",
    "keys revoke",
    "withhold",
    "release",
    "erase",
    "publish",
    "rollback",
    "builds drop",
]
ACTION_KINDS: tuple[ActionKind, ...] = get_args(ActionKind)


def current_user() -> str:
    """Return the name of the user, or unknown."""
    # Without an entry for the user id, as in some containers, there is no name.
    with suppress(OSError, KeyError):
        return getuser()
    return "unknown"


def new_action(kind: ActionKind, what: str, why: str) -> Action:
    """Return the row of an action that begins now, by the user of this process and machine."""
    who = f"{current_user()}@{socket.gethostname()}"
    return Action(kind=kind, what=what, why=why, who=who, began_at=datetime.now(UTC))


@contextmanager
def recorded(location: str, kind: ActionKind, what: str, why: str) -> Iterator[Action]:
    """Record an action before its work is done, and its outcome afterwards.

    What cannot be recorded is not done. ``what`` of the action may be made more exact meanwhile;
    it is stored for ever, and so has no name of a person.
    """
    database, action = ControlDatabase(location), new_action(kind, what, why)
    with database.writing() as session:
        session.add(action)
    try:
        yield action
    except BaseException as error:
        action.failure = in_one_line(error) or type(error).__name__
        raise
    finally:
        action.ended_at = datetime.now(UTC)
        with database.writing() as session:
            session.merge(action)


def list_actions(
    location: str, kind: ActionKind | None = None, since: datetime | None = None
) -> list[Action]:
    """Return the actions of a kind that began at or after a time, oldest first."""
    chosen = select(Action).order_by(col(Action.action_id))
    if kind is not None:
        chosen = chosen.where(Action.kind == kind)
    if since is not None:
        chosen = chosen.where(Action.began_at >= since)
    with ControlDatabase(location).reading() as session:
        return list(session.exec(chosen))
