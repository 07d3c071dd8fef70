"""How long tests look: briefly by default, longer with ``SANKOFA_THOROUGH`` set."""

import os

THOROUGH = "SANKOFA_THOROUGH" in os.environ


def times(few: int) -> int:
    """Return how many examples to try."""
    return few * 5 if THOROUGH else few
