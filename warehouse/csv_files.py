"""Tables as data: ``<name>.csv`` beside the module that reads it, with a header.

The files count in the version of the code (``warehouse/code_version.py``).
"""

import csv
from importlib.resources import files


def csv_rows(module: str, name: str) -> list[dict[str, str]]:
    """Return the rows of a file beside a module: ``csv_rows(__name__, "currencies")``."""
    folder = files(module.rpartition(".")[0])
    with folder.joinpath(f"{name}.csv").open(encoding="utf-8") as lines:
        header, *rows = csv.reader(lines)
    return [dict(zip(header, row, strict=True)) for row in rows]
