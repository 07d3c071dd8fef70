"""The audit of a build before it is published: floors, suites and losses."""

import warnings
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

import pyarrow as pa

from quality.catalogue import Catalogue
from quality.floors import FLOORS, Floor, measure
from quality.history import as_table, history
from quality.left_out import Shares, add_left_out, find_excess, stored_by_source
from quality.losses import find_losses, served_counts
from quality.personal_data_audit import PERSONAL_DATA_RULES, find_personal_data
from quality.report import FLOORS_CHECK, Counts, Failure, Report
from quality.reuse import AuditPlan
from quality.rules import Suite
from quality.suites import SUITES
from quality.without_plots import without_plots
from warehouse.code_version import code_version
from warehouse.mart.awards import add_tender_facts
from warehouse.mart.snapshot import Snapshot
from warehouse.mart.write import countries
from warehouse.record.tables import arrow_schema
from warehouse.steps.files import BuildFile
from warehouse.tables import DERIVED, QualityMetric


def audit(
    snapshot: Snapshot,
    *,
    measured_at: datetime,
    previous: Counts | None = None,
    accepted: Shares | None = None,
    confirmed: str | None = None,
    floors: Sequence[Floor] = FLOORS,
    suites: Sequence[Suite] = SUITES,
    before: Sequence[BuildFile] = (),
) -> Report:
    """Audit a snapshot, and add the table ``quality``: the history with the new measurements.

    ``previous`` are the counts of the build before, ``accepted`` the shares of left-out rows that
    were confirmed for it; ``confirmed`` is the reason a person gave for accepting losses now.
    ``before`` are the files of the build before: results that still hold are taken over. The
    caller stores the measurements of the report, and ``snapshot.results``, when it publishes.
    """
    plan = AuditPlan(suites, snapshot.files, before, code_version("audit", __name__))
    counts = served_counts(snapshot)
    _add_missing(snapshot)
    add_tender_facts(snapshot)
    left_out = add_left_out(snapshot)
    failures: list[Failure] = []
    results: dict[str, Any] = {}
    with Catalogue(snapshot, plan.changed(snapshot)) as catalogue:
        catalogue.create_missing("countries", countries)
        _find_personal_data(catalogue)
        measured = measure(catalogue, measured_at, floors)
        measurements = [row for _, row in measured]
        measured_before = history(snapshot.record)
        snapshot.add({"quality": pa.concat_tables([measured_before, as_table(measurements)])})
        catalogue.show_all()
        failures += _missed_floors(measured)
        context = _new_context()
        for suite, result, failed in _validate(context, catalogue, plan.to_run):
            results[suite.name] = result
            failures += failed
    snapshot.results.update(plan.results(snapshot.data_version))
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
        plan=plan,
    )


def _new_context() -> Any:
    # Great Expectations takes seconds to import, so only an audit pays for it. The warnings are
    # about its own imports.
    with warnings.catch_warnings(), without_plots():
        warnings.simplefilter("ignore", DeprecationWarning)
        from quality.expectations import new_context
    return new_context()


def _validate(context: Any, catalogue: Catalogue, suites: Sequence[Suite]) -> Iterator[Any]:
    from quality.expectations import validate

    return validate(context, catalogue, suites)


def _add_missing(snapshot: Snapshot) -> None:
    """Add the derived tables that nothing derived, without rows: rules name all of them."""
    views = snapshot.sql.execute("SHOW TABLES").fetchall()
    missing = DERIVED.keys() - {name for (name,) in views}
    # The audit itself adds these two, from its own measurements and counts.
    for name in missing - {"quality", "left_out"}:
        snapshot.add({name: arrow_schema(DERIVED[name]).empty_table()})


def _find_personal_data(catalogue: Catalogue) -> None:
    """Create the tables of the organisation check, unless the check itself has just left them."""
    # Usually it has left out what it found: then they are there, and empty.
    if not catalogue.names() >= {rule.failing for rule in PERSONAL_DATA_RULES}:
        with catalogue.only_changed():
            find_personal_data(catalogue)


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
