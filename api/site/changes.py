"""What each publication brought: a page, an Atom feed and a JSON feed; and where its files are."""

from dataclasses import dataclass, replace
from itertools import pairwise
from xml.sax.saxutils import escape, quoteattr

import falcon
import msgspec

from api.endpoints import declarations
from api.site.render import Pages, check_names
from api.site.sample import Row, Sample
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


class Publications:
    """The publications whose builds are kept, newest first."""

    def __init__(self, sample: Sample) -> None:
        self._sample = sample

    def newest(self) -> list[Publication]:
        """Return the newest publications."""
        versions = self._sample.ask(declarations.VERSIONS).rows[: _MOST_ENTRIES + 1]
        totals = [self._totals(row["data_version"]) for row in versions]
        publications = [
            Publication(row["data_version"], row["published_at"], row["current"], None)
            for row in versions
        ]
        for place, (now, before) in enumerate(pairwise(totals)):
            if now is not None and before is not None:
                changes = tuple(changes_between(now, before))
                publications[place] = replace(publications[place], changes=changes)
        return publications[:_MOST_ENTRIES]

    def files(self, exports_url: str) -> list[Row]:
        """Return the files of the current version, as the manifest has them."""
        body = export_body(self._sample.mart.build(), exports_url)
        artifacts: list[Row] = msgspec.json.decode(body)["artifacts"]
        return artifacts

    def _totals(self, data_version: str) -> list[ChangedDataset] | None:
        try:
            return change_totals(self._sample.mart.at(data_version).build().metadata)
        except SankofaError:
            # An old build may be gone or damaged meanwhile; the others are still listed.
            return None


class ChangesPage:
    """Every publication with what it brought."""

    open = True

    def __init__(self, publications: Publications, pages: Pages) -> None:
        self._publications, self._pages = publications, pages

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Send the page."""
        check_names(req)
        self._pages.send(req, resp, "changes.html", publications=self._publications.newest())

    on_head = on_get


class VersionsPage:
    """The versions whose files can be downloaded, and the files of the current one."""

    open = True

    def __init__(self, publications: Publications, pages: Pages) -> None:
        self._publications, self._pages = publications, pages

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Send the page."""
        check_names(req)
        exports_url = req.context.exports_url
        # On this host, whatever its name is, unless the files are elsewhere.
        if exports_url == f"{req.context.base_url}/exports":
            exports_url = f"{self._pages.root(req)}exports"
        self._pages.send(
            req,
            resp,
            "versions.html",
            publications=self._publications.newest(),
            files=self._publications.files(exports_url),
            exports_url=exports_url,
        )

    on_head = on_get


class AtomFeed:
    """The publications as Atom (RFC 4287)."""

    open = True

    def __init__(self, publications: Publications) -> None:
        self._publications = publications

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Send the feed."""
        base = req.context.base_url
        entries = self._publications.newest()
        updated = next((each.published_at for each in entries if each.published_at), None)
        lines = [
            '<?xml version="1.0" encoding="utf-8"?>',
            '<feed xmlns="http://www.w3.org/2005/Atom">',
            f"<title>{_TITLE}</title><id>{escape(f'{base}/changes')}</id>",
            f"<updated>{updated or '1970-01-01T00:00:00Z'}</updated>",
            "<author><name>Sankofa</name></author>",
            f'<link rel="self" href={quoteattr(f"{base}/changes.atom")}/>',
            f'<link rel="alternate" type="text/html" href={quoteattr(f"{base}/changes")}/>',
        ]
        for each in entries:
            url = f"{base}/changes#v{each.data_version}"
            lines.append(
                f"<entry><title>data_version {each.data_version}</title>"
                f"<id>{escape(url)}</id><link href={quoteattr(url)}/>"
                f"<updated>{each.published_at or '1970-01-01T00:00:00Z'}</updated>"
                f"<summary>{escape(each.summary)}</summary></entry>"
            )
        resp.text = "\n".join((*lines, "</feed>\n"))
        resp.content_type = "application/atom+xml; charset=utf-8"

    on_head = on_get


class JsonFeed:
    """The publications as a JSON feed (jsonfeed.org, version 1.1)."""

    open = True

    def __init__(self, publications: Publications) -> None:
        self._publications = publications

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Send the feed."""
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
            for each in self._publications.newest()
        ]
        resp.data = encode(
            {
                "version": _JSON_FEED,
                "title": _TITLE,
                "home_page_url": f"{base}/changes",
                "feed_url": f"{base}/changes.json",
                "items": items,
            }
        )
        resp.content_type = "application/feed+json"

    on_head = on_get
