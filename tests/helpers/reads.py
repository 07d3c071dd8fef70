"""Rows of lists as the surfaces read them, whole unless there is a limit; None for a 404."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from warehouse.contract import lists
from warehouse.contract.listing import Listing, ListRows, Question
from warehouse.contract.problems import Problem
from warehouse.serve import entities
from warehouse.serve.build import Mart
from warehouse.serve.rows import Condition, Key, RowPage, distinct_values
from warehouse.shared.tiers import TIERS

_NAMES = (
    *("service_id", "entity_id", "country", "dataset", "measure", "as_of", "from", "to", "id"),
    *("line_items", "statement", "period_type", "form", "category", "buyer", "status", "query"),
    *("kind", "role", "indicator", "series", "series_type", "frequency", "metric", "section"),
    *("dimension", "dimension_value", "since", "level", "supplier", "exchange", "metric_set"),
    *("element", "publication", "fiscal_year"),
)


@dataclass(frozen=True)
class Listed:
    """Rows, and the members around them by name."""

    rows: RowPage
    members: dict[str, Any]

    def __getattr__(self, name: str) -> Any:
        if name not in self.members:
            raise AttributeError(name)
        return self.members[name]


def read(
    listing: Listing,
    mart: Mart,
    limit: int | None = None,
    after: Key | None = None,
    paid: bool = True,
    **parameters: Any,
) -> ListRows:
    """Return the rows of a list; a parameter that is not given was not sent."""
    sent: dict[str, Any] = {name.rstrip("_"): value for name, value in parameters.items()}
    tier = TIERS["professional" if paid else "sample"]
    sent = {**dict.fromkeys(_NAMES), "vintages": "latest", "order": "desc", **sent}
    return listing.read(Question(mart, mart.build(), sent, tier, limit, after))


def found(listing: Listing, mart: Mart, **sent: Any) -> RowPage | None:
    """Return the rows of a list; None if what it is of does not exist."""
    try:
        return read(listing, mart, **sent).rows
    except Problem as problem:
        if problem.kind.status != 404:
            raise
        return None


def facts_known(
    mart: Mart,
    service_id: str,
    as_of: Any = None,
    period_type: str | None = None,
    vintages: str = "latest",
    limit: int | None = None,
    line_items: Sequence[str] = (),
    after: Key | None = None,
    derived: bool | None = None,
    adjust: str | None = None,
) -> RowPage | None:
    """Return the figures of an issuer."""
    sent: dict[str, Any] = {"as_of": as_of, "period_type": period_type, "vintages": vintages}
    sent |= {"derived": derived, "adjust": adjust}
    sent |= {"line_items": list(line_items) or None, "limit": limit, "after": after}
    return found(lists.FUNDAMENTALS, mart, service_id=service_id, **sent)


def issuers(mart: Mart, limit: int) -> list[str]:
    """Return organisations that have reported figures."""
    latest = [Condition("latest = 1")]
    return distinct_values(mart.build(), "service_id", "fundamentals", latest, limit)


def releases(
    mart: Mart,
    country: str,
    from_: Any = None,
    limit: int | None = None,
    after: Key | None = None,
    **sent: Any,
) -> RowPage:
    """Return the releases of a country."""
    page: dict[str, Any] = {"limit": limit, "after": after}
    return read(lists.TENDERS, mart, country=country, from_=from_, **page, **sent).rows


def series_known(mart: Mart, country: str | None = None, **sent: Any) -> RowPage:
    """Return observations of series as they were known on a day, or are now."""
    if not sent.get("series"):
        # A day asks for series, and none for annual figures.
        sent["as_of"] = sent.get("as_of") or datetime.now(UTC).date()
    return annual(mart, country, **sent)


def annual(
    mart: Mart, country: str | None = None, indicator: str | None = None, **sent: Any
) -> RowPage:
    """Return annual figures."""
    sent |= {name: str(sent[name]) for name in ("from_", "to") if sent.get(name)}
    return read(lists.MACRO, mart, country=country, indicator=indicator, **sent).rows


def parties(
    mart: Mart,
    country: str | None = None,
    role: str | None = None,
    service_id: str | None = None,
    **sent: Any,
) -> RowPage:
    """Return the parties of releases."""
    named: dict[str, Any] = {"country": country, "role": role, "service_id": service_id}
    return read(lists.TENDER_PARTIES, mart, **named, **sent).rows


def metrics(
    mart: Mart, service_id: str, metric: str | None = None, as_of: Any = None, **sent: Any
) -> RowPage:
    """Return the metrics of an issuer."""
    named: dict[str, Any] = {"service_id": service_id, "metric": metric, "as_of": as_of}
    return read(lists.METRICS, mart, **named, **sent).rows


def screen(
    mart: Mart,
    metric: str,
    order: str = "desc",
    as_of: Any = None,
    country: str | None = None,
    limit: int | None = None,
    after: Key | None = None,
) -> Listed:
    """Return a ranking, and how many it covers."""
    named: dict[str, Any] = {"metric": metric, "order": order, "as_of": as_of, "country": country}
    listed = read(lists.SCREEN, mart, limit, after, **named)
    return Listed(listed.rows, dict(listed.extra))


def panel(
    mart: Mart,
    signal_key: str,
    country: str | None = None,
    dimension: str | None = None,
    dimension_value: str | None = None,
    measure: str | None = None,
    as_of: Any = None,
    **sent: Any,
) -> RowPage | None:
    """Return a panel."""
    named: dict[str, Any] = {
        "country": country,
        "dimension": dimension,
        "dimension_value": dimension_value,
    }
    named |= {"signal_key": signal_key, "measure": measure}
    return found(lists.SIGNAL, mart, as_of=as_of, **named, **sent)


def shared_facts(
    mart: Mart,
    entity_id: str | None = None,
    country: str | None = None,
    dataset: str | None = None,
    as_of: Any = None,
    measure: str | None = None,
    **sent: Any,
) -> RowPage:
    """Return facts of an issuer or a country."""
    named: dict[str, Any] = {
        "entity_id": entity_id,
        "country": country,
        "dataset": dataset,
        "as_of": as_of,
    }
    return read(lists.SHARED_FACTS, mart, measure=measure, **named, **sent).rows


def identifiers(mart: Mart, service_id: str, paid: bool, **sent: Any) -> Listed | None:
    """Return the identifiers of an organisation, and what is around them."""
    try:
        listed = read(lists.CROSSWALK, mart, paid=paid, service_id=service_id, **sent)
    except Problem:
        return None
    return Listed(listed.rows, {**listed.before, **listed.extra, "identifiers": listed.rows})


def lookup(mart: Mart, id_type: str, id_value: str, **sent: Any) -> Listed:
    """Return the organisations with an identifier."""
    listed = read(lists.LOOKUP, mart, id_type=id_type, id_value=id_value, **sent)
    return Listed(listed.rows, dict(listed.before))


def entity(mart: Mart, service_id: str) -> RowPage | None:
    """Return the record of an organisation."""
    return entities.entity(mart.build(), service_id)


def entities_found(
    mart: Mart, query: str, country: str | None = None, limit: int | None = None, **sent: Any
) -> RowPage:
    """Return the organisations that a query finds."""
    named: dict[str, Any] = {"query": query, "country": country, "limit": limit}
    return read(lists.ENTITY_SEARCH, mart, **named, **sent).rows


def search(
    mart: Mart,
    query: str,
    kinds: Sequence[str] | None = None,
    country: str | None = None,
    limit: int | None = None,
    **sent: Any,
) -> RowPage:
    """Return what a query finds, of one kind or of all."""
    kind = None if kinds is None else kinds[0]
    named: dict[str, Any] = {"query": query, "kind": kind, "country": country, "limit": limit}
    return read(lists.SEARCH, mart, **named, **sent).rows


def quality_metrics(mart: Mart, sku: str, **sent: Any) -> RowPage | None:
    """Return the measurements of a dataset."""
    return found(lists.QUALITY, mart, sku=sku, **sent)


def catalogue(mart: Mart, **sent: Any) -> RowPage:
    """Return the catalogue."""
    return read(lists.CATALOGUE, mart, **sent).rows


def changes(mart: Mart, since: Any, **sent: Any) -> RowPage:
    """Return what arrived since a day."""
    return read(lists.CHANGES, mart, since=since, **sent).rows
