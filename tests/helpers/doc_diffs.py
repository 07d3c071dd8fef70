"""The diffs in the pages of ``docs/``, kept so that ``git apply`` takes them unchanged.

A hunk of git has line numbers, counts and three lines around each change. These are not written by
hand: ``python -m tests.helpers.doc_diffs`` works them out again from the lines of the hunk, which
may also begin with a bare ``@@``.
"""

import re
from difflib import unified_diff
from pathlib import Path

_DIFF = re.compile(r"^```diff\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def renewed(page: str, root: Path) -> str:
    """Return a page whose diffs fit the files below ``root``, each after those before it.

    A diff whose lines are not found, once, in its file stays as it is: it was applied already, or
    the file has changed, and somebody has to look.
    """
    texts: dict[str, str] = {}

    def renew(match: re.Match[str]) -> str:
        found = _changed(match[1], texts, root)
        if found is None:
            return match[0]
        lines: list[str] = []
        for name, text in found.items():
            before = texts.get(name) or (root / name).read_text("utf-8")
            lines += unified_diff(
                before.splitlines(keepends=True),
                text.splitlines(keepends=True),
                f"a/{name}",
                f"b/{name}",
            )
        texts.update(found)
        return f"```diff\n{''.join(lines)}```"

    return _DIFF.sub(renew, page)


def _changed(diff: str, texts: dict[str, str], root: Path) -> dict[str, str] | None:
    """Return the files that a diff changes, as it leaves them; None if it does not fit."""
    changed: dict[str, str] = {}
    for part in re.split(r"^--- a/", diff, flags=re.MULTILINE)[1:]:
        name, *hunks = re.split(r"^@@.*\n", part, flags=re.MULTILINE)
        name = name.split()[0]
        text = changed.get(name) or texts.get(name) or (root / name).read_text("utf-8")
        for hunk in hunks:
            lines = hunk.splitlines(keepends=True)
            old = "".join(line[1:] for line in lines if line[0] in " -")
            new = "".join(line[1:] for line in lines if line[0] in " +")
            if text.count(old) != 1:
                return None
            text = text.replace(old, new)
        changed[name] = text
    return changed


if __name__ == "__main__":
    repository = Path(__file__).parents[2]
    for path in (repository / "docs").glob("add-*.md"):
        path.write_text(renewed(path.read_text("utf-8"), repository), "utf-8")
