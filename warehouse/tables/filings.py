"""The list of filings: one row for each version of each document that an issuer filed."""

from datetime import date

from warehouse.tables.column import column
from warehouse.tables.sighting import EvidencedSighting


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
    # Not content: the same document at another address is no new vintage.
    link: str | None = column(
        "Address of the document at the publisher; null if it is not known.",
        "https://www.sec.gov/Archives/edgar/data/1172724/000119312519090263/"
        "0001193125-19-090263-index.htm",
    )
