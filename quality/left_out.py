"""Rows that a build leaves out: which share of a table is too much, and what a person accepted.

Left-out rows never stop a publication, unless one rule takes so many of a table that the rule is
as likely to be wrong as the rows. A person who has looked can accept that share, with a reason.
It stays accepted until the rule takes another such share on top.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

import pyarrow as pa

from quality.personal_data_audit import PERSONAL_DATA_RULES
from warehouse.mart.award_facts import STATEMENTS
from warehouse.mart.snapshot import Snapshot
from warehouse.record.rules import rules_of
from warehouse.record.tables import RECORD_TABLES, arrow_schema
from warehouse.tables import LeftOut

# So few rows are never too many: a share of a small table says nothing.
MAX_ROWS = 20

# The share of a table's rows that each rule left out, by table and rule.
Shares = Mapping[str, Decimal]

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
    """A rule that leaves out more of a table than it may."""

    rule: str
    rows: int
    rows_stored: int
    blocks_above: Decimal
    example: str

    @property
    def share(self) -> Decimal:
        """The share of the table's rows."""
        return Decimal(self.rows) / self.rows_stored

    def __str__(self) -> str:
        return (
            f"{self.rule}: fails for {self.rows:,} of {self.rows_stored:,} rows, more than "
            f"{self.blocks_above:.0%}, first at {self.example}; correct the rule or the parser, or "
            'confirm it with `sankofa publish --confirm-loss "why"`'
        )


# Amounts of awards stand in the JSON of releases, which are served as they are. An amount in a
# currency that is no code is no fact.
_AWARDS = f"""
SELECT 'award_facts' AS table_name, 'currencies are three-letter codes' AS rule, source,
    count(*) AS rows_left_out, (SELECT count(unit) FROM {STATEMENTS}) AS rows_stored,
    min(concat(source_ref, ' (row ', row_id, ')')) AS example
FROM {STATEMENTS} JOIN tender_releases USING (row_id)
WHERE unit IS NOT NULL AND value IS NULL GROUP BY source ORDER BY source
"""


def add_left_out(snapshot: Snapshot) -> list[LeftOut]:
    """Add the table ``left_out``: what a snapshot leaves out, by table, rule and source."""
    schema = arrow_schema(LeftOut)
    awards = snapshot.read(_AWARDS).select(schema.names).cast(schema)
    rows = pa.concat_tables([awards, snapshot.left_out().select(schema.names).cast(schema)])
    snapshot.add({"left_out": rows})
    return [LeftOut.model_validate(row) for row in rows.to_pylist()]


def find_excess(left_out: Sequence[LeftOut], accepted: Shares) -> list[Excess]:
    """Return each rule that leaves out too much, beyond what was accepted before."""
    excess = []
    for rule, rows in _by_rule(left_out).items():
        # What an operator withholds is no rule of the book, and never too much.
        if rule not in _BLOCKS_ABOVE:
            continue
        limit = _BLOCKS_ABOVE[rule]
        number = sum(row.rows_left_out for row in rows)
        found = Excess(rule, number, rows[0].rows_stored, limit, min(row.example for row in rows))
        if number > MAX_ROWS and found.share > limit + accepted.get(rule, Decimal(0)):
            excess.append(found)
    return excess


def accepted_shares(
    left_out: Sequence[LeftOut], excess: Sequence[Excess], accepted: Shares
) -> Shares:
    """Return the shares to accept from now on: those confirmed now, and before if still needed."""
    needed = {rule: share for rule, share in accepted.items() if rule in _by_rule(left_out)}
    return needed | {rule.rule: rule.share for rule in excess}


def _by_rule(left_out: Sequence[LeftOut]) -> Mapping[str, list[LeftOut]]:
    by_rule: dict[str, list[LeftOut]] = {}
    for row in left_out:
        by_rule.setdefault(f"{row.table_name}: {row.rule}", []).append(row)
    return by_rule
