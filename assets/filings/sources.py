"""The sources of company filings."""

from assets.filings import bulk, companyfacts, submissions
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
    Source(
        bulk.COMPANYFACTS,
        "filings",
        "SEC EDGAR company facts, nightly zip",
        "public-domain",
        _PUBLIC,
        bulk.parse,
        (FUNDAMENTALS,),
        stream=bulk.stream,
    ),
    Source(
        bulk.SUBMISSIONS,
        "filings",
        "SEC EDGAR submissions, nightly zip",
        "public-domain",
        _PUBLIC,
        bulk.parse,
        (ENTITIES, IDENTIFIERS),
        stream=bulk.stream,
    ),
)
