"""``python -m pipelines.sql``: print the SQL of the product as it runs, to try it by hand.

``python -m pipelines.sql`` lists the files, ``python -m pipelines.sql signals/calendar`` prints the
statements of one with every fragment and parameter filled in. With ``--views FOLDER`` it prints a
script that runs: a view over each table of a kept snapshot, the files that make what the named ones
read, and these. All of it can be piped into a shell of DuckDB.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import date
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from warehouse.code_version import ROOT
from warehouse.mart.canonical_ids import canonical_register
from warehouse.record.tables import ENTITIES, IDENTIFIERS
from warehouse.sql_files import SqlFile

# The packages that have SQL files.
_PACKAGES = ("warehouse", "quality", "assets")
_REGISTERS = (ENTITIES.name, IDENTIFIERS.name)
# A quoted text, a quoted name and a comment stay as they are.
_PARAMETER = re.compile(r"""('(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*)|\$(\w+)""")
_PLACEHOLDER = re.compile(r"\{\{ (\w+) \}\}")


def sql_paths() -> dict[str, Path]:
    """Return every SQL file by its short name: the folder of its package and its own name."""
    paths = (path for package in _PACKAGES for path in sorted((ROOT / package).rglob("sql/*.sql")))
    return {f"{path.parents[1].name}/{path.stem}": path for path in paths}


def printed(name: str) -> str:
    """Return the statements of a file, in order and ready to run."""
    file = _file(name)
    statements = [
        f"-- {'by hand' if part in file.by_hand else 'name'}: {part}\n{_ready(file, part)};"
        for part in file.texts
    ]
    return "\n\n".join([file.header.strip(), *statements])


def with_inputs(names: Iterable[str], given: Collection[str]) -> list[str]:
    """Return files and all those that make what they read, in an order in which they run.

    ``given`` are the tables that are there already. What a file reads and makes is in its header.
    """
    makers = {
        (_package(name), made): name
        for name in sql_paths()
        for made in _listed(_file(name), "Outputs")
    }
    ordered: list[str] = []

    def add(name: str, waiting: tuple[str, ...]) -> None:
        if name in waiting:
            cycle = " reads ".join((*waiting[waiting.index(name) :], name))
            raise click.UsageError(f"{cycle}: correct the lines Inputs and Outputs")
        for read in _listed(_file(name), "Inputs"):
            maker = makers.get((_package(name), read), name)
            is_made = read in given or read in _file(name).by_hand or maker in (name, *ordered)
            if not is_made:
                add(maker, (*waiting, name))
        if name not in ordered:
            ordered.append(name)

    for name in names:
        add(name, ())
    return ordered


def _package(name: str) -> str:
    return name.partition("/")[0]


def _file(name: str) -> SqlFile:
    paths = sql_paths()
    if name not in paths:
        raise click.UsageError(f"no SQL file {name}; there are {', '.join(paths)}")
    file = next(_files_of(paths[name]), None)
    if file is None:
        raise click.UsageError(f"no module reads {paths[name].relative_to(ROOT)}; delete it")
    return file


def _listed(file: SqlFile, line: str) -> list[str]:
    """Return the names in a line of a header; words of explanation are not names."""
    lines = " ".join(text.removeprefix("--").strip() for text in file.header.splitlines())
    text = re.search(rf"{line}: (.*?)(?: Outputs:|$)", lines)
    assert text is not None
    names = re.split(r"[,;]", re.sub(r"\([^)]*\)", "", text[1]))
    return [name.strip() for name in names if re.fullmatch(r"\w+", name.strip())]


def tables_of(folder: Path) -> dict[str, Path]:
    """Return the Parquet files of a kept snapshot by table; a table may be a folder of them."""
    tables = {path.stem: path for path in sorted(folder.glob("*.parquet"))}
    return tables | {
        path.name: path / "**" / "*.parquet"
        for path in sorted(folder.iterdir())
        if path.is_dir() and next(path.rglob("*.parquet"), None)
    }


def views(folder: Path) -> str:
    """Return a view over each table of a kept snapshot."""
    tables = tables_of(folder)
    if not tables:
        raise click.UsageError(f"{folder} has no Parquet file; name the folder of a snapshot")
    return "\n".join(
        f'CREATE OR REPLACE VIEW "{name}" AS {_rows(name, path, tables)};'
        # Registers last: they are shown under the ids of same_as.
        for name, path in sorted(tables.items(), key=lambda table: table[0] in _REGISTERS)
    )


def _rows(name: str, path: Path, tables: Collection[str]) -> str:
    relation = f"read_parquet({literal(str(path.absolute()))})"
    is_register = name in _REGISTERS and "same_as" in tables
    return canonical_register(relation) if is_register else f"FROM {relation}"


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
    fragments = {**file.examples, **file.fragments}
    parameters = {**file.examples, **file.parameters}
    text = _PLACEHOLDER.sub(lambda found: fragments.get(found[1], found[0]), file.texts[name])

    def fill(found: re.Match[str]) -> str:
        known = found[2] is not None and found[2] in parameters
        return literal(parameters[found[2]]) if known else found[0]

    return _PARAMETER.sub(fill, text)


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option(
    "--views",
    "folder",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Print a script over a kept snapshot: its tables as views, and what the files read.",
)
def main(names: tuple[str, ...], folder: Path | None) -> None:
    """Print the SQL of the product, ready to run in DuckDB."""
    if folder is not None:
        click.echo(views(folder))
        names = tuple(with_inputs(names, tables_of(folder)))
    for name in names:
        click.echo(f"{printed(name)}\n")
    if not names and folder is None:
        click.echo("\n".join(sql_paths()))


if __name__ == "__main__":
    main()
