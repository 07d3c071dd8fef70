"""Companyfacts documents: every figure of an issuer in every filing that shows it."""

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from assets.sample.filings import Filing, Period, Reported, role_of, taxonomy_of
from assets.sample.lines import BY_NAME, Line
from assets.sample.organisations import Organisation, cik_of
from assets.sample.write import Json

Fact = tuple[str, str, str, Json]

_SHARES = "EntityCommonStockSharesOutstanding"


def companyfacts(company: Organisation, filings: list[Filing]) -> tuple[Json, int]:
    """Give the document of an issuer as these filings make it, and its number of facts."""
    facts: dict[str, Json] = {"dei": {}, taxonomy_of(company): {}}
    count = 0
    for taxonomy, element, unit, row in _facts(taxonomy_of(company), filings):
        concept = facts[taxonomy].setdefault(element, _concept(taxonomy, element))
        concept["units"].setdefault(unit, []).append(row)
        count += 1
    for concepts in facts.values():
        for concept in concepts.values():
            concept["units"] = {unit: _framed(rows) for unit, rows in concept["units"].items()}
    cik: int | str = cik_of(company) if role_of(company) % 2 else int(cik_of(company))
    return {"cik": cik, "entityName": company.name, "facts": facts}, count


def element_of(taxonomy: str, line: Line) -> str:
    """Give the element of a line in a taxonomy."""
    return line.us_gaap if taxonomy == "us-gaap" else line.ifrs


def _facts(taxonomy: str, filings: list[Filing]) -> Iterator[Fact]:
    for filing in filings:
        if filing.form != "6-K":
            row = {"end": filing.period.end.isoformat(), "val": filing.shares, **_origin(filing)}
            yield "dei", _SHARES, "shares", row
        for reported in filing.reported:
            yield from _reported_facts(taxonomy, filing, reported)


def _reported_facts(taxonomy: str, filing: Filing, reported: Reported) -> Iterator[Fact]:
    for name, value in reported.figures.items():
        line = BY_NAME[name]
        unit = reported.currency + ("/shares" if line.measure == "per_share" else "")
        row = _span(line, reported.period) | {"val": _number(value)} | _origin(filing)
        yield taxonomy, element_of(taxonomy, line), unit, row


def _origin(filing: Filing) -> Json:
    return {
        "accn": filing.accession,
        "fy": filing.fiscal_year,
        "fp": "FY" if filing.fiscal_year else None,
        "form": filing.form,
        "filed": filing.filed.isoformat(),
    }


def _concept(taxonomy: str, element: str) -> Json:
    label = None if taxonomy == "ifrs-full" else element
    return {"label": label, "description": label, "units": {}}


def _span(line: Line, period: Period) -> dict[str, str]:
    end = {"end": period.end.isoformat()}
    return end if line.measure == "stock" else {"start": period.start.isoformat()} | end


def _framed(rows: list[Json]) -> list[Json]:
    rows.sort(key=lambda row: (row["end"], row.get("start", ""), row["filed"], row["accn"]))
    last = {(row.get("start"), row["end"]): place for place, row in enumerate(rows)}
    for (start, end), place in last.items():
        frame = _frame(start, end)
        if frame:
            rows[place]["frame"] = frame
    return rows


def _frame(start: str | None, end: str) -> str | None:
    year, month = int(end[:4]), int(end[5:7])
    if start is None:
        return f"CY{year}Q{(month + 2) // 3}I"
    return f"CY{year}" if start[5:7] == "01" and month == 12 else None


def _number(value: Decimal) -> Any:
    return int(value) if value == value.to_integral_value() else value
