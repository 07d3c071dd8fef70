"""``sankofa publish``: make what is loaded what readers see."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from typing import Any

import click
from rich.status import Status

from pipelines.builds import refuse_empty
from pipelines.commands.quality import current_left_out, print_left_out
from pipelines.dagster_home import PUBLISH, killed_runs
from pipelines.output import Column, json_option, number, print_json, print_table, progress_console
from pipelines.publication import Publishing
from pipelines.stages import STAGES
from warehouse.control.models import recorded
from warehouse.publish.builds import builds_at
from warehouse.publish.steps import ProcessPool
from warehouse.record.store import open_record
from warehouse.serve.catalogue import ChangedDataset, changes_of
from warehouse.shared.errors import AlreadyPublished
from warehouse.shared.settings import Settings, read_settings


@click.command()
@click.option(
    "--confirm-loss",
    default="",
    metavar="WHY",
    help="Publish although a source has lost, or a rule leaves out, many rows; WHY is recorded.",
)
@json_option
def publish(confirm_loss: str, as_json: bool) -> None:
    """Publish the loaded data as one build, unless its audit fails."""
    settings = read_settings()
    refuse_empty(open_record(settings))
    config = {"ops": {"quality": {"config": {"confirm_loss": confirm_loss}}}}
    before = builds_at(settings.marts).current()
    with (
        progress_console().status("Looking for what is new") as status,
        _confirmed(settings, confirm_loss),
    ):
        try:
            metadata = {} if _is_unchanged(settings) else _run(settings, config, status)
        except AlreadyPublished:
            # By another run, meanwhile.
            metadata = {}
    data_version = str(builds_at(settings.marts).current())
    left_out = current_left_out(settings)
    metadata_now = builds_at(settings.marts).metadata(data_version)
    changes = changes_of(metadata_now) if data_version != before else []
    if as_json:
        print_json(
            {
                "data_version": data_version,
                "changes": changes,
                "left_out": left_out,
                "assets": metadata,
            }
        )
        return
    if "exports" in metadata:
        click.echo(f"published as data_version {data_version}")
        _print_changes(changes, before)
        click.echo(f"what changed: {settings.base_url}/changes")
        click.echo(f"its files:    {settings.exports_url}/{data_version}/manifest.json")
        click.echo("running servers answer with it now; `sankofa serve` starts one")
    else:
        click.echo(f"nothing has changed since data_version {data_version}, which stays published")
    if left_out:
        number = sum(row.rows_left_out for row in left_out)
        click.echo(f"left out because they fail a rule or are withheld: {number:,} rows")
        print_left_out(left_out)


def _is_unchanged(settings: Settings) -> bool:
    """Return whether there is nothing to publish, which needs no run: Dagster takes seconds."""
    if killed_runs(settings):
        # Opening Dagster's instance ends them.
        return False
    with ProcessPool(1) as compute:
        return Publishing(settings, compute).ends_unchanged()


def _run(
    settings: Settings, config: Mapping[str, object], status: Status
) -> dict[str, dict[str, Any]]:
    """Run the publication, and show how far it is; return the metadata of its assets."""
    from pipelines.jobs import run_job

    ended = count(1)

    def show(*_: object) -> None:
        status.update(f"{next(ended)} of {len(STAGES)} stages done: deriving, auditing, exporting")

    status.update("Deriving, auditing, exporting")
    return run_job(settings, PUBLISH, config=config, when_step_ends=show)


@contextmanager
def _confirmed(settings: Settings, why: str) -> Iterator[None]:
    """Record the publication among the actions of operators if one confirms a loss."""
    if not why:
        yield
        return
    with recorded(settings.control, "publish", "a build with a confirmed loss", why) as action:
        yield
        current = builds_at(settings.marts).current()
        action.what = f"data_version {current} with a confirmed loss"


def _print_changes(changes: Sequence[ChangedDataset] | None, before: str | None) -> None:
    """Print how many vintages of each dataset came since a build, and how many went."""
    if changes is None:
        click.echo(f"what changed since {before} is not known: it is gone")
    elif not changes:
        click.echo(f"no vintage is new, restated, withdrawn or gone since {before}")
    else:
        print_table(
            changes,
            Column("dataset", lambda row: row.dataset),
            Column("new", lambda row: number(row.added), right=True),
            Column("restated", lambda row: number(row.restated), right=True),
            Column("withdrawn", lambda row: number(row.withdrawn), right=True),
            Column("removed", lambda row: number(row.removed), right=True),
        )
