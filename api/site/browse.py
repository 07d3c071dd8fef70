"""Search, the list of companies, countries, and the screen."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any
from urllib.parse import quote

import falcon
import msgspec

from api.endpoints import declarations
from api.endpoints.lines import csv_table
from api.site import render
from api.site.company import METRICS_IN_PERCENT
from api.site.formats import country_name, headline, titles, words
from api.site.macro import entries_of
from api.site.sample import Row, Sample, SampleAnswer
from api.site.tenders import countries_with, coverage_entries
from api.site.texts import guides, title_of
from warehouse.contract.problems import Problem
from warehouse.methodology.line_items import LINE_ITEMS
from warehouse.methodology.metrics import FORMULA_BY_SLUG, FORMULAS
from warehouse.methodology.signals import PANELS
from warehouse.serve.build import Build
from warehouse.serve.catalogue import page_data
from warehouse.serve.rows import alpha_2
from warehouse.shared.countries import country_code

# How many companies one page shows.
_ISSUERS_PER_PAGE = 100
_DEFAULT_METRIC = "net_margin"
# Pages that a search finds by their titles, and tenders.
_MOST_FOUND = 12
# Figures at the top of the page of a country.
_MOST_FIGURES = 8


class Issuer(msgspec.Struct, array_like=True, frozen=True):
    """One issuer of a build, with how many figures it reported and restated."""

    service_id: str
    name: str | None
    country: str | None
    figures: int
    restated: int


@dataclass(frozen=True)
class Found:
    """A page that a search found by its title."""

    kind: str
    title: str
    path: str

    def has(self, words: Sequence[str]) -> bool:
        """Return whether every word begins a word of the title."""
        title = self.title.lower().split()
        return all(any(part.startswith(word) for part in title) for word in words)


_ISSUERS = msgspec.json.Decoder(list[Issuer])
_SORTS = {
    "name": (lambda issuer: (issuer.name or "~").lower(), False),
    "country": (lambda issuer: country_name(issuer.country), False),
    "figures": (lambda issuer: issuer.figures, True),
    "restated": (lambda issuer: issuer.restated, True),
}


def issuers_of(build: Build) -> list[Issuer]:
    """Return every issuer of a build, by name."""
    return build.made_once("issuers", lambda: _ISSUERS.decode(page_data(build, "issuers") or b"[]"))


def issuers_page(site: render.Site, req: falcon.Request) -> render.Reply:
    """Return all issuers, filtered and sorted."""
    sent = render.check_names(req, "name", "country", "sort", "page")
    every = issuers_of(site.sample.mart.build())
    words = str(sent.get("name", "")).lower().split()
    country, sort = str(sent.get("country", "")), str(sent.get("sort", "name"))
    if sort not in _SORTS:
        raise Problem("parameter_invalid", f"sort is one of {', '.join(_SORTS)}.")
    matches = [
        issuer
        for issuer in every
        if (not country or issuer.country == country)
        and all(word in f"{issuer.name} {issuer.service_id}".lower() for word in words)
    ]
    key, reverse = _SORTS[sort]
    matches.sort(key=key, reverse=reverse)
    page = _page_number(str(sent.get("page", "1")))
    begin = (page - 1) * _ISSUERS_PER_PAGE
    shown = matches[begin : begin + _ISSUERS_PER_PAGE]
    if render.wants_csv(req):
        lines = csv_table(Issuer.__struct_fields__, map(msgspec.structs.astuple, shown))
        return render.csv_file("issuers", lines)
    return render.Page(
        "issuers.html",
        issuers=shown,
        count=len(matches),
        total=len(every),
        parameters=sent,
        sort=sort,
        page=page,
        last_page=max(1, -(-len(matches) // _ISSUERS_PER_PAGE)),
        countries=_countries(every),
        query=render.query_without(req, "page", "format"),
        unsorted=render.query_without(req, "page", "format", "sort"),
    )


def _countries(issuers: Sequence[Issuer]) -> list[str]:
    return sorted({issuer.country for issuer in issuers if issuer.country}, key=country_name)


def _page_number(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 10_000:
        raise Problem("parameter_invalid", "page is a number from 1.", parameter="page")
    return int(text)


def search_page(site: render.Site, req: falcon.Request) -> render.Reply:
    """Return what a query finds, best match first."""
    query = str(req.params.get("q", "")).strip()
    answer: SampleAnswer | None = None
    refused, parameters = None, dict[str, Any]()
    if len(query) > 1:
        parameters = render.page_parameters(
            req,
            declarations.SEARCH,
            ("q",),
            ("kind", "country", "cursor"),
            {"query": query[:128]},
        )
        try:
            answer = site.sample.ask(declarations.SEARCH, **parameters)
        except Problem as problem:
            # A query without words, or with an ISIN, is no reason to lose the form.
            if problem.members.get("parameter") != "query":
                raise
            refused = problem.detail
    if answer is not None and render.wants_csv(req):
        return render.csv_page("search", answer)
    return render.Page(
        "search.html",
        searched=query,
        answer=answer,
        others=[] if answer is None else _found(site, query, parameters),
        refused=refused,
        kind=parameters.get("kind"),
        cursor=parameters.get("cursor"),
        query=render.query_without(req, "cursor", "format"),
        of_kind=render.query_without(req, "cursor", "format", "kind"),
    )


def _found(site: render.Site, query: str, parameters: Mapping[str, Any]) -> list[Found]:
    """Return the pages with every word of a query in their titles, and tenders that have them."""
    if parameters["kind"] or parameters["cursor"]:
        return []
    sample, terms = site.sample, query.lower().split()
    codes = {row["country"] for row in entries_of(sample, "dataset")} - {None}
    texts = guides(sample).items()
    pages = (
        *(Found("country", country_name(code), f"countries/{code}") for code in sorted(codes)),
        *(Found("metric", each.title, f"screen?metric={each.slug}") for each in FORMULAS),
        *(Found("line item", words(each.name), "guides/line-items") for each in LINE_ITEMS),
        *(Found("guide", title_of(text, name), f"guides/{name}") for name, text in texts),
    )
    found = [page for page in pages if page.has(terms)]
    for country in countries_with(sample, "AF-TENDER"):
        if len(found) < _MOST_FOUND:
            question: Row = {"country": country, "query": query[:128], "limit": 3}
            tenders = {
                row["ocid"]: row for row in sample.ask(declarations.TENDERS, **question).rows
            }
            found += [
                Found(_about(row), headline(row["tender"] or {}, ocid), f"tenders/{quote(ocid)}")
                for ocid, row in tenders.items()
            ]
    return found[:_MOST_FOUND]


def _about(release: Row) -> str:
    """Return what tells a tender from others of its title."""
    buyer = (release["buyer"] or {}).get("name")
    return " · ".join(
        filter(
            None,
            (
                "tender",
                country_name(release["country"]),
                buyer,
                release["date"] and release["date"][:10],
            ),
        )
    )


def countries_page(site: render.Site, req: falcon.Request) -> render.Reply:
    """Return every country with data."""
    render.check_names(req)
    answer = site.sample.ask(declarations.CATALOGUE, section="dataset")
    answer = answer.only(lambda row: bool(row["country"]))
    if render.wants_csv(req):
        return render.csv_page("countries", answer)
    rows: dict[str, dict[str, Any]] = {}
    for row in answer.rows:
        rows.setdefault(row["country"], {})[row["dataset"]] = row
    countries = sorted(rows, key=country_name)
    return render.Page("countries.html", countries=countries, rows=rows)


def country_page(site: render.Site, req: falcon.Request, code: str) -> render.Reply:
    """Return everything there is of one country."""
    render.check_names(req)
    sample, build = site.sample, site.sample.mart.build()
    country = alpha_2(build, country_code(code) or code) or code
    datasets = sample.ask(declarations.CATALOGUE, section="dataset", country=country).rows
    if not datasets:
        raise Problem("not_found", f"There is no data on the country {code[:64]!r}.")
    if country != code:
        raise falcon.HTTPMovedPermanently(country)
    has_tenders = any(row["dataset"] == "AF-TENDER" for row in datasets)
    parties = {
        role: sample.ask(declarations.TENDER_PARTIES, country=country, role=role).rows[:8]
        for role in (("buyer", "supplier") if has_tenders else ())
    }
    tenders = sample.ask(declarations.TENDERS, country=country).rows[:8] if has_tenders else []
    issuers = [each for each in issuers_of(build) if each.country == country]
    series = coverage_entries(sample, "series", country)
    return render.Page(
        "country.html",
        code=country,
        datasets=datasets,
        issuers=issuers,
        series=series,
        indicators=entries_of(sample, "indicator"),
        figures=_key_figures(sample, country, series),
        categories=coverage_entries(sample, "category", country)[:8],
        parties=parties,
        tenders=tenders,
        panels=PANELS if has_tenders else (),
    )


def _key_figures(sample: Sample, country: str, series: Sequence[Row]) -> list[list[Row]]:
    """Return the newest values of the main indicators of a country, then of its series."""
    known = {row["name"] for row in entries_of(sample, "indicator")}
    questions: list[Row] = [{"indicator": code} for code in titles("country") if code in known]
    # One frequency of each.
    by_name = {row["name"]: row["frequency"] for row in reversed(series)}
    questions += [{"series": name, "frequency": by_name[name]} for name in reversed(by_name)]
    answers = (
        sample.ask(declarations.MACRO, country=country, **question).only(
            lambda row: row["value"] is not None
        )
        for question in questions
    )
    return list(islice((answer.rows for answer in answers if answer.rows), _MOST_FIGURES))


def screen_page(site: render.Site, req: falcon.Request) -> render.Reply:
    """Return issuers ranked by a metric, as of any day."""
    parameters = render.page_parameters(
        req, declarations.SCREEN, defaults={"metric": _DEFAULT_METRIC}
    )
    answer = site.sample.ask(declarations.SCREEN, **parameters)
    if render.wants_csv(req):
        return render.csv_page(f"screen-{parameters['metric']}", answer)
    largest = max((abs(row["value"]) for row in answer.rows), default=0)
    now = {}
    if parameters["as_of"]:
        now = {row["service_id"]: _metric_now(site, row) for row in answer.rows}
    return render.Page(
        "screen.html",
        now=now,
        answer=answer,
        parameters=parameters,
        formulas=FORMULAS,
        formula=FORMULA_BY_SLUG[parameters["metric"]],
        in_percent=parameters["metric"] in METRICS_IN_PERCENT,
        largest=largest,
        countries=_countries(issuers_of(site.sample.mart.build())),
        query=render.query_without(req, "cursor", "format"),
    )


def _metric_now(site: render.Site, ranked: Row) -> Row | None:
    """Return what a ranked metric of an issuer is today, of its newest year; None if unknown."""
    rows = site.sample.ask(declarations.METRICS, 2, service_id=ranked["service_id"]).rows
    return next((row for row in rows if row["metric"] == ranked["metric"]), None)
