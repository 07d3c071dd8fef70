"""How long tests look: briefly by default, longer with ``pytest --nightly``."""

from hypothesis import settings


def is_nightly() -> bool:
    """Return whether the long trials run, too."""
    return settings.get_current_profile_name() == "nightly"


def times(few: int) -> int:
    """Return how many examples to try."""
    return few * 10 if is_nightly() else few
