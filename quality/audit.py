"""The audit of a build before it is published: floors, suites and losses."""

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from quality.catalogue import Catalogue
from quality.data_docs import forget_results
from quality.floors import FLOORS, Floor, measure
from quality.history import as_table, history
from quality.left_out import Shares, add_left_out, find_excess, stored_by_source
from quality.losses import find_losses, served_counts
from quality.personal_data_audit import (
    PERSONAL_DATA_RULES,
    PersonalDataRule,
    find_personal_data,
)
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
    results: Path | None = None,
) -> Report:
    """Audit a snapshot, and add the table ``quality``: the history with the new measurements.

    ``previous`` are the counts of the build before, ``accepted`` the shares of left-out rows that
    were confirmed for it; ``confirmed`` is the reason a person gave for accepting losses now.
    ``before`` are the files of the build before: results that still hold are taken over. Great
    Expectations keeps its own in the folder ``results``, from which Data Docs are written. The
    caller stores the measurements of the report, and ``snapshot.results``, when it publishes.
    """
    plan = _plan(snapshot, suites, before)
    counts = served_counts(snapshot)
    _add_missing(snapshot)
    add_tender_facts(snapshot)
    left_out = add_left_out(snapshot)
    with Catalogue(snapshot, plan.changed(snapshot)) as catalogue:
        catalogue.create_missing("countries", countries)
        _find_personal_data(catalogue, PERSONAL_DATA_RULES)
        measured = measure(catalogue, measured_at, floors)
        measurements = [row for _, row in measured]
        measured_before = history(snapshot.record)
        snapshot.add({"quality": pa.concat_tables([measured_before, as_table(measurements)])})
        catalogue.show_all()
        validated = _validate(catalogue, plan, results)
    snapshot.results.update(plan.results(snapshot.data_version))
    return Report(
        data_version=snapshot.data_version,
        measurements=measurements,
        failures=[*_missed_floors(measured), *validated.failures],
        losses=find_losses(snapshot, counts, previous),
        counts=counts,
        confirmed=confirmed,
        results=validated.results,
        left_out=left_out,
        excess=find_excess(left_out, accepted or {}, stored_by_source(snapshot, left_out)),
        plan=plan,
    )


def audit_tables(
    snapshot: Snapshot,
    suites: Sequence[Suite],
    before: Sequence[BuildFile] = (),
    results: Path | None = None,
) -> Report:
    """Run some suites over a snapshot that has the tables they read, and need not have others.

    The report has no measurements. A later ``audit`` of the same files takes the results over.
    """
    plan = _plan(snapshot, suites, before)
    tables = {suite.table for suite in plan.to_run}
    validated = _Validated()
    if plan.to_run:
        with Catalogue(snapshot, plan.changed(snapshot)) as catalogue:
            catalogue.create_missing("countries", countries)
            _find_personal_data(
                catalogue, [rule for rule in PERSONAL_DATA_RULES if rule.table.name in tables]
            )
            validated = _validate(catalogue, plan, results)
    if not validated.failures:
        snapshot.results.update(plan.results(snapshot.data_version))
    return Report(
        data_version=snapshot.data_version,
        measurements=(),
        failures=validated.failures,
        losses=(),
        counts={},
        results=validated.results,
        plan=plan,
    )


@dataclass
class _Validated:
    """The results of Great Expectations by suite, and what is not met."""

    results: dict[str, Any] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)


def _plan(snapshot: Snapshot, suites: Sequence[Suite], before: Sequence[BuildFile]) -> AuditPlan:
    return AuditPlan(suites, snapshot.files, before, code_version("audit", __name__))


def _validate(catalogue: Catalogue, plan: AuditPlan, results: Path | None) -> _Validated:
    """Run the suites whose results do not still hold."""
    validated = _Validated()
    if not plan.to_run:
        return validated
    # Great Expectations takes seconds to import, so only an audit pays for it. The warnings are
    # about its own imports.
    with warnings.catch_warnings(), without_plots():
        warnings.simplefilter("ignore", DeprecationWarning)
        from quality.expectations import open_context, validate
    if results is not None:
        forget_results(results, plan.to_run)
    for suite, result, failures in validate(open_context(results), catalogue, plan.to_run):
        validated.results[suite.name] = result
        validated.failures += failures
    return validated


def _add_missing(snapshot: Snapshot) -> None:
    """Add the derived tables that nothing derived, without rows: rules name all of them."""
    views = snapshot.sql.execute("SHOW TABLES").fetchall()
    missing = DERIVED.keys() - {name for (name,) in views}
    # The audit itself adds these two, from its own measurements and counts.
    for name in missing - {"quality", "left_out"}:
        snapshot.add({name: arrow_schema(DERIVED[name]).empty_table()})


def _find_personal_data(catalogue: Catalogue, rules: Sequence[PersonalDataRule]) -> None:
    """Create the tables of the organisation check, unless the check itself has just left them."""
    # Usually it has left out what it found: then they are there, and empty.
    if not catalogue.names() >= {rule.failing for rule in rules}:
        with catalogue.only_changed():
            find_personal_data(catalogue, {rule.table for rule in rules})


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
