"""``sankofa live``: from a home without live data to a first publication of it."""

import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import click

from assets.fetching.client import FetchError
from assets.fetching.fetchers import Window
from assets.ingest.land import Prober, missing_setting, probe
from assets.ingest.sources import source_of, sources_of
from assets.source import Source, asked_url_of, refuse_restricted
from pipelines import output
from pipelines.commands.exit_status import Exit
from pipelines.commands.publish import publish
from pipelines.commands.sources import complete_source
from pipelines.sources import requests_of
from warehouse.record.landing import open_landing
from warehouse.record.versions import why_weak
from warehouse.shared.errors import SankofaError
from warehouse.shared.settings import Settings, read_settings, store_setting

_FIRST_DAYS = 7


@dataclass
class Result:
    """What came of one source."""

    source: str
    answers: str = ""
    loaded: str = ""

    @property
    def works(self) -> bool:
        """True if it answered and all of it was loaded."""
        return self.answers == self.loaded == "yes"


@click.command()
@click.argument("sources", nargs=-1, shell_complete=complete_source)
@click.option("--contact", help="E-mail address or web page that publishers are sent.")
@click.option(
    "--days",
    type=click.IntRange(min=1),
    default=_FIRST_DAYS,
    show_default=True,
    help="How many days to fetch of sources that can be fetched by day or month.",
)
@click.option("--yes", is_flag=True, help="Ask nothing; without --contact one must be set.")
@click.pass_context
def live(
    context: click.Context,
    sources: tuple[str, ...],
    contact: str | None,
    days: int,
    yes: bool,
) -> None:
    """Go live: settings, a request to each source, a first load and publication.

    Without SOURCES it offers some. Every request is shown before it is sent. Run it again after a
    failure: it prompts for no setting that is set, and requests nothing that was fetched today.
    """
    open_landing(read_settings()).refuse_other_world("real")
    _store_contact(contact, yes=yes)
    settings = _with_withheld_key()
    chosen = _chosen(settings, sources, yes=yes)
    results = {source.key: Result(source.key) for source in chosen}
    waiting = [source for source in chosen if not _is_fetched(settings, source)]
    if waiting:
        _show_requests(settings, waiting)
        if not yes:
            click.confirm("Send one request to each now?", default=True, abort=True)
    answering = list(_probed(settings, waiting, results))
    present = [source for source in chosen if source not in waiting]
    for source in present:
        results[source.key].answers = "yes"
    _load(settings, answering, present, days, results)
    if any(result.loaded for result in results.values()):
        # Documents that were loaded are published although another source failed.
        context.invoke(publish, confirm_loss="", as_json=False)
    _say(list(results.values()))
    if not all(result.works for result in results.values()):
        context.exit(Exit.FAILED)


def _store_contact(contact: str | None, *, yes: bool) -> None:
    settings = read_settings()
    if contact is None and not settings.contact:
        if yes:
            raise SankofaError("no contact is set, which publishers are sent: give --contact")
        contact = click.prompt("E-mail address or web page that publishers are sent")
    if contact is not None and contact != settings.contact:
        file = store_setting(settings, "SANKOFA_CONTACT", contact)
        click.echo(f"SANKOFA_CONTACT is stored in {file}")


def _with_withheld_key() -> Settings:
    """Make the secret under which withheld people are hashed, unless there is one."""
    settings = read_settings()
    if settings.explicit("withheld_key") is None:
        file = store_setting(settings, "SANKOFA_WITHHELD_KEY", secrets.token_hex(32))
        click.echo(f"A new SANKOFA_WITHHELD_KEY is in {file}: keep a copy elsewhere")
        return read_settings()
    reason = why_weak(settings.withheld_key)
    if reason is not None:
        raise SankofaError(f"SANKOFA_WITHHELD_KEY {reason}: unset it, and one is made")
    return settings


def _chosen(settings: Settings, keys: Sequence[str], *, yes: bool) -> list[Source]:
    """Return the sources to begin with; one that cannot be fetched is refused by name."""
    offered = [source for source in sources_of(settings) if source.permitted and source.fetch]
    # A few days of these are enough to begin with, and their licences are open.
    first = [
        source.key
        for source in offered
        if source.cadence in ("daily", "monthly") and source.license_class != "licensed"
    ]
    if not keys and not yes:
        output.print_table(
            offered,
            output.Column("source", lambda source: source.key, whole=True),
            output.Column("what it is", lambda source: source.title),
            output.Column("licence", lambda source: source.license_class, whole=True),
        )
        words = click.prompt("Sources to begin with", default=" ".join(first))
        keys = words.replace(",", " ").split()
    chosen = [source_of(settings, key) for key in keys or first]
    with Prober(settings) as client:
        for source in chosen:
            refuse_restricted(source)
            missing = missing_setting(client, source, settings)
            if missing is not None:
                raise SankofaError(f"{source.key}: {missing}")
    return chosen


def _is_fetched(settings: Settings, source: Source) -> bool:
    """Return whether a source was fetched to its end in the last day."""
    fetched = open_landing(settings).last_fetched(source.key)
    return fetched is not None and datetime.now(UTC) - fetched < timedelta(days=1)


def _show_requests(settings: Settings, sources: Sequence[Source]) -> None:
    """Print what would be requested of each source, and as whom."""
    lines = {source.key: "\n".join(requests_of(source)) for source in sources}
    output.print_pairs({f"{key} is requested": text for key, text in lines.items()})
    mirrors = {source.key: asked_url_of(source, settings) for source in sources}
    output.print_pairs(
        {f"{key} is sent to": mirrors[key] for key in lines if key in settings.source_urls}
    )
    click.echo(f"as {settings.contact}")


def _probed(
    settings: Settings, sources: Sequence[Source], results: dict[str, Result]
) -> Iterator[Source]:
    """Send one request to each source; yield those that answer as their parser expects."""
    with Prober(settings) as client:
        for source in sources:
            try:
                probe(client, source, settings)
            except FetchError as error:
                results[source.key].answers = str(error)
            else:
                results[source.key].answers = "yes"
                yield source
            click.echo(f"{source.key}: answers: {results[source.key].answers}")


def _load(
    settings: Settings,
    answering: Sequence[Source],
    present: Sequence[Source],
    days: int,
    results: dict[str, Result],
) -> None:
    """Fetch and load what answers; load what is here."""
    # Only now: Dagster takes seconds to import.
    from pipelines.ingest import Outcome, ingest_each

    def report(outcome: Outcome) -> None:
        click.echo(f"{outcome.source}: {outcome.words}")
        results[outcome.source].loaded = outcome.failed or "yes"

    today = datetime.now(UTC).date()
    window = Window(today - timedelta(days=days), today)
    for sources, is_live in ((answering, True), (present, False)):
        if sources:
            ingest_each(settings, tuple(s.key for s in sources), is_live, window, report)


def _say(results: Sequence[Result]) -> None:
    output.print_table(
        results,
        output.Column("source", lambda result: result.source, whole=True),
        output.Column("answers", lambda result: result.answers),
        output.Column("loaded", lambda result: result.loaded or "no"),
    )
    click.echo(
        "`sankofa up` serves it, and fetches every night"
        if all(result.works for result in results)
        else "`sankofa live` again goes on where this stopped"
    )
