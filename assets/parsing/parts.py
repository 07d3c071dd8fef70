"""A document read in parts, as a whole."""

from collections.abc import Iterable

from assets.parsing.parsed import Parsed


def whole(parts: Iterable[Parsed]) -> Parsed:
    """Put the parts of a document together, in their order."""
    parsed = Parsed()
    for part in parts:
        add(parsed, part)
    return parsed


def add(parsed: Parsed, part: Parsed) -> None:
    """Put a part behind what was read before it."""
    for table, rows in part.rows.items():
        parsed.rows.setdefault(table, []).extend(rows)
    for table, rejected in part.rejected.items():
        parsed.rejected.setdefault(table, []).extend(rejected)
