"""The declaration of a source: whose documents, which licence, how to fetch and parse them.

The sources themselves are declared in ``sources.py`` of their subject, and described in the
``sources.toml`` next to it.
"""

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cache, partial
from importlib.resources import files
from typing import IO, Any, Literal
from urllib.parse import urlsplit

from pydantic import ConfigDict, TypeAdapter

from assets.declared_files import DeclaredFiles, LicenseEvidence, variant_of
from assets.fetching.client import Client, FetchError, Mirror
from assets.fetching.fetchers import Fetch, FetchTask, Window, fetch_addresses
from assets.parsing.parsed import Parsed
from warehouse.record.landing import Document, Landing, World
from warehouse.record.tables import RECORD_TABLES, RecordTable
from warehouse.shared.errors import LicenceError
from warehouse.shared.settings import DEVELOPMENT_WITHHELD_KEY, Settings
from warehouse.shared.urls import FICTIONAL_URL
from warehouse.tables.sighting import LicenseClass

Parse = Callable[[Document, bytes], Parsed]
Stream = Callable[[Document, IO[bytes]], Iterator[Parsed]]
Cadence = Literal["daily", "monthly", "by issuer"]
Archive = Literal["zip", "gzip"]
# Makes the parsers of a source that hashes withheld parties, given the secret to hash under.
BindKey = Callable[[bytes], tuple[Parse, Stream]]


@dataclass(frozen=True)
class Parser:
    """How the documents of a source are read.

    Raise ``version`` whenever the same document gives other rows or rejections than before: its
    documents are then read again. ``variant`` says what else decides about rows where sources
    share a parser, such as the quirks of a portal; a change counts like a new version. ``stream``
    reads a large body in parts, so that memory stays flat.
    """

    version: int
    parse: Parse
    stream: Stream | None = None
    bind_key: BindKey | None = None
    variant: str = ""
    secret: bytes = DEVELOPMENT_WITHHELD_KEY.encode()

    def with_withheld_key(self, key: str) -> "Parser":
        """Return the parser whose withheld parties are hashed, and names sealed, under a key."""
        secret = key.encode()
        if self.bind_key is None:
            return replace(self, secret=secret)
        parse, stream = self.bind_key(secret)
        return replace(self, parse=parse, stream=stream, secret=secret)


@dataclass(frozen=True)
class Source:
    """One source of documents; one parser reads all of them into its tables.

    ``complete``: every URL always shows all it has, and nothing moves from one URL to another, so
    what a URL no longer shows was withdrawn. A URL that shows a page or a diff is not complete.
    The identity columns of its tables must then include the source: no source withdraws for
    another.

    A source without ``fetch`` can only be read from recordings. ``requests`` are the URLs that are
    fetched, as patterns. ``cadence`` says by which parts a source can be fetched, of days or of
    issuers; without it every fetch gets everything. ``rates`` are the most requests per second
    that a domain allows. ``tried`` is the day on which somebody last fetched it live with success.
    ``new_within`` are the days within which its publisher has something new, as a rule: if the
    newest publication is older, its freshness turns red.

    ``archives`` are the formats of archives that are themselves documents of the source, and that
    its parser opens; any other zip or gzip of a recording is unpacked. ``other_hosts`` publish
    documents of the source as well as the host of ``base_url``; one may end with a path.
    ``member_url`` gives the publisher's own address of a file that it also publishes
    in a zip, by its name there; else None. ``evidence`` says how the licence is known, unless the
    page at ``license_url`` states it.
    """

    __pydantic_config__ = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    key: str
    subject: str
    title: str
    license_class: LicenseClass
    license_name: str
    parser: Parser
    tables: tuple[RecordTable, ...]
    complete: bool = False
    base_url: str | None = None
    fetch: Fetch | None = None
    requests: tuple[str, ...] = ()
    cadence: Cadence | None = None
    rates: Mapping[str, float] = field(default_factory=dict)
    license_url: str | None = None
    world: World = "real"
    tried: date | None = None
    new_within: int = 7
    archives: frozenset[Archive] = frozenset()
    other_hosts: tuple[str, ...] = ()
    member_url: Callable[[str], str | None] | None = None
    evidence: LicenseEvidence | None = None

    def with_withheld_key(self, key: str) -> "Source":
        """Return the source with parsers that hash withheld parties under ``key``."""
        return replace(self, parser=self.parser.with_withheld_key(key))

    @property
    def published_at(self) -> tuple[str, ...]:
        """The hosts that publish its documents, some with a path; any host if there are none."""
        base = () if self.base_url is None else (urlsplit(self.base_url).netloc,)
        return (*base, *self.other_hosts)

    def is_published_at(self, url: str) -> bool:
        """Return whether an address can be that of a document of the source."""
        hosts = self.published_at
        return not hosts or any(_begins(_without_scheme(url), host) for host in hosts)

    @property
    def license_evidence(self) -> LicenseEvidence:
        """How its licence is known."""
        return self.evidence or ("on the page" if self.license_url else "not stated")

    @property
    def permitted(self) -> bool:
        """True if the licence permits storing and serving its documents."""
        return self.license_class != "restricted"


def _without_scheme(url: str) -> str:
    """Return host and rest of an address; the host without ``www``, which says nothing."""
    host, slash, rest = re.sub(r"^[a-z]+://", "", url, count=1).partition("/")
    return host.lower().removeprefix("www.") + slash + rest


def _begins(address: str, beginning: str) -> bool:
    rest = address.removeprefix(_without_scheme(beginning))
    return rest != address and (not rest or rest[0] in "/?#")


def declared_source(
    entry: DeclaredFiles,
    subject: str,
    version: int,
    parse: Callable[..., Parsed],
    tables: tuple[RecordTable, ...],
    *,
    complete: bool = False,
    new_within: int = 7,
) -> Source:
    """Return the source of tables that a file declares; ``parse`` is given its entry."""
    return Source(
        entry.key,
        subject,
        entry.title,
        entry.licence.license_class,
        entry.licence.name,
        Parser(version, partial(parse, entry=entry), variant=variant_of(entry)),
        tables,
        complete=complete,
        base_url=entry.base_url,
        fetch=partial(fetch_addresses, entry.addresses) if entry.addresses else None,
        requests=entry.addresses,
        license_url=entry.licence.stated_at,
        evidence=entry.licence.evidence,
        new_within=new_within,
        # The reader opens what is itself a zip: a workbook is one.
        archives=frozenset({"zip"}),
        other_hosts=entry.hosts,
    )


def described_source(
    module: str,
    key: str,
    parser: Parser,
    fetch: Fetch | None = None,
    member_url: Callable[[str], str | None] | None = None,
) -> Source:
    """Return the source of a table of the ``sources.toml`` next to a module, with its code.

    Its subject is their folder. Without ``fetch`` its ``requests`` are fetched as they are.
    """
    package = module.rpartition(".")[0]
    described = _descriptions(package)[key]
    if fetch is None and "requests" in described:
        fetch = partial(fetch_addresses, tuple(described["requests"]))
    return _SOURCE.validate_python(
        {
            **described,
            "tables": [_TABLES[name] for name in described["tables"]],
            "key": key,
            "subject": package.rpartition(".")[2],
            "parser": parser,
            "fetch": fetch,
            "member_url": member_url,
        }
    )


@cache
def _descriptions(package: str) -> dict[str, Any]:
    return tomllib.loads(files(package).joinpath("sources.toml").read_text("utf-8"))


_TABLES = {table.name: table for table in RECORD_TABLES}
# Refuses a member that a source does not have, and one of another type.
_SOURCE = TypeAdapter(Source)


def in_world(source: Source, world: World) -> Source:
    """Return a source of a world: a fictional one has key and parser alone, no live address."""
    return fictional(source) if world == "fictional" else replace(source, world=world)


def fictional(source: Source) -> Source:
    """Return the fictional variant of a source: same key and parser, no live address."""
    return replace(
        source,
        world="fictional",
        base_url=f"{FICTIONAL_URL}/{source.key}",
        fetch=None,
        requests=(),
        rates={},
        license_url=None,
        tried=None,
        other_hosts=(),
        member_url=None,
    )


def require_base_url(source: Source) -> str:
    """Return the address that a source is published at; raise FetchError if it has none."""
    if source.base_url is None:
        raise FetchError(f"{source.key} has no live address: read it from a recording")
    return source.base_url


def mirror_of(source: Source, settings: Settings) -> Mirror | None:
    """Return the mirror that ``SANKOFA_BASE_<SOURCE>`` puts in place of the publisher, if any."""
    replacement = settings.source_urls.get(source.key)
    if replacement is None:
        return None
    return Mirror(require_base_url(source), replacement)


def asked_url_of(source: Source, settings: Settings) -> str:
    """Return the address that requests for a source are sent to."""
    mirror = mirror_of(source, settings)
    return require_base_url(source) if mirror is None else mirror.replacement


def fetch_task(
    client: Client,
    source: Source,
    window: Window,
    settings: Settings,
    landing: Landing | None = None,
) -> FetchTask:
    """Return the task of fetching a window of a source, through its mirror if one is set."""
    return FetchTask(
        client.through(mirror_of(source, settings)),
        source.key,
        source.license_class,
        require_base_url(source),
        window,
        settings,
        landing,
        source.other_hosts,
    )


def refuse_restricted(source: Source) -> None:
    """Raise LicenceError for a source that may not be served, before any request is sent."""
    if not source.permitted:
        raise LicenceError(
            f"{source.key} is refused: its licence ({source.license_name}) does not permit "
            "serving it; nothing was fetched and nothing is stored. Once redistribution is "
            "cleared with the publisher, set its licence class where it is declared"
        )
