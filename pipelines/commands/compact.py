"""``sankofa compact``: merge small files of the record, delete old ones."""

import os

import click

from pipelines.output import json_option, print_json, progress_console
from warehouse.settings import read_settings


@click.command()
@json_option
def compact(as_json: bool) -> None:
    """Merge small files of the record, and delete files it no longer consists of.

    Bodies of documents that are older than SANKOFA_LANDING_DAYS go as well, if they were read.
    `sankofa ingest` does it after a load that left many files. No row changes, and loads and
    publications may go on meanwhile; of several machines one does it at a time.
    """
    from pipelines.upkeep import run_upkeep

    with progress_console().status("Merging files"):
        done = run_upkeep(read_settings(os.environ))
    if as_json:
        print_json(done)
        return
    for table, words in done.items():
        click.echo(f"{table:16} {words}")
    if not done:
        click.echo("nothing to do: no table has many small files or old ones, no body is too old")
