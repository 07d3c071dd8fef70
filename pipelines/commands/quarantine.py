"""``sankofa quarantine``: what was read and not understood, and another try at it."""

import os
from collections import Counter

import click

from pipelines.commands.listing_group import ListingGroup
from pipelines.output import Column, json_option, print_json, print_table
from pipelines.quarantine import describe_row, retry_each
from warehouse.errors import SankofaError
from warehouse.record.quarantine import (
    QuarantinedRow,
    quarantine_groups,
    quarantined_row,
    quarantined_rows,
)
from warehouse.record.store import open_record
from warehouse.settings import read_settings

_SOURCE = click.option("--source", help="Only this source.")
_REASON = click.option("--reason", metavar="TEXT", help="Only reasons that contain this text.")


@click.group(cls=ListingGroup)
def quarantine() -> None:
    """List rows that were read but not accepted, and retry them; nothing is deleted.

    Without a command: list.
    """


@quarantine.command("list")
@_SOURCE
@_REASON
@click.option("--limit", default=50, show_default=True, type=click.IntRange(1))
@json_option
def list_refusals(source: str | None, reason: str | None, limit: int, as_json: bool) -> None:
    """Count quarantined rows by source, table and reason, with one example id each."""
    groups = quarantine_groups(open_record(read_settings(os.environ)), source, reason)
    listed = groups[:limit]
    if as_json:
        print_json(listed)
        return
    columns = [
        *(Column("source", whole=True), Column("table", wide=True)),
        *(Column("records", right=True), Column("open", right=True)),
        *(Column("why"), Column("one of them", whole=True)),
    ]
    print_table(
        columns,
        (
            (
                *(group.source, group.table_name, f"{group.records:,}", f"{group.open:,}"),
                *(group.reason, group.example[:12]),
            )
            for group in listed
        ),
    )
    rest = f"; {len(groups) - limit} more with a larger --limit" if len(groups) > limit else ""
    click.echo(f"\n{sum(group.records for group in groups):,} records, {len(groups)} reasons{rest}")
    if groups:
        click.echo("open: not accepted since; see `sankofa quarantine retry`")


@quarantine.command("show")
@click.argument("name", metavar="ID")
@json_option
def show_refusal(name: str, as_json: bool) -> None:
    """Show one quarantined row: its location, the reason and an excerpt of its document.

    For a document that may hold personal data only the location is shown.
    """
    settings = read_settings(os.environ)
    facts = describe_row(settings, quarantined_row(open_record(settings), name))
    if as_json:
        print_json(facts)
        return
    columns = [Column("", whole=True), Column("")]
    print_table(
        columns, ((label.replace("_", " "), str(fact)) for label, fact in facts.items() if fact)
    )


@quarantine.command("retry")
@click.argument("names", metavar="[ID]...", nargs=-1)
@_SOURCE
@_REASON
@click.option("--all", "everything", is_flag=True, help="All open rows.")
@json_option
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
    record = open_record(read_settings(os.environ))
    chosen: list[QuarantinedRow] = [quarantined_row(record, name) for name in names]
    if not names:
        chosen = [
            group for group in quarantined_rows(record, source, reason) if group.became != "read"
        ]
    became = {
        key: dict(Counter(row.became for row in rows))
        for key, rows in retry_each(read_settings(os.environ), record, chosen)
    }
    if as_json:
        print_json({"chosen": len(chosen), "became": became})
    else:
        columns = [Column("source", whole=True), Column("what became of its records")]
        outcomes = {
            key: ", ".join(f"{number:,} {words}" for words, number in counts.items())
            for key, counts in became.items()
        }
        print_table(columns, outcomes.items())
        if not chosen:
            click.echo("no open row matches")
    failed = [key for key, counts in became.items() if "failed" in counts]
    if failed:
        raise SankofaError(
            f"the parser failed on documents of {', '.join(failed)}, which stay unread; "
            f"`sankofa ingest {' '.join(failed)}` names the bug"
        )
