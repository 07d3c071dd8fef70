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

    available_at: date | None = column("Sighting.available_at", part="time")
    publication: str = column("Sighting.publication", appears="table")
    observed_at: datetime = column("Sighting.observed_at", after="license_class", part="provenance")
    source: str = column("Sighting.source", identity=0, appears="file", part="origin")
    source_ref: str = column("Sighting.source_ref", part="provenance")
    document: str = column("Sighting.document", appears="table")
    license_class: LicenseClass = column("Sighting.license_class", part="provenance")
    method: Method = column("Sighting.method", part="provenance")
    extraction_confidence: Decimal | None = column(
        "Sighting.extraction_confidence", default=None, part="provenance"
    )
    withdrawn: bool = column("Sighting.withdrawn", default=False, appears="file", part="time")
    retracted: bool | None = column(
        "Sighting.retracted", default=None, appears="table", part="time"
    )


class EvidencedSighting(Sighting):
    """A sighting that says how the day is known from which the public could read it."""

    available_at_evidence: DayEvidence | None = column(
        "EvidencedSighting.available_at_evidence", default=None, after="available_at", part="time"
    )
