"""``sankofa schedules``: what Dagster starts by itself, and the switch for it."""

import os

import click

from pipelines.commands.listing_group import ListingGroup
from pipelines.output import Column, Styled, json_option, print_json, print_table, progress_console
from warehouse.settings import read_settings

_NAMES = click.argument("names", metavar="[NAME]...", nargs=-1)


@click.group(cls=ListingGroup)
def schedules() -> None:
    """List what Dagster starts by itself, and turn it on or off.

    Without a command: list.
    """


@schedules.command("list")
@json_option
def list_(as_json: bool) -> None:
    """List schedules and sensors with their state and next run."""
    from pipelines.schedules import daemon_runs, list_schedules

    settings = read_settings(os.environ)
    found, runs = list_schedules(settings), daemon_runs(settings)
    if as_json:
        print_json(
            {
                "daemon_runs": runs,
                "schedules": [{**vars(schedule), "when": schedule.when} for schedule in found],
            }
        )
        return
    columns = [Column("name", whole=True), Column("state"), Column("when"), Column("next run, UTC")]
    print_table(
        columns,
        (
            (
                schedule.name,
                Styled("on", "green") if schedule.on else "off",
                schedule.when,
                f"{schedule.next_run:%Y-%m-%d %H:%M}" if schedule.next_run else "",
            )
            for schedule in found
        ),
    )
    if not runs:
        click.echo("Dagster's daemon does not run: nothing starts before `sankofa up` runs it")


@schedules.command("on")
@_NAMES
@json_option
def on(names: tuple[str, ...], as_json: bool) -> None:
    """Turn everything on, or only the schedules and sensors with these names.

    Without SANKOFA_CONTACT no source may be fetched: fetch_every_night then stays as it is.
    """
    _switch(names, as_json, on=True)


@schedules.command("off")
@_NAMES
@json_option
def off(names: tuple[str, ...], as_json: bool) -> None:
    """Turn everything off but alerts, or only the schedules and sensors with these names.

    Runs under way go on. It stays off until it is turned on again.
    """
    _switch(names, as_json, on=False)


def _switch(names: tuple[str, ...], as_json: bool, *, on: bool) -> None:
    from pipelines.automation import FETCH_SENSOR
    from pipelines.schedules import switch

    settings = read_settings(os.environ)
    word = "on" if on else "off"
    with progress_console().status(f"Turning schedules {word}"):
        changed = switch(settings, on=on, names=names)
    if as_json:
        print_json({"turned": word, "changed": changed})
        return
    for name in changed:
        click.echo(f"{name} is {word}")
    if on and not names and not settings.contact:
        click.echo(f"{FETCH_SENSOR} was left as it is: set SANKOFA_CONTACT to fetch live sources")
    if not changed:
        what = "everything" if not names else "it" if len(names) == 1 else "all of them"
        click.echo(f"nothing to do: {what} was {word} already")
