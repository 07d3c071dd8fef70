"""The sources of company filings."""

from dataclasses import replace
from functools import partial

from assets.filings import companyfacts, cvm, fetch, fsds, submissions, xbrl_reports
from assets.source import Parser, Source
from warehouse.record.tables import ELEMENTS, ENTITIES, FILINGS, FUNDAMENTALS, IDENTIFIERS

_sec = partial(
    Source,
    subject="filings",
    license_class="public-domain",
    license_name="United States government work, public domain",
    license_url="https://www.sec.gov/about/privacy-information",
    # The SEC allows 10 requests a second, over all its hosts.
    rates={"sec.gov": 8.0},
)
# What is new comes from issuers, most of which report each quarter.
_by_issuer = partial(
    _sec,
    base_url=fetch.API,
    other_hosts=("www.sec.gov",),
    cadence="by issuer",
    new_within=100,
)
# One parser reads the reports of several sources.
_REPORTS_VERSION = 9

SOURCES = (
    _by_issuer(
        "sec-companyfacts",
        title="SEC EDGAR company facts",
        parser=Parser(9, partial(companyfacts.parse, every_element=True)),
        tables=(FUNDAMENTALS, ELEMENTS, ENTITIES, IDENTIFIERS),
        fetch=fetch.companyfacts,
        member_url=fetch.FACTS.member_url,
        requests=(fetch.FACTS.zip_url, "/api/xbrl/companyfacts/CIK{cik}.json", fetch.INDEXES),
    ),
    _by_issuer(
        "sec-submissions",
        title="SEC EDGAR submissions",
        parser=Parser(8, submissions.parse),
        tables=(ENTITIES, IDENTIFIERS, FILINGS),
        fetch=fetch.submissions,
        member_url=fetch.LISTS.member_url,
        requests=(
            fetch.LISTS.zip_url,
            "/submissions/CIK{cik}.json",
            "/submissions/CIK{cik}-submissions-{page}.json",
            fetch.INDEXES,
        ),
    ),
    _sec(
        "sec-fsds",
        title="SEC Financial Statement Data Sets",
        parser=Parser(6, fsds.parse, fsds.stream),
        tables=(FUNDAMENTALS, ENTITIES, IDENTIFIERS),
        # A set appears some weeks after its quarter.
        new_within=150,
        base_url="https://www.sec.gov",
        fetch=fetch.data_sets,
        requests=("/files/dera/data/financial-statement-data-sets/{quarter}.zip",),
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
        Parser(8, cvm.parse, cvm.stream),
        (FUNDAMENTALS, ENTITIES, IDENTIFIERS, FILINGS),
        base_url="https://dados.cvm.gov.br",
        fetch=fetch.statements,
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


def without_elements(source: Source) -> Source:
    """Return the source of company facts so that it reads line items alone; others as they are."""
    if source.key != "sec-companyfacts":
        return source
    lines = replace(source.parser, parse=companyfacts.parse, variant="line items")
    return replace(source, parser=lines)
