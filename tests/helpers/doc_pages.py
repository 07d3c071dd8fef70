"""The pages for readers: their blocks, and a checkout in which what they say is done.

A block of ``sh``, ``python`` or ``sql`` is run; a ``text`` or ``json`` block right behind it is
what it prints, shortened with ``…``. A block with ``file=<path>`` is that file, a ``diff`` is
applied. ``<!-- not run: why -->`` above a block says that a test cannot run it, and
``<!-- slow: why -->`` that it is run only where ``SANKOFA_SLOW_SNIPPETS`` is set.
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

from tests.helpers.paths import ROOT

RUN = ("sh", "python", "sql")
SHOWN = ("text", "json")
# What pages write in the place of ports that are free.
REST, MCP, OTHER = "127.0.0.1:8321", "127.0.0.1:8322", "8399"
_BLOCK = re.compile(
    r"(?:^<!-- (?P<mark>not run|slow): (?P<why>[^\n]+) -->\n)?"
    r"^```(?P<language>\w*)(?: file=(?P<file>\S+))?\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
_FOLDERS = ("api", "assets", "docs", "mcp", "pipelines", "quality", "tests", "warehouse")
_FILES = ("README.md", "Makefile", "setup.cfg", "pyproject.toml", "workspace.yaml")
_NOT_COPIED = shutil.ignore_patterns("bench", "fuzz")
# DuckDB's extension for HTTP is downloaded when first used; fsspec reads the same addresses.
_BY_FSSPEC = (
    "import duckdb, tests.helpers.doc_pages as d; duckdb.register_filesystem(d.Unchanging())\n"
)


@dataclass(frozen=True)
class Block:
    """One fenced block of a page."""

    place: str
    language: str
    text: str
    file: str | None = None
    mark: str | None = None
    why: str | None = None
    shown: str | None = None

    @property
    def done(self) -> bool:
        """Tell whether it is something to do, and to be done here."""
        doable = self.language in (*RUN, "diff") or self.file is not None
        slow = "SANKOFA_SLOW_SNIPPETS" in os.environ
        return doable and (self.mark is None or (slow and self.mark == "slow"))


def pages() -> list[Path]:
    """Give every page for readers."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(page: Path) -> list[Block]:
    """Read the blocks of a page; what a block prints goes with it."""
    text, found, end = page.read_text("utf-8"), list[Block](), 0
    for match in _BLOCK.finditer(text):
        behind = bool(found) and not text[end : match.start()].strip()
        end = match.end()
        if behind and match["language"] in SHOWN and found[-1].language in RUN:
            found[-1] = replace(found[-1], shown=match["text"])
            continue
        line = text.count("\n", 0, match.start()) + 1
        place = f"{page.relative_to(ROOT)}:{line}"
        found.append(Block(place, **match.groupdict()))
    return found


class Unchanging(HTTPFileSystem):  # type: ignore[misc]
    """What DuckDB asks of a file system beside reading: when a file changed."""

    def modified(self, path: str) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC)


class Checkout:
    """A copy of the repository for one page, in which addresses are those that answer."""

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

    def do(self, block: Block) -> str:
        """Do what a block says and give what it printed."""
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
        """Apply a diff whose parts are found by their lines: numbers of lines grow old."""
        for change in re.split(r"^--- a/", diff, flags=re.MULTILINE)[1:]:
            name, *hunks = re.split(r"^@@\n", change, flags=re.MULTILINE)
            path = self._folder / name.split()[0]
            text = path.read_text("utf-8")
            for hunk in hunks:
                lines = hunk.splitlines(keepends=True)
                old = "".join(line[1:] for line in lines if line[0] in " -")
                new = "".join(line[1:] for line in lines if line[0] in " +")
                assert text.count(old) == 1, f"{block.place}: not once in {path.name}:\n{old}"
                text = text.replace(old, new)
            path.write_text(text, "utf-8")
        return ""

    def _live(self, text: str) -> str:
        for written, live in self._addresses.items():
            text = text.replace(written, live)
        return text

    def _call(self, block: Block, command: list[str]) -> str:
        kept = {name: value for name, value in os.environ.items() if "SANKOFA" not in name}
        path = f"{Path(sys.executable).parent}:{kept['PATH']}"
        sources = f"{self._folder}:{self._folder / 'mcp'}"
        done = subprocess.run(
            command,
            cwd=self._folder,
            env={**kept, "PATH": path, "PYTHONPATH": sources, "COLUMNS": "100"},
            capture_output=True,
            text=True,
            timeout=200,
        )
        assert done.returncode == 0, f"{block.place} failed:\n{done.stdout}\n{done.stderr}"
        return done.stdout


def query(text: str) -> str:
    """Ask DuckDB, which reads addresses through fsspec, and give the table as it prints it."""
    with closing(duckdb.connect()) as sql:
        sql.register_filesystem(Unchanging())
        return str(sql.sql(text))


def missing(shown: str, printed: str) -> str | None:
    """Give the first line that is shown and was not printed after those before it."""
    rest = printed
    for line in shown.splitlines():
        parts = [re.escape(part.strip()) for part in line.split("…")]
        found = re.search(".*?".join(parts), rest) if any(parts) else None
        if any(parts) and found is None:
            return line
        rest = rest[found.end() :] if found else rest
    return None
