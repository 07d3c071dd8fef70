"""What a source is: whose documents, under which licence, read by which parser.

The sources themselves stand as tables in the folder of their subject.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import IO

from assets.parsing.parsed import Parsed
from warehouse.errors import LicenceError
from warehouse.record.landing import Document
from warehouse.record.tables import RecordTable
from warehouse.tables import LicenseClass

Parse = Callable[[Document, bytes], Parsed]
Stream = Callable[[Document, IO[bytes]], Iterator[Parsed]]


@dataclass(frozen=True)
class Source:
    """One source of documents; one parser reads all of them into its tables.

    ``complete`` says that an address always shows all it has, and that nothing moves from one
    address to another, so that what it showed before and shows no more was withdrawn. An
    address that shows a page or a difference is not. The identity of a figure in its tables
    must name the source: nobody withdraws for another. ``stream`` reads a large body in parts,
    so that memory stays flat however long it is.
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

    @property
    def permitted(self) -> bool:
        """Say whether its licence permits that anything of it is kept and served."""
        return self.license_class != "restricted"


def refuse_restricted(source: Source) -> None:
    """Refuse a source whose licence does not permit serving, before anything is asked of it."""
    if not source.permitted:
        raise LicenceError(
            f"{source.key} is refused: its licence ({source.license_name}) does not permit "
            "serving it; nothing was asked of it and nothing is kept. Once redistribution is "
            "cleared with the publisher, give the source its licence class in sources.py"
        )
