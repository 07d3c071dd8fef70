"""The audit as blocking checks of Dagster assets: suites of tables, floors and losses."""

from collections.abc import Iterator, Mapping, Sequence

import dagster as dg

from quality.report import FLOORS_CHECK, LEFT_OUT_CHECK, LOSSES_CHECK, Failure, Report
from quality.rules import Suite

_OF_THE_WHOLE = {
    FLOORS_CHECK: "Quality floors of every dataset.",
    LEFT_OUT_CHECK: "No rule leaves out too much of a table or a source without confirmation.",
    LOSSES_CHECK: "No source loses more than a fifth of its rows without confirmation.",
}


def suite_specs(asset: dg.AssetKey, suites: Sequence[Suite]) -> list[dg.AssetCheckSpec]:
    """Return a check for each suite of an asset; one that fails blocks what depends on it."""
    return [
        dg.AssetCheckSpec(
            _name(suite),
            asset=asset,
            description=f"Expectations for {suite.name}.",
            blocking=True,
        )
        for suite in suites
    ]


def audit_specs(asset: dg.AssetKey) -> list[dg.AssetCheckSpec]:
    """Return the checks of a snapshot as a whole; one that fails blocks what depends on it."""
    return [
        dg.AssetCheckSpec(name, asset=asset, description=description, blocking=True)
        for name, description in _OF_THE_WHOLE.items()
    ]


def suite_results(
    report: Report, asset: dg.AssetKey, suites: Sequence[Suite]
) -> Iterator[dg.AssetCheckResult]:
    """Yield the results of suites, with the number of failing rows and the first of them.

    A result that still holds from an earlier build says in which it was made.
    """
    for suite in suites:
        failures = [failure for failure in report.failures if failure.check == suite.name]
        metadata: dict[str, int | str] = {"expectations": len(suite.rules)}
        if made_in := report.plan.made_in(suite.name):
            metadata["reused from"] = made_in
        elif report.results.get(suite.name) is None:
            metadata["rows"] = 0
        yield _result(asset, _name(suite), failures, metadata)


def audit_results(report: Report, asset: dg.AssetKey) -> Iterator[dg.AssetCheckResult]:
    """Yield the results of floors, of what is left out, and of losses."""
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
