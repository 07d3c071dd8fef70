"""``sankofa publish``, ``builds`` and ``rollback``: what readers see."""

import os

import click

from pipelines.output import Column, Styled, json_option, print_json, print_table, progress_console
from warehouse.settings import read_settings


@click.command()
@click.option(
    "--confirm-loss",
    default="",
    metavar="WHY",
    help="Publish although a source shows much less than before, for the reason given.",
)
@json_option
def publish(confirm_loss: str, as_json: bool) -> None:
    """Derive, audit and publish what is loaded as one build; nothing if the audit fails."""
    from pipelines.jobs import run_job

    config = {"ops": {"published_build": {"config": {"confirm_loss": confirm_loss}}}}
    with progress_console().status("Deriving, auditing, exporting"):
        said = run_job(read_settings(os.environ), "publish", config=config)
    data_version = said["published_build"]["data_version"]
    if as_json:
        print_json({"data_version": data_version, "assets": said})
    else:
        click.echo(f"published as data_version {data_version}")


@click.command()
@json_option
def builds(as_json: bool) -> None:
    """List the builds that are held, the newest first; * marks the one that is read."""
    from pipelines.builds import list_builds

    held = list_builds(read_settings(os.environ))
    if as_json:
        print_json(held)
    elif not held:
        click.echo("nothing has been published yet; run `sankofa publish`")
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
                    "*" if each.current else "",
                    Styled(each.data_version, "bold green" if each.current else ""),
                    f"{each.published_at:%Y-%m-%d %H:%M}" if each.published_at else "",
                    f"{each.rows:,}" if each.rows is not None else "",
                )
                for each in held
            ),
        )


@click.command()
@click.argument("data_version", required=False)
@click.option(
    "--drop", is_flag=True, help="Take the build that is read now away: its files, pages and pins."
)
@json_option
def rollback(data_version: str | None, drop: bool, as_json: bool) -> None:
    """Let readers see DATA_VERSION again; the build before the current one by default."""
    from pipelines.builds import roll_back

    name = roll_back(read_settings(os.environ), data_version, drop)
    if as_json:
        print_json({"data_version": name})
    else:
        click.echo(f"serving data_version {name}")
