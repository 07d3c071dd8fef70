"""Who runs a command, for entries that say who made them."""

from contextlib import suppress
from getpass import getuser


def current_user() -> str:
    """Return the name of the user, or unknown."""
    # Without an entry for the user id, as in some containers, there is no name.
    with suppress(OSError, KeyError):
        return getuser()
    return "unknown"
