"""The result of an audit: measurements, failures, losses, and whether to publish."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from quality.personal_data_audit import PERSONAL_DATA_RULES
from quality.reuse import AuditPlan
from warehouse.publish.snapshot import Snapshot
from warehouse.record.rules import BLOCKS_ABOVE, rules_of
from warehouse.record.store import COMMIT_ATTEMPTS, Record, commit, last_transaction
from warehouse.record.tables import RECORD_TABLES, arrow_schema
from warehouse.shared.data_files import sql_file
from warehouse.shared.errors import WriteConflict
from warehouse.tables.derived import LeftOut
from warehouse.tables.operations import QualityMetric

# The measurements of every publication, stored in the record.

_NAME = "quality"


def history(record: Record) -> pa.Table:
    """Return the measurements of all publications so far."""
    schema = arrow_schema(QualityMetric)
    rows = record.query(f"SELECT {', '.join(schema.names)} FROM {record.relation(_NAME)}")
    return rows.cast(schema)


def append_history(record: Record, rows: Sequence[QualityMetric]) -> None:
    """Store the measurements of a publication, unless those of its data_version are stored."""
    for _ in range(COMMIT_ATTEMPTS):
        delta = record.table(_NAME)
        versions = set(delta.to_pyarrow_table(columns=["data_version"])["data_version"].to_pylist())
        # Publishing can be repeated: measurements are stored once per data_version.
        new = [row for row in rows if row.data_version not in versions]
        if not new:
            return
        # If another publication was stored in between, read again what is there.
        number = last_transaction(delta, _NAME) + 1
        if commit(record, _NAME, delta, as_table(new), {_NAME: number}) is not None:
            return
    raise WriteConflict("the quality history: other writers always came first; publish again")


def last_published(record: Record) -> datetime | None:
    """Return when the last publication was measured; None before the first."""
    measured_at: datetime | None = pc.max(history(record)["measured_at"]).as_py()
    return measured_at


def as_table(rows: Sequence[QualityMetric]) -> pa.Table:
    """Return measurements as an Arrow table."""
    return pa.Table.from_pylist([row.model_dump() for row in rows], arrow_schema(QualityMetric))


# Rows that a build leaves out: which share is too much, and what a person accepted.
#
# Left-out rows never stop a publication, unless one rule takes so many of a table, or of one source
# in it, that the rule is as likely to be wrong as the rows. A person who has looked can accept that
# share, with a reason. It stays accepted until the rule takes another such share on top.

# So few rows are never too many: a share of a small table says nothing.
MAX_ROWS = 20

# The share of rows that each rule left out, by table and rule, or by table, rule and source.
Shares = Mapping[str, Decimal]
# How many rows are stored, by table and source.
StoredRows = Mapping[tuple[str, str], int]

_RULES = frozenset(
    [
        *(f"{table.name}: {rule.words}" for table in RECORD_TABLES for rule in rules_of(table)),
        *(f"{rule.table.name}: {rule.words}" for rule in PERSONAL_DATA_RULES),
    ]
)


@dataclass(frozen=True)
class Excess:
    """A rule that leaves out more of a table than it may, or of one source in it."""

    rule: str
    rows: int
    rows_stored: int
    example: str

    @property
    def share(self) -> Decimal:
        """The share of the rows of the table, or of the source in it."""
        return Decimal(self.rows) / self.rows_stored

    def __str__(self) -> str:
        return (
            f"{self.rule}: fails for {self.rows:,} of {self.rows_stored:,} rows, more than "
            f"{BLOCKS_ABOVE:.0%}, first at {self.example}; correct the rule or the parser, or "
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
        if rule not in _RULES:
            continue
        number = sum(row.rows_left_out for row in rows)
        judged = [Excess(rule, number, rows[0].rows_stored, min(r.example for r in rows))]
        # The share of a small source would be lost in that of a large table.
        judged += [
            Excess(_of_source(row), row.rows_left_out, of_source, row.example)
            for row in rows
            if (of_source := (stored or {}).get((row.table_name, row.source)))
        ]
        excess += [
            found
            for found in judged
            if found.rows > MAX_ROWS
            and found.share > BLOCKS_ABOVE + accepted.get(found.rule, Decimal(0))
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


FLOORS_CHECK, LOSSES_CHECK, LEFT_OUT_CHECK = "floors", "losses", "left_out"

# Number of rows served, by table and source.
Counts = Mapping[str, Mapping[str, int]]


@dataclass(frozen=True)
class Failure:
    """One expectation that is not met, with the number of failing rows and the first of them.

    ``check`` is the name of the suite, or that of the check of floors.
    """

    check: str
    table: str
    description: str
    rows: int | None = None
    examples: tuple[str, ...] = ()

    def __str__(self) -> str:
        text = f"{self.table}: {self.description}"
        if self.rows is not None:
            text += f"; fails for {self.rows:,} row{'' if self.rows == 1 else 's'}"
        return text + (f", first at {'; '.join(self.examples)}" if self.examples else "")


@dataclass(frozen=True)
class Loss:
    """A drop in the number of rows of one source; ``what`` says which rows were counted."""

    table: str
    source: str
    before: int
    after: int
    what: str

    def __str__(self) -> str:
        return (
            f"{self.table}: {self.what} of {self.source} fell from {self.before:,} to "
            f"{self.after:,}; if this is correct, confirm it with "
            '`sankofa publish --confirm-loss "why"`'
        )


@dataclass(frozen=True)
class Report:
    """The audit of one build; ``confirmed`` is the reason a person gave for accepting its losses.

    ``left_out`` are rows that fail a rule and are not in the build, ``excess`` the rules that
    take too many.

    ``results`` are those of Great Expectations, by suite. ``plan`` says what was audited, and which
    results of earlier builds were reused.
    """

    data_version: str
    measurements: Sequence[QualityMetric]
    failures: Sequence[Failure]
    losses: Sequence[Loss]
    counts: Counts
    confirmed: str | None = None
    results: Mapping[str, Any] = field(default_factory=dict)
    left_out: Sequence[LeftOut] = ()
    excess: Sequence[Excess] = ()
    plan: AuditPlan = field(default_factory=AuditPlan)

    @property
    def to_confirm(self) -> Sequence[Loss | Excess]:
        """What prevents publication unless a person confirms it."""
        return [*self.excess, *self.losses]

    @property
    def ok(self) -> bool:
        """True if the build may be published."""
        return not self.failures and (not self.to_confirm or self.confirmed is not None)

    @property
    def problems(self) -> str:
        """Everything that prevents publication, one line each."""
        to_confirm = [] if self.confirmed is not None else self.to_confirm
        return "\n".join(map(str, (*self.failures, *to_confirm)))
