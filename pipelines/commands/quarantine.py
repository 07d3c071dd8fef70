"""``sankofa quarantine``: what was read and not understood, and another try at it."""

import os
from typing import TYPE_CHECKING

import click

from pipelines.output import Column, json_option, print_json, print_table
from warehouse.settings import read_settings

if TYPE_CHECKING:
    from warehouse.record.quarantine import QuarantinedRow

_SOURCE = click.option("--source", help="Of one source only.")
_REASON = click.option("--reason", metavar="TEXT", help="Only reasons that hold this text.")


@click.group()
def quarantine() -> None:
    """See what was read and not understood, and read it again; nothing is ever deleted."""


@quarantine.command("list")
@_SOURCE
@_REASON
@click.option("--limit", default=50, show_default=True, type=click.IntRange(1))
@json_option
def list_refusals(source: str | None, reason: str | None, limit: int, as_json: bool) -> None:
    """Count what is quarantined by source, table and reason, with the id of one of each."""
    from warehouse.record.quarantine import quarantine_groups
    from warehouse.record.store import Record

    found = quarantine_groups(Record(read_settings(os.environ).record), source, reason)
    shown = found[:limit]
    if as_json:
        print_json(shown)
        return
    columns = [
        *(Column("source"), Column("table")),
        *(Column("records", right=True), Column("open", right=True)),
        *(Column("why"), Column("one of them", whole=True)),
    ]
    print_table(
        columns,
        (
            (
                *(each.source, each.table_name, f"{each.records:,}", f"{each.open:,}"),
                *(each.reason, each.example[:12]),
            )
            for each in shown
        ),
    )
    rest = f"; {len(found) - limit} more with a larger --limit" if len(found) > limit else ""
    click.echo(f"\n{sum(each.records for each in found):,} records, {len(found)} reasons{rest}")


@quarantine.command("show")
@click.argument("name", metavar="ID")
@json_option
def show_refusal(name: str, as_json: bool) -> None:
    """Show one quarantined record: where it stands, why, and an excerpt of its document.

    There is no excerpt of a document that can hold personal data: only its location.
    """
    from pipelines.quarantine import told
    from warehouse.record.quarantine import quarantined_row
    from warehouse.record.store import Record

    settings = read_settings(os.environ)
    facts = told(settings, quarantined_row(Record(settings.record), name))
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
@click.option("--all", "everything", is_flag=True, help="All that is open.")
@json_option
def retry_refusals(
    names: tuple[str, ...],
    source: str | None,
    reason: str | None,
    everything: bool,
    as_json: bool,
) -> None:
    """Read the documents of quarantined records again with the code of today.

    What is understood now is appended; what became of each record is kept beside it.
    """
    from collections import Counter

    from pipelines.quarantine import retry_each
    from warehouse.record.quarantine import quarantined_row, quarantined_rows
    from warehouse.record.store import Record

    if not (names or source or reason or everything):
        raise click.UsageError("say which: ids, --source, --reason or --all")
    record = Record(read_settings(os.environ).record)
    chosen: list[QuarantinedRow] = [quarantined_row(record, name) for name in names]
    if not names:
        chosen = [
            each for each in quarantined_rows(record, source, reason) if each.became != "read"
        ]
    became = {
        key: dict(Counter(row.became for row in rows))
        for key, rows in retry_each(read_settings(os.environ), record, chosen)
    }
    if as_json:
        print_json({"chosen": len(chosen), "became": became})
        return
    columns = [Column("source", whole=True), Column("what became of its records")]
    told = {
        key: ", ".join(f"{number:,} {words}" for words, number in counts.items())
        for key, counts in became.items()
    }
    print_table(columns, told.items())
    if not chosen:
        click.echo("nothing that was chosen is open")
