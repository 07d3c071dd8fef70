"""Control characters and invisible formatting never reach served text."""

import json

import duckdb
import msgspec
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from warehouse.record.incoming import visible_rows, with_visible_text
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


def both_ways(table, rows: pa.Table) -> list[dict[str, object]]:  # type: ignore[no-untyped-def]
    """Return the row as it is read from a document, and as a snapshot reads it."""
    sql = duckdb.connect()
    sql.register("stored", rows)
    snapshot = sql.sql(f"FROM {visible_rows(table, 'stored')}").to_arrow_table()
    assert snapshot.column_names == rows.column_names
    return [with_visible_text(table, rows).to_pylist()[0], snapshot.to_pylist()[0]]


@given(texts, st.lists(texts, min_size=1, max_size=3))
def test_names_lose_what_nobody_sees_and_nothing_else(name: str, others: list[str]) -> None:
    listed = json.dumps(others, ensure_ascii=False)
    for row in both_ways(ENTITIES, one_row(ENTITIES, legal_name=name, other_names=listed)):
        assert row["legal_name"] == visible(name)
        assert json.loads(str(row["other_names"])) == [visible(other) for other in others]


@given(texts)
def test_a_release_loses_what_nobody_sees_and_stays_json(title: str) -> None:
    release = msgspec.json.encode({"tender": {"title": title, "description": "é"}}).decode()
    for row in both_ways(TENDER_RELEASES, one_row(TENDER_RELEASES, release=release)):
        decoded = json.loads(str(row["release"]))
        assert decoded == {"tender": {"title": visible(title), "description": "é"}}
