"""The sources of company filings."""

from assets.filings import bulk, companyfacts, fetch, submissions, xbrl_json
from assets.source import Parser, Source
from warehouse.record.tables import ENTITIES, FUNDAMENTALS, IDENTIFIERS

_PUBLIC = "United States government work, public domain"
# The SEC allows 10 requests a second, over all its hosts.
_SEC_RATE = {"sec.gov": 8.0}

SOURCES = (
    Source(
        "sec-companyfacts",
        "filings",
        "SEC EDGAR company facts",
        "public-domain",
        _PUBLIC,
        Parser(1, companyfacts.parse),
        (FUNDAMENTALS,),
        base_url="https://data.sec.gov",
        fetch=fetch.companyfacts,
        cadence="by issuer",
        requests=("/api/xbrl/companyfacts/CIK{cik}.json",),
        rates=_SEC_RATE,
        license_url="https://www.sec.gov/about/privacy-information",
    ),
    Source(
        "sec-submissions",
        "filings",
        "SEC EDGAR submissions",
        "public-domain",
        _PUBLIC,
        Parser(1, submissions.parse),
        (ENTITIES, IDENTIFIERS),
        base_url="https://data.sec.gov",
        fetch=fetch.submissions,
        cadence="by issuer",
        requests=("/submissions/CIK{cik}.json", "/submissions/CIK{cik}-submissions-{page}.json"),
        rates=_SEC_RATE,
        license_url="https://www.sec.gov/about/privacy-information",
    ),
    Source(
        bulk.COMPANYFACTS,
        "filings",
        "SEC EDGAR company facts, nightly zip",
        "public-domain",
        _PUBLIC,
        Parser(1, bulk.parse, bulk.stream),
        (FUNDAMENTALS,),
        base_url="https://www.sec.gov/Archives/edgar/daily-index",
        fetch=fetch.companyfacts_bulk,
        requests=("/xbrl/companyfacts.zip",),
        rates=_SEC_RATE,
        license_url="https://www.sec.gov/about/privacy-information",
        archives=frozenset({"zip"}),
    ),
    Source(
        bulk.SUBMISSIONS,
        "filings",
        "SEC EDGAR submissions, nightly zip",
        "public-domain",
        _PUBLIC,
        Parser(1, bulk.parse, bulk.stream),
        (ENTITIES, IDENTIFIERS),
        base_url="https://www.sec.gov/Archives/edgar/daily-index",
        fetch=fetch.submissions_bulk,
        requests=("/bulkdata/submissions.zip",),
        rates=_SEC_RATE,
        license_url="https://www.sec.gov/about/privacy-information",
        archives=frozenset({"zip"}),
    ),
    Source(
        "xbrl-filings",
        "filings",
        "filings.xbrl.org, reports in xBRL-JSON",
        "restricted",
        "None stated: each report is under the terms of its issuer and register",
        Parser(1, xbrl_json.parse),
        (FUNDAMENTALS,),
        base_url="https://filings.xbrl.org",
        fetch=fetch.xbrl_filings,
        requests=("/api/filings?filter[country]={country}&page[number]={page}", "/{report}.json"),
        lookups=("/api/filings?filter[country]={country}&page[number]={page}",),
        rates={"filings.xbrl.org": 1.0},
    ),
)
