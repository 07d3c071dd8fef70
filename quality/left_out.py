"""Rows that a build leaves out: which share is too much, and what a person accepted.

Left-out rows never stop a publication, unless one rule takes so many of a table, or of one source
in it, that the rule is as likely to be wrong as the rows. A person who has looked can accept that
share, with a reason. It stays accepted until the rule takes another such share on top.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

import pyarrow as pa

from quality.personal_data_audit import PERSONAL_DATA_RULES
from warehouse.publish.snapshot import Snapshot
from warehouse.record.rules import rules_of
from warehouse.record.tables import RECORD_TABLES, arrow_schema
from warehouse.shared.data_files import sql_file
from warehouse.tables import LeftOut

# So few rows are never too many: a share of a small table says nothing.
MAX_ROWS = 20

# The share of rows that each rule left out, by table and rule, or by table, rule and source.
Shares = Mapping[str, Decimal]
# How many rows are stored, by table and source.
StoredRows = Mapping[tuple[str, str], int]

_BLOCKS_ABOVE: Mapping[str, Decimal] = {
    **{
        f"{table.name}: {rule.words}": rule.blocks_above
        for table in RECORD_TABLES
        for rule in rules_of(table)
    },
    **{f"{rule.table.name}: {rule.words}": rule.blocks_above for rule in PERSONAL_DATA_RULES},
}


@dataclass(frozen=True)
class Excess:
    """A rule that leaves out more of a table than it may, or of one source in it."""

    rule: str
    rows: int
    rows_stored: int
    blocks_above: Decimal
    example: str

    @property
    def share(self) -> Decimal:
        """The share of the rows of the table, or of the source in it."""
        return Decimal(self.rows) / self.rows_stored

    def __str__(self) -> str:
        return (
            f"{self.rule}: fails for {self.rows:,} of {self.rows_stored:,} rows, more than "
            f"{self.blocks_above:.0%}, first at {self.example}; correct the rule or the parser, or "
            'confirm it with `sankofa publish --confirm-loss "why"`'
        )


_SQL = sql_file(__name__, "left_out")


def add_left_out(snapshot: Snapshot) -> list[LeftOut]:
    """Add the table ``left_out``: what a snapshot leaves out, by table, rule and source."""
    schema = arrow_schema(LeftOut)
    awards = snapshot.read(_SQL["awards"]).select(schema.names).cast(schema)
    rows = pa.concat_tables([awards, snapshot.left_out().select(schema.names).cast(schema)])
    snapshot.add({"left_out": rows})
    return [LeftOut.model_validate(row) for row in rows.to_pylist()]


def stored_by_source(snapshot: Snapshot, left_out: Sequence[LeftOut]) -> StoredRows:
    """Return the number of stored rows of each source, of tables of which enough is left out."""
    names = {row.table_name for row in left_out if row.rows_left_out > MAX_ROWS}
    stored: dict[tuple[str, str], int] = {}
    for table in RECORD_TABLES:
        if table.name in names:
            statement = _SQL.statement("stored_by_source", stored=snapshot.stored(table))
            counts = snapshot.read(statement).to_pylist()
            stored |= {(table.name, row["source"]): row["row_count"] for row in counts}
    return stored


def find_excess(
    left_out: Sequence[LeftOut], accepted: Shares, stored: StoredRows | None = None
) -> list[Excess]:
    """Return each rule that leaves out too much, beyond what was accepted before.

    ``stored`` are the stored rows of each source: without it only whole tables are judged.
    """
    excess = []
    for rule, rows in _by_rule(left_out).items():
        # What an operator withholds is no rule of the book, and never too much.
        if rule not in _BLOCKS_ABOVE:
            continue
        limit = _BLOCKS_ABOVE[rule]
        number = sum(row.rows_left_out for row in rows)
        judged = [Excess(rule, number, rows[0].rows_stored, limit, min(r.example for r in rows))]
        # The share of a small source would be lost in that of a large table.
        judged += [
            Excess(_of_source(row), row.rows_left_out, of_source, limit, row.example)
            for row in rows
            if (of_source := (stored or {}).get((row.table_name, row.source)))
        ]
        excess += [
            found
            for found in judged
            if found.rows > MAX_ROWS and found.share > limit + accepted.get(found.rule, Decimal(0))
        ]
    return excess


def accepted_shares(
    left_out: Sequence[LeftOut], excess: Sequence[Excess], accepted: Shares
) -> Shares:
    """Return the shares to accept from now on: those confirmed now, and before if still needed."""
    failing = {*_by_rule(left_out), *map(_of_source, left_out)}
    needed = {rule: share for rule, share in accepted.items() if rule in failing}
    return needed | {rule.rule: rule.share for rule in excess}


def _by_rule(left_out: Sequence[LeftOut]) -> Mapping[str, list[LeftOut]]:
    by_rule: dict[str, list[LeftOut]] = {}
    for row in left_out:
        by_rule.setdefault(_rule(row), []).append(row)
    return by_rule


def _rule(row: LeftOut) -> str:
    return f"{row.table_name}: {row.rule}"


def _of_source(row: LeftOut) -> str:
    return f"{_rule(row)} (rows of {row.source})"
