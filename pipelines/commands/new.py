"""``sankofa new``: begin a source, a portal, a metric or a panel, with a test."""

from pathlib import Path

import click

from pipelines.output import json_option, print_json
from pipelines.scaffold import Kind, scaffold, write

_ROOT = Path(__file__).parents[2]


@click.command()
@click.argument("kind", type=click.Choice(("source", "portal", "metric", "panel")))
@click.argument("name")
@json_option
def new(kind: Kind, name: str, as_json: bool) -> None:
    """Write the files with which a new source, portal, metric or panel begins.

    They go into this checkout, with a test that passes, and never over a file that exists. A source
    begins as a CSV of macroeconomic figures; docs/add-a-source.md says what to copy for others.
    """
    made = scaffold(_ROOT, kind, name)
    write(_ROOT, made)
    if as_json:
        files = {path: "written" if path in made.new else "changed" for path in made.texts}
        print_json({"files": files, "test": made.test, "fill_in": made.steps})
        return
    for path in made.texts:
        click.echo(f"{'wrote  ' if path in made.new else 'changed'}  {path}")
    click.echo(f"\nIts test passes:\n  python -m pytest {made.test}\n\nFill in:")
    for step in made.steps:
        click.echo(f"  - {step}")
