"""The result of an audit: measurements, failures, losses, and whether to publish."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from deltalake.exceptions import CommitFailedError

from quality.left_out import Excess
from quality.reuse import AuditPlan
from warehouse.record.store import COMMIT_ATTEMPTS, Record, commit, last_transaction
from warehouse.record.tables import arrow_schema
from warehouse.shared.errors import WriteConflict
from warehouse.tables import LeftOut, QualityMetric

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
        try:
            commit(delta, as_table(new), {_NAME: last_transaction(delta, _NAME) + 1})
        # Another publication was stored in between: read again what is there, and try once more.
        except CommitFailedError:
            continue
        return
    raise WriteConflict("the quality history: other writers always came first; publish again")


def last_published(record: Record) -> datetime | None:
    """Return when the last publication was measured; None before the first."""
    measured_at: datetime | None = pc.max(history(record)["measured_at"]).as_py()
    return measured_at


def as_table(rows: Sequence[QualityMetric]) -> pa.Table:
    """Return measurements as an Arrow table."""
    return pa.Table.from_pylist([row.model_dump() for row in rows], arrow_schema(QualityMetric))


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
