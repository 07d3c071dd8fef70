"""The columns of every row of the record: when, where from, and under which licence.

A sighting says: this figure had this content, published on this day, in this document. Columns of
one subject only belong to its own module.
"""

from datetime import date, datetime
from decimal import Decimal
from typing import Literal, get_args

from sqlmodel import SQLModel

from warehouse.tables.column import column

LicenseClass = Literal[
    "public-domain",
    "cc0",
    "cc-by",
    "open-attribution",
    "open-share-alike",
    "licensed",
    "restricted",
]
Method = Literal["xbrl", "api", "file"]
DayEvidence = Literal["published", "first_read"]

LICENSE_CLASSES: tuple[str, ...] = get_args(LicenseClass)
PUBLISHED: DayEvidence = "published"
FIRST_READ: DayEvidence = "first_read"
# The publication of what a publisher shows without saying when it was published: however often it
# is read, it is one publication that may be edited. It sorts after every date.
AS_SHOWN = "as shown"
OPEN_CLASSES: tuple[str, ...] = (
    *("public-domain", "cc0", "cc-by"),
    *("open-attribution", "open-share-alike"),
)


class Sighting(SQLModel):
    """One figure with its content, as one publication stated it."""

    available_at: date | None = column(
        "First date on which the public could read this content; null if the source gives no "
        "evidence of it.",
        "2019-03-29",
        part="time",
    )
    publication: str = column(
        "The publisher's own identifier of the publication, which sorts in order of publication "
        "within a day: an accession number, a release id, a vintage date.",
        "0001193125-19-090263",
        appears="table",
    )
    observed_at: datetime = column(
        "When we read the document, in UTC.",
        "2026-11-14T02:10:00Z",
        after="license_class",
        part="provenance",
    )
    source: str = column(
        "Key of the source in the table of sources.",
        "sec-companyfacts",
        identity=0,
        appears="file",
        part="origin",
    )
    source_ref: str = column(
        "Document and location of the value in it.",
        "https://example.org/facts.json#/facts/ifrs-full/Revenue/0",
        part="provenance",
    )
    document: str = column(
        "SHA-256 of the document that contains it.",
        "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        appears="table",
    )
    license_class: LicenseClass = column(
        "Licence class of the source.", "public-domain", part="provenance"
    )
    method: Method = column(
        "How the value was extracted from the document.", "xbrl", part="provenance"
    )
    extraction_confidence: Decimal | None = column(
        "Score of the extraction; null if it is not scored.",
        None,
        default=None,
        part="provenance",
    )
    withdrawn: bool = column(
        "True if the publisher withdrew the figure; its values are then null.",
        False,
        default=False,
        appears="file",
        part="time",
    )
    retracted: bool | None = column(
        "True if newer code read the document again and no longer reads this row in it: then "
        "neither this row nor the earlier one counts. Null otherwise.",
        None,
        default=None,
        appears="table",
        part="time",
    )


class EvidencedSighting(Sighting):
    """A sighting that says how the day is known from which the public could read it."""

    available_at_evidence: DayEvidence | None = column(
        "How available_at is known: published, if the publisher or its filing system gives the "
        "day; first_read, if it is the day on which we first read this content, which may have "
        "been public before. Null if available_at is null, and in rows that were stored before "
        "this was noted.",
        "published",
        default=None,
        after="available_at",
        part="time",
    )
