"""A checkout in which the commands of a page are run, with the addresses of running servers."""

import io
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from contextlib import chdir, closing, redirect_stdout
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pytest
from fsspec.implementations.http import HTTPFileSystem

from tests.helpers.doc_pages import Block, apply_diff
from tests.helpers.paths import ROOT
from tests.helpers.withheld_key import WITHHELD_KEY

_FOLDERS = (
    *("api", "assets", "clients", "docs", "mcp", "pipelines", "quality", "tests", "warehouse"),
)
_FILES = ("README.md", "Makefile", "setup.cfg", "pyproject.toml", "workspace.yaml")
_NOT_COPIED = shutil.ignore_patterns("bench", "fuzz")
# DuckDB's extension for HTTP is downloaded when first used; fsspec reads the same addresses.
_BY_FSSPEC = (
    "import duckdb\nfrom tests.helpers.doc_checkout import UnchangingHttpFiles\n"
    "duckdb.register_filesystem(UnchangingHttpFiles())\n"
)


class UnchangingHttpFiles(HTTPFileSystem):  # type: ignore[misc]
    """Files over HTTP with the modification time that DuckDB asks for."""

    def modified(self, path: str) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC)


class Checkout:
    """A copy of the repository for one page, with the addresses of the running servers.

    Folders that the page does not change are links.
    """

    def __init__(
        self, folder: Path, home: Path, addresses: Mapping[str, str], *, changed: bool
    ) -> None:
        self._folder, self._addresses = folder, addresses
        for name in _FOLDERS:
            if changed or name == "docs":
                shutil.copytree(ROOT / name, folder / name, ignore=_NOT_COPIED)
            else:
                (folder / name).symlink_to(ROOT / name)
        for name in _FILES:
            shutil.copy(ROOT / name, folder)
        for path in [folder / "README.md", *(folder / "docs").rglob("*.*")]:
            path.write_text(self._live(path.read_text("utf-8")), "utf-8")
        (folder / ".venv").symlink_to(Path(sys.prefix))
        (folder / ".sankofa").symlink_to(home)
        self._state = folder / ".environment"
        self._state.touch()

    def run(self, block: Block) -> str:
        """Execute a block and return its output."""
        text = self._live(block.text)
        if block.file is not None:
            (self._folder / block.file).write_text(text, "utf-8")
            return ""
        if block.language == "diff":
            return self._change(block, text)
        if block.language == "sql":
            return query(text)
        if block.language == "python":
            return self._snippet(block, text)
        script = f"set -aeo pipefail; . {self._state}\n{text}\nexport -p > {self._state}"
        return self._call(block, ["bash", "-c", script])

    def _snippet(self, block: Block, text: str) -> str:
        """Run a snippet with what the blocks before it exported, in this process if it may."""
        script = f"set -a; . {self._state}; "
        if "duckdb" in text:
            # It keeps one connection for a process.
            return self._call(
                block, ["bash", "-c", f'{script}exec python -c "$0"', _BY_FSSPEC + text]
            )
        exported = self._call(block, ["bash", "-c", f"{script}env -0"]).split("\0")
        environment = dict(line.split("=", 1) for line in exported if line)
        with (
            pytest.MonkeyPatch.context() as patch,
            chdir(self._folder),
            redirect_stdout(io.StringIO()) as printed,
        ):
            for name, value in environment.items():
                patch.setenv(name, value)
            exec(compile(text, block.location, "exec"), {"__name__": "__main__"})
        return printed.getvalue()

    def _change(self, block: Block, diff: str) -> str:
        """Apply a diff as readers do."""
        apply_diff(self._folder, diff, block.location)
        return ""

    def _live(self, text: str) -> str:
        for written, live in self._addresses.items():
            text = text.replace(written, live)
        return text

    def _call(self, block: Block, command: list[str]) -> str:
        environment = {name: value for name, value in os.environ.items() if "SANKOFA" not in name}
        path = f"{Path(sys.executable).parent}:{environment['PATH']}"
        folders = (".", "mcp", "clients/python/src")
        sources = ":".join(str(self._folder / name) for name in folders)
        completed = subprocess.run(
            command,
            cwd=self._folder,
            env={
                **environment,
                # Pages say that real documents need one.
                "SANKOFA_WITHHELD_KEY": WITHHELD_KEY,
                "PATH": path,
                "PYTHONPATH": sources,
                "COLUMNS": "100",
                # The client remembers services here, and not where whoever runs this has them.
                "XDG_CONFIG_HOME": str(self._folder / ".settings"),
            },
            capture_output=True,
            text=True,
            timeout=600,
        )
        assert completed.returncode == 0, (
            f"{block.location} failed:\n{completed.stdout}\n{completed.stderr}"
        )
        return completed.stdout


def query(text: str) -> str:
    """Run SQL in DuckDB, which reads URLs through fsspec; return the printed table."""
    with closing(duckdb.connect()) as sql:
        sql.register_filesystem(UnchangingHttpFiles())
        return str(sql.sql(text))
