"""The pages for readers: their blocks, and a checkout in which their commands are run.

A block of ``sh``, ``python`` or ``sql`` is run; a ``text`` or ``json`` block right behind it is
what it prints, shortened with ``…``. A block with ``file=<path>`` is that file, a ``diff`` is
applied. ``<!-- not run: why -->`` above a block says that a test cannot run it, and
``<!-- slow: why -->`` that it is run only at night.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import duckdb
from fsspec.implementations.http import HTTPFileSystem

from tests.helpers.nightly import is_nightly
from tests.helpers.paths import ROOT
from tests.helpers.withheld_key import WITHHELD_KEY

RUN = ("sh", "python", "sql")
SHOWN = ("text", "json")
# The addresses written in the pages; tests replace them with free ports.
REST, MCP, OTHER = "127.0.0.1:8321", "127.0.0.1:8322", "8399"
_BLOCK = re.compile(
    r"(?:^<!-- (?P<mark>not run|slow): (?P<why>[^\n]+) -->\n)?"
    r"^```(?P<language>\w*)(?: file=(?P<file>\S+))?\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
_FOLDERS = (
    *("api", "assets", "clients", "docs", "mcp", "pipelines", "quality", "tests", "warehouse"),
)
_FILES = ("README.md", "Makefile", "setup.cfg", "pyproject.toml", "workspace.yaml")
_NOT_COPIED = shutil.ignore_patterns("bench", "fuzz")
# DuckDB's extension for HTTP is downloaded when first used; fsspec reads the same addresses.
_BY_FSSPEC = (
    "import duckdb\nfrom tests.helpers.doc_pages import UnchangingHttpFiles\n"
    "duckdb.register_filesystem(UnchangingHttpFiles())\n"
)


@dataclass(frozen=True)
class Block:
    """One fenced block of a page."""

    location: str
    language: str
    text: str
    file: str | None = None
    mark: str | None = None
    why: str | None = None
    output: str | None = None

    @property
    def is_run(self) -> bool:
        """Return whether this run of the tests executes the block."""
        runnable = self.language in (*RUN, "diff") or self.file is not None
        return runnable and (self.mark is None or (is_nightly() and self.mark == "slow"))


def pages() -> list[Path]:
    """Return every page for readers."""
    readmes = [ROOT / "README.md", ROOT / "clients" / "python" / "README.md"]
    return [*readmes, *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(page: Path) -> list[Block]:
    """Read the blocks of a page; the output shown after a block belongs to it."""
    text, parsed, end = page.read_text("utf-8"), list[Block](), 0
    for match in _BLOCK.finditer(text):
        follows_block = bool(parsed) and not text[end : match.start()].strip()
        end = match.end()
        if follows_block and match["language"] in SHOWN and parsed[-1].language in RUN:
            parsed[-1] = replace(parsed[-1], output=match["text"])
            continue
        line = text.count("\n", 0, match.start()) + 1
        location = f"{page.relative_to(ROOT)}:{line}"
        parsed.append(Block(location, **match.groupdict()))
    return parsed


class UnchangingHttpFiles(HTTPFileSystem):  # type: ignore[misc]
    """Files over HTTP with the modification time that DuckDB asks for."""

    def modified(self, path: str) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC)


class Checkout:
    """A copy of the repository for one page, with the addresses of the running servers."""

    def __init__(self, folder: Path, home: Path, addresses: Mapping[str, str]) -> None:
        self._folder, self._addresses = folder, addresses
        for name in _FOLDERS:
            shutil.copytree(ROOT / name, folder / name, ignore=_NOT_COPIED)
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
            begin = _BY_FSSPEC if "duckdb" in text else ""
            script = f'set -a; . {self._state}; exec python -c "$0"'
            return self._call(block, ["bash", "-c", script, begin + text])
        script = f"set -aeo pipefail; . {self._state}\n{text}\nexport -p > {self._state}"
        return self._call(block, ["bash", "-c", script])

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


def apply_diff(folder: Path, diff: str, location: str) -> None:
    """Apply a diff of a page to the files in a folder with ``git apply``."""
    completed = subprocess.run(
        ["git", "apply", "-"],
        cwd=folder,
        # Inside another repository git would apply it there.
        env={**os.environ, "GIT_CEILING_DIRECTORIES": str(folder.parent)},
        input=diff,
        capture_output=True,
        text=True,
    )
    assert completed.returncode == 0, f"{location}: {completed.stderr}"


def query(text: str) -> str:
    """Run SQL in DuckDB, which reads URLs through fsspec; return the printed table."""
    with closing(duckdb.connect()) as sql:
        sql.register_filesystem(UnchangingHttpFiles())
        return str(sql.sql(text))


def missing(shown: str, printed: str) -> str | None:
    """Return the first line shown in a page that is missing, in order, from the output."""
    rest = printed
    for line in shown.splitlines():
        parts = [re.escape(part.strip()) for part in line.split("…")]
        match = re.search(".*?".join(parts), rest) if any(parts) else None
        if any(parts) and match is None:
            return line
        rest = rest[match.end() :] if match else rest
    return None
