"""Control characters and invisible formatting never reach served text."""

import json

import msgspec
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from assets.parsing.parsed import with_visible_text
from warehouse.record.tables import ENTITIES, TENDER_RELEASES, incoming_schema

HIDDEN = {
    chr(code)
    for first, last in (
        *((0x00, 0x08), (0x0B, 0x0C), (0x0E, 0x1F), (0x7F, 0x9F), (0xAD, 0xAD), (0x61C, 0x61C)),
        *((0x180E, 0x180E), (0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F)),
        *((0xFEFF, 0xFEFF), (0xFFF9, 0xFFFB), (0xE0000, 0xE007F)),
    )
    for code in range(first, last + 1)
}
# Backslashes, and what an escape is made of, so that texts look like escapes.
texts = st.text(
    st.one_of(
        st.sampled_from(sorted(HIDDEN)),
        st.sampled_from(list('\\u001b9fbn\n\t\r"é李 ')),
        st.characters(exclude_categories=["Cs"]),
    ),
    max_size=40,
)


def visible(text: str) -> str:
    return "".join(char for char in text if char not in HIDDEN)


def one_row(table, **values: str | None) -> pa.Table:  # type: ignore[no-untyped-def]
    schema = incoming_schema(table)
    columns = [pa.array([values.get(field.name)], field.type) for field in schema]
    return pa.Table.from_arrays(columns, names=schema.names)


@given(texts, st.lists(texts, min_size=1, max_size=3))
def test_names_lose_what_nobody_sees_and_nothing_else(name: str, others: list[str]) -> None:
    listed = json.dumps(others, ensure_ascii=False)
    rows = with_visible_text(one_row(ENTITIES, legal_name=name, other_names=listed))
    assert rows["legal_name"].to_pylist() == [visible(name)]
    assert json.loads(rows["other_names"][0].as_py()) == [visible(other) for other in others]


@given(texts)
def test_a_release_loses_what_nobody_sees_and_stays_json(title: str) -> None:
    release = msgspec.json.encode({"tender": {"title": title, "description": "é"}}).decode()
    rows = with_visible_text(one_row(TENDER_RELEASES, release=release))
    decoded = json.loads(rows["release"][0].as_py())
    assert decoded == {"tender": {"title": visible(title), "description": "é"}}
