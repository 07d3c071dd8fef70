"""Feeds: of publications, and of what changed about one company, series, buyer or dataset."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any
from urllib.parse import quote, urlencode

import falcon
import msgspec

from api.endpoints import declarations
from api.site.overviews import publications_of
from api.site.render import Body, Site, check_names
from api.site.sample import Row
from warehouse.contract.problems import invalid_parameter, missing_parameter
from warehouse.shared.json_encoding import encode

_JSON_FEED = "https://jsonfeed.org/version/1.1"
_UNDATED = "1970-01-01T00:00:00Z"
_BEGIN = date(1900, 1, 1)
_FOLLOWED = ("id", "dataset", "buyer", "country")
# Where a thing of a dataset has its page.
_PAGES = {"AF-FUND": "issuers", "AF-TENDER": "countries", "AF-MACRO": "series"}


@dataclass(frozen=True)
class Entry:
    """One entry; ``path`` is its page below the address of the service."""

    path: str
    title: str
    summary: str
    published_at: str | None
    id: str = ""
    more: Mapping[str, Any] = field(default_factory=dict)


def atom_feed(site: Site, req: falcon.Request) -> Body:
    """Return a feed as Atom (RFC 4287)."""
    title, query, entries = _feed(site, req)
    variables = {"title": title, "query": query, "entries": entries, "undated": _UNDATED}
    return site.text(req, "application/atom+xml", "changes.xml", **variables)


def json_feed(site: Site, req: falcon.Request) -> Body:
    """Return a feed as JSON (jsonfeed.org, version 1.1)."""
    title, query, entries = _feed(site, req)
    base = req.context.base_url
    items = [
        {
            "id": f"{base}/{each.id or each.path}",
            "url": f"{base}/{each.path}",
            "title": each.title,
            "content_text": each.summary,
            **({"date_published": each.published_at} if each.published_at else {}),
            **each.more,
        }
        for each in entries
    ]
    feed = {
        "version": _JSON_FEED,
        "title": title,
        "home_page_url": f"{base}/changes",
        "feed_url": f"{base}/changes.json{query}",
        "items": items,
    }
    return Body(encode(feed), "application/feed+json")


def _feed(site: Site, req: falcon.Request) -> tuple[str, str, Sequence[Entry]]:
    """Return the title of a feed, its query, and its entries, newest first."""
    sent: dict[str, Any] = {name: str(text) for name, text in check_names(req, *_FOLLOWED).items()}
    sent.pop("format", None)
    query = f"?{urlencode(sent)}" if sent else ""
    title = f"Sankofa: {', '.join(sent.values()) or 'publications'}"
    if not sent:
        return title, query, _publications(site)
    if "buyer" in sent:
        if "country" not in sent:
            raise missing_parameter("country", "that of the buyer, such as KE")
        rows = site.sample.ask(declarations.TENDERS, **sent).rows
        return title, query, [_release(row) for row in rows]
    if not {"id", "dataset"} & sent.keys():
        raise invalid_parameter("country", sent["country"], "sent with id, dataset or buyer")
    found = site.sample.ask(declarations.CHANGES, since=_BEGIN, **sent)
    return title, query, [_change(row) for row in found.rows]


def _publications(site: Site) -> list[Entry]:
    return [
        Entry(
            f"changes#v{each.data_version}",
            f"data_version {each.data_version}",
            each.summary,
            each.published_at,
            more={"_changes": each.changes and msgspec.to_builtins(each.changes)},
        )
        for each in publications_of(site.sample)
    ]


def _release(row: Row) -> Entry:
    """Return the entry of a release of a tender."""
    tender = row["tender"] or {}
    amount = (tender.get("value") or {}).get("amount")
    currency = (tender.get("value") or {}).get("currency") or ""
    day = row["date"] or row["available_at"]
    stated = "" if amount is None else f", {amount:,} {currency}"
    return Entry(
        f"tenders/{quote(row['ocid'])}",
        str(tender.get("title") or row["ocid"]),
        f"{', '.join(row['tag'])}{stated}",
        day and f"{day}T00:00:00Z",
        f"tenders/{quote(row['ocid'])}#{quote(row['release_id'])}",
    )


def _change(row: Row) -> Entry:
    """Return the entry of what arrived about one thing on one day."""
    path = f"{_PAGES[row['dataset']]}/{quote(row['id'])}"
    return Entry(
        path,
        f"{row['id']} on {row['changed_on']}",
        f"{row['added']:,} new, {row['restated']:,} restated, {row['withdrawn']:,} withdrawn.",
        f"{row['changed_on']}T00:00:00Z",
        f"{path}#{row['changed_on']}",
    )
