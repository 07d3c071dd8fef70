"""Versions of code made from its content: other code, another version.

The version of a piece of code is a hash over the syntax trees of its modules and of those they
import from this repository, and over the SQL files and tables that they read (``sql_file(__name__,
"…")``, ``csv_rows(__name__, "…")``).
Comments, docstrings and formatting do not count. Which code a version covers is decided where it
is used: see ``assets/parser_versions.py`` and ``pipelines``.

Parsing all modules takes a second. What was read from each is therefore kept next to its bytecode,
with a hash of the source it was read from.
"""

import ast
import hashlib
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from importlib.util import cache_from_source
from pathlib import Path

import msgspec

from warehouse.shared.data_files import code_of

# The folder that contains the packages.
ROOT = Path(__file__).parents[2]
# Everything from which a build is made.
PACKAGES = ("warehouse", "quality", "assets")

# These fields are empty, follow from the others, or differ between versions of Python.
_IGNORED_FIELDS = frozenset({"ctx", "kind", "type_comment"})
# Functions that read a file of the repository, and where it is.
_READERS = {"sql_file": "sql/{}.sql", "csv_rows": "{}.csv"}
_WITH_DOCSTRING = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


class _Module(msgspec.Struct, frozen=True):
    """The hash of the code of a module, what it imports, and the files that it reads."""

    source: str
    code: str
    imports: tuple[tuple[str, tuple[str, ...]], ...]
    # Paths from the folder of the module.
    files: tuple[str, ...]


def release() -> str:
    """Return the version of the installed release."""
    return version("sankofa")


def code_hash(
    *modules: str,
    within: Iterable[str] = PACKAGES,
    without: Iterable[str] = (),
    root: Path | None = None,
) -> str:
    """Return a SHA-256 of modules and of all they import, ``within`` packages, ``without`` some."""
    root, digest = root or ROOT, hashlib.sha256()
    for module in imported_modules(modules, tuple(within), tuple(without), root):
        path = _path(root, module)
        digest.update(f"{module} {_module(path).code}\n".encode())
        for name in _module(path).files:
            text = path.parent.joinpath(name).read_text("utf-8")
            code = code_of(text) if name.endswith(".sql") else text
            digest.update(f"{name} {hashlib.sha256(code.encode()).hexdigest()}\n".encode())
    return digest.hexdigest()


@cache
def code_version(name: str, *modules: str) -> str:
    """Return a name with the first digits of the hash of its code: ``metrics-v1 3f9a0c12``."""
    return f"{name} {code_hash(*modules)[:8]}"


def imported_modules(
    modules: Iterable[str],
    within: tuple[str, ...] = PACKAGES,
    without: tuple[str, ...] = (),
    root: Path | None = None,
) -> list[str]:
    """Return modules and all they import, directly or not, sorted by name."""
    root = root or ROOT
    found: set[str] = set()
    unseen = list(modules)
    while unseen:
        name = unseen.pop()
        if name in found or not _is_below(name, within) or _is_below(name, without):
            continue
        found.add(name)
        for imported, members in _module(_path(root, name)).imports:
            # ``from package import name``: the name may be a module or something within one.
            names = [imported, *(f"{imported}.{member}" for member in members)]
            unseen += [
                name
                for name in names
                if name not in found and _is_below(name, within) and _is_module(root, name)
            ]
    return sorted(found)


def _is_below(name: str, packages: tuple[str, ...]) -> bool:
    return any(name == package or name.startswith(f"{package}.") for package in packages)


# Which names are modules is looked up once: what a process runs does not gain modules.
@cache
def _path(root: Path, name: str) -> Path:
    path = root.joinpath(*name.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


@cache
def _is_module(root: Path, name: str) -> bool:
    return _path(root, name).is_file()


def _module(path: Path) -> _Module:
    status = path.stat()
    return _read(path, status.st_mtime_ns, status.st_size)


@cache
def _read(path: Path, _: int, __: int) -> _Module:
    body = path.read_bytes()
    # With the code of this module, which decides what is read.
    source = hashlib.sha256(_own_source() + body).hexdigest()
    kept = Path(cache_from_source(str(path))).with_suffix(".code.json")
    with suppress(OSError, msgspec.MsgspecError):
        module = msgspec.json.decode(kept.read_bytes(), type=_Module)
        if module.source == source:
            return module
    tree = ast.parse(body)
    code = hashlib.sha256("".join(_tokens(tree)).encode()).hexdigest()
    files = tuple(sorted(set(_files(path, tree))))
    module = _Module(source, code, tuple(_imports(tree)), files)
    # As with bytecode: where it cannot be kept, it is read again.
    if not sys.dont_write_bytecode:
        with suppress(OSError):
            kept.parent.mkdir(exist_ok=True)
            partial = kept.with_suffix(f".{os.getpid()}")
            partial.write_bytes(msgspec.json.encode(module))
            partial.replace(kept)
    return module


@cache
def _own_source() -> bytes:
    return Path(__file__).read_bytes()


def _files(path: Path, tree: ast.Module) -> Iterator[str]:
    """Yield the SQL files and tables that a module reads, as its calls write them out."""
    for node in ast.walk(tree):
        reader = _called(node) if isinstance(node, ast.Call) else None
        if not isinstance(node, ast.Call) or reader not in _READERS:
            continue
        match node.args:
            case [ast.Name("__name__"), ast.Constant(str(name)), *_]:
                yield _READERS[reader].format(name)
            case _:
                raise ValueError(
                    f'{path}, line {node.lineno}: write {reader}(__name__, "name", …), with the '
                    "name as text; else the file would not count in the version of the code"
                )


def _called(node: ast.Call) -> str | None:
    match node.func:
        case ast.Name(name) | ast.Attribute(attr=name):
            return name
    return None


def _imports(tree: ast.Module) -> Iterator[tuple[str, tuple[str, ...]]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, ()) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            yield node.module, tuple(alias.name for alias in node.names)


# Our own, because ``ast.dump`` writes the same code differently in each version of Python.
def _tokens(node: object) -> Iterator[str]:
    """Yield the text of a syntax tree, without docstrings."""
    if isinstance(node, ast.AST):
        yield f"{type(node).__name__}("
        for name, value in ast.iter_fields(node):
            if name == "body" and isinstance(node, _WITH_DOCSTRING):
                value = value[1:] if ast.get_docstring(node, clean=False) is not None else value
            if value is not None and value != [] and name not in _IGNORED_FIELDS:
                yield f"{name}="
                yield from _tokens(value)
        yield ")"
    elif isinstance(node, list):
        yield "["
        for item in node:
            yield from _tokens(item)
        yield "]"
    else:
        yield f"{node!a},"
