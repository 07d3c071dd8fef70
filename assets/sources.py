"""The table of sources: whose data, under which licence, read by which parser."""

from collections.abc import Callable
from dataclasses import dataclass

from assets.parsed import Parsed
from warehouse.landing import Document
from warehouse.tables import LicenseClass

Parse = Callable[[Document, bytes], Parsed]


@dataclass(frozen=True)
class Source:
    """One source of documents; all documents of a source are read by one parser."""

    key: str
    subject: str
    title: str
    license_class: LicenseClass
    license_name: str
    parse: Parse
