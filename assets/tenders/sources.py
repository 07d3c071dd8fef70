"""The sources of tenders: one for each portal of a file of portals."""

from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from urllib.parse import urlsplit

import msgspec

from assets.source import Archive, Parse, Parser, Source, Stream
from assets.tenders.fetch import fetch_portal
from assets.tenders.parse import parse_portal
from assets.tenders.pieces import in_pieces
from assets.tenders.portal_files import ENTRIES, Portal, PortalEntry, portal_of
from assets.tenders.requests import Index, Links
from warehouse.record.tables import TENDER_PARTIES, TENDER_RELEASES
from warehouse.shared.settings import DEVELOPMENT_WITHHELD_KEY

# Raise it whenever the same document of any portal gives other rows or rejections than before.
PARSER_VERSION = 6


def portal_source(entry: PortalEntry) -> Source:
    """Return the source of a portal."""
    portal = portal_of(entry)
    is_per_package = portal.license_class is None
    return Source(
        key=entry.key,
        subject="tenders",
        title=entry.title,
        license_class=portal.license_class or "licensed",
        license_name=entry.licence.name,
        parser=_parser(portal),
        tables=(TENDER_RELEASES, TENDER_PARTIES),
        complete=portal.complete_addresses,
        base_url=entry.base_url,
        fetch=None if entry.request is None else partial(fetch_portal, entry),
        requests=_requests(entry),
        lookups=_requests(entry, lookups=True),
        cadence=entry.cadence,
        rates=_rates(entry),
        license_url=entry.licence.stated_at,
        evidence=entry.licence.evidence or ("in the file" if is_per_package else None),
        tried=entry.tried,
        new_within=entry.new_within,
        archives=_archives(entry),
        other_hosts=entry.hosts,
    )


def _parser(portal: Portal) -> Parser:
    def bind_key(withheld_key: bytes) -> tuple[Parse, Stream]:
        return (
            partial(parse_portal, portal=portal, key=withheld_key),
            in_pieces(portal, withheld_key),
        )

    return Parser(
        PARSER_VERSION,
        *bind_key(DEVELOPMENT_WITHHELD_KEY.encode()),
        bind_key=bind_key,
        variant=_variant(portal),
    )


def _variant(portal: Portal) -> str:
    """Return all that decides how the documents of a portal are read, as a text.

    Defaults are left out: a quirk that is new to the table changes only the portals that have it.
    """
    plain = asdict(Portal(portal.key, "", portal.title, None))
    members = {name: value for name, value in asdict(portal).items() if value != plain[name]}
    if "words" in members:
        members["words"] = portal.words.model_dump(exclude_defaults=True)
    return msgspec.json.encode(members, order="deterministic").decode()


def _requests(entry: PortalEntry, lookups: bool = False) -> tuple[str, ...]:
    """Return what a portal is asked, or only the lists that name its documents."""
    request = entry.request
    if request is None:
        return ()
    found = [request.whole, request.address]
    if isinstance(request, Index):
        if request.body is not None:
            found[1] = f"POST {request.address}"
        found += [] if lookups else [request.document]
    elif lookups:
        return ()
    return tuple(address for address in found if address is not None)


def _archives(entry: PortalEntry) -> frozenset[Archive]:
    """Return the archives that the parser opens: those in which the portal publishes."""
    archive = None if isinstance(entry.request, Links | None) else entry.request.format
    return frozenset({archive}) if archive in ("zip", "gzip") else frozenset()


def _rates(entry: PortalEntry) -> Mapping[str, float]:
    request = entry.request
    if request is None or request.delay is None:
        return {}
    hosts = (urlsplit(entry.base_url).hostname or "", *entry.hosts)
    return dict.fromkeys(hosts, 1 / request.delay)


SOURCES = tuple(map(portal_source, ENTRIES))
