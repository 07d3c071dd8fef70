"""``docs/add-a-portal.md`` is complete, and its examples are valid entries."""

from pathlib import Path
from typing import get_args

import msgspec
import pytest

from assets.tenders.code_lists import Words
from assets.tenders.portal_files import (
    Licence,
    PortalEntry,
    PortalLicence,
    Quirks,
    read_portals,
)
from assets.tenders.requests.declared import Files, Index, Links
from tests.helpers.doc_pages import blocks
from tests.helpers.paths import ROOT

PAGE = ROOT / "docs" / "add-a-portal.md"
EXAMPLES = [block for block in blocks(PAGE) if block.language == "toml"]


@pytest.mark.parametrize("struct", [PortalEntry, Licence, Quirks, Words, Links, Index, Files])
def test_every_member_is_explained(struct: type[msgspec.Struct]) -> None:
    text = PAGE.read_text("utf-8")
    # A licence's members are written with the name of their table.
    prefix = "licence." if struct is Licence else ""
    for field in msgspec.structs.fields(struct):
        name = f"`{prefix}{field.encode_name}"
        explained = [f"{name}`", f"{name} = ", f"{name}."]
        assert field.name == "key" or any(form in text for form in explained), name


def test_every_licence_class_is_explained() -> None:
    text = PAGE.read_text("utf-8")
    assert all(f"`{choice}`" in text for choice in get_args(PortalLicence))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda block: block.location)
def test_every_example_is_a_valid_entry(example: object, tmp_path: Path) -> None:
    file = tmp_path / "example.toml"
    file.write_text(example.text, "utf-8")  # type: ignore[attr-defined]
    assert len(read_portals(file)) == 1


def test_there_is_an_example_of_each_shape(tmp_path: Path) -> None:
    file = tmp_path / "examples.toml"
    file.write_text("\n".join(example.text for example in EXAMPLES), "utf-8")
    shapes = {type(entry.request) for entry in read_portals(file)}
    assert shapes == {Links, Index, Files, type(None)}
