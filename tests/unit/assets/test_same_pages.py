"""Pages of a version that did not change are links to those of the version before."""

from pathlib import Path

from assets.pages.same_files import link_same_files


def test_only_the_same_bytes_are_linked(tmp_path: Path) -> None:
    before, after = tmp_path / "1", tmp_path / "2"
    for folder, text in ((before, "old"), (after, "new")):
        (folder / "static").mkdir(parents=True)
        (folder / "static" / "style.css").write_text("same")
        (folder / "index.html").write_text(text)
    (after / "more.html").write_text("same")
    assert link_same_files(after, before) == 1
    assert (after / "static" / "style.css").samefile(before / "static" / "style.css")
    assert (after / "index.html").read_text() == "new"
    assert sorted(path.name for path in after.iterdir()) == ["index.html", "more.html", "static"]
