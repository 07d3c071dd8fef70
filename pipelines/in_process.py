"""Runs a Dagster job in this process, stored like the runs that Dagster itself starts.

The only module that imports from Dagster's private packages. The public way,
``JobDefinition.execute_in_process``, stores a run without its code location, and Dagster's
timeline leaves out such runs. It also passes no event on before the end.
"""

import logging
import sys
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import dagster as dg
from dagster._core.definitions.job_base import InMemoryJob
from dagster._core.execution.api import execute_run_iterator
from dagster._core.instance.ref import InstanceRef
from dagster._core.remote_origin import (
    ManagedGrpcPythonEnvCodeLocationOrigin,
    RemoteJobOrigin,
    RemoteRepositoryOrigin,
)
from dagster._core.types.loadable_target_origin import LoadableTargetOrigin

# The code location of `sankofa up` and of workspace.yaml, and the name that Dagster gives to its
# only repository.
_MODULE = "pipelines.definitions"
_REPOSITORY = "__repository__"
# Output and logs go to the terminal. Dagster would copy the output by four more processes for each
# step, and keep the logs for itself.
_NO_CAPTURE = {
    "python_logs": {},
    "compute_logs": {
        "module": "dagster._core.storage.noop_compute_log_manager",
        "class": "NoOpComputeLogManager",
    },
}
# What failed is reported by whoever started the run.
_QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}


# If nothing changed, nothing is audited and nothing that depends on it runs. Dagster would say of
# each check that what depends on it "will proceed", which it does not.
logging.getLogger("dagster._core.execution.plan.active").setLevel(logging.ERROR)


def open_instance(dagster_home: Path) -> dg.DagsterInstance:
    """Open the Dagster instance whose configuration is in a folder."""
    reference = InstanceRef.from_dir(str(dagster_home.absolute()), overrides=_NO_CAPTURE)
    return dg.DagsterInstance.from_ref(reference)


def run_events(
    instance: dg.DagsterInstance,
    job: dg.JobDefinition,
    run_id: str,
    *,
    assets: Collection[dg.AssetKey] = (),
    tags: Mapping[str, str],
    config: Mapping[str, Any],
) -> Iterator[dg.DagsterEvent]:
    """Run a job, or some assets of it, and yield its events as they happen."""
    target = LoadableTargetOrigin(executable_path=sys.executable, module_name=_MODULE)
    repository = RemoteRepositoryOrigin(
        ManagedGrpcPythonEnvCodeLocationOrigin(target, _MODULE), _REPOSITORY
    )
    run = instance.create_run_for_job(
        job,
        run_id=run_id,
        run_config={**_QUIET, **config},
        tags={**job.run_tags, **tags},
        asset_selection=frozenset(assets) or None,
        remote_job_origin=RemoteJobOrigin(repository, job.name),
    )
    yield from execute_run_iterator(InMemoryJob(job), run, instance)
