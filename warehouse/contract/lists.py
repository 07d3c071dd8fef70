"""Every list that is served, declared once: how its rows are read, and why it is empty."""

from typing import Any

import msgspec

from warehouse.contract import changes, claims, issuers, macro, matching, organisations, tenders
from warehouse.contract.listing import Datasets, Listing, ListRows, Question, table_list, why_none
from warehouse.contract.problems import unknown_word
from warehouse.publish.builds import builds_at
from warehouse.serve.build import READABLE
from warehouse.serve.catalogue import EXPORT_MANIFEST_KEY
from warehouse.serve.rows import Key, equal, fetch_page, make_page
from warehouse.serve.table_query import Empty, TableQuery, filters_of, query_rows, why_empty
from warehouse.shared.json_encoding import encode
from warehouse.shared.texts import version_key
from warehouse.shared.tiers import Dataset

# Lists about the data itself: what there is, changes by day, versions, and their quality.

_OF_ALL_COUNTRIES = ("indicator", "line_item", "metric")
_MANIFEST = msgspec.json.Decoder(dict[str, msgspec.Raw])


def _catalogue_query(question: Question) -> TableQuery:
    """Query the catalogue: each thing that can be requested, with its span and number of rows."""
    section, dataset, country = (
        question.parameters[name] for name in ("section", "dataset", "country")
    )
    filters = [*filters_of(section=section, dataset=dataset), *macro.of_country(country)]
    return TableQuery("catalogue", "entries", filters)


def _catalogue(question: Question) -> ListRows:
    return ListRows(query_rows(question.build, _catalogue_query(question), **question.page))


def _why_no_entries(question: Question) -> Empty:
    section = question.parameters["section"]
    if question.parameters["country"] is not None and section in _OF_ALL_COUNTRIES:
        detail = f"Entries of section {section!r} are of all countries together: leave country out."
        return Empty("not_held_together", detail, "country")
    return why_empty(question.build, _catalogue_query(question))


def _versions(question: Question) -> ListRows:
    """Return every build that can be pinned, newest first."""
    builds, after, limit = builds_at(question.mart.folder), question.after, question.limit
    current, names = builds.current(), builds.names()[::-1]
    # Builds come and go; those that follow are the older ones.
    if after is not None:
        names = [name for name in names if version_key(name) < version_key(after[0])]
    one_more = None if limit is None else limit + 1
    rows: list[tuple[Key, bytes]] = []
    for name in names:
        if len(rows) == one_more:
            break
        metadata = builds.metadata(name)
        # Newer code may publish alongside this version.
        if metadata.get("layout") not in READABLE:
            continue
        manifest = _MANIFEST.decode(metadata.get(EXPORT_MANIFEST_KEY, "{}"))
        row = {
            "data_version": name,
            "current": name == current,
            "published_at": manifest.get("generated_at"),
            "schema_version": int(metadata.get("layout", 0)) or None,
        }
        rows.append(((name,), encode(row)))
    return ListRows(make_page(question.build, rows, limit))


def _quality(question: Question) -> ListRows:
    """Return the measurements of a dataset, in any case."""
    build, sku = question.build, question.parameters["sku"]
    rows = fetch_page(build, "quality", equal(sku=sku.upper()), **question.page)
    if not rows.rows:
        measured = build.rows("quality", "SELECT DISTINCT sku FROM {table} ORDER BY sku")
        raise unknown_word("sku", sku, [str(sku) for (sku,) in measured])
    return ListRows(rows)


def _never_empty(question: Question) -> Empty:
    return Empty("nothing_held", "There is nothing.")


def _of(dataset: Dataset) -> Datasets:
    """Return the datasets of a list whose rows are all of one."""
    return lambda _: (dataset,)


_FUND, _TENDER = _of("AF-FUND"), _of("AF-TENDER")
_FIGURES: dict[str, Any] = {
    "row": ("Fact", "AdjustedFact", "DerivedFact"),
    "kinds": lambda sent: (
        ("DerivedFact",)
        if sent.get("derived")
        else ("AdjustedFact" if sent.get("adjust") else "Fact",)
    ),
    "why_empty": issuers.why_no_figures,
    "row_rule": "paid_unlimited",
    "datasets": _FUND,
}
_OBSERVATIONS: dict[str, Any] = {
    "row": ("Observation",),
    "read": tenders.panel,
    "why_empty": why_none(tenders.panel_query),
    "member": "observations",
    "datasets": _TENDER,
}
FUNDAMENTALS = Listing("fundamentals", read=issuers.fundamentals, **_FIGURES)
FUNDAMENTALS_OF_SEVERAL = Listing(
    "fundamentals of several", read=issuers.fundamentals_of_several, **_FIGURES
)
ELEMENTS = Listing(
    "elements",
    ("ElementFact", "ReportedElement"),
    issuers.elements,
    issuers.why_no_elements,
    datasets=_FUND,
    kinds=lambda sent: (
        "ElementFact" if sent.get("element") or sent.get("fiscal_year") else "ReportedElement",
    ),
)
FILINGS = table_list("filings", "Filing", issuers.filings, _FUND)
TENDERS = Listing(
    "tenders", ("Release",), tenders.tenders, tenders.why_no_tenders, datasets=_TENDER
)
TENDER = Listing(
    "tender", ("Release",), tenders.tender, why_none(tenders.tender_query), datasets=_TENDER
)
TENDER_PARTIES = Listing(
    "tender parties", ("TenderParty",), tenders.parties, tenders.why_no_parties, datasets=_TENDER
)
MACRO = Listing(
    "macro",
    ("SeriesObservation", "AnnualObservation"),
    macro.macro,
    macro.why_no_macro,
    datasets=_of("AF-MACRO"),
)
SHARED_FACTS = Listing(
    "shared facts",
    ("SharedFact",),
    macro.facts,
    macro.why_no_facts,
    datasets=macro.datasets_of_facts,
)
METRICS = Listing("metrics", ("Metric",), issuers.metrics, issuers.why_no_metrics, datasets=_FUND)
SCREEN = Listing(
    "screen", ("RankedMetric",), issuers.screen, issuers.why_no_issuers, datasets=_FUND
)
DEMAND = Listing("procurement demand", **_OBSERVATIONS)
SIGNAL = Listing("signal", **_OBSERVATIONS)
QUALITY = Listing("quality", ("QualityRecord",), _quality, _never_empty, "uncapped")
CROSSWALK = Listing(
    "crosswalk",
    ("Identifier",),
    organisations.crosswalk,
    organisations.why_no_identifiers,
    "uncapped",
    "identifiers",
)
SEARCH = Listing("search", ("SearchResult",), organisations.search, organisations.why_none_found)
ENTITY_SEARCH = Listing(
    "search of entities", ("EntityMatch",), organisations.entities, organisations.why_none_found
)
ENTITY = Listing("entity", ("Entity",), organisations.record, _never_empty, is_one=True)
ENTITIES = table_list("organisations", "Entity", organisations.listed)
UNIVERSE = Listing(
    "universe", ("ListedIssuer",), organisations.universe, why_none(organisations.universe_query)
)
MATCH = Listing("matches", ("Matched",), matching.matched, _never_empty)
AWARDS = Listing(
    "awards",
    ("SharedFact", "Supplier"),
    tenders.awards,
    tenders.why_no_awards,
    datasets=_TENDER,
    kinds=lambda sent: ("Supplier",) if sent.get("service_id") is None else ("SharedFact",),
)
LOOKUP = Listing("lookup", ("Match",), organisations.lookup, organisations.why_no_match, "uncapped")
CATALOGUE = Listing("catalogue", ("CatalogueEntry",), _catalogue, _why_no_entries, "uncapped")
CLAIMS = Listing(
    "claims", ("ClaimVerdict",), claims.claims, _never_empty, datasets=claims.datasets_of_claims
)
CHANGES = Listing(
    "changes",
    ("Change", "ChangedRow"),
    changes.changes,
    changes.why_no_changes,
    datasets=changes.datasets_of_changes,
)
VERSIONS = Listing(
    "versions", ("Version",), _versions, _never_empty, "uncapped", of_one_build=False
)
