"""The declaration of a source: whose documents, which licence, how to fetch and parse them.

The sources themselves are declared in ``sources.py`` of their subject.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from typing import IO, Literal

from assets.fetching.client import FetchError
from assets.fetching.fetchers import Fetch
from assets.parsing.parsed import Parsed
from warehouse.errors import LicenceError
from warehouse.record.landing import Document
from warehouse.record.tables import RecordTable
from warehouse.settings import Settings, variable_of
from warehouse.tables import LicenseClass

Parse = Callable[[Document, bytes], Parsed]
Stream = Callable[[Document, IO[bytes]], Iterator[Parsed]]
Cadence = Literal["daily", "monthly", "by issuer"]
# Fictional sources have the same keys and parsers as the real ones; a home has one or the other.
World = Literal["real", "fictional"]
# Makes the parsers of a source that hashes withheld parties, given the secret to hash under.
BindKey = Callable[[bytes], tuple[Parse, Stream]]


@dataclass(frozen=True)
class Parser:
    """How the documents of a source are read.

    Raise ``version`` whenever the same document gives other rows or rejections than before: its
    documents are then read again. ``stream`` reads a large body in parts, so that memory stays
    flat.
    """

    version: int
    parse: Parse
    stream: Stream | None = None
    bind_key: BindKey | None = None

    def with_withheld_key(self, key: str) -> "Parser":
        """Return the parser that hashes withheld parties under ``key``."""
        if self.bind_key is None:
            return self
        parse, stream = self.bind_key(key.encode())
        return replace(self, parse=parse, stream=stream)


@dataclass(frozen=True)
class Source:
    """One source of documents; one parser reads all of them into its tables.

    ``complete``: every URL always shows all it has, and nothing moves from one URL to another, so
    what a URL no longer shows was withdrawn. A URL that shows a page or a diff is not complete.
    The identity columns of its tables must then include the source: no source withdraws for
    another.

    A source without ``fetch`` can only be read from recordings. ``requests`` are the URLs that it
    is asked, as patterns. ``cadence`` says by which parts a source can be fetched, of days or of
    issuers; without it every fetch gets everything. ``rates`` are the most requests per second
    that a domain allows. ``tried`` is the day on which somebody last fetched it live with success.
    """

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

    def with_withheld_key(self, key: str) -> "Source":
        """Return the source with parsers that hash withheld parties under ``key``."""
        return replace(self, parser=self.parser.with_withheld_key(key))

    @property
    def permitted(self) -> bool:
        """True if the licence permits storing and serving its documents."""
        return self.license_class != "restricted"


def base_url_of(source: Source, settings: Settings) -> str:
    """Return the URL a source is fetched from; ``SANKOFA_BASE_<SOURCE>`` overrides it."""
    base_url = settings.source_urls.get(source.key, source.base_url)
    if base_url is None:
        setting = variable_of("SANKOFA_BASE_", source.key)
        raise FetchError(
            f"{source.key} has no live address: set {setting}, or read it from a folder"
        )
    return base_url


def refuse_restricted(source: Source) -> None:
    """Raise LicenceError for a source that may not be served, before any request is sent."""
    if not source.permitted:
        raise LicenceError(
            f"{source.key} is refused: its licence ({source.license_name}) does not permit "
            "serving it; nothing was fetched and nothing is stored. Once redistribution is "
            "cleared with the publisher, set its licence class in sources.py"
        )
