"""Example parameters that a build can answer, each set taken from one of its rows.

For the description of the API: what it shows must be there. A row is looked for in the first
files of a table only, so that a large build costs no more than a small one. ``examples.csv`` says
which rows those are.
"""

from collections import defaultdict
from collections.abc import Mapping
from typing import NamedTuple

from warehouse.methodology.line_items import LINE_ITEMS
from warehouse.publish.row_json import NEVER
from warehouse.serve.build import Build
from warehouse.serve.rows import equal, matching
from warehouse.shared.data_files import csv_rows

Example = Mapping[str, str]
# Files of a table in which a row is looked for.
_MOST_FILES = 8
_STATEMENTS = {item.name: item.statement for item in LINE_ITEMS}


class _Rows(NamedTuple):
    """Which rows an example can come from: the column of each parameter, and what is always sent.

    ``owner`` is the column of the organisation, if the issuer of the other examples is preferred.
    """

    table: str
    columns: Mapping[str, str]
    where: str
    owner: str
    fixed: Example


def _pairs(text: str) -> dict[str, str]:
    """Return the column, or the value, of each parameter; one alone is a column of its name."""
    pairs = (part.partition("=") for part in text.split("; ") if part)
    return {name: value or name for name, _, value in pairs}


# By the name of a list; the first of several that the build has rows of.
_EXAMPLES: dict[str, list[_Rows]] = defaultdict(list)
for _row in csv_rows(__name__, "examples"):
    _where = _row["where"].format(NEVER=NEVER) or "1 = 1"
    _EXAMPLES[_row["name"]].append(
        _Rows(_row["table"], _pairs(_row["columns"]), _where, _row["owner"], _pairs(_row["fixed"]))
    )
(_RANKED,) = _EXAMPLES["screen"]


def examples(build: Build) -> dict[str, Example]:
    """Return a set of parameters for each list, empty if the build has no rows of it."""
    return build.made_once("examples", lambda: _made(build))


def _made(build: Build) -> dict[str, Example]:
    issuer = _example(build, _RANKED, "").get("service_id", "")
    return {
        name: next((found for rows in some if (found := _example(build, rows, issuer))), {})
        for name, some in _EXAMPLES.items()
    }


def _example(build: Build, rows: _Rows, issuer: str) -> Example:
    """Return an example, of an issuer if it has rows, so that examples go together."""
    select = f"SELECT {', '.join(rows.columns.values())} FROM {rows.table} WHERE {rows.where}"
    files = build.files(rows.table)
    if rows.owner and issuer:
        for file in build.files_with(rows.table, rows.owner, issuer):
            of_issuer, values = matching(rows.table, equal(**{rows.owner: issuer}))
            if found := file.run(f"{select} AND {of_issuer} LIMIT 1", values):
                return _filled(rows, found[0])
    for file in files[:_MOST_FILES]:
        if found := file.query(f"{select} LIMIT 1"):
            return _filled(rows, found[0])
    return {}


def _filled(rows: _Rows, row: tuple[object, ...]) -> Example:
    values = zip(rows.columns, row, strict=True)
    example = {name: str(value) for name, value in values if value not in (None, "")}
    if (line_item := example.get("line_items")) in _STATEMENTS:
        example["statement"] = _STATEMENTS[line_item]
    return {**example, **rows.fixed}
