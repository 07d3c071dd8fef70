"""``sankofa sources``: what can be ingested, and the publishers of the data registry."""

import os
from pathlib import Path

import click

from pipelines.output import Column, json_option, print_json, print_table
from warehouse.errors import SankofaError
from warehouse.settings import read_settings


@click.group()
def sources() -> None:
    """Find publishers of tenders."""


@sources.command()
@click.option("--country", metavar="XX", help="ISO code or name of a country.")
@click.option("--search", metavar="WORDS", help="Words of the title, country or source_id.")
@click.option("--toml", "entry", metavar="ID", help="Print the portal entry of a publication.")
@click.option(
    "--file",
    "recording",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Read a saved publications.json instead of the registry.",
)
@json_option
def registry(
    country: str | None,
    search: str | None,
    entry: str | None,
    recording: Path | None,
    as_json: bool,
) -> None:
    """List the publishers of the Open Contracting data registry."""
    from assets.tenders import registry as published

    settings = read_settings(os.environ)
    publications = published.read_publications(settings, recording)
    if entry is not None:
        chosen = [publication for publication in publications if publication.id == entry]
        if not chosen:
            raise SankofaError(f"the registry has no publication {entry}: list them without --toml")
        licence = published.read_licence(settings, entry)
        page = published.publication_page(settings, entry)
        click.echo(published.portal_entry(chosen[0], licence, page), nl=False)
        return
    found = published.matching(publications, country, search)
    if as_json:
        print_json(found)
    elif not found:
        click.echo(f"none of {len(publications)} publications matches")
    else:
        columns = ("id", "country", "title", "source_id", "from", "to", "last retrieved")
        print_table(
            [Column(title, right=title == "id") for title in columns],
            (
                (
                    publication.id,
                    publication.country,
                    publication.title,
                    publication.source_id,
                    publication.date_from,
                    publication.date_to,
                    publication.last_retrieved,
                )
                for publication in found
            ),
        )
