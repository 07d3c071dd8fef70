"""The pages on declarations without code are complete, and their examples are valid entries."""

import re
from pathlib import Path
from typing import Any, get_args

import pytest

from assets.declared_files import DeclaredLicence, DeclaredSource, DeclaredTable, own_entries
from assets.entities import list_files
from assets.entities.list_files import Columns, Everywhere, ListEntry
from assets.macro import table_files
from assets.macro.table_files import PeriodColumns, TableEntry, TableSeries
from assets.tenders import portal_files
from assets.tenders.code_lists import Words
from assets.tenders.portal_files import Licence, PortalEntry, PortalLicence, Quirks
from assets.tenders.requests import Files, Index, Links
from tests.helpers.doc_pages import blocks
from tests.helpers.paths import ROOT

MODELS: dict[type[DeclaredSource], tuple[type[DeclaredTable], ...]] = {
    ListEntry: (ListEntry, DeclaredLicence, Columns, Everywhere),
    TableEntry: (TableEntry, DeclaredLicence, PeriodColumns, TableSeries),
    PortalEntry: (PortalEntry, Licence, Quirks, Words, Links, Index, Files),
}
# What all kinds share; its example is of a list.
SHARED = ROOT / "docs" / "declare-a-source.md"
EXAMPLES = [
    (entry, block)
    for entry, page in [*((entry, ROOT / entry.page) for entry in MODELS), (ListEntry, SHARED)]
    for block in blocks(page)
    if block.language == "toml"
]


def page_of(entry: type[DeclaredSource]) -> str:
    return (ROOT / entry.page).read_text("utf-8")


@pytest.mark.parametrize(
    ("entry", "model"), [(entry, model) for entry, models in MODELS.items() for model in models]
)
def test_every_member_is_explained(entry: type[DeclaredSource], model: type[DeclaredTable]) -> None:
    text = page_of(entry) + SHARED.read_text("utf-8")
    # A licence's members are written with the name of their table.
    prefix = "licence." if model in (DeclaredLicence, Licence) else ""
    for name, field in model.model_fields.items():
        written = f"`{prefix}{field.alias or name}"
        forms = [f"{written}`", f"{written}.", f"{written} = "]
        assert name == "key" or any(form in text for form in forms), name


def test_every_licence_class_is_explained() -> None:
    text = page_of(PortalEntry)
    assert all(f"`{choice}`" in text for choice in get_args(PortalLicence))


@pytest.mark.parametrize(
    ("entry", "example"), EXAMPLES, ids=lambda part: getattr(part, "location", "")
)
def test_every_example_is_a_valid_entry(
    entry: type[DeclaredSource], example: Any, tmp_path: Path
) -> None:
    file = tmp_path / "example.toml"
    file.write_text(example.text, "utf-8")
    # Some replace members of a built-in source.
    built_in = {**list_files.TABLES, **table_files.TABLES}
    assert len(own_entries([file], entry, (), built_in)) == 1


@pytest.mark.parametrize(
    ("entry", "built_in"),
    [(TableEntry, table_files.ENTRIES), (PortalEntry, portal_files.ENTRIES)],
)
def test_the_built_in_sources_that_a_page_names_exist(
    entry: type[DeclaredSource], built_in: tuple[DeclaredSource, ...]
) -> None:
    (table,) = re.findall(r"^\|.* as built in \|\n(?:\|.*\n)+", page_of(entry), re.MULTILINE)
    named = set(re.findall(r"`([a-z]+(?:-[a-z]+)+)`", table))
    assert named and named <= {source.key for source in built_in}


def test_there_is_an_example_of_each_shape() -> None:
    named = [entry for entry in portal_files.ENTRIES if f"`{entry.key}`" in page_of(PortalEntry)]
    assert {type(entry.request) for entry in named} == {Links, Index, Files}
