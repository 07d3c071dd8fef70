"""The audit of a staged build: what is measured, what must hold, what must not vanish."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime

import pyarrow as pa

from quality.floors import FLOORS, Floor, measure
from quality.history import as_table, history
from quality.losses import losses, served_counts
from quality.report import FLOORS_CHECK, Counts, Failure, Report
from quality.rules import Suite
from quality.served_names_audit import find_persons
from quality.served_text_audit import find_contacts
from quality.suites import SUITES
from warehouse.mart.awards import add_awards
from warehouse.mart.snapshot import Snapshot
from warehouse.mart.write import countries
from warehouse.record.tables import arrow_schema
from warehouse.tables import DERIVED, QualityMetric

# Tables that the privacy audits create for the floors and the suites.
AUDIT_TABLES = (
    *("unestablished_parties", "unestablished_entities"),
    *("unestablished_names", "names_without_party"),
    *("failing_parties", "failing_entities", "failing_other_names"),
    *("failing_releases", "releases_with_contact"),
)


def audit(
    snapshot: Snapshot,
    *,
    measured_at: datetime,
    previous: Counts | None = None,
    confirmed: str | None = None,
    floors: Sequence[Floor] = FLOORS,
    suites: Sequence[Suite] = SUITES,
) -> Report:
    """Audit what is staged, and stage ``quality``: its history with what is measured now.

    ``previous`` are the counts of the build before; ``confirmed`` is why a person lets its
    losses pass. Nothing is kept here: who publishes keeps the measurements of the report.
    """
    # It takes seconds to load: only an audit pays for it. What it warns of is its own imports.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        from quality.expectations import new_context, validate

    counts = served_counts(snapshot)
    with _everything_there(snapshot):
        find_persons(snapshot)
        find_contacts(snapshot)
        measured = measure(snapshot, measured_at, floors)
        rows = [row for _, row in measured]
        before = history(snapshot.record)
        snapshot.add({"quality": pa.concat_tables([before, as_table(rows)])})
        failures = list(_missed(measured))
        context, results = new_context(), {}
        for suite in suites:
            results[suite.name], failed = validate(context, snapshot, suite)
            failures += failed
    return Report(
        data_version=snapshot.data_version,
        quality=rows,
        failures=failures,
        losses=losses(snapshot, counts, previous),
        counts=counts,
        confirmed=confirmed,
        results=results,
        context=context,
    )


def _missed(measured: Sequence[tuple[Floor, QualityMetric]]) -> Iterator[Failure]:
    for floor, row in measured:
        if not floor.blocks or row.status != "FAIL":
            continue
        passed = row.n_checked is not None and row.n_passed is not None
        yield Failure(
            FLOORS_CHECK,
            row.scope,
            f"{row.sku} {row.dimension} {row.metric} is {row.value:f} {row.unit}, and "
            f"{'at most' if floor.most else 'at least'} {row.floor:f} must be",
            (row.n_checked or 0) - (row.n_passed or 0) if passed else None,
        )


@contextmanager
def _everything_there(snapshot: Snapshot) -> Iterator[None]:
    """Let the statements of the mart be asked before it is written; clear up afterwards."""
    here = {name for (name,) in snapshot.sql.execute("SHOW TABLES").fetchall()}
    made: list[str] = []

    def make(name: str, rows: Callable[[], pa.Table]) -> None:
        if name not in here:
            _create(snapshot, name, rows())
            made.append(name)

    try:
        for name, row in DERIVED.items():
            if name != "quality":
                make(name, arrow_schema(row).empty_table)
        make("countries", countries)
        add_awards(snapshot)
        yield
    finally:
        for name in (*made, *AUDIT_TABLES):
            snapshot.sql.execute(f"DROP TABLE IF EXISTS {name}")


def _create(snapshot: Snapshot, name: str, rows: pa.Table) -> None:
    snapshot.sql.register("given_rows", rows)
    snapshot.sql.execute(f"CREATE OR REPLACE TABLE {name} AS FROM given_rows")
    snapshot.sql.unregister("given_rows")
