"""Tenders: the list with its filters, one process, and who buys and supplies."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

import falcon

from api.endpoints import declarations
from api.site.formats import country_name, scale_of
from api.site.render import Page, Reply, Site, csv_page, page_parameters, query_without, wants_csv
from api.site.sample import Row, Sample, Stated
from warehouse.contract import lists
from warehouse.contract.problems import Problem

# Suppliers of a process, and counterparts of an organisation, that are looked up.
_MOST_LINKED = 10
# Sample answers that totals are added up from, and the countries in which a buyer is looked up.
_SUMMED_PAGES = 40
_MOST_COUNTRIES = 3


@dataclass(frozen=True)
class Totals:
    """Sums of awards by year and by counterpart, the largest first: name, sum, number.

    Of awards in the currency that most of them have; ``others`` are in another one.
    """

    currency: str
    scale: int
    years: list[tuple[str, Decimal, int]]
    counterparts: list[tuple[str, Decimal, int]]
    others: int


def tenders_page(site: Site, req: falcon.Request) -> Reply:
    """Return releases of a country, newest first, by the filters of the API."""
    sample = site.sample
    parameters = page_parameters(req, declarations.TENDERS)
    if not req.params.get("country"):
        # That of the API may have no tenders in this build.
        parameters["country"] = _country_of_most(sample) or parameters["country"]
    country = parameters["country"]
    answer = sample.ask(declarations.TENDERS, **parameters)
    if wants_csv(req):
        return csv_page(f"tenders-{country}", answer)
    return Page(
        "tenders.html",
        answer=answer,
        parameters=parameters,
        countries=countries_with(sample, "AF-TENDER"),
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
    names = ("country", "as_of", "from", "to", "cursor")
    parameters = page_parameters(req, declarations.TENDER_PARTIES, only=names)
    parameters["country"] = parameters["country"] or _country_of_most(sample)
    parameters["role"] = role
    answer = sample.ask(declarations.TENDER_PARTIES, **parameters)
    if wants_csv(req):
        return csv_page(f"{role}s-{parameters['country']}", answer)
    return Page(
        "parties.html",
        role=role,
        answer=answer,
        parameters=parameters,
        countries=countries_with(sample, "AF-TENDER"),
        query=query_without(req, "cursor", "format"),
    )


def procurement_of(sample: Sample, record: Row, as_of: date | None) -> dict[str, Any]:
    """Return what an organisation won and what it buys, with totals, and its roles in tenders."""
    service_id = record["service_id"]
    if "AF-TENDER" not in record["datasets"]:
        return {"awards": None, "won": None, "given": None, "roles": [], "bought": []}
    parameters: dict[str, Any] = dict.fromkeys(
        ("country", "buyer", "from", "to", "order", "limit", "cursor")
    )
    parameters |= {"service_id": service_id, "as_of": as_of}
    awards = sample.ask_list(lists.AWARDS, _SUMMED_PAGES, **parameters)
    roles = sample.ask(declarations.TENDER_PARTIES, service_id=service_id, as_of=as_of).rows
    countries = dict.fromkeys(row["country"] for row in roles if row["role"] == "buyer")
    question: dict[str, Any] = {"buyer": service_id, "as_of": as_of}
    bought = [
        (country, sample.ask(declarations.TENDERS, _SUMMED_PAGES, country=country, **question))
        for country in list(countries)[:_MOST_COUNTRIES]
    ]
    # Titles that are mere references say less than what the process states.
    subjects = {
        row["ocid"]: _whole(sample.ask(declarations.TENDER, ocid=row["ocid"], as_of=as_of).rows)
        for row in awards.rows[: sample.tier.rows]
        if row["ocid"] and " " not in (row["title"] or "")
    }
    won = _totals(
        (row["period_end"], row["unit"], row["value"], row["buyer"]) for row in awards.rows
    )
    given = _totals(award for _, answer in bought for award in _given(answer.rows))
    named = [name for each in (won, given) if each for name, *_ in each.counterparts]
    return {
        "awards": awards,
        "subjects": subjects,
        "won": won,
        "given": given,
        "organisations": _organisations(sample, named),
        "roles": _joined_roles(roles),
        "bought": bought,
    }


def _given(releases: Iterable[Row]) -> Iterator[tuple[Any, ...]]:
    """Yield the awards of processes: day, currency, value and who won, as last stated."""
    newest = {row["ocid"]: row["awards"] for row in reversed(list(releases)) if row["awards"]}
    for award in (award for awards in newest.values() for award in awards):
        names = [supplier["name"] for supplier in award["suppliers"] or () if supplier["name"]]
        if (value := award["value"]) and award["status"] != "cancelled":
            yield award["date"], value["currency"], value["amount"], "; ".join(names)


def _totals(awards: Iterable[tuple[Any, ...]]) -> Totals | None:
    """Return totals of awards: day, currency, value, counterpart; None without a stated value."""
    stated = [each for each in awards if each[0] and each[1] and each[2] is not None]
    if not stated:
        return None
    ((currency, number),) = Counter(unit for _, unit, *_ in stated).most_common(1)
    years: dict[str, tuple[Decimal, int]] = {}
    counterparts: dict[str, tuple[Decimal, int]] = {}
    for day, unit, value, name in stated:
        if unit == currency:
            for sums, key in ((years, day[:4]), (counterparts, name)):
                total, count = sums.get(key, (Decimal(0), 0))
                sums[key] = total + Decimal(str(value)), count + 1
    largest = sorted(counterparts.items(), key=lambda item: -item[1][0])
    return Totals(
        currency,
        scale_of(total for total, _ in years.values()),
        [(year, *years[year]) for year in sorted(years)],
        [(name, *sums) for name, sums in largest if name][:_MOST_LINKED],
        len(stated) - number,
    )


def _joined_roles(rows: Sequence[Row]) -> list[tuple[list[str], Row]]:
    """Return roles by what they were played in: a portal names a buyer as payer, too."""
    same = ("country", "name", "processes", "first_release", "last_release", "match_method")
    joined: dict[tuple[Any, ...], tuple[list[str], Row]] = {}
    for row in rows:
        joined.setdefault(tuple(row[name] for name in same), ([], row))[0].append(row["role"])
    return list(joined.values())


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


def countries_with(sample: Sample, dataset: str) -> list[str]:
    """Return the countries that a dataset has rows of, by name."""
    rows = sample.ask(declarations.CATALOGUE, section="dataset", dataset=dataset).rows
    return sorted({row["country"] for row in rows if row["country"]}, key=country_name)


def _country_of_most(sample: Sample) -> str | None:
    """Return the country with most releases; None if there are none."""
    rows = sample.ask(declarations.CATALOGUE, section="dataset", dataset="AF-TENDER").rows
    return max(rows, key=lambda row: row["rows"])["country"] if rows else None


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
