"""What Dagster starts by itself: its schedules and sensors, whether each is on, and the switch.

Their state is Dagster's own. It is read from the instance and changed by Dagster's GraphQL
interface, through its command ``dagster-graphql``: that works whether or not `sankofa up` runs.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

import dagster as dg

from pipelines.alerts import ALERTS
from pipelines.automation import FETCH_CRON, FETCH_SENSOR
from pipelines.definitions import definitions
from pipelines.jobs import instance
from warehouse.errors import SankofaError
from warehouse.settings import Settings

_LOCATION = {
    "repositoryName": "__repository__",
    "repositoryLocationName": "pipelines.definitions",
}
# The daemon reports every half minute that it is alive.
_ALIVE_SECONDS = 120
_EVERY_DAY = re.compile(r"(\d{1,2}) (\d{1,2}) \* \* \*")
_IDS = """
query ($repository: RepositorySelector!) {
  repositoryOrError(repositorySelector: $repository) {
    ... on Repository {
      schedules { name scheduleState { id status } }
      sensors { name sensorState { id status } }
    }
    ... on PythonError { message }
  }
}
"""
# What answers a change that was made; anything else is an error.
_CHANGED = ("Sensor", "ScheduleStateResult", "StopSensorMutationResult")


@dataclass(frozen=True)
class Schedule:
    """A schedule or a sensor; ``cron`` is None if it looks every ``seconds`` instead."""

    name: str
    kind: Literal["schedule", "sensor"]
    on: bool
    cron: str | None
    seconds: int | None
    next_run: datetime | None
    description: str

    @property
    def when(self) -> str:
        """When it starts something, in words."""
        if self.cron is None:
            return f"when there is work; looks every {self.seconds} s"
        daily = _EVERY_DAY.fullmatch(self.cron)
        if daily is None:
            return f"cron {self.cron}, UTC"
        return f"every day at {int(daily[2]):02}:{int(daily[1]):02} UTC"


def list_schedules(settings: Settings) -> list[Schedule]:
    """Return everything that Dagster starts by itself, with its state."""
    repository = definitions(settings).get_repository_def()
    with instance(settings) as dagster_instance:
        states = {
            (state.instigator_type.value, state.instigator_name): state.status.value
            for state in dagster_instance.all_instigator_state()
        }
    found = [
        _schedule(
            states, "schedule", each, str(each.cron_schedule), None, default=each.default_status
        )
        for each in repository.schedule_defs
    ]
    for sensor in repository.sensor_defs:
        cron = FETCH_CRON if sensor.name == FETCH_SENSOR else None
        seconds = sensor.minimum_interval_seconds or 30
        found.append(
            _schedule(states, "sensor", sensor, cron, seconds, default=sensor.default_status)
        )
    return sorted(found, key=lambda schedule: schedule.name)


def _schedule(
    states: Mapping[tuple[str, str], str],
    kind: Literal["schedule", "sensor"],
    definition: Any,
    cron: str | None,
    seconds: int | None,
    *,
    default: Any,
) -> Schedule:
    state = states.get((kind.upper(), definition.name), "DECLARED_IN_CODE")
    on = (default.value if state == "DECLARED_IN_CODE" else state) == "RUNNING"
    upcoming = next_tick(cron, datetime.now(UTC)) if on and cron is not None else None
    seconds = seconds if cron is None else None
    description = str(definition.description)
    return Schedule(definition.name, kind, on, cron, seconds, upcoming, description)


def next_tick(cron: str, after: datetime) -> datetime | None:
    """Return when a cron schedule next ticks."""
    windows = dg.TimeWindowPartitionsDefinition(
        start=after - timedelta(days=1), fmt="%Y-%m-%dT%H:%M", cron_schedule=cron
    )
    window = windows.get_next_partition_window(after, respect_bounds=False)
    return None if window is None else window.start


def daemon_runs(settings: Settings) -> bool:
    """Return whether Dagster's daemon, which starts all of them, is alive."""
    with instance(settings) as dagster_instance:
        beats = dagster_instance.get_daemon_heartbeats().values()
    return any(time.time() - beat.timestamp < _ALIVE_SECONDS for beat in beats)


def switch(settings: Settings, *, on: bool, names: Collection[str] = ()) -> list[str]:
    """Turn schedules and sensors on or off, all of them without names; return those changed.

    Alerts are no part of all: nobody wants silence while everything is off. Without a contact
    address no source may be fetched, so the fetching of all then stays off.
    """
    listed = list_schedules(settings)
    unknown = sorted(set(names) - {schedule.name for schedule in listed})
    if unknown:
        known = ", ".join(schedule.name for schedule in listed)
        raise SankofaError(f"there is no schedule {unknown[0]}; choose from {known}")
    left_alone = {ALERTS} if settings.contact or not on else {ALERTS, FETCH_SENSOR}
    wanted = set(names) or {schedule.name for schedule in listed} - left_alone
    chosen = [schedule for schedule in listed if schedule.name in wanted and schedule.on != on]
    if chosen:
        _change(settings, _starting(chosen) if on else _stopping(settings, chosen))
    return [schedule.name for schedule in chosen]


def _starting(chosen: Collection[Schedule]) -> str:
    fields = []
    for number, schedule in enumerate(chosen):
        kind = schedule.kind
        selector = {**_LOCATION, f"{kind}Name": schedule.name}
        members = ", ".join(f"{key}: {json.dumps(value)}" for key, value in selector.items())
        fields.append(f"c{number}: start{kind.title()}({kind}Selector: {{{members}}}) {_RESULT}")
    return f"mutation {{ {' '.join(fields)} }}"


def _stopping(settings: Settings, chosen: Collection[Schedule]) -> str:
    answer = _graphql(settings, _IDS, {"repository": _LOCATION})["repositoryOrError"]
    if "message" in answer:
        raise SankofaError(f"Dagster cannot load the pipeline: {answer['message']}")
    ids = {each["name"]: each["scheduleState"]["id"] for each in answer["schedules"]}
    ids |= {each["name"]: each["sensorState"]["id"] for each in answer["sensors"]}
    stop = {"schedule": "stopRunningSchedule", "sensor": "stopSensor"}
    fields = (
        f"c{number}: {stop[each.kind]}(id: {json.dumps(ids[each.name])}) {_RESULT}"
        for number, each in enumerate(chosen)
    )
    return f"mutation {{ {' '.join(fields)} }}"


_RESULT = "{ __typename ... on PythonError { message } ... on UnauthorizedError { message } }"


def _change(settings: Settings, mutation: str) -> None:
    for answer in _graphql(settings, mutation, {}).values():
        if answer["__typename"] not in _CHANGED:
            reason = answer.get("message", answer["__typename"])
            raise SankofaError(f"Dagster did not change a schedule: {reason}")


def _graphql(settings: Settings, document: str, variables: Mapping[str, Any]) -> dict[str, Any]:
    """Ask Dagster's GraphQL interface, in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder, "answer.json")
        completed = subprocess.run(  # noqa: S603
            [
                *(sys.executable, str(Path(sys.executable).with_name("dagster-graphql"))),
                *("-m", "pipelines.definitions"),
                *("--text", document, "--variables", json.dumps(variables)),
                *("--output", str(answer)),
            ],
            env={
                **os.environ,
                "SANKOFA_HOME": str(settings.home),
                "DAGSTER_HOME": str(settings.dagster),
            },
            capture_output=True,
            text=True,
            check=False,
        )
        if completed.returncode or not answer.exists():
            lines = completed.stderr.strip().splitlines() or ["no output"]
            raise SankofaError(f"Dagster did not answer: {lines[-1]}; try `sankofa doctor`")
        data = json.loads(answer.read_text()).get("data")
    if not data:
        raise SankofaError("Dagster's GraphQL interface refused the question; report this")
    result: dict[str, Any] = data
    return result
