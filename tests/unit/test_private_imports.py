"""Libraries are used by their public interface; each exception is one file that says why."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.paths import ROOT

PACKAGES = ("api", "assets", "clients", "deploy", "mcp", "pipelines", "quality", "warehouse")
# The files that import private names of a library, and whose.
PRIVATE = {("pipelines/in_process.py", "dagster")}


def _imported(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _is_private(name: str) -> bool:
    parts = name.split(".")
    return any(part.startswith("_") and not part.endswith("__") for part in parts[1:])


@pytest.mark.parametrize("package", PACKAGES)
def test_private_names_of_libraries_are_imported_by_the_listed_files_only(package: str) -> None:
    found = {
        (path.relative_to(ROOT).as_posix(), name.partition(".")[0])
        for path in Path(ROOT, package).rglob("*.py")
        for name in _imported(path.read_text("utf-8"))
        if _is_private(name)
    }
    assert found == {entry for entry in PRIVATE if entry[0].startswith(f"{package}/")}
