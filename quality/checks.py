"""The audit as Dagster shows it: a blocking check for each table, the floors and the losses."""

from collections.abc import Iterator

import dagster as dg

from quality.report import FLOORS_CHECK, LOSSES_CHECK, Failure, Report
from quality.rules import Suite
from quality.suites import SUITES


def check_specs(asset: dg.AssetKey) -> list[dg.AssetCheckSpec]:
    """Name every check of the asset that publishes; one that fails stops what depends on it."""
    told = {
        **{_name(suite): f"What must hold of {suite.name}." for suite in SUITES},
        FLOORS_CHECK: "The least that each dataset must reach.",
        LOSSES_CHECK: "No source loses its rows without a person who says that it is right.",
    }
    return [
        dg.AssetCheckSpec(name, asset=asset, description=words, blocking=True)
        for name, words in told.items()
    ]


def check_results(report: Report, asset: dg.AssetKey) -> Iterator[dg.AssetCheckResult]:
    """Give the result of every check, with how many rows fail it and where the first are."""
    for suite in SUITES:
        failures = [each for each in report.failures if each.check == suite.name]
        yield _result(asset, _name(suite), failures, {"expectations": len(suite.rules)})
    missed = [each for each in report.failures if each.check == FLOORS_CHECK]
    status = [row.status for row in report.quality]
    counts = {each.lower(): status.count(each) for each in ("PASS", "FAIL", "UNMEASURED")}
    yield _result(asset, FLOORS_CHECK, missed, counts)
    yield dg.AssetCheckResult(
        asset_key=asset,
        check_name=LOSSES_CHECK,
        passed=not report.losses or report.confirmed is not None,
        metadata={
            "losses": [str(each) for each in report.losses],
            "confirmed": report.confirmed or "",
        },
    )


def _result(
    asset: dg.AssetKey, name: str, failures: list[Failure], counts: dict[str, int]
) -> dg.AssetCheckResult:
    return dg.AssetCheckResult(
        asset_key=asset,
        check_name=name,
        passed=not failures,
        description="\n".join(map(str, failures)) or None,
        metadata={
            **counts,
            "failed": len(failures),
            "rows that fail": sum(each.rows or 0 for each in failures),
            "first rows": [place for each in failures for place in each.places],
        },
    )


def _name(suite: Suite) -> str:
    return suite.name.replace(".", "_")
