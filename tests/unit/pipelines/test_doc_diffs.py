"""The diffs of the pages apply to a clean checkout with ``git apply``."""

import shutil
from pathlib import Path
from shutil import which

import pytest

from tests.helpers.doc_diffs import renewed
from tests.helpers.doc_pages import apply_diff, blocks, pages
from tests.helpers.paths import ROOT

WITH_DIFFS = [page for page in pages() if any(block.language == "diff" for block in blocks(page))]


@pytest.mark.skipif(which("git") is None, reason="left out: there is no git")
@pytest.mark.parametrize("page", WITH_DIFFS, ids=lambda page: page.name)
def test_the_diffs_of_a_page_apply_with_git_one_after_the_other(page: Path, tmp_path: Path) -> None:
    diffs = [block for block in blocks(page) if block.language == "diff"]
    for diff in diffs:
        for line in diff.text.splitlines():
            if line.startswith("--- a/"):
                name = line.removeprefix("--- a/").split()[0]
                (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
                if not (tmp_path / name).exists():
                    shutil.copy(ROOT / name, tmp_path / name)
    for diff in diffs:
        before = {path: path.read_bytes() for path in tmp_path.rglob("*.*") if path.is_file()}
        apply_diff(tmp_path, diff.text, diff.location)
        assert any(path.read_bytes() != content for path, content in before.items())


def test_line_numbers_are_worked_out_anew_and_a_diff_that_does_not_fit_stays(
    tmp_path: Path,
) -> None:
    (tmp_path / "colours.txt").write_text("".join(f"{n}\n" for n in range(10)) + "red\nblue\n")
    diff = "--- a/colours.txt\n+++ b/colours.txt\n@@\n red\n+green\n"
    page = f"Add it:\n\n```diff\n{diff}```\n"
    once = renewed(page, tmp_path)
    assert "@@ -9,4 +9,5 @@\n 8\n 9\n red\n+green\n blue\n```" in once
    assert renewed(once, tmp_path) == once
    (tmp_path / "colours.txt").write_text("yellow\n")
    assert renewed(once, tmp_path) == once
