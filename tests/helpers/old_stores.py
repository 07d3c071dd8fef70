"""The key store and the usage counters that the code before LMDB wrote."""

import json
from pathlib import Path
from typing import Any
from zipfile import ZipFile

_FILE = Path(__file__).resolve().parents[1] / "data" / "stores_before_lmdb.zip"


def unpack_old_stores(folder: Path) -> Any:
    """Write ``keys.sqlite`` and ``usage.counts`` into a folder; return what they contain."""
    with ZipFile(_FILE) as stores:
        stores.extractall(folder)
    return json.loads((folder / "contents.json").read_text("utf-8"))
