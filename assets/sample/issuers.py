"""The issuers' two sources, crawled twice: what they file and what it says."""

from dataclasses import dataclass
from datetime import date

from assets.sample.companyfacts import companyfacts, element_of
from assets.sample.filings import Filing, plain_filings, role_of, taxonomy_of
from assets.sample.lines import BY_NAME
from assets.sample.organisations import ISSUERS_A_SCALE, Organisation, cik_of, issuer
from assets.sample.submissions import PERSON_CIK, person_submissions, submissions
from assets.sample.twists import MISSING_LINES, TWISTS
from assets.sample.write import World

FACTS, SUBMISSIONS = "sec-companyfacts", "sec-submissions"
FIRST_CRAWL, SECOND_CRAWL, THIRD_CRAWL = "2025-05-20", "2026-05-20", "2026-05-27"

_CRAWLED_TWICE = range(4)
_LATE_ROLE, _LATE_YEAR = 3, 2018
_REPEATED_ROLE = 10


@dataclass(frozen=True)
class FilingTrap:
    """A trap that every issuer of a role carries in the facts of one line."""

    role: int
    name: str
    line: str
    unit: str | None = None
    end: str | None = None


FILING_TRAPS = (
    FilingTrap(0, "restatement", "revenue", end="2020-06-30"),
    FilingTrap(0, "comparative_repeats", "revenue", end="2023-06-30"),
    FilingTrap(1, "value_comes_back", "total_assets", end="2021-12-31"),
    FilingTrap(2, "amendment_without_change", "revenue", end="2022-12-31"),
    FilingTrap(3, "filing_observed_out_of_order", "revenue", end="2018-12-31"),
    FilingTrap(4, "changed_financial_year", "revenue", end="2022-06-30"),
    FilingTrap(5, "currency_change", "revenue", "GHS", "2021-12-31"),
    FilingTrap(5, "currency_change", "revenue", "USD", "2022-12-31"),
    FilingTrap(6, "convenience_translation", "revenue", "USD", "2024-06-30"),
    *(FilingTrap(7, "missing_line", line, end="2023-12-31") for line in MISSING_LINES),
    FilingTrap(8, "more_digits_than_float", "total_assets", end="2025-12-31"),
    FilingTrap(8, "tenth_is_exact", "eps_diluted", "MUR/shares", "2025-12-31"),
    FilingTrap(9, "amendment_without_change", "revenue", "USD", "2022-12-31"),
    FilingTrap(11, "interim_without_fiscal_year", "revenue", end="2024-06-30"),
)


def write_issuers(world: World) -> None:
    """Write the facts and submissions of every issuer, one document at a time."""
    for serial in range(ISSUERS_A_SCALE * world.scale):
        _write_issuer(world, issuer(serial))
    path = f"submissions/CIK{PERSON_CIK}.json"
    world.write_json(SUBMISSIONS, SECOND_CRAWL, path, person_submissions(), 1)
    world.traps.note("person_with_cik", SUBMISSIONS, SECOND_CRAWL, path, pointer="/name")


def filings_of(seed: int, company: Organisation) -> list[Filing]:
    """Give all filings of an issuer, its story included."""
    filings = plain_filings(seed, company)
    twist = TWISTS.get(role_of(company))
    return twist(filings) if twist else filings


def facts_path(company: Organisation) -> str:
    """Give the path of an issuer's facts at the source."""
    return f"api/xbrl/companyfacts/CIK{cik_of(company)}.json"


def _write_issuer(world: World, company: Organisation) -> None:
    filings = filings_of(world.seed, company)
    if role_of(company) in _CRAWLED_TWICE:
        _write_crawl(world, company, FIRST_CRAWL, [f for f in filings if not _unseen(company, f)])
    _write_crawl(world, company, SECOND_CRAWL, filings)
    if role_of(company) == _REPEATED_ROLE:
        path = facts_path(company)
        world.copy(FACTS, (SECOND_CRAWL, path), (THIRD_CRAWL, path))
        where = {"same_as": {"day": SECOND_CRAWL, "path": path}}
        world.traps.note("duplicate_document", FACTS, THIRD_CRAWL, path, **where)
    _note(world, company)


def _unseen(company: Organisation, filing: Filing) -> bool:
    late = role_of(company) == _LATE_ROLE and filing.fiscal_year == _LATE_YEAR
    return late or filing.filed > date.fromisoformat(FIRST_CRAWL)


def _write_crawl(world: World, company: Organisation, day: str, filings: list[Filing]) -> None:
    document, facts = companyfacts(company, filings)
    world.write_json(FACTS, day, facts_path(company), document, facts)
    path = f"submissions/CIK{cik_of(company)}.json"
    world.write_json(SUBMISSIONS, day, path, submissions(company, filings), len(filings))


def _note(world: World, company: Organisation) -> None:
    taxonomy = taxonomy_of(company)
    for trap in FILING_TRAPS:
        if trap.role == role_of(company):
            element = element_of(taxonomy, BY_NAME[trap.line])
            unit = trap.unit or company.country.currency
            pointer = f"/facts/{taxonomy}/{element}/units/{unit.replace('/', '~1')}"
            where = {"pointer": pointer, "end": trap.end}
            world.traps.note(trap.name, FACTS, SECOND_CRAWL, facts_path(company), **where)
    if company.country.code == "NA":
        path = f"submissions/CIK{cik_of(company)}.json"
        where = {"pointer": "/stateOfIncorporation", "country": "NA"}
        world.traps.note("country_na", SUBMISSIONS, SECOND_CRAWL, path, **where)
