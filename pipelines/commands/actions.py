"""``sankofa actions``: what operators did."""

import os
from datetime import UTC, datetime

import click

from pipelines.output import Column, Styled, json_option, print_json, print_table
from warehouse.control.models import ACTION_KINDS, Action, list_actions
from warehouse.shared.settings import read_settings


@click.command()
@click.option("--kind", metavar="COMMAND", help="Only actions of one command, such as withhold.")
@click.option(
    "--since",
    type=click.DateTime(["%Y-%m-%d"]),
    metavar="YYYY-MM-DD",
    help="Only actions from this day on, UTC.",
)
@json_option
def actions(kind: str | None, since: datetime | None, as_json: bool) -> None:
    """List what operators did: who, when, what and why, oldest first.

    Keys created, rotated and revoked, withhold, release, erase, publications with a confirmed
    loss, rollback and dropped builds.
    """
    known = next((name for name in ACTION_KINDS if name == kind), None)
    if kind is not None and known is None:
        raise click.BadParameter(f"{kind!r} is none of {', '.join(ACTION_KINDS)}")
    first_day = None if since is None else since.replace(tzinfo=UTC)
    rows = list_actions(read_settings(os.environ).control, known, first_day)
    if as_json:
        print_json([row.model_dump() for row in rows])
        return
    if not rows:
        click.echo("no such action was recorded")
        return
    columns = [
        *(Column("when, UTC", whole=True), Column("who"), Column("command", whole=True)),
        *(Column("what"), Column("outcome"), Column("why")),
    ]
    print_table(
        columns,
        (
            (
                *(f"{row.began_at:%Y-%m-%d %H:%M}", row.who, row.kind, row.what),
                *(_outcome(row), row.why),
            )
            for row in rows
        ),
    )


def _outcome(row: Action) -> Styled:
    if row.ended_at is None:
        return Styled("not finished", "yellow")
    if row.failure is not None:
        return Styled(f"failed: {row.failure}", "red")
    return Styled("done", "green")
