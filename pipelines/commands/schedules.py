"""``sankofa schedules``: what Dagster starts by itself, and the switch for it.

The state is Dagster's own. It is changed by Dagster's command line, which works whether or not
`sankofa up` runs.
"""

import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import click
import dagster as dg

from pipelines import output
from pipelines.alerts import ALERTS
from pipelines.commands.exit_status import ListingGroup
from pipelines.definitions import definitions
from pipelines.ingest_definitions import FETCH_CRON, FETCH_SENSOR
from pipelines.jobs import instance
from warehouse.shared.errors import SankofaError
from warehouse.shared.settings import Settings, read_settings

_NAMES = click.argument("names", metavar="[NAME]...", nargs=-1)
# The daemon reports every half minute that it is alive.
_ALIVE_SECONDS = 120
_EVERY_DAY = re.compile(r"(\d{1,2}) (\d{1,2}) \* \* \*")


@click.group(cls=ListingGroup)
def schedules() -> None:
    """List what Dagster starts by itself, and turn it on or off.

    Without a command: list.
    """


@schedules.command("list")
@output.json_option
def list_(as_json: bool) -> None:
    """List schedules and sensors with their state and next run."""
    settings = read_settings(os.environ)
    found, runs = _list_schedules(settings), _daemon_runs(settings)
    if as_json:
        output.print_json(
            {
                "daemon_runs": runs,
                "schedules": [{**vars(schedule), "when": schedule.when} for schedule in found],
            }
        )
        return
    output.print_table(
        found,
        output.Column("name", lambda schedule: schedule.name, whole=True),
        output.Column(
            "state", lambda schedule: output.Styled("on", "green") if schedule.on else "off"
        ),
        output.Column("when", lambda schedule: schedule.when),
        output.Column("next run, UTC", lambda schedule: output.moment(schedule.next_run)),
    )
    if not runs:
        click.echo("Dagster's daemon does not run: nothing starts before `sankofa up` runs it")


@schedules.command("on")
@_NAMES
@output.json_option
def on(names: tuple[str, ...], as_json: bool) -> None:
    """Turn everything on, or only the schedules and sensors with these names.

    Without SANKOFA_CONTACT no source may be fetched: fetch_every_night then stays as it is.
    """
    _switch(names, as_json, on=True)


@schedules.command("off")
@_NAMES
@output.json_option
def off(names: tuple[str, ...], as_json: bool) -> None:
    """Turn everything off but alerts, or only the schedules and sensors with these names.

    Runs under way go on. It stays off until it is turned on again.
    """
    _switch(names, as_json, on=False)


def _switch(names: tuple[str, ...], as_json: bool, *, on: bool) -> None:
    """Turn schedules and sensors on or off, all of them without names.

    Alerts are no part of all: failures must be heard of while everything is off. Without a contact
    address no source may be fetched, so the fetching of all then stays off.
    """
    settings = read_settings(os.environ)
    word = "on" if on else "off"
    with output.progress_console().status(f"Turning schedules {word}"):
        listed = {schedule.name: schedule for schedule in _list_schedules(settings)}
        if unknown := sorted(set(names) - set(listed)):
            known = ", ".join(listed)
            raise SankofaError(f"there is no schedule {unknown[0]}; choose from {known}")
        left_alone = {ALERTS} if settings.contact or not on else {ALERTS, FETCH_SENSOR}
        wanted = set(names) or set(listed) - left_alone
        changed = [name for name in listed if name in wanted and listed[name].on != on]
        for name in changed:
            _turn(settings, listed[name], on=on)
    if as_json:
        output.print_json({"turned": word, "changed": changed})
        return
    for name in changed:
        click.echo(f"{name} is {word}")
    if on and not names and not settings.contact:
        click.echo(f"{FETCH_SENSOR} was left as it is: set SANKOFA_CONTACT to fetch live sources")
    if not changed:
        what = "everything" if not names else "it" if len(names) == 1 else "all of them"
        click.echo(f"nothing to do: {what} was {word} already")


@dataclass(frozen=True)
class _Schedule:
    """A schedule or a sensor; ``cron`` is None if it looks every ``seconds`` instead."""

    name: str
    kind: str
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


def _list_schedules(settings: Settings) -> list[_Schedule]:
    """Return everything that Dagster starts by itself, with its state."""
    repository = definitions(settings).get_repository_def()
    with instance(settings) as dagster_instance:
        states = {
            state.instigator_name: state.status.value
            for state in dagster_instance.all_instigator_state()
        }
    found: list[dg.ScheduleDefinition | dg.SensorDefinition] = [
        *repository.schedule_defs,
        *repository.sensor_defs,
    ]
    listed = []
    for definition in sorted(found, key=lambda definition: definition.name):
        name, kind, cron, seconds = definition.name, "sensor", None, None
        if isinstance(definition, dg.ScheduleDefinition):
            kind, cron = "schedule", str(definition.cron_schedule)
        elif name == FETCH_SENSOR:
            cron = FETCH_CRON
        else:
            seconds = definition.minimum_interval_seconds or 30
        state = states.get(name, "DECLARED_IN_CODE")
        default = definition.default_status.value
        on = (default if state == "DECLARED_IN_CODE" else state) == "RUNNING"
        next_run = next_tick(cron, datetime.now(UTC)) if on and cron is not None else None
        about = str(definition.description)
        listed.append(_Schedule(name, kind, on, cron, seconds, next_run, about))
    return listed


def next_tick(cron: str, after: datetime) -> datetime | None:
    """Return when a cron schedule next ticks."""
    windows = dg.TimeWindowPartitionsDefinition(
        start=after - timedelta(days=1), fmt="%Y-%m-%dT%H:%M", cron_schedule=cron
    )
    window = windows.get_next_partition_window(after, respect_bounds=False)
    return None if window is None else window.start


def _daemon_runs(settings: Settings) -> bool:
    """Return whether Dagster's daemon, which starts all of them, is alive."""
    with instance(settings) as dagster_instance:
        beats = dagster_instance.get_daemon_heartbeats().values()
    return any(time.time() - beat.timestamp < _ALIVE_SECONDS for beat in beats)


def _turn(settings: Settings, schedule: _Schedule, *, on: bool) -> None:
    command = (schedule.kind, "start" if on else "stop", schedule.name)
    completed = subprocess.run(  # noqa: S603
        [sys.executable, "-m", "dagster", *command, "-m", "pipelines.definitions"],
        env={
            **os.environ,
            "SANKOFA_HOME": str(settings.home),
            "DAGSTER_HOME": str(settings.dagster.absolute()),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    if completed.returncode:
        lines = completed.stderr.strip().splitlines() or ["no output"]
        raise SankofaError(
            f"Dagster did not turn {schedule.name} {'on' if on else 'off'}: {lines[-1]}; "
            "try `sankofa doctor`"
        )
