"""The declaration of a source: whose documents, which licence, how to fetch and parse them.

The sources themselves are declared in ``sources.py`` of their subject.
"""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import IO, Literal

from assets.fetching.client import FetchError
from assets.fetching.fetchers import Fetch, setting_name
from assets.parsing.parsed import Parsed
from warehouse.errors import LicenceError
from warehouse.record.landing import Document
from warehouse.record.tables import RecordTable
from warehouse.tables import LicenseClass

Parse = Callable[[Document, bytes], Parsed]
Stream = Callable[[Document, IO[bytes]], Iterator[Parsed]]
Cadence = Literal["daily", "monthly", "by issuer"]


@dataclass(frozen=True)
class Source:
    """One source of documents; one parser reads all of them into its tables.

    ``complete`` says that an address always shows all it has, and that nothing moves from one
    address to another, so that what it showed before and shows no more was withdrawn. An
    address that shows a page or a difference is not. The identity of a figure in its tables
    must name the source: nobody withdraws for another. ``stream`` reads a large body in parts,
    so that memory stays flat however long it is.

    A source without ``fetch`` can only be read from a folder. ``cadence`` says by which parts a
    source can be fetched, of days or of issuers; without it every fetch gets everything.
    """

    key: str
    subject: str
    title: str
    license_class: LicenseClass
    license_name: str
    parse: Parse
    tables: tuple[RecordTable, ...]
    complete: bool = False
    stream: Stream | None = None
    base_url: str | None = None
    fetch: Fetch | None = None
    cadence: Cadence | None = None

    @property
    def permitted(self) -> bool:
        """Say whether its licence permits that anything of it is kept and served."""
        return self.license_class != "restricted"


def base_url_of(source: Source) -> str:
    """Return the URL a source is fetched from; ``SANKOFA_BASE_<SOURCE>`` overrides it."""
    setting = setting_name("BASE", source.key)
    base_url = os.environ.get(setting, "").strip() or source.base_url
    if base_url is None:
        raise FetchError(
            f"{source.key} has no live address: set {setting}, or read it from a folder"
        )
    return base_url.rstrip("/")


def refuse_restricted(source: Source) -> None:
    """Refuse a source whose licence does not permit serving, before anything is asked of it."""
    if not source.permitted:
        raise LicenceError(
            f"{source.key} is refused: its licence ({source.license_name}) does not permit "
            "serving it; nothing was asked of it and nothing is kept. Once redistribution is "
            "cleared with the publisher, give the source its licence class in sources.py"
        )
