"""Imports go only along the arrows of the architecture."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.paths import ROOT

FOLDERS = {
    "warehouse": ROOT / "warehouse",
    "quality": ROOT / "quality",
    "assets": ROOT / "assets",
    "pipelines": ROOT / "pipelines",
    "api": ROOT / "api",
    "mcp_server": ROOT / "mcp" / "mcp_server",
    "sankofa_client": ROOT / "clients" / "python" / "src" / "sankofa_client",
}
ARROWS = {
    "warehouse": set(),
    "quality": {"warehouse"},
    "assets": {"quality", "warehouse"},
    "pipelines": {"assets", "quality", "warehouse"},
    "api": {"warehouse"},
    "mcp_server": {"warehouse"},
    # It is installed without the service, and the service without it.
    "sankofa_client": set(),
}


def imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (name.name.split(".")[0] for name in node.names)
        if isinstance(node, ast.ImportFrom) and node.level == 0:
            yield str(node.module).split(".")[0]


@pytest.mark.parametrize("package", FOLDERS)
def test_imports_go_along_the_arrows(package: str) -> None:
    allowed = ARROWS[package] | {package}
    for path in FOLDERS[package].rglob("*.py"):
        wrong = set(imported(path)) & set(FOLDERS) - allowed
        assert not wrong, f"{path.relative_to(ROOT)} imports {wrong}"


@pytest.mark.slow
@pytest.mark.parametrize("module", ["api.serve", "mcp_server.app"])
def test_a_surface_never_loads_what_only_the_pipeline_needs(module: str) -> None:
    heavy = ("dagster", "great_expectations", "pandas", "pyarrow", "duckdb", "deltalake")
    script = f"import sys, {module}; print([m for m in {heavy!r} if m in sys.modules])"
    completed = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert completed.stdout.strip() == "[]"


def test_the_folder_mcp_is_never_a_package() -> None:
    assert not (ROOT / "mcp" / "__init__.py").exists()
