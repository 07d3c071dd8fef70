"""The pages on declarations without code are complete, and their examples are valid entries."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from assets.declared_files import DeclaredLicence
from assets.entities.list_files import Columns, Everywhere, ListEntry, own_lists
from assets.macro.table_files import PeriodColumns, TableEntry, TableSeries, own_tables
from tests.helpers.doc_pages import blocks
from tests.helpers.paths import ROOT

LISTS, TABLES = (ROOT / "docs" / name for name in ("add-an-exchange-list.md", "add-a-table.md"))
MEMBERS = (
    *((LISTS, struct) for struct in (ListEntry, DeclaredLicence, Columns, Everywhere)),
    *((TABLES, struct) for struct in (TableEntry, DeclaredLicence, PeriodColumns, TableSeries)),
)
EXAMPLES = [
    (read, block)
    for page, read in ((LISTS, own_lists), (TABLES, own_tables))
    for block in blocks(page)
    if block.language == "toml"
]


@pytest.mark.parametrize(("page", "struct"), MEMBERS)
def test_every_member_is_explained(page: Path, struct: type[msgspec.Struct]) -> None:
    text = page.read_text("utf-8")
    prefix = "licence." if struct is DeclaredLicence else ""
    for field in msgspec.structs.fields(struct):
        name = f"`{prefix}{field.encode_name}"
        assert field.name == "key" or f"{name}`" in text or f"{name}." in text, field.name


@pytest.mark.parametrize(
    ("read", "example"), EXAMPLES, ids=lambda part: getattr(part, "location", "")
)
def test_every_example_is_a_valid_entry(
    read: Callable[..., list[Any]], example: Any, tmp_path: Path
) -> None:
    file = tmp_path / "example.toml"
    file.write_text(example.text, "utf-8")
    assert len(read([file], ())) == 1
