"""The sources of company filings."""

from assets.filings import companyfacts, cvm, fetch, fetch_files, fsds, submissions, xbrl_reports
from assets.source import Parser, Source
from warehouse.record.tables import ENTITIES, FILINGS, FUNDAMENTALS, IDENTIFIERS

_PUBLIC = "United States government work, public domain"
# The SEC allows 10 requests a second, over all its hosts.
_SEC_RATE = {"sec.gov": 8.0}
# One parser reads the reports of several sources.
_REPORTS_VERSION = 4

SOURCES = (
    Source(
        "sec-companyfacts",
        "filings",
        "SEC EDGAR company facts",
        "public-domain",
        _PUBLIC,
        Parser(3, companyfacts.parse),
        (FUNDAMENTALS, ENTITIES, IDENTIFIERS),
        # Most issuers report each quarter.
        new_within=100,
        base_url=fetch.API,
        fetch=fetch.companyfacts,
        other_hosts=("www.sec.gov",),
        member_url=fetch.FACTS.member_url,
        cadence="by issuer",
        requests=(fetch.FACTS.zip_url, "/api/xbrl/companyfacts/CIK{cik}.json", fetch.INDEXES),
        lookups=(fetch.INDEXES,),
        rates=_SEC_RATE,
        license_url="https://www.sec.gov/about/privacy-information",
    ),
    Source(
        "sec-submissions",
        "filings",
        "SEC EDGAR submissions",
        "public-domain",
        _PUBLIC,
        Parser(5, submissions.parse),
        (ENTITIES, IDENTIFIERS, FILINGS),
        # As for company facts: what is new comes from issuers.
        new_within=100,
        base_url=fetch.API,
        fetch=fetch.submissions,
        other_hosts=("www.sec.gov",),
        member_url=fetch.LISTS.member_url,
        cadence="by issuer",
        requests=(
            fetch.LISTS.zip_url,
            "/submissions/CIK{cik}.json",
            "/submissions/CIK{cik}-submissions-{page}.json",
            fetch.INDEXES,
        ),
        lookups=(fetch.INDEXES,),
        rates=_SEC_RATE,
        license_url="https://www.sec.gov/about/privacy-information",
    ),
    Source(
        "sec-fsds",
        "filings",
        "SEC Financial Statement Data Sets",
        "public-domain",
        _PUBLIC,
        Parser(1, fsds.parse, fsds.stream),
        (FUNDAMENTALS, ENTITIES, IDENTIFIERS),
        # A set appears some weeks after its quarter.
        new_within=150,
        base_url="https://www.sec.gov",
        fetch=fetch_files.data_sets,
        requests=("/files/dera/data/financial-statement-data-sets/{quarter}.zip",),
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
        Parser(_REPORTS_VERSION, xbrl_reports.parse),
        (FUNDAMENTALS,),
        new_within=100,
        base_url="https://filings.xbrl.org",
        fetch=fetch_files.xbrl_filings,
        requests=("/api/filings?filter[country]={country}&page[number]={page}", "/{report}.json"),
        lookups=("/api/filings?filter[country]={country}&page[number]={page}",),
        rates={"filings.xbrl.org": 1.0},
    ),
    Source(
        "bmv-xbrl",
        "filings",
        "BMV and CNBV (Mexico), quarterly statements in XBRL",
        "restricted",
        "None stated: public filings with the exchange and its supervisor",
        Parser(_REPORTS_VERSION, xbrl_reports.parse),
        (FUNDAMENTALS,),
        # Issuers report each quarter.
        new_within=100,
    ),
    Source(
        "cvm",
        "filings",
        "CVM (Brazil), annual and quarterly statements",
        "open-share-alike",
        "Open Database License 1.0",
        Parser(3, cvm.parse, cvm.stream),
        (FUNDAMENTALS, ENTITIES, IDENTIFIERS, FILINGS),
        base_url="https://dados.cvm.gov.br",
        fetch=fetch_files.statements,
        requests=("/dados/CIA_ABERTA/DOC/{form}/DADOS/{file}.zip",),
        rates={"cvm.gov.br": 1.0},
        license_url="https://dados.cvm.gov.br/dataset/cia_aberta-doc-dfp",
        # Several others quote the portal.
        evidence="third party",
        # The files are made anew each week; companies report each quarter.
        new_within=100,
        archives=frozenset({"zip"}),
    ),
)
