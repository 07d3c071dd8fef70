"""The sources of company filings."""

from assets.filings import companyfacts, submissions
from assets.sources import Source
from warehouse.record.tables import ENTITIES, FUNDAMENTALS, IDENTIFIERS

_PUBLIC = "United States government work, public domain"

SOURCES = (
    Source(
        "sec-companyfacts",
        "filings",
        "SEC EDGAR company facts",
        "public-domain",
        _PUBLIC,
        companyfacts.parse,
        (FUNDAMENTALS,),
    ),
    Source(
        "sec-submissions",
        "filings",
        "SEC EDGAR submissions",
        "public-domain",
        _PUBLIC,
        submissions.parse,
        (ENTITIES, IDENTIFIERS),
    ),
)
