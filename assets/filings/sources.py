"""The sources of company filings."""

from assets.filings import bulk, companyfacts, fetch, submissions, xbrl_json
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
        base_url="https://data.sec.gov",
        fetch=fetch.companyfacts,
        cadence="by issuer",
    ),
    Source(
        "sec-submissions",
        "filings",
        "SEC EDGAR submissions",
        "public-domain",
        _PUBLIC,
        submissions.parse,
        (ENTITIES, IDENTIFIERS),
        base_url="https://data.sec.gov",
        fetch=fetch.submissions,
        cadence="by issuer",
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
        base_url="https://www.sec.gov/Archives/edgar/daily-index",
        fetch=fetch.companyfacts_bulk,
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
        base_url="https://www.sec.gov/Archives/edgar/daily-index",
        fetch=fetch.submissions_bulk,
    ),
    Source(
        "xbrl-filings",
        "filings",
        "filings.xbrl.org, reports in xBRL-JSON",
        "restricted",
        "None stated: each report is under the terms of its issuer and register",
        xbrl_json.parse,
        (FUNDAMENTALS,),
        base_url="https://filings.xbrl.org",
        fetch=fetch.xbrl_filings,
    ),
)
