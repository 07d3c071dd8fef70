"""``sankofa quarantine`` and ``why``: what became of rows that were read, or of a value."""

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import date, datetime
from itertools import groupby

import click

from assets.ingest.failures import may_name_people
from assets.ingest.quarantine import document_of, excerpt, retry
from assets.ingest.sources import sources_of
from assets.parsing.limits import DocumentLimits
from pipelines import output
from pipelines.finder import Finder
from pipelines.why import explain
from warehouse.record.landing import open_landing
from warehouse.record.quarantine import QuarantinedRow, quarantine_groups, quarantined_rows
from warehouse.record.store import Record, open_record
from warehouse.record.versions import require_withheld_key
from warehouse.shared.errors import SankofaError
from warehouse.shared.settings import Settings, read_settings
from warehouse.tables.operations import RetryEntry

_SOURCE = click.option("--source", help="Only this source.")
_REASON = click.option("--reason", metavar="TEXT", help="Only reasons that contain this text.")


@click.group()
def quarantine() -> None:
    """List rows that were read but not accepted, and retry them; nothing is deleted."""


@quarantine.command("list")
@_SOURCE
@_REASON
@click.option("--limit", default=50, show_default=True, type=click.IntRange(1))
@output.json_option
def list_refusals(source: str | None, reason: str | None, limit: int, as_json: bool) -> None:
    """Count quarantined rows by source, table and reason, with one example id each."""
    groups = quarantine_groups(open_record(read_settings()), source, reason)
    listed = groups[:limit]
    if as_json:
        output.print_json(listed)
        return
    output.print_table(
        listed,
        output.Column("source", lambda group: group.source, whole=True),
        output.Column("table", lambda group: group.table_name, wide=True),
        output.Column("records", lambda group: output.number(group.records), right=True),
        output.Column("open", lambda group: output.number(group.open), right=True),
        output.Column("why", lambda group: group.reason),
        output.Column("one of them", lambda group: group.example[:12], whole=True),
    )
    rest = f"; {len(groups) - limit} more with a larger --limit" if len(groups) > limit else ""
    click.echo(f"\n{sum(group.records for group in groups):,} records, {len(groups)} reasons{rest}")
    if groups:
        click.echo("open: not accepted since; see `sankofa quarantine retry`")


@quarantine.command("show")
@click.argument("name", metavar="ID")
@output.json_option
def show_refusal(name: str, as_json: bool) -> None:
    """Show one quarantined row: its location, the reason and an excerpt of its document.

    For a document that may hold personal data only the location is shown.
    """
    settings = read_settings()
    facts = describe_row(settings, Finder(settings).quarantined_row(name))
    if as_json:
        output.print_json(facts)
        return
    output.print_pairs(
        {label.replace("_", " "): str(fact) for label, fact in facts.items() if fact}
    )


@quarantine.command("retry")
@click.argument("names", metavar="[ID]...", nargs=-1)
@_SOURCE
@_REASON
@click.option("--all", "everything", is_flag=True, help="All open rows.")
@output.json_option
def retry_refusals(
    names: tuple[str, ...],
    source: str | None,
    reason: str | None,
    everything: bool,
    as_json: bool,
) -> None:
    """Read the documents of quarantined records again with the current code.

    Rows that are accepted now are appended; the outcome of each row is recorded.
    """
    if not (names or source or reason or everything):
        raise click.UsageError("choose rows: ids, --source, --reason or --all")
    settings = read_settings()
    finder = Finder(settings)
    chosen = [finder.quarantined_row(name) for name in names] or [
        row for row in quarantined_rows(finder.record, source, reason) if row.became != "read"
    ]
    became = {
        key: dict(Counter(row.became for row in rows))
        for key, rows in retry_each(settings, finder.record, chosen)
    }
    if as_json:
        output.print_json({"chosen": len(chosen), "became": became})
    else:
        output.print_table(
            became.items(),
            output.Column("source", lambda outcome: outcome[0], whole=True),
            output.Column(
                "what became of its records",
                lambda outcome: ", ".join(
                    f"{rows:,} {words}" for words, rows in outcome[1].items()
                ),
            ),
        )
        if not chosen:
            click.echo("no open row matches")
    failed = [key for key, counts in became.items() if "failed" in counts]
    if failed:
        raise SankofaError(
            f"the parser failed on documents of {', '.join(failed)}, which stay unread; "
            f"`sankofa ingest {' '.join(failed)}` names the bug"
        )


_HIDDEN = "not shown: a document of this source can hold personal data"


def describe_row(settings: Settings, refusal: QuarantinedRow) -> dict[str, object]:
    """Return all details of a quarantined row, its document and its location there."""
    landing = open_landing(settings)
    sources = {source.key: source for source in sources_of(settings)}
    document = document_of(landing, refusal)
    if document is None:
        text = "not shown: the document is not landed; fetch it again"
    elif document.removal is not None:
        text = f"not shown: {document.removal.words}"
    elif may_name_people(sources.get(refusal.source)):
        text = _HIDDEN
    else:
        text = excerpt(landing, document, refusal) or "not shown: it is no text, or too long"
    return {
        "id": refusal.quarantine_id,
        "source": refusal.source,
        "table": refusal.table_name,
        "reason": refusal.reason,
        "address": None if document is None else document.url,
        "location": refusal.source_ref,
        "sha256": refusal.document,
        "observed_at": None if document is None else document.observed_at,
        "quarantined_at": refusal.quarantined_at,
        "load_id": refusal.load_id,
        "became": refusal.became,
        "retried_at": refusal.retried_at,
        "excerpt": text,
    }


def retry_each(
    settings: Settings, record: Record, chosen: Sequence[QuarantinedRow]
) -> Iterator[tuple[str, list[RetryEntry]]]:
    """Retry rows source by source; yield each source with the outcomes of its rows."""
    landing = open_landing(settings)
    require_withheld_key(settings.withheld_key, landing.world())
    sources = {source.key: source for source in sources_of(settings)}
    in_order = sorted(chosen, key=lambda row: row.source)
    for key, refusals in groupby(in_order, key=lambda row: row.source):
        if key not in sources:
            raise SankofaError(f"unknown source: {key}; its documents cannot be read again")
        with output.progress_bar() as bar:
            step = bar.add_task(f"{key}: reading again", total=None)
            rows = retry(
                record,
                landing,
                sources[key].with_withheld_key(settings.withheld_key),
                list(refusals),
                lambda done, total, step=step: bar.update(step, completed=done, total=total),  # type: ignore[misc]
                settings.processes,
                DocumentLimits.of(settings),
            )
        yield key, rows


@click.command()
@click.argument("subject", metavar="SERVICE_ID|SERIES|OCID")
@click.argument("field", required=False)
@click.option(
    "--as-of",
    type=click.DateTime(["%Y-%m-%d"]),
    help="Explain the answer to a question with this as_of.",
)
@click.option(
    "--limit",
    default=20,
    show_default=True,
    type=click.IntRange(1),
    help="Rows and documents to print.",
)
@output.json_option
def why(subject: str, field: str | None, as_of: datetime | None, limit: int, as_json: bool) -> None:
    """Say why a value is or is not served.

    Give the service_id of an organisation, a series or indicator, or the ocid of a contracting
    process. A name, ticker or LEI will do if only one organisation has it. FIELD narrows it: a line
    item, a metric, an identifier type or a member of the entity; a country or a period of a series;
    a release or a member of releases such as tender.value.

    It lists the vintages with their days and what became of each (served, superseded, withdrawn,
    not known on that day, withheld, left out by a rule), the documents that mention it, and what
    was quarantined there. Withheld values are not shown.
    """
    day = None if as_of is None else as_of.date()
    explanation = explain(read_settings(), subject, field, day)
    if as_json:
        output.print_json(explanation)
        return
    click.secho(f"{explanation.meaning}: {explanation.answer}", bold=True)
    click.echo(f"data_version {explanation.data_version}")
    for line in explanation.metric[-limit:]:
        click.echo(f"  {line}")
    _print_rest(len(explanation.metric), limit, "lines")
    # Those published last are mostly what is wanted; they are shown by figure.
    newest = sorted(explanation.readings, key=lambda row: row.available_at or date.min)[-limit:]
    _print_part(
        [row for row in explanation.readings if row in newest],
        len(explanation.readings),
        "rows",
        output.Column("table", lambda reading: reading.table, wide=True),
        output.Column("figure", lambda reading: reading.figure),
        output.Column("value", lambda reading: reading.value or "", right=True),
        output.Column("published", lambda reading: str(reading.available_at or ""), whole=True),
        output.Column(
            "state",
            lambda reading: output.Styled(
                reading.state, "green" if reading.state == "served" else "yellow"
            ),
        ),
        output.Column("source_ref", lambda reading: reading.source_ref, wide=True),
    )
    _print_part(
        explanation.documents[:limit],
        len(explanation.documents),
        "documents",
        output.Column("document", lambda mention: mention.document[:12], whole=True),
        output.Column("source", lambda mention: mention.source, whole=True),
        output.Column("rows", lambda mention: output.number(mention.rows), right=True),
        output.Column("read, UTC", lambda mention: output.moment(mention.observed_at), whole=True),
        output.Column("state", lambda mention: mention.state),
        output.Column("address", lambda mention: mention.url or "", wide=True),
    )
    _print_part(
        explanation.quarantined[:limit],
        len(explanation.quarantined),
        "reasons",
        output.Column("quarantined", lambda group: group.table),
        output.Column("rows", lambda group: output.number(group.rows), right=True),
        output.Column("why", lambda group: group.reason),
        output.Column("one of them", lambda group: group.example, whole=True),
    )
    for note in explanation.notes:
        click.echo(f"note: {note}")


def _print_part(
    shown: Sequence[output.Row], count: int, what: str, *columns: output.Column[output.Row]
) -> None:
    """Print those of so many rows that are shown, if any."""
    if shown:
        click.echo()
        output.print_table(shown, *columns)
        _print_rest(count, len(shown), what)


def _print_rest(count: int, limit: int, what: str) -> None:
    if count > limit:
        click.echo(f"{limit:,} of {count:,} {what}; all of them with --limit {count} or --json")
