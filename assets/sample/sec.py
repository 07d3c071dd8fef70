"""The two SEC sources, crawled twice: submissions (who files what) and companyfacts (figures)."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

from assets.sample.filings import (
    MISSING_LINES,
    STORIES,
    Filing,
    ReportedFigures,
    ReportPeriod,
    plain_filings,
    role_of,
    taxonomy_of,
)
from assets.sample.organisations import (
    FIRST_CIK,
    ISSUERS_PER_SCALE,
    SampleOrganisation,
    cik_of,
    issuer,
    person_name,
    ticker_of,
)
from assets.sample.statements import LINES_BY_NAME, StatementLine
from assets.sample.writer import Json, WorldWriter

FACTS, SUBMISSIONS = "sec-companyfacts", "sec-submissions"
FIRST_CRAWL, SECOND_CRAWL, THIRD_CRAWL = "2025-05-20", "2026-05-20", "2026-05-27"

PERSON_CIK = f"{FIRST_CIK - 1:010d}"

# Taxonomy, element, unit, row.
Fact = tuple[str, str, str, Json]

_SHARES = "EntityCommonStockSharesOutstanding"
_SECTORS = (("1040", "Gold & Silver Ores"), ("3241", "Cement, Hydraulic"), ("4813", "Telephone"))
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


def write_issuers(world: WorldWriter) -> None:
    """Write the facts and submissions of every issuer, one document at a time."""
    for serial in range(ISSUERS_PER_SCALE * world.scale):
        _write_issuer(world, issuer(serial))
    path = f"submissions/CIK{PERSON_CIK}.json"
    world.write_json(SUBMISSIONS, SECOND_CRAWL, path, person_submissions(), 1)
    world.traps.note("person_with_cik", SUBMISSIONS, SECOND_CRAWL, path, pointer="/name")


def filings_of(seed: int, company: SampleOrganisation) -> list[Filing]:
    """Return all filings of an issuer, changed by its story if it has one."""
    filings = plain_filings(seed, company)
    story = STORIES.get(role_of(company))
    return story(filings) if story else filings


def facts_path(company: SampleOrganisation) -> str:
    """Return the path of an issuer's facts at the source."""
    return f"api/xbrl/companyfacts/CIK{cik_of(company)}.json"


def _write_issuer(world: WorldWriter, company: SampleOrganisation) -> None:
    filings = filings_of(world.seed, company)
    if role_of(company) in _CRAWLED_TWICE:
        _write_crawl(
            world, company, FIRST_CRAWL, [f for f in filings if not _is_unseen(company, f)]
        )
    _write_crawl(world, company, SECOND_CRAWL, filings)
    if role_of(company) == _REPEATED_ROLE:
        path = facts_path(company)
        world.copy(FACTS, (SECOND_CRAWL, path), (THIRD_CRAWL, path))
        where = {"same_as": {"day": SECOND_CRAWL, "path": path}}
        world.traps.note("duplicate_document", FACTS, THIRD_CRAWL, path, **where)
    _note(world, company)


def _is_unseen(company: SampleOrganisation, filing: Filing) -> bool:
    late = role_of(company) == _LATE_ROLE and filing.fiscal_year == _LATE_YEAR
    return late or filing.filed > date.fromisoformat(FIRST_CRAWL)


def _write_crawl(
    world: WorldWriter, company: SampleOrganisation, day: str, filings: list[Filing]
) -> None:
    document, facts = companyfacts(company, filings)
    world.write_json(FACTS, day, facts_path(company), document, facts)
    path = f"submissions/CIK{cik_of(company)}.json"
    world.write_json(SUBMISSIONS, day, path, submissions(company, filings), len(filings))


def _note(world: WorldWriter, company: SampleOrganisation) -> None:
    taxonomy = taxonomy_of(company)
    for trap in FILING_TRAPS:
        if trap.role == role_of(company):
            element = element_of(taxonomy, LINES_BY_NAME[trap.line])
            unit = trap.unit or company.country.currency
            pointer = f"/facts/{taxonomy}/{element}/units/{unit.replace('/', '~1')}"
            where = {"pointer": pointer, "end": trap.end}
            world.traps.note(trap.name, FACTS, SECOND_CRAWL, facts_path(company), **where)
    if company.country.code == "NA":
        path = f"submissions/CIK{cik_of(company)}.json"
        where = {"pointer": "/stateOfIncorporation", "country": "NA"}
        world.traps.note("country_na", SUBMISSIONS, SECOND_CRAWL, path, **where)


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


def submissions(company: SampleOrganisation, filings: list[Filing]) -> Json:
    """Return the submissions document of an issuer; its accessions are those of its facts."""
    country = company.country
    sic, sector = _SECTORS[company.serial % len(_SECTORS)]
    year_end = max(filing.period.end for filing in filings if filing.fiscal_year)
    return _filer(cik_of(company), company.name) | {
        "entityType": "operating",
        "sic": sic,
        "sicDescription": sector,
        "tickers": [ticker_of(company)],
        "exchanges": ["NYSE" if role_of(company) % 3 else "OTC"],
        "lei": company.lei if role_of(company) % 3 == 0 else None,
        "category": "Accelerated filer" if taxonomy_of(company) == "us-gaap" else "",
        "fiscalYearEnd": f"{year_end:%m%d}",
        "stateOfIncorporation": country.edgar,
        "stateOfIncorporationDescription": country.name,
        "addresses": {kind: _address(company) for kind in ("mailing", "business")},
        "filings": {"recent": _columns(filings), "files": []},
    }


def person_submissions() -> Json:
    """Return the document of a natural person who files as an owner."""
    given_name, family_name = person_name(0).upper().split()
    columns = _columns([]) | {
        "accessionNumber": [f"{PERSON_CIK}-25-000001"],
        "filingDate": ["2025-03-04"],
        "reportDate": ["2025-03-03"],
        "acceptanceDateTime": ["2025-03-04T18:02:11.000Z"],
        "form": ["4"],
    }
    filled = {name: values or [""] for name, values in columns.items()}
    return _filer(PERSON_CIK, f"{family_name} {given_name}") | {
        "filings": {"recent": filled, "files": []}
    }


def _filer(cik: str, name: str) -> Json:
    return {
        "cik": cik,
        "entityType": "other",
        "sic": "",
        "sicDescription": "",
        "ownerOrg": None,
        "insiderTransactionForOwnerExists": 0,
        "insiderTransactionForIssuerExists": 0,
        "name": name,
        "tickers": [],
        "exchanges": [],
        "ein": "000000000",
        "lei": None,
        "description": "",
        "website": "",
        "investorWebsite": "",
        "category": "",
        "fiscalYearEnd": None,
        "stateOfIncorporation": "",
        "stateOfIncorporationDescription": "",
        "addresses": {},
        "phone": "000-000-0000",
        "flags": "",
        "formerNames": [],
    }


def _address(company: SampleOrganisation) -> Json:
    country = company.country
    return {
        "street1": f"{company.serial + 1} FICTIONAL STREET",
        "street2": None,
        "city": country.city.upper(),
        "stateOrCountry": country.edgar,
        "zipCode": "0000",
        "stateOrCountryDescription": country.name,
        "isForeignLocation": 1,
        "foreignStateTerritory": None,
        "country": country.name,
        "countryCode": country.edgar,
    }


def _columns(filings: list[Filing]) -> Json:
    newest = sorted(filings, key=lambda filing: (filing.filed, filing.accession), reverse=True)
    return {
        "accessionNumber": [filing.accession for filing in newest],
        "filingDate": [filing.filed.isoformat() for filing in newest],
        "reportDate": [filing.period.end.isoformat() for filing in newest],
        "acceptanceDateTime": [filing.accepted for filing in newest],
        "act": ["34" for _ in newest],
        "form": [filing.form for filing in newest],
        "fileNumber": ["001-99000" for _ in newest],
        "filmNumber": [f"26{position:07d}" for position, _ in enumerate(newest)],
        "items": ["" for _ in newest],
        "core_type": [filing.form for filing in newest],
        "size": [1_000_000 + position for position, _ in enumerate(newest)],
        "isXBRL": [1 for _ in newest],
        "isInlineXBRL": [1 for _ in newest],
        "primaryDocument": ["report.htm" for _ in newest],
        "primaryDocDescription": [filing.form for filing in newest],
    }
