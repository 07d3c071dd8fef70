"""``sankofa backup`` and ``restore``: a home as one file."""

import os
from pathlib import Path

import click

from pipelines.backup import back_up, restore_into
from pipelines.commands.verify import verify
from pipelines.output import progress_console
from warehouse.shared.settings import read_settings


@click.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
def backup(file: Path) -> None:
    """Write documents, record, builds, keys and settings of this home into FILE.

    Servers go on; fetches, loads and publications wait meanwhile. The file has the keys.
    """
    settings = read_settings()
    with progress_console().status(f"Writing {file}"):
        elsewhere = back_up(settings, file)
    click.echo(f"{file}: {file.stat().st_size >> 20:,} MB; `sankofa restore {file}` reads it")
    for address in elsewhere:
        click.echo(f"not in it: {address.partition('://')[0]}://…, which its store backs up")
    if "SANKOFA_WITHHELD_KEY" in os.environ:
        click.echo("not in it: SANKOFA_WITHHELD_KEY, which the environment sets; keep it as well")


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.pass_context
def restore(context: click.Context, file: Path) -> None:
    """Restore a backup into an empty home, and check every byte of it."""
    settings = read_settings()
    with progress_console().status(f"Reading {file}"):
        restore_into(settings, file)
    context.invoke(verify, repairs=False, as_json=False)
