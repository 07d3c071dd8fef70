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


# Within the warehouse: what each package may import.
WITHIN_WAREHOUSE: dict[str, set[str]] = {
    "shared": set(),
    "methodology": {"shared"},
    "tables": {"shared", "methodology"},
    "names": {"shared", "tables"},
    "record": {"shared", "tables", "names"},
    "control": {"shared", "tables"},
    "publish": {"shared", "tables", "names", "methodology", "record"},
    "serve": {"shared", "tables", "names", "methodology", "control", "record", "publish"},
    "contract": {
        *("shared", "tables", "names", "methodology", "control"),
        *("record", "publish", "serve"),
    },
}


def modules() -> dict[str, Path]:
    """Return every module of the product by its name."""
    found: dict[str, Path] = {}
    for package, folder in FOLDERS.items():
        for path in folder.rglob("*.py"):
            parts = [package, *path.relative_to(folder).with_suffix("").parts]
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports_of(path: Path, known: dict[str, Path]) -> set[str]:
    """Return the modules that a file imports, inside of functions too, but not for types alone."""
    tree = ast.parse(path.read_text("utf-8"))
    for_types = {
        id(node)
        for branch in ast.walk(tree)
        if isinstance(branch, ast.If) and "TYPE_CHECKING" in ast.dump(branch.test)
        for node in ast.walk(branch)
    }
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and id(node) not in for_types:
            members = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= members & known.keys() or {str(node.module)}
        elif isinstance(node, ast.Import) and id(node) not in for_types:
            found |= {alias.name for alias in node.names}
    return found & known.keys()


def test_no_module_imports_one_that_imports_it() -> None:
    known = modules()
    graph = {name: imports_of(path, known) - {name} for name, path in known.items()}
    # Take away what imports nothing that is left; what remains is a circle, or leads into one.
    while free := [name for name, imports in graph.items() if not imports & graph.keys()]:
        for name in free:
            del graph[name]
    assert sorted(graph) == []


@pytest.mark.parametrize("package", WITHIN_WAREHOUSE)
def test_imports_within_the_warehouse_go_along_its_arrows(package: str) -> None:
    known = modules()
    allowed = {f"warehouse.{name}" for name in (package, *WITHIN_WAREHOUSE[package])}
    for name, path in known.items():
        if name.startswith(f"warehouse.{package}."):
            packages = {
                ".".join(module.split(".")[:2])
                for module in imports_of(path, known)
                if module.startswith("warehouse.")
            }
            assert packages <= allowed, f"{name} imports {sorted(packages - allowed)}"
