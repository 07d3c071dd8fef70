"""Names of published versions: ``20260514.2`` is the second version of that day."""

import re

from warehouse.errors import UnknownVersion

# [0-9] and not \d, which also matches the digits of other scripts.
DATA_VERSION = re.compile(r"[0-9]{8}\.[0-9]{1,9}")


def check_data_version(name: str) -> str:
    """Return the name if it has the form of a data_version; it becomes part of a path or SQL."""
    if not DATA_VERSION.fullmatch(name):
        raise UnknownVersion(f"{name!r} is not a data_version")
    return name


def version_key(name: str) -> tuple[int, ...]:
    """Sort key: ``20260514.10`` comes after ``20260514.9``."""
    return tuple(map(int, name.split(".")))
