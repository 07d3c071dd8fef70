"""``sankofa ingest`` and ``compact``: what comes into the record, and its files."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from assets.fetching.fetchers import Window
from assets.ingest.land import world_in
from assets.ingest.sources import sources_of, unknown_source
from pipelines.builds import BEGIN
from pipelines.commands.sources import complete_source
from pipelines.output import json_option, print_json, progress_console
from warehouse.record.landing import open_landing
from warehouse.shared.errors import SankofaError
from warehouse.shared.settings import Settings, read_settings

if TYPE_CHECKING:
    from pipelines.ingest import Outcome

_DAY = click.DateTime(["%Y-%m-%d"])


@click.command()
@click.argument(
    "sources", nargs=-1, metavar="[SOURCES]… | SOURCE PATH…", shell_complete=complete_source
)
@click.option(
    "--live/--sample",
    default=None,
    help="Fetch from the live sources, or read the unpacked world of the package. Without either: "
    "what is landed, and that world in a home that holds it.",
)
@click.option(
    "--from", "from_", type=_DAY, help="First day, for sources that can be fetched by day."
)
@click.option("--to", type=_DAY, help="Last day.")
@click.option("--origin", help="Address of the file at its publisher; of a folder, its base.")
@click.option("--observed-at", help="Day (or moment) on which the file was read there.")
@click.option(
    "--manifest",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="CSV or TSV file of recordings: path, url, observed_at, source.",
)
@json_option
def ingest(
    sources: tuple[str, ...],
    live: bool | None,
    from_: datetime | None,
    to: datetime | None,
    origin: str | None,
    observed_at: str | None,
    manifest: Path | None,
    as_json: bool,
) -> None:
    """Ingest SOURCES into the record (default: all), or recordings of one SOURCE.

    PATH is a file, a folder, a zip or a gzip. Say where and when it was read with --origin and
    --observed-at, or in a manifest.
    """
    # Completing the names of sources in a shell does not wait for Dagster.
    from pipelines.ingest import RecordingOptions, ingest_each, ingest_recordings

    settings = read_settings()
    keys, paths = _keys_and_paths(settings, sources, recorded=bool(origin or observed_at))
    outcomes: list[Outcome] = []

    def report(outcome: "Outcome") -> None:
        outcomes.append(outcome)
        if not as_json:
            line = f"{outcome.source:22} {outcome.words}"
            click.secho(line, fg="red" if outcome.failed is not None else None)
            for problem in outcome.problems:
                click.secho(f"  {problem}", fg="red")

    if paths or origin or observed_at or manifest:
        _refuse_together(live is not None or from_ is not None or to is not None, keys)
        options = RecordingOptions(next(iter(keys), None), paths, origin, observed_at, manifest)
        ingest_recordings(settings, options, report)
    else:
        if live is False:
            open_landing(settings).refuse_other_world(world_in(settings.sample))
        first, last = (None if day is None else day.date() for day in (from_, to))
        ingest_each(settings, keys, bool(live), Window(first, last), report)
    if as_json:
        print_json(outcomes)
    _fail(outcomes)
    if open_landing(settings).world() is None:
        click.echo(f"nothing is here to ingest: {BEGIN}", err=True)


def _fail(outcomes: Sequence["Outcome"]) -> None:
    """Raise SankofaError if a source or a file failed."""
    failed = [outcome.source for outcome in outcomes if outcome.failed is not None]
    if failed:
        raise SankofaError(f"{', '.join(failed)} failed; documents landed before that are kept")
    problems = sum(len(outcome.problems) for outcome in outcomes)
    if problems:
        raise SankofaError(
            f"{problems} of the recordings could not be read: see above; the others are kept"
        )


def _keys_and_paths(
    settings: Settings, arguments: tuple[str, ...], recorded: bool
) -> tuple[tuple[str, ...], tuple[Path, ...]]:
    """Tell the keys of sources from paths: what is no key and exists is a path.

    If the options are those of recordings (``recorded``), all but the first are paths.
    """
    known = [source.key for source in sources_of(settings)]
    keys = [
        argument
        for number, argument in enumerate(arguments)
        if (argument in known or not Path(argument).exists()) and not (recorded and number)
    ]
    unknown = [key for key in keys if key not in known]
    if unknown:
        looks_like_path = any(sign in unknown[0] for sign in "./")
        if looks_like_path:
            raise SankofaError(f"no such file: {unknown[0]}; check the path")
        raise unknown_source(unknown[0], known)
    return tuple(keys), tuple(Path(argument) for argument in arguments if argument not in keys)


def _refuse_together(has_live_options: bool, keys: tuple[str, ...]) -> None:
    if has_live_options:
        raise SankofaError("--live, --sample, --from and --to do not apply to recordings")
    if len(keys) > 1:
        raise SankofaError(f"recordings are of one source: name one of {', '.join(keys)}")


@click.command()
@json_option
def compact(as_json: bool) -> None:
    """Merge small files of the record, and delete files it no longer consists of.

    Bodies of documents that are older than SANKOFA_LANDING_DAYS go as well, if they were read.
    A load merges files by itself when there are many, and deletes none. No row changes, and loads
    and publications may go on meanwhile; of several machines one does it at a time.
    """
    from pipelines.ingest import run_upkeep

    with progress_console().status("Merging files"):
        done = run_upkeep(read_settings())
    if as_json:
        print_json(done)
        return
    for table, words in done.items():
        click.echo(f"{table:16} {words}")
    if not done:
        click.echo("nothing to do: no table has many small files or old ones, no body is too old")
