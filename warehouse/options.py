"""Options that the servers share."""

import argparse
import os


def add_place(
    parser: argparse.ArgumentParser, name: str, what: str, *, required: bool = False
) -> None:
    """Take a place from the environment too: an address with a password belongs there."""
    variable = f"SANKOFA_{name.upper()}"
    held = os.environ.get(variable)
    help_ = f"{what}; default: {variable}"
    parser.add_argument(f"--{name}", default=held, required=required and not held, help=help_)
