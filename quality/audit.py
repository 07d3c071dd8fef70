"""The audit of a build before it is published: floors, suites and losses."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime

import pyarrow as pa

from quality.floors import FLOORS, Floor, measure
from quality.history import as_table, history
from quality.left_out import Shares, add_left_out, find_excess, stored_by_source
from quality.losses import find_losses, served_counts
from quality.personal_data_audit import PERSONAL_DATA_RULES, find_personal_data
from quality.report import FLOORS_CHECK, Counts, Failure, Report
from quality.rules import Suite
from quality.suites import SUITES
from warehouse.mart.awards import add_tender_facts
from warehouse.mart.snapshot import Snapshot
from warehouse.mart.write import countries
from warehouse.record.tables import arrow_schema
from warehouse.tables import DERIVED, QualityMetric

# Tables that the organisation check creates, for itself, the floors and the suites.
_FAILING = tuple(rule.failing for rule in PERSONAL_DATA_RULES)
AUDIT_TABLES = (
    *("unestablished_parties", "unestablished_entities"),
    *("unestablished_names", "names_without_party"),
    *_FAILING,
)


def audit(
    snapshot: Snapshot,
    *,
    measured_at: datetime,
    previous: Counts | None = None,
    accepted: Shares | None = None,
    confirmed: str | None = None,
    floors: Sequence[Floor] = FLOORS,
    suites: Sequence[Suite] = SUITES,
) -> Report:
    """Audit a snapshot, and add the table ``quality``: the history with the new measurements.

    ``previous`` are the counts of the build before, ``accepted`` the shares of left-out rows that
    were confirmed for it; ``confirmed`` is the reason a person gave for accepting losses now. The
    caller stores the measurements of the report when it publishes.
    """
    # Great Expectations takes seconds to import, so only an audit pays for it. The warnings are
    # about its own imports.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        from quality.expectations import new_context, validate

    counts = served_counts(snapshot)
    with _all_tables(snapshot):
        left_out = add_left_out(snapshot)
        # Usually the check has left out what it found: then its tables are there, and empty.
        if not _existing(snapshot) >= set(_FAILING):
            find_personal_data(snapshot)
        measured = measure(snapshot, measured_at, floors)
        measurements = [row for _, row in measured]
        before = history(snapshot.record)
        snapshot.add({"quality": pa.concat_tables([before, as_table(measurements)])})
        failures = list(_missed_floors(measured))
        context, results = new_context(), {}
        for suite in suites:
            results[suite.name], failed = validate(context, snapshot, suite)
            failures += failed
    return Report(
        data_version=snapshot.data_version,
        measurements=measurements,
        failures=failures,
        losses=find_losses(snapshot, counts, previous),
        counts=counts,
        confirmed=confirmed,
        results=results,
        context=context,
        left_out=left_out,
        excess=find_excess(left_out, accepted or {}, stored_by_source(snapshot, left_out)),
    )


def _missed_floors(measured: Sequence[tuple[Floor, QualityMetric]]) -> Iterator[Failure]:
    for floor, row in measured:
        if not floor.blocks or row.status != "FAIL":
            continue
        has_counts = row.n_checked is not None and row.n_passed is not None
        yield Failure(
            FLOORS_CHECK,
            row.scope,
            f"{row.sku} {row.dimension} {row.metric} is {row.value:f} {row.unit}; the floor is "
            f"{'at most' if floor.is_maximum else 'at least'} {row.floor:f}",
            (row.n_checked or 0) - (row.n_passed or 0) if has_counts else None,
        )


@contextmanager
def _all_tables(snapshot: Snapshot) -> Iterator[None]:
    """Create the tables that the mart's statements need and the snapshot lacks; drop them later."""
    existing = _existing(snapshot)
    created: list[str] = []

    def create_missing(name: str, rows: Callable[[], pa.Table]) -> None:
        if name not in existing:
            _create(snapshot, name, rows())
            created.append(name)

    try:
        for name, row in DERIVED.items():
            # The audit itself creates these two, from its own measurements and counts.
            if name not in ("quality", "left_out"):
                create_missing(name, arrow_schema(row).empty_table)
        create_missing("countries", countries)
        add_tender_facts(snapshot)
        yield
    finally:
        # They list names that must not be served: none of them may outlast the audit.
        for name in (*created, *AUDIT_TABLES):
            snapshot.sql.execute(f"DROP TABLE IF EXISTS {name}")


def _existing(snapshot: Snapshot) -> set[str]:
    return {name for (name,) in snapshot.sql.execute("SHOW TABLES").fetchall()}


def _create(snapshot: Snapshot, name: str, rows: pa.Table) -> None:
    snapshot.sql.register("new_rows", rows)
    snapshot.sql.execute(f"CREATE OR REPLACE TABLE {name} AS FROM new_rows")
    snapshot.sql.unregister("new_rows")
