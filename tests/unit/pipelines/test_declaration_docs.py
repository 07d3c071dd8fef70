"""The pages on declarations without code are complete, and their examples are valid entries."""

from pathlib import Path
from typing import Any, get_args

import pytest

from assets.declared_files import DeclaredLicence, DeclaredSource, DeclaredTable, own_entries
from assets.entities import list_files
from assets.entities.list_files import Columns, Everywhere, ListEntry
from assets.macro import table_files
from assets.macro.table_files import PeriodColumns, TableEntry, TableSeries
from assets.tenders.code_lists import Words
from assets.tenders.portal_files import Licence, PortalEntry, PortalLicence, Quirks
from assets.tenders.requests.declared import Files, Index, Links
from tests.helpers.doc_pages import blocks
from tests.helpers.paths import ROOT

MODELS: dict[type[DeclaredSource], tuple[type[DeclaredTable], ...]] = {
    ListEntry: (ListEntry, DeclaredLicence, Columns, Everywhere),
    TableEntry: (TableEntry, DeclaredLicence, PeriodColumns, TableSeries),
    PortalEntry: (PortalEntry, Licence, Quirks, Words, Links, Index, Files),
}
EXAMPLES = [
    (entry, block)
    for entry in MODELS
    for block in blocks(ROOT / entry.page)
    if block.language == "toml"
]


@pytest.mark.parametrize(
    ("entry", "model"), [(entry, model) for entry, models in MODELS.items() for model in models]
)
def test_every_member_is_explained(entry: type[DeclaredSource], model: type[DeclaredTable]) -> None:
    text = (ROOT / entry.page).read_text("utf-8")
    # A licence's members are written with the name of their table.
    prefix = "licence." if model in (DeclaredLicence, Licence) else ""
    for name, field in model.model_fields.items():
        written = f"`{prefix}{field.alias or name}"
        forms = [f"{written}`", f"{written}.", f"{written} = "]
        assert name == "key" or any(form in text for form in forms), name


def test_every_licence_class_is_explained() -> None:
    text = (ROOT / PortalEntry.page).read_text("utf-8")
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


def test_there_is_an_example_of_each_shape(tmp_path: Path) -> None:
    file = tmp_path / "examples.toml"
    texts = [example.text for entry, example in EXAMPLES if entry is PortalEntry]
    file.write_text("\n".join(texts), "utf-8")
    shapes = {type(entry.request) for entry in own_entries([file], PortalEntry, ())}
    assert shapes == {Links, Index, Files, type(None)}
