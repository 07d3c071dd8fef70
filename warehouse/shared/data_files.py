"""Data in files: SQL statements and CSV tables next to the module that uses them; currencies.

Where two are legal tender, ``currencies.csv`` has the one in which the state budgets.
"""

import csv
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any

# SQL in files: ``sql/<name>.sql`` next to the module that runs it, one or more named statements.
#
# A file begins with a header: what it promises, a line ``-- Inputs:`` and a line ``-- Outputs:``.
# Each statement begins with a line ``-- name: countries`` and ends with a semicolon::
#
#     SQL = sql_file(__name__, "calendar", parameters={"evaluations": EVALUATIONS})
#     SQL.run(connection, "countries", last_day=day)
#
# Values are always parameters of DuckDB (``$evaluations``). What is no value and known to Python
# only, such as the columns of a row class, is put in as text where the file says ``{{ columns
# }}``. A placeholder that nothing fills is an error. The files count in the version of the code
# (``warehouse/shared/code_version.py``).

_FOLDER = "sql"
_NAME = re.compile(r"^-- name: (\w+)\n", re.MULTILINE)
_PLACEHOLDER = re.compile(r"\{\{ (\w+) \}\}")
# A quoted text or name stays as it is; a comment or space does not count.
_NO_CODE = re.compile(r"""('(?:[^']|'')*'|"(?:[^"]|"")*")|(?:--[^\n]*|\s)+""")
_NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True)
class SqlFile:
    """The statements of one file, with the fragments and parameters that all of them share."""

    texts: Mapping[str, str]
    fragments: Mapping[str, str] = field(default_factory=dict)
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def __getitem__(self, name: str) -> str:
        return self.statement(name)

    def statement(self, name: str, **fragments: str) -> str:
        """Return a statement with its fragments; those given here count for this one only."""
        given = {**self.fragments, **fragments}
        return _PLACEHOLDER.sub(lambda found: given[found[1]], self.texts[name])

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
        given = {**self.parameters, **parameters}
        return parsed, {name: given[name] for name in sorted(parsed.named_parameters)}

    def run_all(self, connection: Any) -> None:
        """Run all statements in the order of the file."""
        for name in self.texts:
            self.run(connection, name)


def sql_file(
    module: str,
    name: str,
    fragments: Mapping[str, str] = _NOTHING,
    parameters: Mapping[str, Any] = _NOTHING,
) -> SqlFile:
    """Return the statements of a module's ``sql/<name>.sql``: ``sql_file(__name__, "rates")``.

    Write the name out: ``code_version`` finds the file by this call.
    """
    package = module.rpartition(".")[0]
    texts = _read(package, name)
    return SqlFile(texts, dict(fragments), dict(parameters))


# Versions of several kinds cover the same files.
@cache
def code_of(text: str) -> str:
    """Return SQL without comments and layout: what counts in the version of the code."""
    return _NO_CODE.sub(lambda found: found[1] or " ", text).strip()


@cache
def _read(package: str, name: str) -> Mapping[str, str]:
    text = files(package).joinpath(_FOLDER, f"{name}.sql").read_text("utf-8")
    _, *parts = _NAME.split(text)
    bodies = (body.rstrip().removesuffix(";").rstrip() for body in parts[1::2])
    return MappingProxyType(dict(zip(parts[::2], bodies, strict=True)))


# Tables as data: ``<name>.csv`` next to the module that reads it, with a header.
#
# The files count in the version of the code (``warehouse/shared/code_version.py``).


def csv_rows(module: str, name: str) -> list[dict[str, str]]:
    """Return the rows of a module's ``<name>.csv``: ``csv_rows(__name__, "currencies")``."""
    folder = files(module.rpartition(".")[0])
    with folder.joinpath(f"{name}.csv").open(encoding="utf-8") as lines:
        header, *rows = csv.reader(lines)
    return [dict(zip(header, row, strict=True)) for row in rows]


HOME_CURRENCY: Mapping[str, str] = {
    country: row["currency"]
    for row in csv_rows(__name__, "currencies")
    for country in row["countries"].split()
}
