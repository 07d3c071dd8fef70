"""Data in files: SQL statements and CSV tables next to the module that uses them; currencies.

Where two are legal tender, ``currencies.csv`` has the one in which the state budgets.
"""

import csv
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any

# SQL in files: ``sql/<name>.sql`` beside the module that runs it, one or more named statements.
#
# A file begins with a header: what it promises, a line ``-- Inputs:`` and a line ``-- Outputs:``.
# Each statement begins with a line ``-- name: countries`` and ends with a semicolon::
#
#     SQL = sql_file(__name__, "calendar", parameters={"evaluations": EVALUATIONS})
#     SQL.run(connection, "countries", last_day=day)
#
# Values are always parameters of DuckDB (``$evaluations``). What is no value and known to Python
# only, such as the columns of a row class, is put in as text where the file says ``{{ columns
# }}``. A placeholder that nothing fills, or a fragment that nothing uses, is an error. The files
# count in the version of the code (``warehouse/shared/code_version.py``).

_FOLDER = "sql"
_NAME = re.compile(r"^-- name: (\w+)\n", re.MULTILINE)
_PLACEHOLDER = re.compile(r"\{\{ (\w+) \}\}")
_HEADER_LINES = ("-- Inputs:", "-- Outputs:")
# A quoted text or name stays as it is; a comment or space does not count.
_NO_CODE = re.compile(r"""('(?:[^']|'')*'|"(?:[^"]|"")*")|(?:--[^\n]*|\s)+""")
_NOTHING: Mapping[str, Any] = MappingProxyType({})


class BadSqlFile(ValueError):
    """An SQL file, or the fragments given for it, do not fit; the message says what to change."""


@dataclass(frozen=True)
class SqlFile:
    """The statements of one file, with the fragments and parameters that all of them share."""

    path: str
    texts: Mapping[str, str]
    fragments: Mapping[str, str] = field(default_factory=dict)
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def __getitem__(self, name: str) -> str:
        return self.statement(name)

    def statement(self, name: str, **fragments: str) -> str:
        """Return a statement with its fragments; those given here count for this one only."""
        text = self._text(name)
        places = set(_PLACEHOLDER.findall(text))
        if unused := sorted(fragments.keys() - places):
            raise BadSqlFile(
                f"{self.path}: {name} has no {_placeholders(unused)}; leave the fragment out, "
                "or name it in the statement"
            )
        given = {**self.fragments, **fragments}
        if missing := sorted(places - given.keys()):
            raise BadSqlFile(
                f"{self.path}: nothing fills {_placeholders(missing)} of {name}; give it as a "
                "fragment"
            )
        return _PLACEHOLDER.sub(lambda found: given[found[1]], text)

    def run(
        self,
        connection: Any,
        name: str,
        /,
        *,
        fill: Mapping[str, str] = _NOTHING,
        **parameters: Any,
    ) -> Any:
        """Execute a statement on a connection of DuckDB; return what its ``execute`` returns.

        ``fill`` are fragments for this statement only. ``parameters`` are added to those of the
        file; a statement gets those that it names.
        """
        return connection.execute(*self._ready(connection, name, fill, parameters))

    def query(
        self,
        connection: Any,
        name: str,
        /,
        *,
        fill: Mapping[str, str] = _NOTHING,
        **parameters: Any,
    ) -> Any:
        """Return a statement as a relation of DuckDB, from which Arrow is read without a copy."""
        statement, given = self._ready(connection, name, fill, parameters)
        return connection.sql(statement, params=given)

    def _ready(
        self,
        connection: Any,
        name: str,
        fragments: Mapping[str, str],
        parameters: Mapping[str, Any],
    ) -> tuple[Any, dict[str, Any]]:
        """Return a parsed statement and the parameters that it names."""
        (parsed,) = connection.extract_statements(self.statement(name, **fragments))
        named: set[str] = parsed.named_parameters
        given = {**self.parameters, **parameters}
        if missing := sorted(named - given.keys()):
            raise BadSqlFile(f"{self.path}: no value for ${', $'.join(missing)} of {name}")
        if unused := sorted(parameters.keys() - named):
            raise BadSqlFile(f"{self.path}: {name} has no ${', $'.join(unused)}")
        return parsed, {name: given[name] for name in sorted(named)}

    def run_all(self, connection: Any) -> None:
        """Run all statements in the order of the file."""
        for name in self.texts:
            self.run(connection, name)

    def _text(self, name: str) -> str:
        if name not in self.texts:
            raise BadSqlFile(f"{self.path}: no statement {name}; it has {', '.join(self.texts)}")
        return self.texts[name]


def sql_file(
    module: str,
    name: str,
    fragments: Mapping[str, str] = _NOTHING,
    parameters: Mapping[str, Any] = _NOTHING,
) -> SqlFile:
    """Return the statements of ``sql/<name>.sql`` beside a module: ``sql_file(__name__, "rates")``.

    Write the name out: ``code_version`` finds the file by this call.
    """
    package = module.rpartition(".")[0]
    path, texts = _read(package, name)
    file = SqlFile(path, texts, dict(fragments), dict(parameters))
    places = {place for text in texts.values() for place in _PLACEHOLDER.findall(text)}
    if unused := sorted(fragments.keys() - places):
        raise BadSqlFile(f"{path}: no statement has {_placeholders(unused)}; leave it out")
    return file


def code_of(text: str) -> str:
    """Return SQL without comments and layout: what counts in the version of the code."""
    return _NO_CODE.sub(lambda found: found[1] or " ", text).strip()


@cache
def _read(package: str, name: str) -> tuple[str, Mapping[str, str]]:
    path = f"{package.replace('.', '/')}/{_FOLDER}/{name}.sql"
    source = files(package).joinpath(_FOLDER, f"{name}.sql")
    if not source.is_file():
        raise BadSqlFile(f"{path} does not exist; write it, or correct the name")
    return path, parse_sql_file(path, source.read_text(encoding="utf-8"))


def parse_sql_file(path: str, text: str) -> Mapping[str, str]:
    """Return the statements of a file by their names."""
    header, *parts = _NAME.split(text)
    for line in _HEADER_LINES:
        if f"\n{line} " not in header:
            raise BadSqlFile(f"{path}: its header has no line '{line} …'")
    if code_of(header):
        raise BadSqlFile(f"{path}: a statement stands before the first line '-- name: …'")
    statements: dict[str, str] = {}
    for name, body in zip(parts[::2], parts[1::2], strict=True):
        if name in statements:
            raise BadSqlFile(f"{path}: two statements are called {name}")
        # Exactly one semicolon, at the end: what follows would be dropped or run unseen.
        if not body.rstrip().endswith(";") or _NO_CODE.sub("", body).count(";") != 1:
            raise BadSqlFile(f"{path}: {name} is not one statement that ends with a semicolon")
        statements[name] = body.rstrip().removesuffix(";").rstrip()
    if not statements:
        raise BadSqlFile(f"{path}: no line '-- name: …' begins a statement")
    return MappingProxyType(statements)


def _placeholders(names: Iterable[str]) -> str:
    return ", ".join(f"{{{{ {name} }}}}" for name in names)


# Tables as data: ``<name>.csv`` beside the module that reads it, with a header.
#
# The files count in the version of the code (``warehouse/shared/code_version.py``).


def csv_rows(module: str, name: str) -> list[dict[str, str]]:
    """Return the rows of a file beside a module: ``csv_rows(__name__, "currencies")``."""
    folder = files(module.rpartition(".")[0])
    with folder.joinpath(f"{name}.csv").open(encoding="utf-8") as lines:
        header, *rows = csv.reader(lines)
    return [dict(zip(header, row, strict=True)) for row in rows]


HOME_CURRENCY: Mapping[str, str] = {
    country: row["currency"]
    for row in csv_rows(__name__, "currencies")
    for country in row["countries"].split()
}
