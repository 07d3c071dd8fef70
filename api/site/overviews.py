"""What summarises a whole build: the first page, revisions, quality, panels, publications."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

import falcon
import msgspec

from api.endpoints import declarations
from api.endpoints.endpoint import mcp_url_for, pinned_build
from api.site.datasets import TITLES
from api.site.render import SECURITY_HEADERS, Body, Page, Reply, Site, check_names, root_of
from api.site.sample import Row, Sample
from warehouse.contract.problems import Problem
from warehouse.publish.builds import builds_at
from warehouse.serve.catalogue import ChangedDataset, changes_of, export_body, page_data

_NOTHING_YET = b'{"counts":{},"story":null,"changes":[]}'
_UNMEASURED = b'{"versions":[],"counts":{},"measurements":[],"left_out":[]}'
_DOCS_TYPES = {".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8"}


def first_page(site: Site, req: falcon.Request) -> Reply:
    """Return counts, one figure that was restated, what changed last."""
    check_names(req)
    body = page_data(site.sample.mart.build(), "first") or _NOTHING_YET
    first = msgspec.json.decode(body, type=Row)
    return Page("first.html", **first, titles=TITLES, mcp_url=mcp_url_for(req, site.mcp_url))


def revisions_page(site: Site, req: falcon.Request) -> Reply:
    """Return what publishers changed without saying so, by source."""
    check_names(req)
    build = site.sample.mart.build()
    sources, striking = (
        msgspec.json.decode(page_data(build, name) or b"[]", type=list[Row])
        for name in ("revisions", "striking-revisions")
    )
    return Page("revisions.html", sources=sources, striking=striking)


def quality_page(site: Site, req: falcon.Request) -> Reply:
    """Return the measurements of the build, the publications before it, and what was left out."""
    check_names(req)
    body = page_data(site.sample.mart.build(), "quality") or _UNMEASURED
    return Page("quality.html", board=msgspec.json.decode(body, type=Row), titles=TITLES)


def data_docs(site: Site, req: falcon.Request, path: str = "") -> Body:
    """Return what Great Expectations wrote about the audit of the build: a page, or its style."""
    name = path or "index.html"
    body = page_data(site.sample.mart.build(), f"data-docs/{name}")
    if body is None:
        raise Problem("not_found", f"The Data Docs of this build have no {name[:100]!r}.")
    return Body(
        msgspec.json.decode(body, type=str),
        _DOCS_TYPES[PurePosixPath(name).suffix],
        SECURITY_HEADERS,
    )


def panel_series(site: Site, req: falcon.Request, panel: str, file: str) -> Body:
    """Return the series of a panel and a country, which the script of its page draws."""
    name = f"signals/{panel}/{file.removesuffix('.json')}"
    body = page_data(site.sample.mart.build(), name)
    if body is None or not file.endswith(".json"):
        raise Problem("not_found", f"This build has no series of {panel[:64]}/{file[:64]}.")
    return Body(body, "application/json", SECURITY_HEADERS)


# What each publication brought, and where its files are.

# Publications that the page and the feed have.
_MOST_ENTRIES = 30


@dataclass(frozen=True)
class Publication:
    """One publication; ``changes`` is None if what it brought is not known."""

    data_version: str
    published_at: str | None
    current: bool
    changes: Sequence[ChangedDataset] | None

    @property
    def summary(self) -> str:
        """What it brought, as a sentence."""
        if self.changes is None:
            return "The files of the publication before it were gone: what changed is not known."
        if not self.changes:
            return "Nothing changed in the data."
        parts = (
            f"{each.dataset}: {each.added:,} new, {each.restated:,} restated, "
            f"{each.withdrawn:,} withdrawn, {each.removed:,} removed"
            for each in self.changes
        )
        return f"{'; '.join(parts)}."


def publications_of(sample: Sample) -> list[Publication]:
    """Return the newest publications whose builds are kept, newest first."""
    builds = builds_at(sample.mart.folder)
    return [
        Publication(
            row["data_version"],
            row["published_at"],
            row["current"],
            changes_of(builds.metadata(row["data_version"])),
        )
        for row in sample.ask(declarations.VERSIONS).rows[:_MOST_ENTRIES]
    ]


def changes_page(site: Site, req: falcon.Request) -> Reply:
    """Return every publication with what it brought."""
    check_names(req)
    return Page("changes.html", publications=publications_of(site.sample), titles=TITLES)


def versions_page(site: Site, req: falcon.Request) -> Reply:
    """Return the versions whose files can be downloaded, and the files of one of them."""
    check_names(req, "data_version")
    build = pinned_build(req, site.sample.mart)
    exports_url = req.context.exports_url
    # On this host, whatever its name is, unless the files are elsewhere.
    if exports_url == f"{req.context.base_url}/exports":
        exports_url = f"{root_of(req)}exports"
    return Page(
        "versions.html",
        publications=publications_of(site.sample),
        shown=build.data_version,
        # As the manifest of the version has them.
        files=msgspec.json.decode(export_body(build, exports_url))["artifacts"],
        exports_url=exports_url,
    )
