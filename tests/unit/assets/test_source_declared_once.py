"""A source is one declaration: no other module lists sources or knows facts about one."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from assets.ingest.sources import SOURCES
from tests.helpers.paths import ROOT

KEYS = frozenset(source.key for source in SOURCES)
SUBJECTS = frozenset(source.subject for source in SOURCES)
PACKAGES = ("api", "assets", "mcp/mcp_server", "pipelines", "quality", "warehouse")
# A key that is also the name of something else.
ORDINARY_WORDS = frozenset({"listings"})


def keys_in(path: Path) -> set[str]:
    """Return the keys of sources that are whole string constants of a module."""
    constants = (node for node in ast.walk(ast.parse(path.read_text("utf-8"))))
    values = {node.value for node in constants if isinstance(node, ast.Constant)}
    return {value for value in values if value in KEYS - ORDINARY_WORDS}


def modules() -> Iterator[Path]:
    for package in PACKAGES:
        yield from (path.relative_to(ROOT) for path in sorted((ROOT / package).rglob("*.py")))


@pytest.mark.slow
def test_no_module_outside_its_subject_names_a_source() -> None:
    subject_folders = tuple(f"assets/{subject}/" for subject in SUBJECTS)
    named = {
        path.as_posix(): keys
        for path in modules()
        if not path.as_posix().startswith(subject_folders) and (keys := keys_in(ROOT / path))
    }
    assert not named, "derive it from the declaration of the source (assets/source.py)"


def test_a_subject_names_only_its_own_sources() -> None:
    for subject in SUBJECTS:
        others = KEYS - {source.key for source in SOURCES if source.subject == subject}
        for path in (ROOT / "assets" / subject).rglob("*.py"):
            assert not keys_in(path) & others, path
