"""The pages for readers, and their blocks.

A block of ``sh``, ``python`` or ``sql`` is run; a ``text`` or ``json`` block right behind it is
what it prints, shortened with ``…``. A block with ``file=<path>`` is that file, a ``diff`` is
applied. ``<!-- not run: why -->`` above a block says that a test cannot run it, and
``<!-- slow: why -->`` that it is run only at night.
"""

import os
import re
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path

from tests.helpers.nightly import is_nightly
from tests.helpers.paths import ROOT

RUN = ("sh", "python", "sql")
SHOWN = ("text", "json")
# The addresses written in the pages; tests replace them with free ports.
REST, MCP, OTHER = "127.0.0.1:8321", "127.0.0.1:8322", "8399"
_BLOCK = re.compile(
    r"(?:^<!-- (?P<mark>not run|slow): (?P<why>[^\n]+) -->\n)?"
    r"^```(?P<language>\w*)(?: file=(?P<file>\S+))?\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
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
