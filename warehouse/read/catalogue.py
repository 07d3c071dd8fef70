"""What a build holds, what changed on each day, and which builds there are."""

from datetime import date

import msgspec

from warehouse.data_version import version_key
from warehouse.json_encoding import encode
from warehouse.mart.builds import builds_at
from warehouse.read.build_info import EXPORT_MANIFEST_KEY
from warehouse.read.conditions import Key
from warehouse.read.mart import READABLE, Mart
from warehouse.read.rows import RowPage, between, equal, fetch_page, in_country, make_page

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
