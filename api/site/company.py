"""Pages of one organisation: what it reported and filed, its metrics, its tenders, who it is."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import lru_cache
from typing import Any

import falcon

from api.endpoints import declarations
from api.site.formats import decimals_of, scale_of, titles, words
from api.site.render import Page, Reply, Site, csv_page, page_parameters, query_without, wants_csv
from api.site.sample import Row, Sample, SampleAnswer, decoded
from api.site.tenders import procurement_of
from api.site.then_and_now import by_figure, figure_of, revised_since, revision_table
from warehouse.contract.problems import Problem
from warehouse.contract.schemas import ROW_SCHEMAS
from warehouse.methodology.line_items import LINE_ITEMS, STATEMENTS
from warehouse.methodology.metrics import FORMULA_BY_SLUG
from warehouse.serve.entities import entity, organisation_id

# Sample answers that all statements, and the vintages of one line, are put together from.
_STATEMENT_PAGES = 16
_LINE_PAGES = 8
# Issuers whose filing days and periods a process remembers, of one build.
_MOST_REMEMBERED = 2_000
_MOST_PERIODS = 8
_MOST_DECIMALS = 2
_ASKED = ("as_of", "period_type")
# What the chart at the top shows, and the metrics beneath it, if there are as many.
_CHARTED = ("revenue", "profit")
_MOST_YEARS = 5
# Revisions that are said in words above the statements.
_MOST_SAID = 5
# Lines that nearly every filing states: their vintages tell the days of filings.
_DATED_BY = ("revenue", "total_assets", "profit", "total_equity", "cfo")
_PERIOD_TITLES, _TITLES = titles("period"), titles("statement")
_METRIC_GROUPS, _HEADLINES = titles("metric"), tuple(titles("headline"))
_STATEMENT_OF = {line.name: line.statement for line in LINE_ITEMS}
_MEANINGS = {line.name: line.meaning for line in LINE_ITEMS}
_ORDER = {line.name: place for place, line in enumerate(LINE_ITEMS)}
# Ratios that people read as percentages; the others are multiples.
METRICS_IN_PERCENT = frozenset(titles("percent"))


@dataclass(frozen=True)
class StatementLine:
    """One line of a statement: its figure in each period, None where none is known."""

    name: str
    meaning: str
    unit: str
    # Empty where all lines of the statement have the same.
    basis: str
    is_main: bool
    decimals: int
    figures: tuple[Row | None, ...]


@dataclass(frozen=True)
class Statement:
    """One statement as years by lines, newest year first; values are shown divided by ``scale``."""

    title: str
    unit: str
    scale: int
    periods: tuple[str, ...]
    labels: tuple[str, ...]
    lines: tuple[StatementLine, ...]
    truncated: bool


def company_page(site: Site, req: falcon.Request, service_id: str) -> Reply:
    """Return one organisation: statements, metrics, filings, awards, identifiers, names."""
    sample = site.sample
    record = _record(sample, service_id.upper())
    if record["service_id"] != service_id:
        query = req.query_string
        raise falcon.HTTPMovedPermanently(f"{record['service_id']}{'?' if query else ''}{query}")
    parameters = page_parameters(
        req, declarations.FUNDAMENTALS, ("exact",), _ASKED, service_id=service_id
    )
    as_of, period_type = parameters["as_of"], parameters["period_type"] or "FY"
    question: dict[str, Any] = {"service_id": service_id, "period_type": period_type}
    facts = sample.ask(declarations.FUNDAMENTALS, _STATEMENT_PAGES, **question, as_of=as_of)
    if wants_csv(req):
        return csv_page(f"{service_id}-{period_type}", facts)
    of_issuer: dict[str, Any] = {"service_id": service_id, "as_of": as_of}
    known_now: list[Row] = []
    if as_of is not None:
        known_now = sample.ask(declarations.FUNDAMENTALS, _STATEMENT_PAGES, **question).rows
    now = by_figure(known_now)
    days = filing_days(sample, service_id)
    return Page(
        "company.html",
        headline=_headline(facts.rows, known_now),
        **_metrics(sample, service_id, days, as_of),
        now=now,
        figure_of=figure_of,
        revised=revised_since(facts.rows, now),
        most_said=_MOST_SAID,
        record=record,
        as_of=as_of,
        period_type=period_type,
        exact="exact" in req.params,
        query=query_without(req, "format", "exact"),
        statements=_statements(facts),
        facts=facts,
        days=days,
        period_types=_period_types(sample, service_id),
        period_titles=_PERIOD_TITLES,
        formulas=FORMULA_BY_SLUG,
        shares=METRICS_IN_PERCENT,
        filings=sample.ask(declarations.FILINGS, **of_issuer),
        **procurement_of(sample, record, as_of),
        crosswalk=sample.ask(declarations.CROSSWALK, service_id=service_id),
    )


def line_page(site: Site, req: falcon.Request, service_id: str, line_item: str) -> Reply:
    """Return every vintage of one line of an issuer, with its filings."""
    service_id = service_id.upper()
    record = _record(site.sample, service_id)
    line = next((line for line in LINE_ITEMS if line.name == line_item), None)
    if line is None:
        raise Problem("not_found", f"There is no line item {line_item[:64]!r}.")
    parameters = page_parameters(req, declarations.FUNDAMENTALS, only=_ASKED, service_id=service_id)
    answer = site.sample.ask(
        declarations.FUNDAMENTALS,
        _LINE_PAGES,
        service_id=service_id,
        line_items=[line_item],
        vintages="all",
        as_of=parameters["as_of"],
        period_type=parameters["period_type"],
    )
    if wants_csv(req):
        return csv_page(f"{service_id}-{line_item}-vintages", answer)
    figures = _by_figure(answer.rows)
    return Page(
        "line.html",
        record=record,
        line=line,
        answer=answer,
        figures=figures,
        restated=sum(len(rows) > 1 for rows in figures),
        as_of=parameters["as_of"],
        query=query_without(req, "format"),
        lines=_vintage_lines(figures),
        table=revision_table(figures),
    )


def _headline(then: Sequence[Row], now: Sequence[Row]) -> tuple[str, list[dict[str, Any]]] | None:
    """Return revenue and profit by year as lines, with their unit; dashed what they are today."""
    known = [row for row in then if row["line_item"] in _CHARTED]
    if not known:
        return None
    # All in one unit and by one standard: those of the newest figure.
    same = known[0]["unit"], known[0]["basis"]
    labels: dict[str, str] = {}
    lines = [(name, is_now) for is_now in (False, True) for name in _CHARTED]
    values: dict[tuple[str, bool], dict[str, str | None]] = {line: {} for line in lines}
    for rows, is_now in ((then, False), (now, True)):
        for row in rows:
            if row["line_item"] in _CHARTED and (row["unit"], row["basis"]) == same:
                labels[row["period_end"]] = row["fiscal_label"] or row["period_end"]
                of_line = values[row["line_item"], is_now]
                of_line[row["period_end"]] = plain(row["value_reported"])
    # A year without a value is a gap, and not a line from the one before to the one after.
    return same[0], [
        {
            "name": f"{words(name)}{', today' if is_now else ', then' if now else ''}",
            "points": [[labels[end], by_year.get(end)] for end in sorted(labels)],
            # One colour for each day; without another day, one for each line.
            "tone": ("now" if is_now else "then") if now else None,
        }
        for (name, is_now), by_year in values.items()
        if by_year
    ]


def _metrics(
    sample: Sample, service_id: str, days: Sequence[str], as_of: date | None
) -> dict[str, Any]:
    """Return metrics by year, each as it was first known whole: all, the main ones, by group."""
    by_metric: dict[str, dict[str, Row]] = {}
    years: set[str] = set()
    until = str(as_of or sample.today)
    for day in sorted({day for day in days if day <= until} | {until}, reverse=True):
        if len(years) == _MOST_YEARS:
            break
        question: dict[str, Any] = {"service_id": service_id, "as_of": date.fromisoformat(day)}
        for row in sample.ask(declarations.METRICS, 2, **question).rows:
            years.add(row["period_end"])
            by_metric.setdefault(row["metric"], {}).setdefault(row["period_end"], row)
    shown = [name for name in _HEADLINES if name in by_metric]
    others = [name for name in by_metric if name not in _HEADLINES]
    chosen = (shown + others)[: len(_HEADLINES)]
    groups: dict[str, list[str]] = {group: [] for group in _METRIC_GROUPS.values()}
    for name in by_metric:
        groups.setdefault(_METRIC_GROUPS.get(name, "Other"), []).append(name)
    return {
        "metric_years": sorted(years, reverse=True),
        "metrics": by_metric,
        "key_metrics": chosen,
        "metric_groups": {group: names for group, names in groups.items() if names},
    }


def _record(sample: Sample, service_id: str) -> Row:
    """Return the record of an organisation; one without a record that reported has its id only."""
    rows = decoded(entity(sample.mart.build(), service_id))
    if rows:
        return rows[0]
    owner = organisation_id(sample.mart.build(), service_id)
    # Raises if no organisation has the id.
    sample.ask(declarations.FUNDAMENTALS, service_id=service_id)
    members = ROW_SCHEMAS["Entity"]["properties"].items()
    unknown: Row = {name: [] if schema.get("type") == "array" else None for name, schema in members}
    return {**unknown, "service_id": owner}


def filing_days(sample: Sample, service_id: str) -> list[str]:
    """Return the days on which figures of an issuer became public, oldest first."""

    def read(service_id: str) -> list[str]:
        answer = sample.ask(
            declarations.FUNDAMENTALS,
            _LINE_PAGES,
            service_id=service_id,
            line_items=list(_DATED_BY),
            period_type="FY",
            vintages="all",
        )
        return sorted({row["available_at"] for row in answer.rows if row["available_at"]})

    return _remembered(sample, "filing days", read, service_id)


def _period_types(sample: Sample, service_id: str) -> list[str]:
    """Return the types of periods of which an issuer reported flows."""

    def read(service_id: str) -> list[str]:
        return [
            period_type
            for period_type in _PERIOD_TITLES
            if sample.ask(
                declarations.FUNDAMENTALS, service_id=service_id, period_type=period_type, limit=1
            ).rows
        ]

    return _remembered(sample, "period types", read, service_id)


def _remembered(
    sample: Sample, what: str, read: Callable[[str], list[str]], service_id: str
) -> list[str]:
    """Return what is the same at every step of the slider, read once for a build."""
    remembered: Callable[[str], list[str]] = sample.mart.build().made_once(
        what, lambda: lru_cache(_MOST_REMEMBERED)(read)
    )
    return remembered(service_id)


def _statements(facts: SampleAnswer) -> list[Statement]:
    by_statement: dict[str, list[Row]] = {name: [] for name in STATEMENTS}
    for row in facts.rows:
        by_statement[_STATEMENT_OF[row["line_item"]]].append(row)
    return [_statement(name, rows, facts.truncated) for name, rows in by_statement.items() if rows]


def _statement(name: str, rows: Sequence[Row], truncated: bool) -> Statement:
    ends = sorted({row["period_end"] for row in rows}, reverse=True)[:_MOST_PERIODS]
    lines: dict[tuple[str, str, str], dict[str, Row]] = {}
    units: dict[str, int] = {}
    for row in rows:
        # Figures of another unit or basis are lines of their own: nothing is hidden by another.
        key = (row["line_item"], row["unit"], row["basis"] or "")
        lines.setdefault(key, {}).setdefault(row["period_end"], row)
        units[row["unit"]] = units.get(row["unit"], 0) + 1
    main = max(units, key=lambda unit: units[unit])
    scale = scale_of(row["value_reported"] for row in rows if row["unit"] == main)
    labels = {row["period_end"]: row.get("fiscal_label") or row["period_end"] for row in rows}
    several = len({basis for _, _, basis in lines}) > 1
    return Statement(
        _TITLES.get(name, name.replace("_", " ").capitalize()),
        main,
        scale,
        tuple(ends),
        tuple(labels[end] for end in ends),
        tuple(
            StatementLine(
                item,
                _MEANINGS[item],
                unit,
                basis if several else "",
                unit == main,
                1 if unit == main and scale > 1 else _decimals(figures.values()),
                tuple(figures.get(end) for end in ends),
            )
            for (item, unit, basis), figures in sorted(
                lines.items(), key=lambda line: (_ORDER[line[0][0]], line[0])
            )
            if any(end in figures for end in ends)
        ),
        truncated,
    )


def _decimals(figures: Iterable[Row]) -> int:
    return decimals_of((figure["value_reported"] for figure in figures), _MOST_DECIMALS)


def _by_figure(rows: Sequence[Row]) -> list[list[Row]]:
    """Return vintages by figure, newest period first, each oldest vintage first."""
    figures: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        key = (row["period_end"], row["period_type"], row["period_start"], row["unit"])
        figures.setdefault((*key, row["basis"]), []).append(row)
    for vintages in figures.values():
        vintages.sort(key=lambda row: row["vintage"])
    return [figures[key] for key in sorted(figures, key=str, reverse=True)]


def _vintage_lines(figures: Sequence[Sequence[Row]]) -> list[dict[str, Any]]:
    """Return a stepped line for each full year: what was known about it, day by day."""
    full_years = [rows for rows in figures if rows[0]["period_type"] in ("FY", "INSTANT")] or list(
        figures
    )
    # Restated ones first: they are what the chart is for.
    shown = sorted(full_years, key=lambda rows: -len(rows))[:8]
    shown.sort(key=lambda rows: str(rows[0]["period_end"]))
    return [
        {
            "name": rows[0].get("fiscal_label") or rows[0]["period_end"],
            "tone": "muted" if len(rows) == 1 else None,
            "points": [
                [row["available_at"], plain(row["value_reported"]), f"vintage {row['vintage']}"]
                for row in rows
                if row["available_at"]
            ],
        }
        for rows in shown
        if any(row["available_at"] for row in rows)
    ]


def plain(value: Decimal | int | None) -> str | None:
    """Return a number as text with all its digits, for charts."""
    return None if value is None else format(Decimal(str(value)), "f")
