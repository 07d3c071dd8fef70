"""Macroeconomic series and indicators: the lists, and a page for each."""

import dataclasses
from collections.abc import Callable, Sequence
from datetime import date
from functools import lru_cache
from itertools import groupby, islice
from typing import Any

import falcon
import msgspec
from msgspec.structs import replace

from api.endpoints import declarations
from api.site import render
from api.site.company import plain
from api.site.formats import SERIES_TYPES, country_name, decimals_of, scale_of, series_title
from api.site.sample import Row, Sample, SampleAnswer
from api.site.tenders import countries_with
from api.site.then_and_now import (
    RevisionTable,
    by_figure,
    figure_of,
    revision_table,
    revision_words,
    value_of,
    vintages_by_day,
)
from warehouse.contract.parameters import PARAMETERS
from warehouse.contract.problems import Problem
from warehouse.serve.catalogue import page_data

# Sample answers that the chart of a series is put together from.
_SERIES_PAGES = 10
_MOST_COMPARED = 8
_MOST_LISTED = 500
# Series whose revisions a process remembers, of one build.
_MOST_REMEMBERED = 1_000
# Exchange rates have as many; what was computed, as annual indicators are, needs fewer.
_MOST_DECIMALS = 6
_COMPUTED_DECIMALS = 2
_SERIES = declarations.MACRO
_ASKED = ("country", "frequency", "as_of", "from", "to")


def series_list_page(site: render.Site, req: falcon.Request, section: str) -> render.Reply:
    """Return every series or indicator."""
    sent = render.check_names(req, "country", "type", "frequency")
    wanted = {name: value for name, value in sent.items() if name != "format"}
    if render.wants_csv(req):
        answer = site.sample.ask(declarations.CATALOGUE, section=section)
        shown = answer.only(lambda row: wanted.items() <= row.items(), _MOST_LISTED)
        return render.csv_page(section, shown)
    entries = entries_of(site.sample, section)
    rows = [row for row in entries if wanted.items() <= row.items()]
    choices = {
        name: sorted({row[name] for row in entries if row[name]})
        for name in ("country", "type", "frequency")
    }
    return render.Page(
        "series_list.html",
        section=section,
        rows=rows[:_MOST_LISTED],
        count=len(rows),
        parameters=sent,
        choices=choices,
        types=SERIES_TYPES,
        query=render.query_without(req, "format"),
    )


def series_page(site: render.Site, req: falcon.Request, series: str) -> render.Reply:
    """Return one series: chart, table, unit, base, source, as of any day, compared with another."""
    sample = site.sample
    parameters = render.page_parameters(req, _SERIES, ("compare", "with"), _ASKED)
    every = entries_of(sample, "series")
    entries = [row for row in every if row["name"].upper() == series.upper()]
    if not entries:
        raise Problem("not_found", f"No series has the key {series[:64]!r}.")
    series = entries[0]["name"]
    entry = next(
        (
            row
            for row in entries
            if parameters["frequency"] in (None, row["frequency"])
            and parameters["country"] in (None, row["country"], row["country_iso3"])
        ),
        entries[0],
    )
    own = {name: parameters[name] for name in ("from", "to")}
    if len(entries) > 1:
        # One line of the chart is one frequency of one country.
        own |= {"frequency": entry["frequency"], "country": entry["country"]}
    as_of = parameters["as_of"]
    latest = sample.ask(_SERIES, _SERIES_PAGES, series=series, **own)
    answer = sample.ask(_SERIES, _SERIES_PAGES, series=series, as_of=as_of, **own)
    if render.wants_csv(req):
        return render.csv_page(series, answer)
    # What can be drawn on the same axis.
    same = {name: entry[name] for name in ("type", "unit", "frequency")}
    alike = [row for row in every if row not in entries and same.items() <= row.items()]
    sent = req.params.get("with") or []
    chosen = [sent] if isinstance(sent, str) else list(sent)
    added = {
        row["name"]: sample.ask(_SERIES, _SERIES_PAGES, series=row["name"], as_of=as_of)
        for row in [row for row in alike if row["name"] in chosen][:_MOST_COMPARED]
    }
    chosen_day = _compared_day(req)
    # The past is shown next to the present, unless another day or other series are chosen.
    compare = chosen_day or (sample.today if as_of and not added else None)
    other = None
    if compare is not None:
        other = sample.ask(_SERIES, _SERIES_PAGES, series=series, as_of=compare, **own)
    return render.Page(
        "series.html",
        alike=alike,
        added=added,
        entry=entry,
        entries=entries,
        answer=answer,
        rows=_compared(answer, other, is_later=bool(as_of and compare and compare > as_of)),
        table=_revisions(sample, series, own),
        decimals=decimals_of((row["value"] for row in answer.rows), _MOST_DECIMALS),
        as_of=as_of,
        compare=compare,
        chosen_day=chosen_day,
        parameters=parameters,
        days=sorted({row["available_at"] for row in latest.rows if row["available_at"]}),
        query=render.query_without(req, "format"),
        source=_source_of(answer.rows),
        lines=_series_lines(
            entry,
            answer,
            other,
            as_of,
            compare,
            [(row, added[row["name"]]) for row in alike if row["name"] in added],
        ),
    )


def indicator_page(site: render.Site, req: falcon.Request, indicator: str) -> render.Reply:
    """Return one annual indicator, for several countries side by side."""
    sample = site.sample
    sent = render.check_names(req, "c")
    entries = [
        row for row in entries_of(sample, "indicator") if row["name"].upper() == indicator.upper()
    ]
    if not entries:
        raise Problem("not_found", f"No indicator has the code {indicator[:64]!r}.")
    codes = countries_with(sample, "AF-MACRO")
    chosen = sent.get("c", [])
    chosen = [chosen] if isinstance(chosen, str) else chosen
    chosen = [code for code in chosen if code in codes][:_MOST_COMPARED]
    found = (
        (code, sample.ask(_SERIES, indicator=entries[0]["name"], country=code))
        for code in chosen or codes
    )
    # Without a choice, the first countries that have values.
    answers = dict(islice((each for each in found if chosen or each[1].rows), len(chosen) or 3))
    if not answers:
        raise Problem("not_found", f"No country has values of {indicator[:64]!r}.")
    figures = _line_by_line(list(answers.values()))
    if render.wants_csv(req):
        return render.csv_page(indicator, figures)
    years = list(dict.fromkeys(row["period_end"] for row in figures.rows))
    values = [row["value"] for row in figures.rows]
    scale = scale_of(values)
    by_year = {
        code: {row["period_end"]: row for row in part.rows} for code, part in answers.items()
    }
    before = {code: _undated_vintages(sample, entries[0]["name"], code) for code in answers}
    lines = _indicator_lines(answers)
    if len(lines) == 1 and (figures_before := before[next(iter(answers))]):
        lines = [{**lines[0], "tone": "now"}, _as_first_read(lines[0], figures_before)]
    return render.Page(
        "indicator.html",
        entry=entries[0],
        countries=codes,
        chosen=list(answers),
        years=years,
        by_year=by_year,
        scale=scale,
        decimals=0 if scale > 1 else decimals_of(values, _COMPUTED_DECIMALS),
        source=_source_of(figures.rows),
        query=render.query_without(req, "format"),
        lines=lines,
        tables={code: table for code in answers if (table := revision_table(before[code]))},
        figures=figures,
    )


def _undated_vintages(sample: Sample, indicator: str, country: str) -> list[list[Row]]:
    """Return the values that the source showed of each revised year, newest year first."""
    body = page_data(sample.mart.build(), f"revisions/{indicator}/{country}")
    rows = msgspec.json.decode(body or b"[]", type=list[Row])
    return [list(group) for _, group in groupby(rows, lambda row: row["period_end"])]


def _as_first_read(line: dict[str, Any], figures: Sequence[Sequence[Row]]) -> dict[str, Any]:
    """Return a line as its values were first read."""
    first = {rows[0]["period_end"][:4]: rows[0]["value"] for rows in figures}
    points = [[year, first.get(year, value)] for year, value in line["points"]]
    return {"name": f"{line['name']}, as first read", "points": points, "tone": "then"}


def entries_of(sample: Sample, section: str) -> list[Row]:
    """Return a section of the catalogue, which is read once for a build."""
    mart = sample.mart

    def read() -> list[Row]:
        return sample.ask(declarations.CATALOGUE, section=section).rows

    return mart.build().made_once(f"catalogue of {section}", read)


def _line_by_line(parts: Sequence[SampleAnswer]) -> SampleAnswer:
    """Return the rows of several countries as a table has them: newest year first."""
    rows = [pair for part in parts for pair in zip(part.rows, part.page.rows, strict=True)]
    rows.sort(key=lambda pair: pair[0]["period_end"], reverse=True)
    page = replace(parts[0].page, rows=[body for _, body in rows])
    return dataclasses.replace(parts[0], rows=[row for row, _ in rows], page=page)


def _compared_day(req: falcon.Request) -> Any:
    text = req.params.get("compare")
    if not text:
        return None
    try:
        return PARAMETERS["AS_OF"].kind.read(str(text))
    except ValueError:
        raise Problem(
            "parameter_invalid", "compare must be a day, YYYY-MM-DD.", parameter="compare"
        ) from None


def _compared(
    answer: SampleAnswer, other: SampleAnswer | None, *, is_later: bool
) -> list[tuple[Row, Row | None, str]]:
    """Return each observation with that of the other day, and the difference in words."""
    others = by_figure(other.rows if other else ())
    pairs = [(row, others.get(figure_of(row))) for row in answer.rows]
    return [(row, found, _between(row, found, is_later=is_later)) for row, found in pairs]


def _between(row: Row, other: Row | None, *, is_later: bool) -> str:
    if other is None:
        return "no longer stated" if is_later else "not public yet"
    if value_of(other) == value_of(row):
        return "unchanged"
    return revision_words(row, other) if is_later else revision_words(other, row)


def _revisions(sample: Sample, series: str, own: dict[str, Any]) -> RevisionTable | None:
    """Return the periods of a series that were revised, by day of publication."""

    def read(series: str, *own: tuple[str, Any]) -> RevisionTable | None:
        def known(as_of: date | None) -> list[Row]:
            question: dict[str, Any] = {"series": series, "as_of": as_of, **dict(own)}
            return sample.ask(_SERIES, _SERIES_PAGES, **question).rows

        figures = vintages_by_day(known)
        return revision_table(sorted(figures, key=lambda rows: rows[0]["period_end"], reverse=True))

    # It takes several answers, and is the same for every day that is chosen.
    remembered: Callable[..., RevisionTable | None] = sample.mart.build().made_once(
        "revisions of series", lambda: lru_cache(_MOST_REMEMBERED)(read)
    )
    return remembered(series, *own.items())


def _source_of(rows: Sequence[Row]) -> str:
    hosts = dict.fromkeys(
        row["source_ref"].split("/")[2] for row in rows if "//" in row["source_ref"]
    )
    return ", ".join(hosts) or "see the table"


def _series_lines(
    entry: Row,
    answer: SampleAnswer,
    other: SampleAnswer | None,
    as_of: Any,
    compare: Any,
    added: Sequence[tuple[Row, SampleAnswer]],
) -> list[dict[str, Any]]:
    known = f"as of {as_of}" if as_of else "latest"
    # The later of two days is the present, which has one colour on every page.
    now = other if as_of and compare and compare > as_of else answer
    tones = {} if added else {id(answer): "then", id(other): "then", id(now): "now"}
    lines = [(_label(entry) if added else known, answer)]
    if other is not None:
        lines.append((f"{_label(entry)}, as of {compare}" if added else f"as of {compare}", other))
    lines += [(_label(row), part) for row, part in added]
    return [
        {"name": name, "points": _points(part.rows), "tone": tones.get(id(part))}
        for name, part in lines
        if part.rows
    ]


def _label(entry: Row) -> str:
    # Two series of a country may have the same title.
    return f"{series_title(entry)} ({entry['name']})"


def _indicator_lines(answers: dict[str, SampleAnswer]) -> list[dict[str, Any]]:
    ends = [int(row["period_end"][:4]) for part in answers.values() for row in part.rows]
    years = [str(year) for year in range(min(ends), max(ends) + 1)] if ends else []
    values = {
        code: {row["period_end"][:4]: plain(row["value"]) for row in part.rows}
        for code, part in answers.items()
    }
    # A year without a value is a gap, and not a line from the one before to the one after.
    return [
        {"name": country_name(code), "points": [[year, known.get(year)] for year in years]}
        for code, known in values.items()
        if known
    ]


def _points(rows: Sequence[Row]) -> list[list[str | None]]:
    return [[row["period_end"], plain(row["value"])] for row in reversed(rows)]
