"""A deployment on one machine: started, killed part by part, brought back, stopped."""

import os
import signal
import stat
import subprocess
import sys
import tempfile
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from deploy.local import Deployment
from deploy.processes import PROCESSES
from tests.helpers.installation import SMALL_WORLD, write_sample
from tests.helpers.paths import ROOT
from tests.helpers.processes import is_running
from tests.helpers.waiting import wait_until

STORES = ("postgres", "keys", "usage", "object-store", "bucket")
SURFACES = ("rest-1", "rest-2", "mcp-1", "mcp-2")
WORKERS = ("dagster-worker-1", "dagster-worker-2")
WHOLE = "SANKOFA_TEST_DEPLOYMENT" in os.environ


@pytest.fixture(scope="module")
def deployment() -> Iterator[Deployment]:
    with tempfile.TemporaryDirectory(prefix="sankofa-deployment-") as name:
        folder = Path(name)
        # PostgreSQL runs as another user if we are root, and must be able to enter.
        folder.chmod(0o755)
        deployment = Deployment(folder, any_ports=True)
        names = [*STORES, *SURFACES, *WORKERS]
        said: list[str] = []
        try:
            deployment.start([] if WHOLE else names, said.append)
            for why in (f"{key}: {value}" for key, value in deployment.left_out.items()):
                print("left out:", why)
            yield deployment
        finally:
            deployment.stop()


def execute(deployment: Deployment, script: str) -> str:
    """Run Python in the environment of the deployment."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script],
        env={**os.environ, **deployment.environment()},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


# A run as Dagster's daemon starts it: its own process only hands out the steps.
INGEST = """
import dagster as dg
from dagster._core.definitions.reconstruct import ReconstructableRepository
job = ReconstructableRepository.for_module(
    "pipelines.definitions", "defs"
).get_reconstructable_job("ingest")
with dg.DagsterInstance.get() as instance:
    keys = ["ecb_macro_series", "h10_macro_series", "worldbank_macro_annual"]
    done = dg.execute_job(job, instance, asset_selection=[dg.AssetKey(key) for key in keys])
    assert done.success
    for entry in instance.all_logs(done.run_id):
        event = entry.dagster_event
        if event is not None and "in celery worker" in (event.message or ""):
            print(event.engine_event_data.metadata["Celery worker"].value)
"""


def test_every_process_is_healthy_or_left_out_with_a_reason(deployment: Deployment) -> None:
    states = {process.name: deployment.health(process.name) for process in PROCESSES}
    expected = {process.name for process in PROCESSES} if WHOLE else {*STORES, *SURFACES, *WORKERS}
    for name, state in states.items():
        if name in expected:
            assert state in ("healthy", "done") or state.startswith("left out: "), (name, state)
        else:
            assert state == "stopped" or state.startswith("left out: "), (name, state)
    secrets = deployment.folder / "secrets.env"
    assert stat.S_IMODE(secrets.stat().st_mode) == 0o600


def test_the_steps_of_a_run_are_executed_by_two_workers(deployment: Deployment) -> None:
    if "dagster-worker-1" in deployment.left_out:
        pytest.skip(f"left out: {deployment.left_out['dagster-worker-1']}")
    write_sample(deployment.folder / "home", SMALL_WORLD)
    workers = Counter(execute(deployment, INGEST).split())
    assert workers.keys() == {f"{name}@sankofa" for name in WORKERS}


def surface_answers(deployment: Deployment, name: str) -> bool:
    try:
        url = f"http://{deployment.address(name)}/health"
        with urllib.request.urlopen(url, timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


@pytest.mark.parametrize("name", ["rest-1", "postgres"])
def test_a_killed_process_is_seen_and_brought_back_while_the_others_answer(
    deployment: Deployment, name: str
) -> None:
    if name in deployment.left_out:
        pytest.skip(f"left out: {deployment.left_out[name]}")
    process_id = deployment.process_id(name)
    assert process_id is not None
    os.killpg(process_id, signal.SIGKILL)
    wait_until(ended(process_id), 20)

    assert deployment.health(name) == "stopped"
    assert surface_answers(deployment, "rest-2") and surface_answers(deployment, "mcp-1")
    deployment.start([name], lambda line: None)
    assert deployment.health(name) == "healthy"


def ended(process_id: int) -> Callable[[], bool]:
    return lambda: not is_running(process_id)
