"""What a build holds, what changed on each day, and which builds there are."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from typing import Any

import msgspec

from warehouse.publish.builds import builds_at
from warehouse.serve.build import READABLE, Build, Mart
from warehouse.serve.exports import absolute_urls
from warehouse.serve.rows import Key, RowPage, between, equal, fetch_page, in_country, make_page
from warehouse.shared.json_encoding import encode
from warehouse.shared.texts import version_key

# What a build says about itself: its export manifest, its quality, what pages show of it.

# Key of the manifest in the metadata of a build.
EXPORT_MANIFEST_KEY = "export_manifest"
# Key of how many vintages were ever new, restated and withdrawn.
CHANGE_TOTALS = "change_totals"

_NULL_MEMBERS = ("generated_at", "signature_url", "datapackage_url")
_MEMBERS = msgspec.json.Decoder(dict[str, Any])


class ChangedDataset(msgspec.Struct, frozen=True):
    """Vintages of a dataset that were new, restated and withdrawn."""

    dataset: str
    added: int
    restated: int
    withdrawn: int


class _PageData(msgspec.Struct):
    body: msgspec.Raw


_TOTALS = msgspec.json.Decoder(list[ChangedDataset])
_PAGE_DATA = msgspec.json.Decoder(_PageData)


def export_manifest(mart: Mart) -> bytes | None:
    """Return the export manifest as JSON; None if the build exported nothing."""
    manifest = mart.build().metadata.get(EXPORT_MANIFEST_KEY)
    return None if manifest is None else manifest.encode()


def export_body(build: Build, exports_url: str) -> bytes:
    """Return the manifest with count and licence notice, as the surfaces serve it.

    Its URLs are absolute, below ``exports_url``. A build without exports has an empty list.
    """
    version, manifest = build.data_version, build.metadata.get(EXPORT_MANIFEST_KEY, "{}")
    members = absolute_urls(_MEMBERS.decode(manifest), exports_url, version)
    artifacts = [
        absolute_urls(artifact, exports_url, version) for artifact in members.pop("artifacts", [])
    ]
    return encode(
        {
            "data_version": version,
            **dict.fromkeys(_NULL_MEMBERS),
            "artifacts": artifacts,
            "failed": [],
            **members,
            "count": len(artifacts),
            "_license": build.notice,
        }
    )


def quality_metrics(
    mart: Mart, sku: str, limit: int | None = None, after: Key | None = None
) -> RowPage | None:
    """Return the quality measurements of a dataset, in any case; None if there is no such one."""
    page = fetch_page(mart.build(), "quality", equal(sku=sku.upper()), limit, after=after)
    return page if page.rows else None


def skus(build: Build) -> list[str]:
    """Return the datasets that were measured."""
    statement = "SELECT DISTINCT sku FROM {table} ORDER BY sku"
    return [str(sku) for (sku,) in build.rows("quality", statement)]


def page_data(build: Build, name: str) -> bytes | None:
    """Return what pages show of a build under a name, as JSON; None if it has nothing of it."""
    page = fetch_page(build, "page_data", equal(name=name), 1)
    return bytes(_PAGE_DATA.decode(page.rows[0]).body) if page.rows else None


def change_totals(metadata: Mapping[str, str]) -> list[ChangedDataset] | None:
    """Return how many vintages were ever new, restated and withdrawn until a build."""
    return _TOTALS.decode(metadata[CHANGE_TOTALS]) if CHANGE_TOTALS in metadata else None


def changes_between(
    now: Iterable[ChangedDataset], before: Iterable[ChangedDataset]
) -> Iterator[ChangedDataset]:
    """Yield what changed between two totals, of each dataset in which something did."""
    known = {each.dataset: each for each in before}
    for each in now:
        old = known.get(each.dataset, ChangedDataset(each.dataset, 0, 0, 0))
        # What an operator withheld since is no change of the data: never below zero.
        added, restated, withdrawn = (
            max(0, getattr(each, name) - getattr(old, name))
            for name in ("added", "restated", "withdrawn")
        )
        if added or restated or withdrawn:
            yield ChangedDataset(each.dataset, added, restated, withdrawn)


_MANIFEST = msgspec.json.Decoder(dict[str, msgspec.Raw])


def catalogue(
    mart: Mart,
    section: str | None = None,
    dataset: str | None = None,
    country: str | None = None,
    limit: int | None = None,
    after: Key | None = None,
) -> RowPage:
    """Return what can be asked for: each thing with its span and number of rows."""
    build = mart.build()
    where = [*equal(section=section, dataset=dataset), *in_country(country)]
    return fetch_page(build, "catalogue", where, limit, after=after)


def changes(
    mart: Mart,
    since: date | None = None,
    dataset: str | None = None,
    id: str | None = None,
    country: str | None = None,
    limit: int | None = None,
    after: Key | None = None,
) -> RowPage:
    """Return what arrived since a day, newest first: vintages that are new, restated, withdrawn."""
    build = mart.build()
    where = [*equal(dataset=dataset, id=id, country=country), *between("changed_on", since, None)]
    return fetch_page(build, "changes", where, limit, after=after)


def versions(mart: Mart, limit: int | None = None, after: Key | None = None) -> RowPage:
    """Return every build that can be pinned, newest first."""
    build, builds = mart.build(), builds_at(mart.folder)
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
        # Newer code may publish beside this one.
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
    return make_page(build, rows, limit)
