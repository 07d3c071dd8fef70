"""The result of a parser: rows for each table, and the records it could not read."""

import csv
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from assets.parsing.limits import count_rejected
from warehouse.record.incoming import RejectedRow, to_arrow
from warehouse.record.landing import Document
from warehouse.record.tables import RecordTable
from warehouse.tables.entities import NAME_LISTS

_MANY_ROWS = 5_000


@dataclass
class Parsed:
    """Rows and rejections of one document; every record read is in one of the two.

    Parsers of millions of records fill ``typed`` with Arrow tables; the others add plain rows,
    which are typed (and rejected where they do not fit) by ``to_table``.
    """

    rows: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    typed: dict[str, list[pa.Table]] = field(default_factory=dict)
    rejected: dict[str, list[RejectedRow]] = field(default_factory=dict)

    def add(self, table: RecordTable, rows: Iterable[dict[str, Any]]) -> None:
        """Add rows of a table."""
        self.rows.setdefault(table.name, []).extend(rows)

    def add_typed(self, table: RecordTable, rows: pa.Table) -> None:
        """Add rows that already have the column types of their table."""
        self.typed.setdefault(table.name, []).append(rows)

    def compact(self, table: RecordTable) -> None:
        """Type the plain rows of a table if they are many: as such they take ten times as much."""
        if len(self.rows.get(table.name, ())) >= _MANY_ROWS:
            typed, misfits = to_arrow(table, self.rows.pop(table.name))
            self.add_typed(table, typed)
            self.rejected.setdefault(table.name, []).extend(misfits)

    def reject(
        self,
        table: RecordTable,
        document: Document,
        location: str,
        reason: str,
        partial: bool = False,
    ) -> None:
        """Add a record that could not be read, with its location in the document.

        ``partial``: the record was read, and only what the reason names is left out.
        """
        count_rejected()
        ref = source_ref(document, location)
        rejected = RejectedRow(document.sha256, ref, reason, partial=partial)
        self.rejected.setdefault(table.name, []).append(rejected)

    @contextmanager
    def rejecting(
        self, table: RecordTable, document: Document, location: str = ""
    ) -> Iterator[None]:
        """Reject what cannot be read within a ``with``, for the reason that is raised there."""
        try:
            yield
        except (ValueError, csv.Error) as error:
            self.reject(table, document, location, str(error))


def join_parts(parts: Iterable[Parsed]) -> Parsed:
    """Concatenate the parts of one document, in order."""
    parsed = Parsed()
    for part in parts:
        for table, rows in part.rows.items():
            parsed.rows.setdefault(table, []).extend(rows)
        for table, typed in part.typed.items():
            parsed.typed.setdefault(table, []).extend(typed)
        for table, rejected in part.rejected.items():
            parsed.rejected.setdefault(table, []).extend(rejected)
    return parsed


def to_table(table: RecordTable, parts: Iterable[Parsed]) -> tuple[pa.Table, list[RejectedRow]]:
    """Return all rows for a table as one Arrow table, and all rejections.

    Rows that do not fit the column types join the rejections. Invisible characters are removed
    from texts.
    """
    parts = list(parts)
    rows = [row for part in parts for row in part.rows.get(table.name, ())]
    fitting, misfits = to_arrow(table, rows)
    typed = [batch for part in parts for batch in part.typed.get(table.name, ())]
    rejected = [record for part in parts for record in part.rejected.get(table.name, ())]
    texts = with_visible_text(pa.concat_tables([*typed, fitting]))
    return texts, [*rejected, *misfits]


# Remove what is invisible from text: control characters, and formatting that reorders or hides.
#
# Line breaks and tabs stay. A terminal obeys an escape character, and a right-to-left mark shows a
# name as another one. Other characters here are another version of every parser, which reads all
# documents again.

# C0 and C1 without tab and line breaks; soft hyphen, Arabic letter mark, zero-width characters,
# bidirectional marks, embeddings and isolates, byte order mark, annotations, tags.
_HIDDEN = (
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


def with_visible_text(rows: pa.Table) -> pa.Table:
    """Return rows without hidden characters in the texts of their source."""
    for kind in rows.schema:
        name, values = kind.name, rows[kind.name]
        if not pa.types.is_string(kind.type) or name in _OURS:
            continue
        if name not in _JSON and _is_plain(values):
            continue
        escapes = ((_ESCAPED, r"\1"),) if name in _JSON else ()
        for pattern, replacement in ((_HIDDEN, ""), *escapes):
            if pc.any(pc.match_substring_regex(values, pattern)).as_py():
                values = pc.replace_substring_regex(values, pattern, replacement)
        if values is not rows[name]:
            rows = rows.set_column(rows.column_names.index(name), kind, values)
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


def source_ref(document: Document, location: str) -> str:
    """Return the URL of a location in a document: its URL, then a JSON pointer or a line."""
    return f"{document.url}#{location}" if location else document.url


def provenance(document: Document, location: str, method: str) -> dict[str, Any]:
    """Return the provenance columns of a row read at a location of a document."""
    return {
        "observed_at": document.observed_at,
        "source": document.source,
        "source_ref": source_ref(document, location),
        "document": document.sha256,
        "license_class": document.license_class,
        "method": method,
        "extraction_confidence": None,
        "withdrawn": False,
    }


# A parser of large bodies that reads them in pieces, each of which any process can read.


@dataclass(frozen=True)
class InPieces:
    """Cuts a body into pieces, which is cheap, and reads them one by one, which is not.

    ``cut`` yields values that can be pickled. ``read`` needs no other piece of the document.
    """

    cut: Callable[[IO[bytes]], Iterator[Any]]
    read: Callable[[Document, Any], Parsed]

    def __call__(self, document: Document, body: IO[bytes]) -> Iterator[Parsed]:
        """Read a body piece by piece, in this process."""
        for piece in self.cut(body):
            yield self.read(document, piece)
