"""The sources of company filings."""

from assets.filings import bulk, companyfacts, submissions, xbrl_json
from assets.source import Source
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
    Source(
        "xbrl-filings",
        "filings",
        "filings.xbrl.org, reports in xBRL-JSON",
        "restricted",
        "None stated: each report is under the terms of its issuer and register",
        xbrl_json.parse,
        (FUNDAMENTALS,),
    ),
)
