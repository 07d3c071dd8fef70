"""What each publication brought: a page, an Atom feed and a JSON feed; and where its files are."""

from dataclasses import dataclass, replace
from itertools import pairwise

import falcon
import msgspec

from api.endpoints import declarations
from api.site.render import Body, Page, Reply, Site, check_names, root_of
from api.site.sample import Sample
from warehouse.serve.catalogue import ChangedDataset, change_totals, changes_between, export_body
from warehouse.shared.errors import SankofaError
from warehouse.shared.json_encoding import encode

# Publications that the page and the feeds have.
_MOST_ENTRIES = 30
_TITLE = "Sankofa: publications"
_JSON_FEED = "https://jsonfeed.org/version/1.1"


@dataclass(frozen=True)
class Publication:
    """One publication; ``changes`` is None if what it brought is not known.

    That is so of the oldest that is kept, which has none before it to compare with.
    """

    data_version: str
    published_at: str | None
    current: bool
    changes: tuple[ChangedDataset, ...] | None

    @property
    def summary(self) -> str:
        """What it brought, as a sentence."""
        if self.changes is None:
            return "No earlier publication is kept to compare it with."
        if not self.changes:
            return "Nothing changed in the data."
        parts = (
            f"{each.dataset}: {each.added:,} new, {each.restated:,} restated, "
            f"{each.withdrawn:,} withdrawn"
            for each in self.changes
        )
        return f"{'; '.join(parts)}."


def publications_of(sample: Sample) -> list[Publication]:
    """Return the newest publications whose builds are kept, newest first."""
    versions = sample.ask(declarations.VERSIONS).rows[: _MOST_ENTRIES + 1]
    totals = [_totals(sample, row["data_version"]) for row in versions]
    publications = [
        Publication(row["data_version"], row["published_at"], row["current"], None)
        for row in versions
    ]
    for place, (now, before) in enumerate(pairwise(totals)):
        if now is not None and before is not None:
            changes = tuple(changes_between(now, before))
            publications[place] = replace(publications[place], changes=changes)
    return publications[:_MOST_ENTRIES]


def _totals(sample: Sample, data_version: str) -> list[ChangedDataset] | None:
    try:
        return change_totals(sample.mart.at(data_version).build().metadata)
    except SankofaError:
        # An old build may be gone or damaged meanwhile; the others are still listed.
        return None


def changes_page(site: Site, req: falcon.Request) -> Reply:
    """Return every publication with what it brought."""
    check_names(req)
    return Page("changes.html", publications=publications_of(site.sample))


def versions_page(site: Site, req: falcon.Request) -> Reply:
    """Return the versions whose files can be downloaded, and the files of the current one."""
    check_names(req)
    exports_url = req.context.exports_url
    # On this host, whatever its name is, unless the files are elsewhere.
    if exports_url == f"{req.context.base_url}/exports":
        exports_url = f"{root_of(req)}exports"
    body = export_body(site.sample.mart.build(), exports_url)
    return Page(
        "versions.html",
        publications=publications_of(site.sample),
        # The files of the current version, as the manifest has them.
        files=msgspec.json.decode(body)["artifacts"],
        exports_url=exports_url,
    )


def atom_feed(site: Site, req: falcon.Request) -> Body:
    """Return the publications as Atom (RFC 4287)."""
    page = Page(
        "changes.xml",
        title=_TITLE,
        base=req.context.base_url,
        publications=publications_of(site.sample),
        undated="1970-01-01T00:00:00Z",
    )
    # A template has no line break at its end.
    return Body(f"{site.render(req, page)}\n", "application/atom+xml; charset=utf-8")


def json_feed(site: Site, req: falcon.Request) -> Body:
    """Return the publications as a JSON feed (jsonfeed.org, version 1.1)."""
    base = req.context.base_url
    items = [
        {
            "id": f"{base}/changes#v{each.data_version}",
            "url": f"{base}/changes#v{each.data_version}",
            "title": f"data_version {each.data_version}",
            "content_text": each.summary,
            **({"date_published": each.published_at} if each.published_at else {}),
            "_changes": None
            if each.changes is None
            else [msgspec.to_builtins(change) for change in each.changes],
        }
        for each in publications_of(site.sample)
    ]
    feed = encode(
        {
            "version": _JSON_FEED,
            "title": _TITLE,
            "home_page_url": f"{base}/changes",
            "feed_url": f"{base}/changes.json",
            "items": items,
        }
    )
    return Body(feed, "application/feed+json")
