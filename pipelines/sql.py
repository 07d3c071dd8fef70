"""``python -m pipelines.sql``: print the SQL of the product as it runs, to try it by hand.

``python -m pipelines.sql`` lists the files, ``python -m pipelines.sql signals/calendar`` prints the
statements of one with every fragment and parameter filled in, and ``--views FOLDER`` prints a view
over each table of a kept snapshot. All of it can be piped into a shell of DuckDB.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from warehouse.code_version import ROOT
from warehouse.sql_files import SqlFile

# The packages that have SQL files.
_PACKAGES = ("warehouse", "quality", "assets")
# A quoted text, a quoted name and a comment stay as they are.
_PARAMETER = re.compile(r"""('(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*)|\$(\w+)""")
_PLACEHOLDER = re.compile(r"\{\{ (\w+) \}\}")


def sql_paths() -> dict[str, Path]:
    """Return every SQL file by its short name: the folder of its package and its own name."""
    paths = (path for package in _PACKAGES for path in sorted((ROOT / package).rglob("sql/*.sql")))
    return {f"{path.parents[1].name}/{path.stem}": path for path in paths}


def printed(name: str) -> str:
    """Return the statements of a file, in order and ready to run."""
    paths = sql_paths()
    if name not in paths:
        raise click.UsageError(f"no SQL file {name}; there are {', '.join(paths)}")
    path = paths[name]
    file = next(_files_of(path), None)
    if file is None:
        raise click.UsageError(f"no module reads {path.relative_to(ROOT)}; delete it")
    return "\n\n".join(
        [file.header.strip(), *(f"-- name: {part}\n{_ready(file, part)};" for part in file.names)]
    )


def views(folder: Path) -> str:
    """Return a view over each table of a kept snapshot: a Parquet file, or a folder of them."""
    tables = {path.stem: path for path in sorted(folder.glob("*.parquet"))}
    tables |= {
        path.name: path / "**" / "*.parquet"
        for path in sorted(folder.iterdir())
        if path.is_dir() and next(path.rglob("*.parquet"), None)
    }
    if not tables:
        raise click.UsageError(f"{folder} has no Parquet file; name the folder of a snapshot")
    return "\n".join(
        f'CREATE OR REPLACE VIEW "{name}" AS FROM read_parquet({literal(str(path.absolute()))});'
        for name, path in tables.items()
    )


def literal(value: Any) -> str:
    """Return a parameter as SQL."""
    match value:
        case None:
            return "NULL"
        case bool() | int() | float():
            return str(value)
        case date():
            return f"DATE '{value}'"
        case str():
            return "'" + value.replace("'", "''") + "'"
        case {"key": keys, "value": values} if isinstance(keys, list) and len(value) == 2:
            # A map, as DuckDB takes it for a parameter.
            return f"MAP {{{', '.join(map(_pair, zip(keys, values, strict=True)))}}}"
        case Mapping():
            return "{" + ", ".join(map(_pair, value.items())) + "}"
        case Sequence():
            return "[" + ", ".join(map(literal, value)) + "]"
    raise TypeError(f"a parameter of SQL that is a {type(value).__name__}")


def _pair(pair: tuple[Any, Any]) -> str:
    return f"{literal(pair[0])}: {literal(pair[1])}"


def _files_of(path: Path) -> Iterator[SqlFile]:
    """Yield what the modules beside the folder of a file have read from it."""
    package = path.parents[1]
    for module in sorted(package.glob("*.py")):
        if "sql_file(" in module.read_text(encoding="utf-8"):
            parts = module.relative_to(ROOT).with_suffix("").parts
            members = vars(import_module(".".join(parts))).values()
            name = path.relative_to(ROOT).as_posix()
            yield from (m for m in members if isinstance(m, SqlFile) and m.path == name)


def _ready(file: SqlFile, name: str) -> str:
    """Return a statement with what is known before it runs; the rest keeps its name."""
    text = _PLACEHOLDER.sub(lambda p: file.fragments.get(p[1], p[0]), file.texts[name])

    def fill(found: re.Match[str]) -> str:
        known = found[2] is not None and found[2] in file.parameters
        return literal(file.parameters[found[2]]) if known else found[0]

    return _PARAMETER.sub(fill, text)


@click.command()
@click.argument("name", required=False)
@click.option(
    "--views",
    "folder",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Print a view over each table of a kept snapshot.",
)
def main(name: str | None, folder: Path | None) -> None:
    """Print the SQL of the product, ready to run in DuckDB."""
    if folder is not None:
        click.echo(views(folder))
    if name is not None:
        click.echo(printed(name))
    if name is None and folder is None:
        click.echo("\n".join(sql_paths()))


if __name__ == "__main__":
    main()
