"""Reported company figures: one row per figure and filing."""

from datetime import date
from decimal import Decimal
from typing import Any, Literal

from warehouse.tables.column import column, same_column
from warehouse.tables.sighting import EvidencedSighting

# The list of filings: one row for each version of each document that an issuer filed.


class Filing(EvidencedSighting):
    """One document that an issuer filed, in one version, as the publisher lists it."""

    service_id: str = column("Organisation identifier.", "DC7Q2M4XK9", identity=1)
    form: str | None = column(
        "Form or category, as the publisher calls it: 20-F, 10-K/A, DFP, ITR; null if withdrawn.",
        "20-F",
        content=True,
    )
    period_end: date | None = column(
        "The date that the document reports for, mostly the last day of a period; null if the "
        "publisher states none.",
        "2018-12-31",
        content=True,
    )
    document_id: str = column(
        "The publisher's own number of the document: an accession number of the SEC, ID_DOC of "
        "CVM.",
        "0001193125-19-090263",
        identity=2,
    )
    version: int | None = column(
        "Version of the document, counted from 1; null if the publisher counts none. An amendment "
        "at the SEC is a document of its own, with a form that ends in /A.",
        None,
        identity=3,
    )
    received_on: date | None = column(
        "Day on which the publisher dates its receipt. That need not be the day from which it "
        "could be read, which is `available_at`.",
        "2019-03-29",
        content=True,
    )
    received_at: str | None = column(
        "Date and time of receipt exactly as the publisher writes them; null if it states no time.",
        "2019-03-29T16:31:22.000Z",
    )
    accepted_at: str | None = column(
        "When the SEC accepted the filing, with the offset of its clock in New York. Its lists "
        "label times as UTC, and in some they are those of New York: which it is follows from the "
        "hours in which EDGAR accepts filings. Null if a list leaves that open, or states no time.",
        "2019-03-29T16:31:22-04:00",
        None,
        since="1.0.0",
    )
    # Not content: the same document at another address is no new vintage.
    link: str | None = column(
        "Address of the document at the publisher; null if it is not known.",
        "https://www.sec.gov/Archives/edgar/data/1172724/000119312519090263/"
        "0001193125-19-090263-index.htm",
    )


# The day of the exchange on which one can act on what became public.
_TRADABLE: dict[str, Any] = {
    "description": "First session that opens after the row was public: after `accepted_at`, or the "
    "day of `available_at`, on the exchange where the issuer was listed first. Null where that, or "
    "its calendar, is not known.",
    "example": "2019-04-01",
    "default": None,
    "appears": "api",
    "part": "time",
    "since": "1.0.0",
}


class FilingVintage(Filing):
    """A filing with the session from which it could be acted on."""

    tradable_from: date | None = column(**_TRADABLE)


PeriodType = Literal["FY", "H1", "H2", "Q1", "Q2", "Q3", "Q4", "9M", "INSTANT", "OTHER"]
RestatementKind = Literal["restatement", "correction", "element", "measuring_unit", "split"]
ApparentRestatement = Literal["rounding", "scale", "sign", "element", "translation"]


class Fundamental(EvidencedSighting):
    """One reported figure of one issuer, as one filing stated it."""

    # A figure is the same figure in whichever source states it; unit and basis identify it: the
    # same value in another currency is another figure, not a restatement.
    source: str = column(
        "Key of the source in the table of sources.", "sec-companyfacts", appears="table"
    )
    service_id: str = column("Organisation identifier.", "DC7Q2M4XK9", identity=1)
    line_item: str = column("Financial line item.", "revenue", identity=2)
    statement: str = column("Statement the line belongs to.", "income")
    value_reported: Decimal | None = column(
        "The value as reported, digit for digit; null if withdrawn.",
        Decimal("1234567890123456.78"),
        content=True,
    )
    currency_reported: str | None = column(
        "ISO 4217 code of the reported value; null if it is not money.", "ZAR"
    )
    unit: str = column(
        "Unit as reported: a currency, shares, or a ratio such as ZAR/shares.", "ZAR", identity=3
    )
    period_type: PeriodType = column(
        "Kind of period, by its length and its position in the issuer's financial year; INSTANT "
        "for a balance.",
        "FY",
    )
    period_start: date | None = column(
        "First day of the period; null for a balance at an instant.", "2018-01-01", identity=5
    )
    period_end: date = column(
        "Last day of the period, or the day of the balance.", "2018-12-31", identity=6
    )
    fiscal_label: str | None = column(
        "Year and part of the year, from the period itself: FY2018 for a year that ends in 2018. A "
        "balance has that of the period that it ends.",
        "FY2018",
    )
    basis: str = column(
        "Basis of preparation: consolidation and standard.", "consolidated/ifrs", identity=4
    )
    accounting_standard: str = column("Accounting standard of the filing.", "ifrs")
    element: str | None = column(
        "The concept of the taxonomy under which the filing states the figure; `A + B` where the "
        "filing states the parts of the figure and no total.",
        "ifrs-full:Revenue",
        default=None,
        after="line_item",
    )
    measuring_unit_date: date | None = column(
        "Day in whose purchasing power the figure is stated (IAS 29); null if its currency is not "
        "that of a hyperinflationary economy.",
        "2018-12-31",
        default=None,
        after="unit",
    )
    conflicts_with: str | None = column(
        "Line items of the same filing that the figure contradicts, separated by commas; null if "
        "it contradicts none. Such a figure is no input of a metric.",
        "profit_attributable,profit_before_tax",
        default=None,
    )
    document_id: str | None = column(
        "The publisher's own number of the filing that states the figure: an accession number of "
        "the SEC, ID_DOC of CVM; null if it has none.",
        "0001193125-19-090263",
        default=None,
        part="origin",
        since="1.0.0",
    )
    form: str | None = column(
        "Form or category of that filing, as the publisher calls it; null if it is not known.",
        "20-F",
        default=None,
        part="origin",
        since="1.0.0",
    )
    document_url: str | None = column(
        "Address of that filing at the publisher; null if the source gives none.",
        "https://www.sec.gov/Archives/edgar/data/1172724/000119312519090263/"
        "0001193125-19-090263-index.htm",
        default=None,
        part="origin",
        since="1.0.0",
    )
    accepted_at: str | None = column(
        "When that filing was accepted, as the list of the issuer's filings has it, with the "
        "offset of the publisher's clock; null if no list states it.",
        "2019-03-29T16:31:22-04:00",
        default=None,
        part="origin",
        since="1.0.0",
    )
    apparent_restatement: ApparentRestatement | None = column(
        "Why a later statement is no vintage, though its value differs from the one that stands: "
        "it is rounded, in a wrong scale or with a wrong sign, by an element that states less, or "
        "a convenience translation. Null otherwise. It is no input of a metric.",
        None,
        default=None,
        # No vintage has it, and only vintages are served.
        appears="table",
    )


class FundamentalVintage(Fundamental):
    """A reported figure with what only a comparison of its vintages tells."""

    restatement_kind: RestatementKind | None = column(
        "Why this vintage differs from the one before: restated; a correction of its sign or "
        "scale; a split of shares; stated under another element; or in the purchasing power of a "
        "later day (measuring_unit). Null for a first vintage and where it is not known.",
        "restatement",
        default=None,
        part="time",
    )
    split_ratio: str | None = column(
        "New shares for old ones, where the filing proves the ratio of a split: 10:1, or 1:12 for "
        "a consolidation. Null otherwise.",
        None,
        default=None,
        part="time",
        since="1.0.0",
    )
    tradable_from: date | None = column(**_TRADABLE)


class ElementFact(EvidencedSighting):
    """What one filing states of one element of a taxonomy, without dimensions."""

    source: str = same_column(Fundamental, "source")
    service_id: str = same_column(Fundamental, "service_id")
    element: str = column("Taxonomy and element.", "us-gaap:Goodwill", identity=2)
    label: str | None = column(
        "What the source calls the element; null if it states no label.", "Goodwill"
    )
    value_reported: Decimal | None = same_column(Fundamental, "value_reported")
    unit: str = column("Unit as reported: a currency, shares, pure.", "ZAR", identity=3)
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
