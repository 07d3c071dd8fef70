"""Remove what nobody sees from text: control characters, and formatting that reorders or hides.

Line breaks and tabs stay. A terminal obeys an escape character, and a right-to-left mark shows a
name as another one. It happens where the rows of every source pass: when a document is read
(``assets/parsing/parsed.py``), and when a snapshot reads rows that were stored before.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from warehouse.record.tables import RecordTable, incoming_schema
from warehouse.tables.entities import NAME_LISTS

# C0 and C1 without tab and line breaks; soft hyphen, Arabic letter mark, zero-width characters,
# bidirectional marks, embeddings and isolates, byte order mark, annotations, tags.
HIDDEN = (
    r"[\x00-\x08\x0B\x0C\x0E-\x1F\x7F-\x9F\x{AD}\x{61C}\x{180E}\x{200B}-\x{200F}\x{202A}-\x{202E}"
    r"\x{2060}-\x{206F}\x{FEFF}\x{FFF9}-\x{FFFB}\x{E0000}-\x{E007F}]"
)
# JSON writes control characters as escapes; an even number of backslashes before one is text.
_ESCAPES = r"(?:\\u00(?:0[0-8bBeEfF]|1[0-9a-fA-F]|7[fF]|[89][0-9a-fA-F])|\\[bf])+"
_ESCAPED = rf"((?:^|[^\\])(?:\\\\)*){_ESCAPES}"
# Columns that are JSON, as texts.
_JSON = ("release", *NAME_LISTS)
# Columns that we write ourselves.
_OURS = frozenset({"document", "source", "license_class", "method"})


def visible_columns(table: RecordTable) -> tuple[str, ...]:
    """Return the columns of a table that can have text of a source."""
    return tuple(
        field.name
        for field in incoming_schema(table)
        if pa.types.is_string(field.type) and field.name not in _OURS
    )


def with_visible_text(table: RecordTable, rows: pa.Table) -> pa.Table:
    """Return rows without hidden characters in their texts."""
    for name in visible_columns(table):
        values = rows[name]
        if name not in _JSON and _is_plain(values):
            continue
        for pattern, replacement in _patterns(name):
            if pc.any(pc.match_substring_regex(values, pattern)).as_py():
                values = pc.replace_substring_regex(values, pattern, replacement)
        if values is not rows[name]:
            rows = rows.set_column(rows.column_names.index(name), rows.field(name), values)
    return rows


def _is_plain(values: pa.ChunkedArray) -> bool:
    """Return whether texts have only printable ASCII, which a look at their bytes tells.

    That is the case for most columns, and costs a twentieth of a search in each text.
    """
    for chunk in values.chunks:
        offsets, data = chunk.buffers()[1:]
        if data is None:
            continue
        first, last = np.frombuffer(offsets, np.int32)[[chunk.offset, chunk.offset + len(chunk)]]
        # Below a blank it wraps around.
        if np.any(np.frombuffer(data, np.uint8)[first:last] - np.uint8(0x20) > 0x7E - 0x20):
            return False
    return True


def visible_rows(table: RecordTable, rows: str) -> str:
    """Return the SQL relation of rows without hidden characters in their texts."""
    columns = visible_columns(table)
    has_hidden = " OR ".join(
        f"regexp_matches(concat_ws(' ', {', '.join(names)}), '{pattern}')"
        for names, pattern in (
            (columns, HIDDEN),
            ([name for name in columns if name in _JSON], _ESCAPES),
        )
        if names
    )
    replaced = []
    for name in columns:
        value = name
        for pattern, replacement in _patterns(name):
            value = f"regexp_replace({value}, '{pattern}', '{replacement}', 'g')"
        replaced.append(f"CASE WHEN has_hidden_text THEN {value} ELSE {name} END AS {name}")
    return (
        f"(SELECT * EXCLUDE (has_hidden_text) REPLACE ({', '.join(replaced)}) "
        f"FROM (SELECT *, coalesce({has_hidden}, FALSE) AS has_hidden_text FROM {rows}))"
    )


def _patterns(column: str) -> tuple[tuple[str, str], ...]:
    return ((HIDDEN, ""), (_ESCAPED, r"\1")) if column in _JSON else ((HIDDEN, ""),)
