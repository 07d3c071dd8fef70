"""``sankofa why``: why a value is served, or is not."""

import os
from datetime import datetime

import click

from pipelines.output import Column, Styled, json_option, print_json, print_table
from pipelines.why import Explanation, explain
from warehouse.shared.settings import read_settings


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
@json_option
def why(subject: str, field: str | None, as_of: datetime | None, limit: int, as_json: bool) -> None:
    """Say why a value is or is not served.

    Give the service_id of an organisation, a series or indicator, or the ocid of a contracting
    process; of a name, ticker or LEI it says which ids there are. FIELD narrows it: a line item, a
    metric, an identifier type or a member of the entity; a country or a period of a series; a
    release or a member of releases such as tender.value.

    It lists the vintages with their days and what became of each (served, superseded, withdrawn,
    not known on that day, withheld, left out by a rule), the documents that mention it, and what
    was quarantined there. Withheld values are not shown.
    """
    day = None if as_of is None else as_of.date()
    explanation = explain(read_settings(os.environ), subject, field, day)
    if as_json:
        print_json(explanation)
        return
    click.secho(f"{explanation.meaning}: {explanation.answer}", bold=True)
    click.echo(f"data_version {explanation.data_version}")
    for line in explanation.metric[-limit:]:
        click.echo(f"  {line}")
    _print_rest(len(explanation.metric), limit, "lines")
    _print_readings(explanation, limit)
    _print_documents(explanation, limit)
    _print_quarantined(explanation, limit)
    for note in explanation.notes:
        click.echo(f"note: {note}")


def _print_readings(explanation: "Explanation", limit: int) -> None:
    if not explanation.readings:
        return
    click.echo()
    columns = [
        *(Column("table", wide=True), Column("figure"), Column("value", right=True)),
        *(Column("published", whole=True), Column("state"), Column("source_ref", wide=True)),
    ]
    # The newest figures come last, and are mostly what is asked about.
    print_table(
        columns,
        (
            (
                *(reading.table, reading.figure, reading.value or ""),
                str(reading.available_at or ""),
                Styled(reading.state, "green" if reading.state == "served" else "yellow"),
                reading.source_ref,
            )
            for reading in explanation.readings[-limit:]
        ),
    )
    _print_rest(len(explanation.readings), limit, "rows")


def _print_documents(explanation: "Explanation", limit: int) -> None:
    if not explanation.documents:
        return
    click.echo()
    columns = [
        *(Column("document", whole=True), Column("source", whole=True)),
        *(Column("rows", right=True), Column("read, UTC", whole=True)),
        *(Column("state"), Column("address", wide=True)),
    ]
    print_table(
        columns,
        (
            (
                *(mention.document[:12], mention.source, f"{mention.rows:,}"),
                f"{mention.observed_at:%Y-%m-%d %H:%M}" if mention.observed_at else "",
                *(mention.state, mention.url or ""),
            )
            for mention in explanation.documents[:limit]
        ),
    )
    _print_rest(len(explanation.documents), limit, "documents")


def _print_quarantined(explanation: "Explanation", limit: int) -> None:
    if not explanation.quarantined:
        return
    click.echo()
    columns = [
        *(Column("quarantined"), Column("rows", right=True)),
        *(Column("why"), Column("one of them", whole=True)),
    ]
    print_table(
        columns,
        (
            (group.table, f"{group.rows:,}", group.reason, group.example)
            for group in explanation.quarantined[:limit]
        ),
    )
    _print_rest(len(explanation.quarantined), limit, "reasons")


def _print_rest(count: int, limit: int, what: str) -> None:
    if count > limit:
        click.echo(f"{limit:,} of {count:,} {what}; all of them with --limit {count} or --json")
