"""What Dagster runs: all assets, jobs, sensors and automation, with their resources.

The assets of ``ingest_definitions`` load; those here make what is loaded readable: a graph over one
frozen snapshot of the record. ``snapshot`` fixes which loads belong to a publication; every asset
after it reads those and nothing else, and hands over its files (``publication.py``). Each can be
materialised by itself. Only the last one, ``published_build``, changes what readers see.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

import dagster as dg

from assets.ingest.assets import ALIVE, FRESHNESS_POLICY, column_metadata, table_key
from assets.ingest.sources import sources_of
from assets.source import Source
from pipelines import alerts, stages
from pipelines.builds import delete_old_versions
from pipelines.dagster_home import PUBLISH
from pipelines.ingest_definitions import WHEN_INPUTS_CHANGE, ingest_definitions
from pipelines.publication import Publishing, refuse_failed
from quality.report import FLOORS_CHECK, LEFT_OUT_CHECK, LOSSES_CHECK, Failure, Report
from quality.rules import Suite
from warehouse.publish.steps import compute_of
from warehouse.shared.settings import Settings, read_settings
from warehouse.tables.derived import DERIVED

PublishingParam = dg.ResourceParam[Publishing]


def publishing_resource(settings: Settings) -> dg.ResourceDefinition:
    """Return the resource: Dagster's page shows none of its settings, which can be secret."""

    @dg.resource(
        description="Where builds and exports go, and what computes them.",
        required_resource_keys={ALIVE},
    )
    def publishing(context: dg.InitResourceContext) -> Iterator[Publishing]:
        with compute_of(settings) as compute:
            if context.log is not None:
                context.log.info(f"Computed by {compute.words}")
            yield Publishing(settings, compute)

    return publishing


# The audit as blocking checks of assets: suites of tables, floors and losses.

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
    """Yield the results of floors, of rows left out, and of losses."""
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


class AuditConfig(dg.Config):
    """Options of one audit: why a loss of rows is right, if there is one."""

    confirm_loss: str = ""


def published_assets(sources: Sequence[Source]) -> list[dg.AssetsDefinition]:
    """Return the assets that publish what was loaded from the sources, with their checks."""
    nodes = map(node_asset, stages.NODES)
    assets = [snapshot_asset(sources), *nodes, quality, exports, mart, published_build]
    return [asset.with_attributes(automation_condition=WHEN_INPUTS_CHANGE) for asset in assets]


def snapshot_asset(sources: Iterable[Source]) -> dg.AssetsDefinition:
    """Return the asset that freezes what is published; it depends on everything that is loaded."""
    loaded = [
        table_key(source, table)
        for source in sources
        for table in source.tables
        if source.permitted
    ]

    @dg.asset(
        name=stages.SNAPSHOT,
        deps=loaded,
        group_name="snapshot",
        description="Which loads belong to the publication. If nothing changed since the last one, "
        "there is none, and all that follows is skipped.",
        kinds={"json"},
        output_required=False,
    )
    def snapshot(publishing: PublishingParam) -> Iterator[dg.MaterializeResult[None]]:
        plan = publishing.begin()
        if plan is None:
            return
        loads = {f"loads of {table}": number for table, number in plan.loads.items()}
        yield dg.MaterializeResult(metadata={"data_version": plan.data_version, **loads})

    return snapshot


def node_asset(node: stages.Node) -> dg.AssetsDefinition:
    """Return the asset of a node, which runs its step for every partition that changed.

    Its checks are of the same step, so that they run whenever it does: if one fails, nothing that
    depends on the node runs.
    """
    derived = node.name in DERIVED

    key, suites = dg.AssetKey(node.name), stages.suites_of(node)

    @dg.asset(
        name=node.name,
        deps=node.deps,
        group_name=node.group,
        description=node.description,
        kinds={"duckdb"} if derived else {"parquet"},
        metadata=column_metadata(DERIVED[node.name]) if derived else None,
        check_specs=suite_specs(key, suites),
    )
    def make(
        publishing: PublishingParam,
    ) -> Iterator[dg.MaterializeResult[None] | dg.AssetCheckResult]:
        publication = publishing.publication()
        yield dg.MaterializeResult(metadata=publication.make(node))
        if suites:
            report = publication.check(node)
            yield from suite_results(report, key, suites)
            refuse_failed(report)

    return make


@dg.asset(
    deps=stages.DEPS[stages.QUALITY],
    group_name="published",
    kinds={"duckdb"},
    metadata=column_metadata(DERIVED[stages.QUALITY]),
    check_specs=[
        *suite_specs(dg.AssetKey(stages.QUALITY), stages.WHOLE_SUITES),
        *audit_specs(dg.AssetKey(stages.QUALITY)),
    ],
)
def quality(
    context: dg.AssetExecutionContext,
    config: AuditConfig,
    publishing: PublishingParam,
) -> Iterator[dg.MaterializeResult[None] | dg.AssetCheckResult]:
    """Measurements against the floors of each dataset, with their history."""
    report = publishing.publication(config.confirm_loss).audit()
    yield from suite_results(report, context.asset_key, stages.WHOLE_SUITES)
    yield from audit_results(report, context.asset_key)
    refuse_failed(report)
    yield dg.MaterializeResult(metadata=dict(Counter(row.status for row in report.measurements)))


@dg.asset(
    deps=stages.DEPS[stages.EXPORTS],
    group_name="published",
    kinds={"parquet"},
)
def exports(publishing: PublishingParam) -> dg.MaterializeResult[None]:
    """Parquet files with every vintage, deltas, and the signed manifest."""
    manifest = publishing.publication().export()
    return dg.MaterializeResult(
        metadata={
            "files": len(manifest.artifacts),
            "bytes": sum(artifact.size_bytes for artifact in manifest.artifacts),
            "left out": len(manifest.failed),
        }
    )


@dg.asset(
    deps=stages.DEPS[stages.MART],
    group_name="published",
    kinds={"sqlite"},
)
def mart(publishing: PublishingParam) -> dg.MaterializeResult[None]:
    """Rows as they are served, encoded once: SQLite files that no server reads yet."""
    files = publishing.publication().write_mart()
    return dg.MaterializeResult(
        metadata={
            "files": len(files),
            "bytes": sum(file.bytes for file in files),
            "rows": sum(file.rows for file in files),
        }
    )


@dg.asset(
    deps=stages.DEPS[stages.BUILD],
    group_name="published",
    kinds={"json"},
    freshness_policy=FRESHNESS_POLICY,
)
def published_build(publishing: PublishingParam) -> dg.MaterializeResult[None]:
    """The build that readers see: the switch to what was made, at once."""
    data_version = publishing.publication().switch()
    deleted = delete_old_versions(publishing.settings)
    manifest = f"{publishing.settings.exports_url}/{data_version}/manifest.json"
    return dg.MaterializeResult(
        metadata={
            "data_version": data_version,
            "builds deleted": len(deleted),
            "manifest": dg.MetadataValue.url(manifest),
            "service": dg.MetadataValue.url(publishing.settings.base_url),
        }
    )


def definitions(settings: Settings) -> dg.Definitions:
    """Return the Dagster definitions of an installation."""
    return dg.Definitions.merge(ingest_definitions(settings), publish_definitions(settings))


def publish_definitions(settings: Settings) -> dg.Definitions:
    """Return the definitions that publish what is loaded."""
    publish = dg.define_asset_job(
        PUBLISH,
        dg.AssetSelection.assets(*stages.STAGES),
        description="Publish the loaded data as one build: a snapshot of the record, what is "
        "derived from it, its audit, the files, and the switch of `published_build`, "
        "which alone changes what readers see. If nothing has changed, it does nothing.",
    )
    return dg.Definitions(
        assets=published_assets(sources_of(settings)),
        jobs=[publish],
        sensors=[failed_runs(settings)] if alerts.alerts_are_set(settings) else [],
        executor=dg.in_process_executor,
        resources={"publishing": publishing_resource(settings)},
    )


def failed_runs(settings: Settings) -> dg.SensorDefinition:
    """Return a sensor that sends an alert for each run of Dagster's own that fails."""

    @dg.run_failure_sensor(
        name=alerts.ALERTS,
        description="Tell SANKOFA_ALERT_COMMAND and SANKOFA_ALERT_WEBHOOK of each failed run.",
        default_status=dg.DefaultSensorStatus.RUNNING,
    )
    def alert_on_failure(context: dg.RunFailureSensorContext) -> None:
        """Send an alert; the command tells of its runs by itself."""
        run = context.dagster_run
        if alerts.BY_COMMAND in run.tags:
            return
        failures = {
            str(event.step_key): alerts.step_failure(event)
            for event in context.get_step_failure_events()
        }
        # It failed before its first step, or its process was killed.
        reason = context.failure_event.message or "no reason given"
        alert = alerts.alert_of(
            run.job_name, run.run_id, failures or {run.job_name: alerts.StepFailure(reason, "")}
        )
        if alert is not None:
            alerts.send_alert(settings, alert)

    return alert_on_failure


@dg.definitions
def defs() -> dg.Definitions:
    """Return the definitions that `dagster dev -m pipelines.definitions` finds."""
    return definitions(read_settings())
