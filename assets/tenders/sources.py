"""The sources of tenders: one for each portal of a file of portals."""

from dataclasses import asdict
from functools import partial
from urllib.parse import urlsplit

import msgspec

from assets.source import Parse, Parser, Source, Stream
from assets.tenders.fetch import fetch_portal
from assets.tenders.parse import parse_portal
from assets.tenders.pieces import in_pieces
from assets.tenders.portal_files import ENTRIES, Portal, PortalEntry, portal_of
from assets.tenders.requests import Index, Links
from warehouse.record.tables import TENDER_PARTIES, TENDER_RELEASES
from warehouse.shared.settings import DEVELOPMENT_WITHHELD_KEY

# Raise it whenever the same document of any portal gives other rows or rejections than before.
PARSER_VERSION = 7


def portal_source(entry: PortalEntry) -> Source:
    """Return the source of a portal."""
    portal = portal_of(entry)
    is_per_package = portal.license_class is None
    request, rates = entry.request, dict[str, float]()
    archive = None if isinstance(request, Links | None) else request.format
    if request is not None and request.delay is not None:
        hosts = (urlsplit(entry.base_url).hostname or "", *entry.hosts)
        rates = dict.fromkeys(hosts, 1 / request.delay)
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
        cadence=entry.cadence,
        rates=rates,
        license_url=entry.licence.stated_at,
        evidence=entry.licence.evidence or ("in the file" if is_per_package else None),
        tried=entry.tried,
        new_within=entry.new_within,
        # Those in which the portal publishes are opened by the parser.
        archives=frozenset({archive}) if archive in ("zip", "gzip") else frozenset(),
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


def _requests(entry: PortalEntry) -> tuple[str, ...]:
    """Return the URLs requested from a portal."""
    request = entry.request
    if request is None:
        return ()
    found = [request.whole, request.address]
    if isinstance(request, Index):
        if request.body is not None:
            found[1] = f"POST {request.address}"
        found.append(request.document)
    return tuple(address for address in found if address is not None)


SOURCES = tuple(map(portal_source, ENTRIES))
