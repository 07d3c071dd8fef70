"""The audit as Dagster asset checks: a blocking check per table, for floors and for losses."""

from collections.abc import Iterator, Mapping

import dagster as dg

from quality.report import FLOORS_CHECK, LEFT_OUT_CHECK, LOSSES_CHECK, Failure, Report
from quality.rules import Suite
from quality.suites import SUITES


def check_specs(asset: dg.AssetKey) -> list[dg.AssetCheckSpec]:
    """Return the checks of the asset that publishes; a failing check blocks what depends on it."""
    descriptions = {
        **{_name(suite): f"Expectations for {suite.name}." for suite in SUITES},
        FLOORS_CHECK: "Quality floors of every dataset.",
        LEFT_OUT_CHECK: "No rule leaves out too much of a table or a source without confirmation.",
        LOSSES_CHECK: "No source loses more than a fifth of its rows without confirmation.",
    }
    return [
        dg.AssetCheckSpec(name, asset=asset, description=description, blocking=True)
        for name, description in descriptions.items()
    ]


def check_results(report: Report, asset: dg.AssetKey) -> Iterator[dg.AssetCheckResult]:
    """Yield the result of every check, with the number of failing rows and the first of them."""
    yield from suite_results(report, asset)
    missed = [failure for failure in report.failures if failure.check == FLOORS_CHECK]
    statuses = [row.status for row in report.measurements]
    counts = {name.lower(): statuses.count(name) for name in ("PASS", "FAIL", "UNMEASURED")}
    yield _result(asset, FLOORS_CHECK, missed, counts)
    yield dg.AssetCheckResult(
        asset_key=asset,
        check_name=LEFT_OUT_CHECK,
        passed=not report.excess or report.confirmed is not None,
        description="\n".join(map(str, report.excess)) or None,
        metadata={"rows": sum(row.rows_left_out for row in report.left_out)},
    )
    yield dg.AssetCheckResult(
        asset_key=asset,
        check_name=LOSSES_CHECK,
        passed=not report.losses or report.confirmed is not None,
        metadata={
            "losses": [str(loss) for loss in report.losses],
            "confirmed": report.confirmed or "",
        },
    )


def suite_specs(asset: dg.AssetKey, *tables: str) -> list[dg.AssetCheckSpec]:
    """Return the checks of an asset: the suites of its tables, each blocking what depends on it."""
    return [
        dg.AssetCheckSpec(
            _name(suite),
            asset=asset,
            description=f"Expectations for {suite.name}.",
            blocking=True,
        )
        for suite in SUITES
        if suite.table in tables
    ]


def suite_results(
    report: Report, asset: dg.AssetKey, *tables: str
) -> Iterator[dg.AssetCheckResult]:
    """Yield the results of the suites of an asset's tables, or of all; none for what did not run.

    A result that still holds from an earlier build says in which it was made.
    """
    for suite in report.plan.suites:
        if tables and suite.table not in tables:
            continue
        failures = [failure for failure in report.failures if failure.check == suite.name]
        metadata: dict[str, int | str] = {"expectations": len(suite.rules)}
        if made_in := report.plan.made_in(suite.name):
            metadata["reused from"] = made_in
        elif report.results.get(suite.name) is None:
            metadata["rows"] = 0
        yield _result(asset, _name(suite), failures, metadata)


def _result(
    asset: dg.AssetKey, name: str, failures: list[Failure], counts: Mapping[str, int | str]
) -> dg.AssetCheckResult:
    return dg.AssetCheckResult(
        asset_key=asset,
        check_name=name,
        passed=not failures,
        description="\n".join(map(str, failures)) or None,
        metadata={
            **counts,
            "failed": len(failures),
            "failing rows": sum(failure.rows or 0 for failure in failures),
            "first rows": [row for failure in failures for row in failure.examples],
        },
    )


def _name(suite: Suite) -> str:
    # Dagster allows no dots in the name of a check.
    return suite.name.replace(".", "_")
