"""The audit of a build before it is published: floors, suites and losses."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from datetime import datetime
from typing import Any

import pyarrow as pa

from quality.catalogue import Catalogue
from quality.data_docs import load_expectations
from quality.floors import FLOORS, Floor, measure
from quality.personal_data_audit import PERSONAL_DATA_RULES, PersonalDataRule, find_personal_data
from quality.report import (
    FLOORS_CHECK,
    Counts,
    Failure,
    Loss,
    Report,
    Shares,
    add_left_out,
    as_table,
    find_excess,
    history,
    last_published,
    stored_by_source,
)
from quality.reuse import AuditPlan
from quality.rules import Suite
from quality.suites import SUITES
from warehouse.publish.awards import add_tender_facts
from warehouse.publish.left_out import figures_left_out
from warehouse.publish.manifest import BuildFile
from warehouse.publish.snapshot import Snapshot
from warehouse.publish.write import countries
from warehouse.record.tables import RECORD_TABLES, arrow_schema
from warehouse.shared.code_version import code_version
from warehouse.shared.data_files import sql_file
from warehouse.tables.derived import DERIVED
from warehouse.tables.operations import QualityMetric

# Lost rows: a source that suddenly has far fewer rows stops the publication.
#
# Two things are compared: the rows served, with the build before; and the records read, with an
# earlier load from the same URLs. A drop by more than a fifth must be confirmed by a person. Once
# a publication has been confirmed, its losses are not reported again.

_SQL = sql_file(__name__, "losses")


def served_counts(snapshot: Snapshot) -> Counts:
    """Return the number of latest rows per table and source."""
    return {
        table.name: {
            row["source"]: row["row_count"]
            for row in snapshot.read(_SQL.statement("served_counts", table=table.name)).to_pylist()
        }
        for table in RECORD_TABLES
    }


def find_losses(snapshot: Snapshot, counts: Counts, previous: Counts | None) -> list[Loss]:
    """Return every loss since the build before, and since the load before in each source.

    Rows that a rule leaves out are not lost: they are counted, and have a limit of their own.
    """
    return [*_fewer_served(snapshot, counts, previous or {}), *_fewer_read(snapshot)]


def is_loss(before: int, after: int) -> bool:
    """Return whether less than four fifths is left."""
    # Whole numbers, so that exactly four fifths is no loss.
    return before > 0 and 5 * after < 4 * before


def _fewer_served(snapshot: Snapshot, counts: Counts, previous: Counts) -> Iterator[Loss]:
    # Over the build before: a source that is gone has no counts now.
    for table, sources in previous.items():
        left_out = figures_left_out(snapshot.sql, table)
        for source, before in sources.items():
            after = counts.get(table, {}).get(source, 0) + left_out.get(source, 0)
            if is_loss(before, after):
                yield Loss(table, source, before, after, "served rows")


def _fewer_read(snapshot: Snapshot) -> Iterator[Loss]:
    """Compare the newest load from the same URLs with the one before it."""
    published_at = last_published(snapshot.record)
    loads_by_urls: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for load in _loads(snapshot).to_pylist():
        # Only loads of the same URLs are comparable: one month has fewer tenders than a year.
        key = (load["table_name"], load["source"], *load["url_hashes"])
        loads_by_urls.setdefault(key, []).append(load)
    for (table, source, *_), loads in loads_by_urls.items():
        earlier, newest = [{"records": 0}, *loads][-2:]
        # What was published before has been confirmed.
        is_new = published_at is None or newest["loaded_at"] > published_at
        if is_new and is_loss(earlier["records"], newest["records"]):
            yield Loss(table, source, earlier["records"], newest["records"], "records per fetch")


def _loads(snapshot: Snapshot) -> pa.Table:
    """Return all loads in order, with hashes of their URLs and their records per fetch."""
    record, visible = snapshot.record, snapshot.loads
    with closing(record.connection.cursor()) as sql:
        loads: pa.Table = _SQL.query(
            sql,
            "loads",
            fill={"loads": record.relation("loads")},
            visible={"key": list(visible), "value": list(visible.values())},
        ).to_arrow_table()
    return loads


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
    plan = planned(snapshot.files, suites, before)
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
        checked, failures = _validate(catalogue, plan)
    snapshot.results.update(plan.results(snapshot.data_version))
    return Report(
        data_version=snapshot.data_version,
        measurements=measurements,
        failures=[*_missed_floors(measured), *failures],
        losses=find_losses(snapshot, counts, previous),
        counts=counts,
        confirmed=confirmed,
        results=checked,
        left_out=left_out,
        excess=find_excess(left_out, accepted or {}, stored_by_source(snapshot, left_out)),
        plan=plan,
    )


def audit_tables(data_version: str, plan: AuditPlan, opened: Callable[[], Snapshot]) -> Report:
    """Run some suites over a snapshot that has the tables they read, and need not have others.

    It is opened only if a result does not still hold. The report has no measurements. A later
    ``audit`` of the same files takes the results over.
    """
    tables = {suite.table for suite in plan.to_run}
    checked, failures = dict[str, Any](), list[Failure]()
    if plan.to_run:
        with opened() as snapshot, Catalogue(snapshot, plan.changed(snapshot)) as catalogue:
            catalogue.create_missing("countries", countries)
            _find_personal_data(
                catalogue, [rule for rule in PERSONAL_DATA_RULES if rule.table.name in tables]
            )
            checked, failures = _validate(catalogue, plan)
    return Report(
        data_version=data_version,
        measurements=(),
        failures=failures,
        losses=(),
        counts={},
        results=checked,
        plan=plan,
    )


# The results of Great Expectations by suite, and what is not met.
_Validated = tuple[dict[str, Any], list[Failure]]


def planned(
    files: Sequence[BuildFile], suites: Sequence[Suite] = SUITES, before: Sequence[BuildFile] = ()
) -> AuditPlan:
    """Return what suites must look at again of some files; ``before`` as in ``audit``."""
    return AuditPlan(suites, files, before, code_version("audit", __name__))


def _validate(catalogue: Catalogue, plan: AuditPlan) -> _Validated:
    """Run the suites whose results do not still hold."""
    checked, failures = dict[str, Any](), list[Failure]()
    if plan.to_run:
        for suite, result, failed in load_expectations().validate(catalogue, plan.to_run):
            checked[suite.name] = result
            failures += failed
    return checked, failures


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
