"""Reported company figures: one row per figure and filing."""

from datetime import date
from decimal import Decimal
from typing import Literal

from warehouse.tables.column import column, same_column
from warehouse.tables.sighting import EvidencedSighting

# The list of filings: one row for each version of each document that an issuer filed.


class Filing(EvidencedSighting):
    """One document that an issuer filed, in one version, as the publisher lists it."""

    service_id: str = column("Filing.service_id", identity=1)
    form: str | None = column("Filing.form", content=True)
    period_end: date | None = column("Filing.period_end", content=True)
    document_id: str = column("Filing.document_id", identity=2)
    version: int | None = column("Filing.version", identity=3)
    received_on: date | None = column("Filing.received_on", content=True)
    received_at: str | None = column("Filing.received_at")
    accepted_at: str | None = column("Filing.accepted_at", None, since="1.0.0")
    # Not content: the same document at another address is no new vintage.
    link: str | None = column("Filing.link")


class FilingVintage(Filing):
    """A filing with the session from which it could be acted on."""

    # The day of the exchange on which one can act on what became public.
    tradable_from: date | None = column(
        "FilingVintage.tradable_from", None, part="time", since="1.0.0"
    )


PeriodType = Literal["FY", "H1", "H2", "Q1", "Q2", "Q3", "Q4", "9M", "INSTANT", "OTHER"]
RestatementKind = Literal["restatement", "correction", "element", "measuring_unit", "split"]
ApparentRestatement = Literal["rounding", "scale", "sign", "element", "translation"]


class Fundamental(EvidencedSighting):
    """One reported figure of one issuer, as one filing stated it."""

    # A figure is the same figure in whichever source states it; unit and basis identify it: the
    # same value in another currency is another figure, not a restatement.
    source: str = column("Fundamental.source", appears="table")
    service_id: str = column("Fundamental.service_id", identity=1)
    line_item: str = column("Fundamental.line_item", identity=2)
    statement: str = column("Fundamental.statement")
    value_reported: Decimal | None = column("Fundamental.value_reported", content=True)
    currency_reported: str | None = column("Fundamental.currency_reported")
    unit: str = column("Fundamental.unit", identity=3)
    period_type: PeriodType = column("Fundamental.period_type")
    period_start: date | None = column("Fundamental.period_start", identity=5)
    period_end: date = column("Fundamental.period_end", identity=6)
    fiscal_label: str | None = column("Fundamental.fiscal_label")
    basis: str = column("Fundamental.basis", identity=4)
    accounting_standard: str = column("Fundamental.accounting_standard")
    element: str | None = column("Fundamental.element", default=None, after="line_item")
    measuring_unit_date: date | None = column(
        "Fundamental.measuring_unit_date", default=None, after="unit"
    )
    conflicts_with: str | None = column("Fundamental.conflicts_with", default=None)
    document_id: str | None = column(
        "Fundamental.document_id", default=None, part="origin", since="1.0.0"
    )
    form: str | None = column("Fundamental.form", default=None, part="origin", since="1.0.0")
    document_url: str | None = column(
        "Fundamental.document_url", default=None, part="origin", since="1.0.0"
    )
    accepted_at: str | None = column(
        "Fundamental.accepted_at", default=None, part="origin", since="1.0.0"
    )
    # No vintage has it, and only vintages are served.
    apparent_restatement: ApparentRestatement | None = column(
        "Fundamental.apparent_restatement", default=None, appears="table"
    )


class FundamentalVintage(Fundamental):
    """A reported figure with what only a comparison of its vintages tells."""

    restatement_kind: RestatementKind | None = column(
        "FundamentalVintage.restatement_kind", default=None, part="time"
    )
    split_ratio: str | None = column(
        "FundamentalVintage.split_ratio", default=None, part="time", since="1.0.0"
    )
    tradable_from: date | None = same_column(FilingVintage, "tradable_from")


class ElementFact(EvidencedSighting):
    """What one filing states of one element of a taxonomy, without dimensions."""

    source: str = same_column(Fundamental, "source")
    service_id: str = same_column(Fundamental, "service_id")
    element: str = column("ElementFact.element", identity=2)
    label: str | None = column("ElementFact.label")
    value_reported: Decimal | None = same_column(Fundamental, "value_reported")
    unit: str = column("ElementFact.unit", identity=3)
    period_type: PeriodType = same_column(Fundamental, "period_type")
    period_start: date | None = same_column(Fundamental, "period_start")
    period_end: date = same_column(Fundamental, "period_end")
    fiscal_label: str | None = same_column(Fundamental, "fiscal_label")
    document_id: str | None = same_column(Fundamental, "document_id")
    form: str | None = same_column(Fundamental, "form")
    document_url: str | None = same_column(Fundamental, "document_url")
    apparent_restatement: ApparentRestatement | None = same_column(
        Fundamental, "apparent_restatement"
    )
