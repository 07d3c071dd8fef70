"""Libraries are used by their public interface."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.paths import ROOT

PACKAGES = ("api", "assets", "clients", "deploy", "mcp", "pipelines", "quality", "warehouse")


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
def test_no_private_name_of_a_library_is_imported(package: str) -> None:
    found = {
        (path.relative_to(ROOT).as_posix(), name.partition(".")[0])
        for path in Path(ROOT, package).rglob("*.py")
        for name in _imported(path.read_text("utf-8"))
        if _is_private(name)
    }
    assert found == set()
