"""The sources of company filings, as ``sources.toml`` describes them."""

from dataclasses import replace
from functools import partial

from assets.filings import companyfacts, cvm, fetch, fsds, submissions, xbrl_reports
from assets.source import Parser, Source, described_source

# One parser reads the reports of several sources.
_REPORTS = Parser(9, xbrl_reports.parse)
_described = partial(described_source, __name__)
SOURCES = (
    _described(
        "sec-companyfacts",
        Parser(10, partial(companyfacts.parse, every_element=True)),
        fetch.companyfacts,
        fetch.FACTS.member_url,
    ),
    _described(
        "sec-submissions",
        Parser(9, submissions.parse),
        fetch.submissions,
        fetch.LISTS.member_url,
    ),
    _described("sec-fsds", Parser(7, fsds.parse, fsds.stream), fetch.data_sets),
    _described("xbrl-filings", _REPORTS),
    _described("bmv-xbrl", _REPORTS),
    _described("cvm", Parser(8, cvm.parse, cvm.stream), fetch.statements),
)


def without_elements(source: Source) -> Source:
    """Return the source of company facts so that it reads line items alone; others as they are."""
    if source.key != "sec-companyfacts":
        return source
    lines = replace(source.parser, parse=companyfacts.parse, variant="line items")
    return replace(source, parser=lines)
