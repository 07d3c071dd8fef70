"""``sankofa sources``: what can be ingested."""

from collections import Counter

import click

from assets.ingest.sources import source_of, sources_of
from pipelines import output
from pipelines.sample_world import ARCHIVES, PackagedWorld, unpack_world
from pipelines.sources import source_statuses
from warehouse.record.landing import open_landing
from warehouse.shared.settings import Settings, read_settings

# ``sankofa sample``: a world of the package, to be ingested.


@click.command()
@click.option(
    "--world",
    type=click.Choice(list(ARCHIVES)),
    default="fictional",
    show_default=True,
    help="The real documents of the package, or the fictional sample world.",
)
@output.json_option
def sample(world: PackagedWorld, as_json: bool) -> None:
    """Unpack the documents of the package: the fictional sample world, or real ones."""
    settings = read_settings()
    open_landing(settings).refuse_other_world(world)
    counts = unpack_world(settings.sample, world)
    if as_json:
        output.print_json({"folder": settings.sample, "written": counts})
        return
    output.print_counts(counts, "what", "number")
    click.echo(f"written to {settings.sample}")
    click.echo("next: `sankofa ingest`, then `sankofa publish`")


_COLOURS = {"working": "green", "untried": "yellow", "refused": "red"}


def complete_source(
    context: click.Context, option: click.Parameter | None, begun: str
) -> list[str]:
    """Complete the key of a source."""
    known = sources_of(read_settings())
    return [source.key for source in known if source.key.startswith(begun)]


@click.command()
@click.argument("source", required=False, shell_complete=complete_source)
@output.json_option
def sources(source: str | None, as_json: bool) -> None:
    """List the sources with their licences and requests, and what this home stores from each.

    With SOURCE, show the whole declaration of one, and what this home stores from it.
    """
    settings = read_settings()
    if source is not None:
        _show(settings, source, as_json)
        return
    rows = source_statuses(settings, sources_of(settings))
    if as_json:
        output.print_json(rows)
        return
    output.print_table(
        rows,
        output.Column("source", lambda row: row.source, whole=True),
        output.Column(
            "state", lambda row: output.Styled(row.state, _COLOURS[row.state]), whole=True
        ),
        output.Column("licence", lambda row: row.license_class),
        output.Column(
            "documents", lambda row: output.number(row.documents or None), right=True, whole=True
        ),
        output.Column("rows", lambda row: output.number(row.rows or None), right=True, whole=True),
        output.Column("fetched, UTC", lambda row: output.moment(row.last_success), whole=True),
        output.Column("licence name", lambda row: row.licence, wide=True),
        output.Column("requests", lambda row: "\n".join(row.requests) or row.fetched_by, wide=True),
    )
    counts = Counter[str](row.state for row in rows)
    click.echo(f"\n{', '.join(f'{counts[state]} {state}' for state in _COLOURS)}")
    for row in rows:
        if row.failing:
            click.secho(
                f"{row.source}: its parser fails on {len(row.failing):,} documents; "
                f"`sankofa sources {row.source}` names them",
                fg="red",
            )
    _say_if_fictional(settings)


def _show(settings: Settings, source: str, as_json: bool) -> None:
    [row] = source_statuses(settings, [source_of(settings, source)])
    if as_json:
        output.print_json(row)
        return
    rates = (f"{rate:g} a second at {host}" for host, rate in row.requests_per_second.items())
    lines = {
        "what it is": row.title,
        "state": row.state,
        "licence": f"{row.licence} ({row.license_class})",
        "stated at": row.licence_stated_at,
        "address": row.address,
        "mirror": row.asked_at,
        "requests": "\n".join(row.requests),
        "at most": "\n".join(rates),
        "fetched by": row.fetched_by,
        "tables": ", ".join(row.tables),
        "documents": f"{row.documents:,}",
        "rows": f"{row.rows:,}",
        "newest document": output.moment(row.newest_document),
        "last success": output.moment(row.last_success),
        "parser fails": "\n".join(row.failing),
    }
    output.print_pairs(lines)
    _say_if_fictional(settings)


def _say_if_fictional(settings: Settings) -> None:
    if open_landing(settings).world() == "fictional":
        click.echo("documents and rows are those of the sample world, which is fictional")
