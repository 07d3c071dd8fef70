"""A copy of the packages whose versions are made from their code, for a test to change."""

import shutil
from pathlib import Path

import pytest

from tests.helpers.paths import ROOT
from warehouse.shared import code_version

# What was compiled is copied, too: it is found by the time or the content of its source. Another
# process may just be writing some of it.
UNFINISHED = ("*.pyc.[0-9]*", "*.code.[0-9]*")


def copy_packages(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Copy the packages into a folder; versions are made from the copy from now on."""
    for package in code_version.PACKAGES:
        ignored = shutil.ignore_patterns(*UNFINISHED)
        shutil.copytree(ROOT / package, folder / package, ignore=ignored)
    monkeypatch.setattr(code_version, "ROOT", folder)
