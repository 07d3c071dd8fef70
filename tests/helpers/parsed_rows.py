"""Typed tables of a parser, as rows that a test can read."""

from assets.parsing.parsed import Parsed


def untyped(parsed: Parsed) -> Parsed:
    rows = {name: list(table) for name, table in parsed.rows.items()}
    for name, tables in parsed.typed.items():
        rows.setdefault(name, []).extend(row for table in tables for row in table.to_pylist())
    return Parsed(rows=rows, rejected=parsed.rejected)
