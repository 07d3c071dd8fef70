"""A checkout in which the commands of a page are run, with the addresses of running servers."""

import io
import os
import shutil
import subprocess
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import chdir, closing, contextmanager, redirect_stdout
from datetime import UTC, datetime
from pathlib import Path
from select import select

import duckdb
import pytest
from click.testing import CliRunner
from fsspec.implementations.http import HTTPFileSystem

from pipelines.commands.main import sankofa as command
from tests.helpers.checkout_copy import UNFINISHED
from tests.helpers.doc_pages import Block, apply_diff
from tests.helpers.paths import ROOT
from tests.helpers.withheld_key import WITHHELD_KEY

_FOLDERS = (
    *("api", "assets", "clients", "deploy", "docs", "mcp", "pipelines", "quality"),
    *("tests", "warehouse"),
)
_FILES = ("README.md", "Makefile", "setup.cfg", "pyproject.toml", "VERSION", "workspace.yaml")
_NOT_COPIED = shutil.ignore_patterns("bench", "fuzz", *UNFINISHED)
# The command as a function of the shell, which calls it in the process of the tests: to import what
# a command needs takes seconds. Servers are processes of their own.
_COMMAND = r"""
sankofa() {
  case $1 in serve|mcp|metrics|up|backup) command sankofa "$@"; return;; esac
  printf '%s\0' "$@" > .call/arguments; env -0 > .call/environment; echo "$PWD" > .call/begun
  local status; read -r status < .call/ended
  cat .call/stdout; cat .call/stderr >&2; return "$status"
}
.venv/bin/sankofa() { sankofa "$@"; }
"""


class UnchangingHttpFiles(HTTPFileSystem):  # type: ignore[misc]
    """Files over HTTP with the modification time that DuckDB asks for."""

    def modified(self, path: str) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC)


class Checkout:
    """A copy of the repository for one page, with the addresses of the running servers.

    Folders that the page does not change are links. If it changes none, its commands and snippets
    are run in this process, which has the code as it is.
    """

    def __init__(
        self, folder: Path, home: Path, addresses: Mapping[str, str], *, changed: bool
    ) -> None:
        self._folder, self._addresses, self._changed = folder, addresses, changed
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
        self._calls = folder / ".call"
        self._calls.mkdir()
        for name in ("begun", "ended"):
            os.mkfifo(self._calls / name)

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
        commands = "" if self._changed else _COMMAND
        script = f"{commands}set -aeo pipefail; . {self._state}\n{text}\nexport -p > {self._state}"
        return self._call(block, ["bash", "-c", script])

    def _snippet(self, block: Block, text: str) -> str:
        """Run a snippet with what the blocks before it exported, in this process if it may."""
        script = f"set -a; . {self._state}; "
        if self._changed:
            return self._call(block, ["bash", "-c", f'{script}exec python -c "$0"', text])
        exported = self._call(block, ["bash", "-c", f"{script}env -0"])
        # DuckDB keeps one connection for a process; its extension for HTTP is downloaded when first
        # used, and fsspec reads the same addresses.
        before = duckdb.default_connection()
        with (
            closing(duckdb.connect()) as sql,
            self._inside(self._folder, exported),
            redirect_stdout(io.StringIO()) as printed,
            warnings.catch_warnings(action="default"),
        ):
            sql.register_filesystem(UnchangingHttpFiles())
            duckdb.set_default_connection(sql)
            try:
                exec(compile(text, block.location, "exec"), {"__name__": "__main__"})
            finally:
                duckdb.set_default_connection(before)
        return printed.getvalue()

    @contextmanager
    def _inside(self, folder: Path, exported: str) -> Iterator[None]:
        """Be in a folder with an environment, as ``env -0`` prints it."""
        environment = dict(line.split("=", 1) for line in exported.split("\0") if line)
        with pytest.MonkeyPatch.context() as patch, chdir(folder):
            for name in os.environ.keys() - environment.keys():
                patch.delenv(name)
            for name, value in environment.items():
                patch.setenv(name, value)
            yield

    def _command(self, folder: str) -> None:
        """Run the command that a script called from a folder."""
        *arguments, _ = (self._calls / "arguments").read_text("utf-8").split("\0")
        with self._inside(Path(folder), (self._calls / "environment").read_text("utf-8")):
            result = CliRunner().invoke(command, arguments, prog_name="sankofa")
        (self._calls / "stdout").write_text(result.stdout, "utf-8")
        (self._calls / "stderr").write_text(result.stderr, "utf-8")
        (self._calls / "ended").write_text(f"{result.exit_code}\n")

    def _change(self, block: Block, diff: str) -> str:
        """Apply a diff as readers do."""
        apply_diff(self._folder, diff, block.location)
        return ""

    def _live(self, text: str) -> str:
        for written, live in self._addresses.items():
            text = text.replace(written, live)
        return text

    def _call(self, block: Block, arguments: list[str]) -> str:
        environment = {name: value for name, value in os.environ.items() if "SANKOFA" not in name}
        path = f"{Path(sys.executable).parent}:{environment['PATH']}"
        folders = (".", "mcp", "clients/python/src")
        sources = ":".join(str(self._folder / name) for name in folders)
        with (
            # For writing as well: nothing waits until a script calls a command.
            os.fdopen(os.open(self._calls / "begun", os.O_RDWR), encoding="utf-8") as called,
            (self._calls / "out").open("w+") as out,
            (self._calls / "err").open("w+") as err,
            subprocess.Popen(
                arguments,
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
                stdout=out,
                stderr=err,
            ) as process,
        ):
            while process.poll() is None:
                if select([called], [], [], 0.02)[0]:
                    self._command(called.readline().removesuffix("\n"))
            printed, complaints = (Path(file.name).read_text("utf-8") for file in (out, err))
        assert process.returncode == 0, f"{block.location} failed:\n{printed}\n{complaints}"
        return printed


def query(text: str) -> str:
    """Run SQL in DuckDB, which reads URLs through fsspec; return the printed table."""
    with closing(duckdb.connect()) as sql:
        sql.register_filesystem(UnchangingHttpFiles())
        return str(sql.sql(text))
