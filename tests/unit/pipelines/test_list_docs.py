"""``docs/add-an-exchange-list.md`` is complete, and its examples are valid entries."""

from pathlib import Path

import msgspec
import pytest

from assets.entities.list_files import Columns, Everywhere, Licence, ListEntry, own_lists
from tests.helpers.doc_pages import blocks
from tests.helpers.paths import ROOT

PAGE = ROOT / "docs" / "add-an-exchange-list.md"
EXAMPLES = [block for block in blocks(PAGE) if block.language == "toml"]


@pytest.mark.parametrize("struct", [ListEntry, Licence, Columns, Everywhere])
def test_every_member_is_explained(struct: type[msgspec.Struct]) -> None:
    text = PAGE.read_text("utf-8")
    prefix = "licence." if struct is Licence else ""
    for field in msgspec.structs.fields(struct):
        name = f"`{prefix}{field.encode_name}"
        assert field.name == "key" or f"{name}`" in text or f"{name}." in text, field.name


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda block: block.location)
def test_every_example_is_a_valid_entry(example: object, tmp_path: Path) -> None:
    file = tmp_path / "example.toml"
    file.write_text(example.text, "utf-8")  # type: ignore[attr-defined]
    assert len(own_lists([file], ())) == 1
