"""Tenders: the list with its filters, one process, and who buys and supplies."""

from collections.abc import Iterable
from contextlib import suppress

import falcon

from api.endpoints import declarations
from api.site.formats import country_name
from api.site.render import Page, Reply, Site, csv_page, page_parameters, query_without, wants_csv
from api.site.sample import Row, Sample, Stated
from warehouse.contract.problems import Problem

# Suppliers of a process that are looked up.
_MOST_LINKED = 10


def tenders_page(site: Site, req: falcon.Request) -> Reply:
    """Return releases of a country, newest first, by the filters of the API."""
    sample = site.sample
    countries = tender_countries(sample)
    parameters = page_parameters(req, declarations.TENDERS)
    if "country" not in req.params or not req.params["country"]:
        # That of the API may have no tenders in this build.
        codes = [code for code, _ in countries]
        country = parameters["country"]
        parameters["country"] = country if country in codes or not codes else codes[0]
    country = parameters["country"]
    answer = sample.ask(declarations.TENDERS, **parameters)
    if wants_csv(req):
        return csv_page(f"tenders-{country}", answer)
    return Page(
        "tenders.html",
        answer=answer,
        parameters=parameters,
        countries=countries,
        categories=coverage_entries(sample, "category", country),
        statuses=coverage_entries(sample, "status", country),
        query=query_without(req, "cursor", "format"),
    )


def tender_page(site: Site, req: falcon.Request, ocid: str) -> Reply:
    """Return one contracting process: its newest release, and what changed before it."""
    parameters = page_parameters(req, declarations.TENDER, only=("as_of",), ocid=ocid)
    answer = site.sample.ask(declarations.TENDER, **parameters)
    if wants_csv(req):
        return csv_page(f"tender-{ocid}", answer)
    release, whole = answer.rows[0] if answer.rows else None, _whole(answer.rows)
    suppliers = _suppliers(answer.rows)
    buyer = whole["buyer"]["name"] if whole["buyer"] else None
    named = [name for name in (buyer, *suppliers[:_MOST_LINKED]) if name]
    return Page(
        "tender.html",
        ocid=ocid,
        answer=answer,
        release=release,
        whole=whole,
        as_of=parameters["as_of"],
        days=sorted({row["available_at"] for row in answer.rows if row["available_at"]}),
        query=query_without(req, "format"),
        suppliers=suppliers,
        organisations=_organisations(site.sample, named),
    )


def parties_page(site: Site, req: falcon.Request, role: str) -> Reply:
    """Return buyers or suppliers of a country, those in most releases first."""
    sample = site.sample
    countries = tender_countries(sample)
    names = ("country", "as_of", "from", "to", "cursor")
    parameters = page_parameters(req, declarations.TENDER_PARTIES, only=names)
    if parameters["country"] is None and countries:
        parameters["country"] = countries[0][0]
    parameters["role"] = role
    answer = sample.ask(declarations.TENDER_PARTIES, **parameters)
    if wants_csv(req):
        return csv_page(f"{role}s-{parameters['country']}", answer)
    return Page(
        "parties.html",
        role=role,
        answer=answer,
        parameters=parameters,
        countries=countries,
        query=query_without(req, "cursor", "format"),
    )


def _organisations(sample: Sample, names: Iterable[str]) -> dict[str, str]:
    """Return the ids of organisations that have exactly these names."""
    ids: dict[str, str] = {}
    for name in names:
        # A name without words cannot be searched for.
        with suppress(Problem):
            rows = sample.ask(declarations.SEARCH, query=name[:128], kind="organisation").rows
            exact = [row["id"] for row in rows if row["match"] == "exact" and row["name"] == name]
            if len(exact) == 1:
                ids[name] = exact[0]
    return ids


def tender_countries(sample: Sample) -> list[tuple[str, str]]:
    """Return the countries with tenders, by name."""
    answer = sample.ask(declarations.CATALOGUE, section="dataset", dataset="AF-TENDER")
    codes = dict.fromkeys(row["country"] for row in answer.rows if row["country"])
    return sorted(((code, country_name(code)) for code in codes), key=lambda pair: pair[1])


def coverage_entries(sample: Sample, section: str, country: str | None) -> list[Row]:
    """Return the entries of a section of the catalogue, those with most rows first."""
    answer = sample.ask(declarations.CATALOGUE, section=section, country=country)
    return sorted(answer.rows, key=lambda row: -row["rows"])


def _whole(releases: Iterable[Row]) -> Row:
    """Return what the newest release that states it says, member by member.

    ``implausible`` has the paths of the numbers among them that cannot be.
    """
    tender, marks = Stated(), set()
    members: Row = {"awards": [], "contracts": [], "buyer": None, "tender": tender}
    for release in releases:
        taken = [f"tender.{name}" for name in release["tender"] or () if name not in tender]
        tender |= {**(release["tender"] or {}), **tender}
        for name in ("awards", "contracts", "buyer"):
            if not members[name]:
                members[name] = release[name]
                taken.append(name)
        marks |= {path for path in release["implausible"] or () if path.startswith(tuple(taken))}
    return {**members, "implausible": marks}


def _suppliers(releases: Iterable[Row]) -> list[str]:
    named: dict[str, None] = {}
    for release in releases:
        for award in release["awards"] or ():
            for supplier in award.get("suppliers") or ():
                if supplier.get("name"):
                    named[supplier["name"]] = None
    return list(named)
