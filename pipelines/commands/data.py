"""``sankofa sample``: the sample world, to be ingested."""

import os
from pathlib import Path

import click

from pipelines.output import Column, json_option, print_json, print_table
from pipelines.sample_world import unpack_world
from warehouse.record.landing import open_landing
from warehouse.settings import Settings, read_settings


@click.command()
@click.option("--folder", type=click.Path(path_type=Path), help="Default: sample/ in the home.")
@json_option
def sample(folder: Path | None, as_json: bool) -> None:
    """Unpack sample data: fictional documents in the formats of the real sources."""
    settings = read_settings(os.environ)
    target = folder or settings.sample
    if folder is None:
        # Whoever writes it into the home is going to ingest it there.
        _refuse_sample_in_real_home(settings)
    counts = unpack_world(target)
    if as_json:
        print_json({"folder": target, "written": counts})
        return
    columns = [Column("what"), Column("number", right=True, whole=True)]
    print_table(columns, ((name, f"{number:,}") for name, number in counts.items()))
    click.echo(f"written to {target}")
    if folder is None:
        click.echo("next: `sankofa ingest`, then `sankofa publish`")


def _refuse_sample_in_real_home(settings: Settings) -> None:
    open_landing(settings).refuse_other_world("fictional")
