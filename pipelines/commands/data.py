"""``sankofa sample``: the sample world, to be ingested."""

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pipelines.output import Column, json_option, print_json, print_table
from warehouse.errors import SankofaError
from warehouse.settings import Settings, read_settings

if TYPE_CHECKING:
    from assets.sample.world import SampleWorld, Size

_DAY = click.DateTime(["%Y-%m-%d"])


@click.command()
@click.option("--scale", default=1, show_default=True, type=click.IntRange(1, 10_000))
@click.option("--seed", default=7, show_default=True)
@click.option(
    "--size",
    default="full",
    show_default=True,
    type=click.Choice(["small", "full"]),
    help="small: a few tenders a month; full: enough for every panel.",
)
@click.option(
    "--day",
    type=_DAY,
    help="Day on which the world was last read. Default: the day of the world in the folder, else "
    "today (before 06:00 UTC, when it is read: yesterday).",
)
@click.option("--folder", type=click.Path(path_type=Path), help="Default: sample/ in the home.")
@json_option
def sample(
    scale: int,
    seed: int,
    size: "Size",
    day: datetime | None,
    folder: Path | None,
    as_json: bool,
) -> None:
    """Write sample data: fictional documents in the formats of the real sources."""
    from assets.sample.world import SampleWorld, last_day_read, world_in, write_world

    settings = read_settings(os.environ)
    target = folder or settings.sample
    before = world_in(target)
    kept = None if before is None else before.day
    chosen = None if day is None else day.date()
    world = SampleWorld(chosen or kept or last_day_read(datetime.now(UTC)), scale, seed, size)
    if folder is None:
        # Whoever writes it into the home is going to ingest it there.
        _refuse_sample_in_real_home(settings)
        _refuse_another_sample(settings, before, world)
    counts = write_world(target, world)
    if as_json:
        print_json({"folder": target, "written": counts})
        return
    columns = [Column("what"), Column("number", right=True, whole=True)]
    print_table(columns, ((name, f"{number:,}") for name, number in counts.items()))
    click.echo(f"written to {target}")
    if folder is None:
        click.echo("next: `sankofa ingest`, then `sankofa publish`")


def _refuse_another_sample(
    settings: Settings, before: "SampleWorld | None", world: "SampleWorld"
) -> None:
    """Raise SankofaError if another sample world is landed: two would contradict each other."""
    from warehouse.record.landing import open_landing

    if before is None or before == world or open_landing(settings).world() is None:
        return
    raise SankofaError(
        f"this home holds another sample world ({before}), and two cannot be mixed; nothing was "
        f"written. To have {world}, choose another home with SANKOFA_HOME, or another --folder"
    )


def _refuse_sample_in_real_home(settings: Settings) -> None:
    from warehouse.record.landing import open_landing

    open_landing(settings).refuse_other_world("fictional")
