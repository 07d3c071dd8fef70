"""Folders that a run of the tests makes once, whichever worker needs them first."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from warehouse.shared.locks import file_lock


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """Return a folder that the first worker of a run to need it makes: shared, never changed."""
    base = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        base = base.parent
    folder, unfinished = base / name, base / f"{name}.begun"
    with file_lock(base / f"{name}.lock"):
        if not folder.is_dir():
            shutil.rmtree(unfinished, ignore_errors=True)
            make(unfinished)
            unfinished.rename(folder)
    return folder


def copy_of(folder: Path, name: str, factory: pytest.TempPathFactory) -> Path:
    """Copy a folder, for a test to change."""
    new = factory.mktemp(name) / "home"
    shutil.copytree(folder, new)
    return new
