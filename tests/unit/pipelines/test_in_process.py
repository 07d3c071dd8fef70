"""A run of the command is stored like one that Dagster starts, which its public calls do not do.

If the second test fails, Dagster has a public way and ``pipelines/in_process.py`` can use it.
"""

from pathlib import Path

import dagster as dg

from pipelines.in_process import open_instance, run_events


@dg.op
def _work() -> None:
    """Do nothing."""


@dg.job(executor_def=dg.in_process_executor)
def _job() -> None:
    _work()


def test_events_arrive_while_a_run_goes_on_and_it_is_stored_with_its_code_location(
    tmp_path: Path,
) -> None:
    with open_instance(tmp_path) as instance:
        run_id = "0" * 8 + "-0000-4000-8000-" + "0" * 12
        events = run_events(instance, _job, run_id, tags={"by": "test"}, config={})
        statuses = {event.event_type_value: _status(instance, run_id) for event in events}
        assert statuses["STEP_SUCCESS"] is dg.DagsterRunStatus.STARTED
        assert _status(instance, run_id) is dg.DagsterRunStatus.SUCCESS
        run = instance.get_run_by_id(run_id)
        assert run is not None and run.tags["by"] == "test"
        origin = run.remote_job_origin
        assert origin is not None
        assert origin.location_name == "pipelines.definitions"


def test_the_public_call_stores_a_run_without_its_code_location(tmp_path: Path) -> None:
    with open_instance(tmp_path) as instance:
        result = _job.execute_in_process(instance=instance)
        run = instance.get_run_by_id(result.run_id)
        assert run is not None and run.remote_job_origin is None


def _status(instance: dg.DagsterInstance, run_id: str) -> dg.DagsterRunStatus:
    run = instance.get_run_by_id(run_id)
    assert run is not None
    return run.status
