"""``sankofa sample`` and ``sankofa ingest``: what comes into the record."""

import os
from datetime import datetime
from pathlib import Path

import click

from pipelines.output import Column, json_option, print_json, print_table
from warehouse.errors import SankofaError
from warehouse.settings import read_settings

_DAY = click.DateTime(["%Y-%m-%d"])


@click.command()
@click.option("--scale", default=1, show_default=True, type=click.IntRange(1, 10_000))
@click.option("--seed", default=7, show_default=True)
@click.option("--folder", type=click.Path(path_type=Path), help="Default: sample/ in the home.")
@json_option
def sample(scale: int, seed: int, folder: Path | None, as_json: bool) -> None:
    """Write sample data: fictional documents in the formats of the real sources."""
    from assets.sample.world import write_world
    from warehouse.record.landing import Landing

    settings = read_settings(os.environ)
    if folder is None:
        # Whoever writes it into the home is going to ingest it there.
        Landing(settings.landing).refuse_other_world("fictional")
    target = folder or settings.sample
    counts = write_world(target, scale, seed)
    if as_json:
        print_json({"folder": target, "written": counts})
        return
    columns = [Column("what"), Column("number", right=True, whole=True)]
    print_table(columns, ((name, f"{number:,}") for name, number in counts.items()))
    click.echo(f"written to {target}")


@click.command()
@click.argument("sources", nargs=-1, shell_complete=lambda *args: _matching(args[-1]))
@click.option(
    "--live/--sample", default=False, help="Fetch from the live sources, or read the sample data."
)
@click.option(
    "--from", "from_", type=_DAY, help="First day, for sources that can be fetched by day."
)
@click.option("--to", type=_DAY, help="Last day.")
@json_option
def ingest(
    sources: tuple[str, ...],
    live: bool,
    from_: datetime | None,
    to: datetime | None,
    as_json: bool,
) -> None:
    """Ingest SOURCES into the record (default: all)."""
    from pipelines.ingest import Outcome, ingest_each

    first, last = (None if day is None else day.date() for day in (from_, to))
    outcomes: list[Outcome] = []
    for outcome in ingest_each(read_settings(os.environ), sources, live, first, last):
        outcomes.append(outcome)
        if not as_json:
            line = f"{outcome.source:22} {outcome.words}"
            click.secho(line, fg="red" if outcome.failed else None)
    if as_json:
        print_json(outcomes)
    failed = [outcome.source for outcome in outcomes if outcome.failed]
    if failed:
        raise SankofaError(f"{', '.join(failed)} failed; documents landed before that are kept")


def _matching(begun: str) -> list[str]:
    """Complete the key of a source."""
    from assets.ingest.sources import sources_of

    known = sources_of(read_settings(os.environ))
    return [source.key for source in known if source.key.startswith(begun)]
