"""The two SEC sources, crawled twice: submissions (who files what) and companyfacts (figures)."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

from tests.sample_world.filings import (
    Filing,
    ReportedFigures,
    ReportPeriod,
    taxonomy_of,
    years_ago,
)
from tests.sample_world.organisations import (
    ISSUERS_PER_SCALE,
    SampleOrganisation,
    cik_of,
    issuer,
    role_of,
)
from tests.sample_world.sec_submissions import PERSON_CIK, person_submissions, submissions
from tests.sample_world.statement_lines import LINES_BY_NAME, StatementLine
from tests.sample_world.stories import MISSING_LINES, filings_of
from tests.sample_world.writer import Json, WorldWriter

FACTS, SUBMISSIONS = "sec-companyfacts", "sec-submissions"
# Days before that of the world on which the SEC is read; the last one only in part.
FIRST_CRAWL, SECOND_CRAWL, THIRD_CRAWL = 392, 2, 1

# Taxonomy, element, unit, row.
Fact = tuple[str, str, str, Json]

_SHARES = "EntityCommonStockSharesOutstanding"
_CRAWLED_TWICE = range(4)
# Filed first, and read last.
_LATE_ROLE = 3
_REPEATED_ROLE = 10


@dataclass(frozen=True)
class FilingTrap:
    """A trap that every issuer of a role carries in the facts of one line."""

    role: int
    name: str
    line: str
    unit: str | None = None
    years_ago: int = 0
    year: int | None = None
    interim: bool = False

    def end(self, filings: list[Filing]) -> str:
        """Return the end of the period that the trap is about, in a year or some years ago."""
        (end,) = {
            filing.period.end
            for filing in filings
            if self.year in (None, filing.period.end.year)
            and (self.year or years_ago(filings, filing) == self.years_ago)
            and (filing.fiscal_year is None) == self.interim
        }
        return end.isoformat()


FILING_TRAPS = (
    FilingTrap(0, "restatement", "revenue", year=2020),
    FilingTrap(0, "comparative_repeats", "revenue", years_ago=2),
    FilingTrap(1, "value_comes_back", "total_assets", years_ago=4),
    FilingTrap(2, "amendment_without_change", "revenue", years_ago=3),
    FilingTrap(3, "filing_observed_out_of_order", "revenue", year=2018),
    FilingTrap(4, "changed_financial_year", "revenue", year=2022),
    FilingTrap(5, "currency_change", "revenue", "GHS", years_ago=4),
    FilingTrap(5, "currency_change", "revenue", "USD", years_ago=3),
    FilingTrap(6, "convenience_translation", "revenue", "USD", years_ago=1),
    *(FilingTrap(7, "missing_line", line, years_ago=2) for line in MISSING_LINES),
    FilingTrap(8, "more_digits_than_float", "total_assets"),
    FilingTrap(8, "tenth_is_exact", "eps_diluted", "MUR/shares"),
    FilingTrap(9, "amendment_without_change", "revenue", "USD", years_ago=3),
    FilingTrap(10, "element_change", "revenue_from_contracts", years_ago=3),
    FilingTrap(11, "interim_without_fiscal_year", "revenue", years_ago=1, interim=True),
    FilingTrap(14, "measuring_unit", "revenue", years_ago=1),
    FilingTrap(15, "sign_corrected", "capex", years_ago=4),
    FilingTrap(16, "year_of_weeks", "revenue"),
    FilingTrap(17, "sign_turned_away", "capex", years_ago=3),
    FilingTrap(17, "filing_contradicts_itself", "total_assets"),
)


def write_issuers(world: WorldWriter) -> None:
    """Write the facts and submissions of every issuer, one document at a time."""
    for serial in range(ISSUERS_PER_SCALE * world.scale):
        _write_issuer(world, issuer(serial))
    path = f"submissions/CIK{PERSON_CIK}.json"
    day = world.ago(SECOND_CRAWL)
    world.write_json(SUBMISSIONS, day, path, person_submissions(world), 1)
    world.traps.note("person_with_cik", SUBMISSIONS, day, path, pointer="/name")


def facts_path(company: SampleOrganisation) -> str:
    """Return the path of an issuer's facts at the source."""
    return f"api/xbrl/companyfacts/CIK{cik_of(company)}.json"


def _write_issuer(world: WorldWriter, company: SampleOrganisation) -> None:
    first, second, third = map(world.ago, (FIRST_CRAWL, SECOND_CRAWL, THIRD_CRAWL))
    filings = filings_of(world.seed, company, date.fromisoformat(second))
    if role_of(company) in _CRAWLED_TWICE:
        _write_crawl(world, company, first, _seen(company, filings, date.fromisoformat(first)))
    _write_crawl(world, company, second, filings)
    if role_of(company) == _REPEATED_ROLE:
        path = facts_path(company)
        world.copy(FACTS, (second, path), (third, path))
        where = {"same_as": {"day": second, "path": path}}
        world.traps.note("duplicate_document", FACTS, third, path, **where)
    _note(world, company, filings)


def _seen(company: SampleOrganisation, filings: list[Filing], day: date) -> list[Filing]:
    on_file = filings[1:] if role_of(company) == _LATE_ROLE else filings
    return [filing for filing in on_file if filing.filed < day]


def _write_crawl(
    world: WorldWriter, company: SampleOrganisation, day: str, filings: list[Filing]
) -> None:
    document, facts = companyfacts(company, filings)
    world.write_json(FACTS, day, facts_path(company), document, facts)
    path = f"submissions/CIK{cik_of(company)}.json"
    world.write_json(SUBMISSIONS, day, path, submissions(company, filings), len(filings))


def _note(world: WorldWriter, company: SampleOrganisation, filings: list[Filing]) -> None:
    taxonomy, day = taxonomy_of(company), world.ago(SECOND_CRAWL)
    for trap in FILING_TRAPS:
        if trap.role == role_of(company):
            element = element_of(taxonomy, LINES_BY_NAME[trap.line])
            unit = trap.unit or company.country.currency
            pointer = f"/facts/{taxonomy}/{element}/units/{unit.replace('/', '~1')}"
            where = {"pointer": pointer, "end": trap.end(filings)}
            world.traps.note(trap.name, FACTS, day, facts_path(company), **where)
    if company.country.code == "NA":
        path = f"submissions/CIK{cik_of(company)}.json"
        where = {"pointer": "/stateOfIncorporation", "country": "NA"}
        world.traps.note("country_na", SUBMISSIONS, day, path, **where)


def companyfacts(company: SampleOrganisation, filings: list[Filing]) -> tuple[Json, int]:
    """Return the companyfacts document made from some filings, and its number of facts."""
    facts: dict[str, Json] = {"dei": {}, taxonomy_of(company): {}}
    count = 0
    for taxonomy, element, unit, row in _facts(taxonomy_of(company), filings):
        concept = facts[taxonomy].setdefault(element, _concept(taxonomy, element))
        concept["units"].setdefault(unit, []).append(row)
        count += 1
    for concepts in facts.values():
        for concept in concepts.values():
            concept["units"] = {unit: _with_frames(rows) for unit, rows in concept["units"].items()}
    # The SEC writes it as a number in some documents and as a text in others.
    cik: int | str = cik_of(company) if role_of(company) % 2 else int(cik_of(company))
    return {"cik": cik, "entityName": company.name, "facts": facts}, count


def element_of(taxonomy: str, line: StatementLine) -> str:
    """Return the element of a line in a taxonomy."""
    return line.us_gaap if taxonomy == "us-gaap" else line.ifrs


def _facts(taxonomy: str, filings: list[Filing]) -> Iterator[Fact]:
    for filing in filings:
        if filing.form != "6-K":
            row = {"end": filing.period.end.isoformat(), "val": filing.shares, **_origin(filing)}
            yield "dei", _SHARES, "shares", row
        for reported in filing.reported:
            yield from _reported_facts(taxonomy, filing, reported)


def _reported_facts(taxonomy: str, filing: Filing, reported: ReportedFigures) -> Iterator[Fact]:
    for name, value in reported.figures.items():
        line = LINES_BY_NAME[name]
        unit = reported.currency + ("/shares" if line.measure == "per_share" else "")
        row = _span(line, reported.period) | {"val": _number(value)} | _origin(filing)
        yield taxonomy, element_of(taxonomy, line), unit, row


def _origin(filing: Filing) -> Json:
    return {
        "accn": filing.accession,
        "fy": filing.fiscal_year,
        # fy and fp are those of the filing, also on the comparatives in it: as in the real
        # documents.
        "fp": "FY" if filing.fiscal_year else None,
        "form": filing.form,
        "filed": filing.filed.isoformat(),
    }


def _concept(taxonomy: str, element: str) -> Json:
    # The SEC gives no labels for IFRS elements.
    label = None if taxonomy == "ifrs-full" else element
    return {"label": label, "description": label, "units": {}}


def _span(line: StatementLine, period: ReportPeriod) -> dict[str, str]:
    end = {"end": period.end.isoformat()}
    return end if line.measure == "stock" else {"start": period.start.isoformat()} | end


def _with_frames(rows: list[Json]) -> list[Json]:
    rows.sort(key=lambda row: (row["end"], row.get("start", ""), row["filed"], row["accn"]))
    # Only the last filing of a period has a frame, as in the real documents.
    last = {(row.get("start"), row["end"]): row for row in rows}
    for (start, end), row in last.items():
        frame = _frame(start, end)
        if frame:
            row["frame"] = frame
    return rows


def _frame(start: str | None, end: str) -> str | None:
    year, month = int(end[:4]), int(end[5:7])
    if start is None:
        return f"CY{year}Q{(month + 2) // 3}I"
    return f"CY{year}" if start[5:7] == "01" and month == 12 else None


def _number(value: Decimal) -> Any:
    return int(value) if value == value.to_integral_value() else value
