"""Each row is defined once: no list of its columns is anywhere but on its class."""

import ast
from collections.abc import Iterator, Sequence
from functools import cache
from typing import get_args

import pytest
from sqlmodel import SQLModel

from tests.helpers.paths import ROOT
from warehouse.record.tables import RECORD_TABLES, RecordTable
from warehouse.shared.data_files import csv_rows
from warehouse.tables import ROWS
from warehouse.tables.column import (
    Appears,
    Part,
    columns_of,
    content_of,
    identity_of,
    shown_columns,
)

PACKAGES = ("warehouse", "quality", "assets", "pipelines", "api", "mcp")
COLUMNS = [frozenset(row.model_fields) for row in ROWS.values()]
# So many columns of one class in a row are a copy of it; fewer may be a choice.
MOST = 4
# Choices of columns that a new column need not join: the file, the first column, and the reason.
CHOICES = {
    ("warehouse/publish/snapshot.py", "service_id"): "what the metrics read of each statement",
    ("mcp/mcp_server/results.py", "sign"): "what a model reads of an input",
    ("warehouse/publish/tables.py", "available_at"): "columns that tell what was known on a day",
    ("assets/derive/organisations.py", "service_id"): "what the rules of organisations read",
    ("assets/exports/artifacts.py", "country"): "sort order of the signal files",
    (
        "assets/exports/write_artifact.py",
        "fact_id",
    ): "columns that compress better without a dictionary",
    ("assets/ingest/assets.py", "read"): "the counts among the columns of a ledger entry",
    ("assets/macro/alfred.py", "frequency"): "the description of a series before it is read",
    ("assets/derive/metrics.py", "service_id"): "columns of a metric that its outcome has",
    ("warehouse/contract/macro.py", "ocid"): "members that only facts of tenders have",
    ("warehouse/contract/claims.py", "period_start"): "what makes figures of three tables one",
    ("warehouse/contract/claims.py", "line_item"): "what a verdict shows of rows of three tables",
    ("mcp/mcp_server/app.py", "available_at_evidence"): "members that output schemas leave out",
}


def longest_copy(names: Sequence[str | None]) -> int:
    """Return how many neighbours among the names are columns of one class."""
    longest = 0
    for columns in COLUMNS:
        run = 0
        for name in names:
            run = run + 1 if name in columns else 0
            longest = max(longest, run)
    return longest


def texts(nodes: Sequence[ast.expr | None]) -> Iterator[str | None]:
    for node in nodes:
        if isinstance(node, ast.Starred) and isinstance(node.value, ast.Tuple | ast.List):
            yield from texts(node.value.elts)
        else:
            is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
            yield node.value if is_text else None  # type: ignore[union-attr]


def lists_of_names(source: str) -> Iterator[tuple[int, list[str | None]]]:
    """Yield every list of names in a module, with its line.

    That is a tuple, list or set of texts, the keys of a dictionary of constants and the fields of
    a class. A dictionary with computed values is a row that is being made: it is not a list.
    """
    tree = ast.parse(source)
    inner = {
        id(element.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Tuple | ast.List | ast.Set)
        for element in node.elts
        if isinstance(element, ast.Starred)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Tuple | ast.List | ast.Set) and id(node) not in inner:
            yield node.lineno, list(texts(node.elts))
        elif isinstance(node, ast.Dict):
            if all(isinstance(value, ast.Constant) for value in node.values):
                yield node.lineno, list(texts(node.keys))
        elif isinstance(node, ast.ClassDef):
            fields = [item.target for item in node.body if isinstance(item, ast.AnnAssign)]
            yield node.lineno, [field.id for field in fields if isinstance(field, ast.Name)]


@cache
def copies() -> dict[tuple[str, str | None], list[str]]:
    """Return every copy of columns outside their definition, by file and first name."""
    found: dict[tuple[str, str | None], list[str]] = {}
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            name = path.relative_to(ROOT).as_posix()
            if name.startswith("warehouse/tables/"):
                continue
            for line, names in lists_of_names(path.read_text("utf-8")):
                if longest_copy(names) > MOST:
                    found.setdefault((name, names[0]), []).append(f"{name}:{line} {names}")
    return found


def test_every_line_of_columns_csv_describes_the_column_that_it_names() -> None:
    every_class = {
        base.__name__: base
        for row in ROWS.values()
        for base in row.__mro__
        if issubclass(base, SQLModel)
    }
    for line in csv_rows("warehouse.tables.column", "columns"):
        row, name = line["column"].split(".")
        assert every_class[row].model_fields[name].description == line["meaning"], line["column"]


def test_every_column_appears_at_a_place_and_belongs_to_a_part_that_exists() -> None:
    for row in ROWS.values():
        for name, column in columns_of(row).items():
            assert column.appears in get_args(Appears), f"{row.__name__}.{name}"
            assert column.part in get_args(Part), f"{row.__name__}.{name}"


@pytest.mark.slow
def test_no_list_of_columns_is_repeated() -> None:
    unexpected = [
        place for key, places in copies().items() if key not in CHOICES for place in places
    ]
    assert not unexpected, "take these from the row class (warehouse/tables/column.py):\n" + (
        "\n".join(unexpected)
    )


@pytest.mark.slow
def test_every_choice_that_is_allowed_still_exists() -> None:
    assert set(CHOICES) <= set(copies())


@pytest.mark.parametrize(
    "source",
    [
        "A = ('service_id', 'line_item', 'statement', 'value_reported', 'unit')",
        "A = [*('service_id', 'line_item', 'statement'), *('value_reported', 'unit')]",
        "A = {'service_id', 'line_item', 'statement', 'value_reported', 'unit'}",
        "A = f(('x', 'service_id', 'line_item', 'statement', 'value_reported', 'unit'))",
        "A = {'party_key': 0, 'name': 1, 'identifier_scheme': 2, 'identifier_id': 3, 'role': 4}",
        "class A(NamedTuple):\n    ocid: str\n    release_id: str\n    country: str\n"
        "    tag: str\n    category: str",
    ],
)
def test_a_copy_of_columns_is_found_in_every_form(source: str) -> None:
    assert max(longest_copy(names) for _, names in lists_of_names(source)) > MOST


def test_a_row_that_is_being_made_is_not_a_copy() -> None:
    source = "row = {'service_id': a, 'line_item': b, 'statement': c, 'unit': d, 'basis': e}"
    assert list(lists_of_names(source)) == []


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_what_a_column_declares_is_consistent(row: type[SQLModel]) -> None:
    columns = columns_of(row)
    places = [column.identity for column in columns.values() if column.identity is not None]
    assert len(places) == len(set(places))
    assert set(identity_of(row)).isdisjoint(content_of(row))
    for where in ("api", "file"):
        shown = shown_columns(row, where)
        assert len(set(shown.values())) == len(shown)
    for name, info in row.model_fields.items():
        assert info.description and info.examples, name


# What identifies a figure and what is its content: part of every stored hash.
STORED = {
    "fundamentals": ("service_id line_item unit basis period_start period_end", "value_reported"),
    "filings": ("source service_id document_id version", "form period_end received_on"),
    "elements": ("service_id element unit period_start period_end", "value_reported"),
    "tender_releases": ("source ocid release_id", "released_on tag release"),
    "tender_parties": (
        "source ocid release_id party_key role",
        "name identifier_scheme identifier_id org_evidence",
    ),
    "macro_annual": (
        "source country_iso3 indicator period_start period_end unit base_period",
        "value obs_status",
    ),
    "macro_series": (
        "source series country_iso3 frequency period_start period_end unit base_period",
        "value obs_status",
    ),
    "entities": (
        "source service_id",
        "legal_name other_names jurisdiction country entity_type status lei lei_status same_as "
        "former_names trading_names headquarters_country legal_form",
    ),
    "identifiers": (
        "source service_id id_type id_value issuer",
        "status figi_level currency valid_from valid_to",
    ),
}


@pytest.mark.parametrize("table", RECORD_TABLES, ids=lambda table: table.name)
def test_the_hashed_columns_are_those_of_every_record_so_far(table: RecordTable) -> None:
    """A column added later is not among them: it counts only where it has a value."""
    declared = columns_of(table.row)
    first = [name for name in table.content if declared[name].since is None]
    assert (" ".join(table.identity), " ".join(first)) == STORED[table.name]
