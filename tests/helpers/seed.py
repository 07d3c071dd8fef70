"""The seed of a test run: random, printed in pytest's header, and repeated on request."""

import os
import secrets

SEED = "SANKOFA_SEED"


def new_seed() -> int:
    return secrets.randbelow(2**32)


def seed_of_this_run() -> int:
    return int(os.environ[SEED])
