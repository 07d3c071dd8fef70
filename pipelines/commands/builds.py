"""``sankofa publish``, ``builds`` and ``rollback``: what readers see."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from pipelines.commands.quality import print_left_out
from pipelines.output import Column, Styled, json_option, print_json, print_table, progress_console
from warehouse.errors import AlreadyPublished, SankofaError
from warehouse.settings import Settings, read_settings

if TYPE_CHECKING:
    from warehouse.read.build_info import ChangedDataset

_WHY = click.option("--why", default="", help="The reason, for `sankofa actions`.")


@click.command()
@click.option(
    "--confirm-loss",
    default="",
    metavar="WHY",
    help="Publish although a source has lost, or a rule leaves out, many rows; WHY is recorded.",
)
@click.option(
    "--only",
    multiple=True,
    metavar="ASSET",
    help="Make only this asset of the publication again, such as metrics; may be repeated. Readers "
    "see nothing of it before `published_build`.",
)
@json_option
def publish(confirm_loss: str, only: tuple[str, ...], as_json: bool) -> None:
    """Publish the loaded data as one build, unless its audit fails."""
    from pipelines.builds import changes_since, refuse_empty
    from pipelines.jobs import PUBLISH, run_job
    from pipelines.quality_report import current_left_out
    from warehouse.mart.builds import builds_at
    from warehouse.record.store import open_record

    settings = read_settings(os.environ)
    refuse_empty(open_record(settings))
    config = {"ops": {"quality": {"config": {"confirm_loss": confirm_loss}}}}
    if only:
        with _confirmed(settings, confirm_loss):
            _run_only(settings, only, config if "quality" in only else {}, as_json)
        return
    before = builds_at(settings.marts).current()
    with (
        progress_console().status("Deriving, auditing, exporting"),
        _confirmed(settings, confirm_loss),
    ):
        try:
            metadata = run_job(settings, PUBLISH, config=config)
        except AlreadyPublished:
            # By another run, meanwhile.
            metadata = {}
    data_version = str(builds_at(settings.marts).current())
    left_out = current_left_out(settings)
    changes = changes_since(settings, data_version, before) if data_version != before else []
    if as_json:
        print_json(
            {
                "data_version": data_version,
                "changes": changes,
                "left_out": [row.model_dump() for row in left_out],
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


@contextmanager
def _confirmed(settings: Settings, why: str) -> Iterator[None]:
    """Record the publication among the actions of operators if one confirms a loss."""
    from warehouse.control.actions import recorded
    from warehouse.mart.builds import builds_at

    if not why:
        yield
        return
    with recorded(settings.control, "publish", "a build with a confirmed loss", why) as action:
        yield
        current = builds_at(settings.marts).current()
        action.what = f"data_version {current} with a confirmed loss"


def _print_changes(changes: "Sequence[ChangedDataset] | None", before: str | None) -> None:
    """Print how many vintages of each dataset are new, restated and withdrawn since a build."""
    if changes is None:
        click.echo(f"what changed since {before} is not known: it is gone")
    elif not changes:
        click.echo(f"no vintage is new, restated or withdrawn since {before}")
    else:
        titles = ("new", "restated", "withdrawn")
        columns = [Column("dataset"), *(Column(title, right=True) for title in titles)]
        print_table(
            columns,
            (
                (row.dataset, f"{row.added:,}", f"{row.restated:,}", f"{row.withdrawn:,}")
                for row in changes
            ),
        )


def _run_only(
    settings: Settings, names: tuple[str, ...], config: Mapping[str, object], as_json: bool
) -> None:
    """Materialise some assets of the publication that was begun last."""
    import dagster as dg

    from pipelines.jobs import PUBLISH, run_job
    from pipelines.stages import STAGES

    unknown = [name for name in names if name not in STAGES]
    if unknown:
        raise SankofaError(f"there is no asset {unknown[0]}: one of {', '.join(STAGES)}")
    with progress_console().status(f"Making {', '.join(names)}"):
        assets = [dg.AssetKey(name) for name in names]
        metadata = run_job(settings, PUBLISH, config=config, assets=assets)
    if as_json:
        print_json(metadata)
        return
    for name, values in metadata.items():
        words = ", ".join(f"{label}: {value}" for label, value in values.items())
        click.echo(f"{name}  {words}")


@click.group(invoke_without_command=True)
@json_option
@click.pass_context
def builds(context: click.Context, as_json: bool) -> None:
    """List the builds, newest first; * marks the one being served."""
    from pipelines.builds import begin_with, list_builds

    if context.invoked_subcommand is not None:
        return
    settings = read_settings(os.environ)
    rows = list_builds(settings)
    if as_json:
        print_json(rows)
    elif not rows:
        click.echo(f"nothing has been published yet: {begin_with(settings)}")
    else:
        columns = [
            Column(""),
            Column("data_version", whole=True),
            Column("published, UTC", whole=True),
            Column("rows", right=True),
        ]
        print_table(
            columns,
            (
                (
                    "*" if build.current else "",
                    Styled(build.data_version, "bold green" if build.current else ""),
                    f"{build.published_at:%Y-%m-%d %H:%M}" if build.published_at else "",
                    f"{build.rows:,}" if build.rows is not None else "",
                )
                for build in rows
            ),
        )


@builds.command("drop")
@click.argument("data_versions", metavar="[DATA_VERSION]...", nargs=-1)
@click.option("--all-others", is_flag=True, help="Every build but the one being served.")
@_WHY
@json_option
def drop(data_versions: tuple[str, ...], all_others: bool, why: str, as_json: bool) -> None:
    """Delete builds with their files, for example those with personal data.

    Requests that pin one of them are refused and told that it was withdrawn.
    """
    from pipelines.builds import drop_builds

    if bool(data_versions) == all_others:
        raise click.UsageError("name the builds to delete, or use --all-others")
    settings = read_settings(os.environ)
    dropped = drop_builds(settings, data_versions, all_others=all_others, why=why)
    if as_json:
        print_json({"dropped": dropped})
    else:
        click.echo(f"dropped {', '.join(dropped)}" if dropped else "there is no other build")


@click.command()
@click.argument("data_version", required=False)
@click.option("--drop", is_flag=True, help="Delete the build being served: its files and pins.")
@click.option(
    "--even-with-withheld",
    is_flag=True,
    help="Also serve a build that was made before something was withheld.",
)
@_WHY
@json_option
def rollback(
    data_version: str | None, drop: bool, even_with_withheld: bool, why: str, as_json: bool
) -> None:
    """Serve DATA_VERSION again (default: the build before the current one)."""
    from pipelines.builds import roll_back

    settings = read_settings(os.environ)
    name = roll_back(settings, data_version, drop, even_with_withheld=even_with_withheld, why=why)
    if as_json:
        print_json({"data_version": name})
    else:
        click.echo(f"serving data_version {name}")
        click.echo(
            "the next publication replaces it: `sankofa schedules off` until the cause is fixed",
            err=True,
        )
