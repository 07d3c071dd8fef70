"""Imports go along the arrows of the architecture, and libraries are used by what is public."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
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


@dataclass(frozen=True)
class Import:
    """A module, and the names imported from it; ``for_types`` if never at run time."""

    module: str
    names: tuple[str, ...]
    for_types: bool


@cache
def imports_in(path: Path) -> tuple[Import, ...]:
    """Return the imports of a file, inside of functions too."""
    return tuple(_imports(ast.parse(path.read_text("utf-8")), for_types=False))


def _imports(node: ast.AST, *, for_types: bool) -> Iterator[Import]:
    for_types |= isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            yield from (Import(alias.name, (), for_types) for alias in child.names)
        elif isinstance(child, ast.ImportFrom) and child.level == 0:
            yield Import(str(child.module), tuple(alias.name for alias in child.names), for_types)
        # An expression has none.
        elif not isinstance(child, ast.expr):
            yield from _imports(child, for_types=for_types)


@pytest.mark.parametrize("package", FOLDERS)
def test_imports_go_along_the_arrows(package: str) -> None:
    allowed = ARROWS[package] | {package}
    for path in FOLDERS[package].rglob("*.py"):
        packages = {found.module.partition(".")[0] for found in imports_in(path)}
        wrong = packages & set(FOLDERS) - allowed
        assert not wrong, f"{path.relative_to(ROOT)} imports {wrong}"


def test_no_private_name_of_a_library_is_imported() -> None:
    folders = (*FOLDERS.values(), ROOT / "deploy")
    for path in (path for folder in folders for path in folder.rglob("*.py")):
        for found in imports_in(path):
            for name in (f"{found.module}.{name}" for name in found.names or ("",)):
                private = [
                    part
                    for part in name.split(".")[1:]
                    if part.startswith("_") and not part.endswith("__")
                ]
                assert not private, f"{path.relative_to(ROOT)} imports {name}"


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
    """Return the modules that a file imports, but not for types alone."""
    found: set[str] = set()
    for imported in imports_in(path):
        if not imported.for_types:
            members = {f"{imported.module}.{name}" for name in imported.names}
            found |= members & known.keys() or {imported.module}
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
