"""What an audit says: every measurement, every failure in words, and whether to publish."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from warehouse.tables import QualityMetric

FLOORS_CHECK, LOSSES_CHECK = "floors", "losses"

# How many rows of each table and source are served.
Counts = Mapping[str, Mapping[str, int]]


@dataclass(frozen=True)
class Failure:
    """One expectation that is not met: of which table, by how many rows, and where.

    ``check`` names the suite that found it, or the floors.
    """

    check: str
    table: str
    words: str
    rows: int | None = None
    places: tuple[str, ...] = ()

    def __str__(self) -> str:
        said = f"{self.table}: {self.words}"
        if self.rows is not None:
            said += f"; not so for {self.rows:,} row{'' if self.rows == 1 else 's'}"
        return said + (f", the first at {'; '.join(self.places)}" if self.places else "")


@dataclass(frozen=True)
class Loss:
    """Rows that were there and are not any more."""

    table: str
    source: str
    before: int
    now: int
    of: str

    def __str__(self) -> str:
        return (
            f"{self.table}: {self.of} of {self.source} fell from {self.before:,} to "
            f"{self.now:,}; if that is right, confirm it with "
            '`sankofa publish --confirm-loss "why"`'
        )


@dataclass(frozen=True)
class Report:
    """One audit of one staged build; ``confirmed`` is why a person let its losses pass.

    ``results`` are those of Great Expectations, by suite, for its Data Docs in ``context``.
    """

    data_version: str
    quality: Sequence[QualityMetric]
    failures: Sequence[Failure]
    losses: Sequence[Loss]
    counts: Counts
    confirmed: str | None = None
    results: Mapping[str, Any] = field(default_factory=dict)
    context: Any = None

    @property
    def ok(self) -> bool:
        """Say whether the build may be published."""
        return not self.failures and (not self.losses or self.confirmed is not None)

    @property
    def words(self) -> str:
        """Say all that stands against publishing, a line each."""
        held_back = [] if self.confirmed is not None else self.losses
        return "\n".join(map(str, (*self.failures, *held_back)))
