"""What the command lines of both servers share: the options of the stores, and one process a core.

What only one of the servers accepts belongs to its own ``__main__``.
"""

import argparse
import os

from warehouse.settings import Settings


def add_store_options(parser: argparse.ArgumentParser, settings: Settings) -> None:
    """Add the options of the stores; the environment sets their defaults."""
    # From the environment too: a URL can contain a password, and everyone on a machine can read
    # the arguments of its processes.
    for name, meaning in {
        "marts": "folder of the builds",
        "control": "file or PostgreSQL URL of the control database",
    }.items():
        default = settings.explicit(name)
        text = f"{meaning} (default: SANKOFA_{name.upper()})"
        parser.add_argument(f"--{name}", default=default, required=default is None, help=text)
    parser.add_argument(
        "--usage",
        default=settings.explicit("usage"),
        help="file or Redis URL of the usage store (default: SANKOFA_USAGE); without it, requests "
        "are neither counted nor limited",
    )
    parser.add_argument(
        "--metrics",
        default=settings.explicit("metrics"),
        help="folder for what `sankofa metrics` serves (default: SANKOFA_METRICS); without it, "
        "no metrics are kept",
    )


def available_cores() -> list[int]:
    """Return the numbers of the cores that this process may use."""
    # Linux only; macOS has no CPU affinity.
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))
