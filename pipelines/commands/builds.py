"""``sankofa builds`` and ``rollback``: which build readers see."""

import click

from pipelines.builds import begin_with, drop_builds, list_builds, roll_back
from pipelines.output import Column, Styled, json_option, moment, number, print_json, print_table
from warehouse.shared.settings import read_settings

_WHY = click.option("--why", default="", help="The reason, for `sankofa actions`.")


@click.group(invoke_without_command=True)
@json_option
@click.pass_context
def builds(context: click.Context, as_json: bool) -> None:
    """List the builds, newest first; * marks the one being served."""
    if context.invoked_subcommand is not None:
        return
    settings = read_settings()
    rows = list_builds(settings)
    if as_json:
        print_json(rows)
    elif not rows:
        click.echo(f"nothing has been published yet: {begin_with(settings)}")
    else:
        print_table(
            rows,
            Column("", lambda build: "*" if build.current else ""),
            Column(
                "data_version",
                lambda build: Styled(build.data_version, "bold green" if build.current else ""),
                whole=True,
            ),
            Column("published, UTC", lambda build: moment(build.published_at), whole=True),
            Column("rows", lambda build: number(build.rows), right=True),
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
    if bool(data_versions) == all_others:
        raise click.UsageError("name the builds to delete, or use --all-others")
    settings = read_settings()
    dropped = drop_builds(settings, data_versions, all_others=all_others, why=why)
    if as_json:
        print_json({"dropped": dropped})
    else:
        click.echo(f"dropped {', '.join(dropped)}" if dropped else "there is no other build")


@click.command()
@click.argument("data_version", required=False)
@click.option(
    "--even-with-withheld",
    is_flag=True,
    help="Also serve a build that was made before something was withheld.",
)
@_WHY
@json_option
def rollback(data_version: str | None, even_with_withheld: bool, why: str, as_json: bool) -> None:
    """Serve DATA_VERSION again (default: the build before the current one)."""
    settings = read_settings()
    name = roll_back(settings, data_version, even_with_withheld=even_with_withheld, why=why)
    if as_json:
        print_json({"data_version": name})
    else:
        click.echo(f"serving data_version {name}")
        click.echo(
            "the next publication replaces it: turn off load_and_publish, on Dagster's page, until "
            "the cause is fixed",
            err=True,
        )
