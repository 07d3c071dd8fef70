"""One definition of each row: its columns, types, meanings and examples."""

from warehouse.tables.entities import Entity, Identifier
from warehouse.tables.fundamentals import Fundamental
from warehouse.tables.macro import MacroAnnual, MacroSeries
from warehouse.tables.operations import LoadEntry, Quarantined, Version
from warehouse.tables.sighting import LICENSE_CLASSES, OPEN_CLASSES, LicenseClass, Sighting
from warehouse.tables.tenders import TenderParty, TenderRelease

__all__ = [
    "LICENSE_CLASSES",
    "OPEN_CLASSES",
    "Entity",
    "Fundamental",
    "Identifier",
    "LicenseClass",
    "LoadEntry",
    "MacroAnnual",
    "MacroSeries",
    "Quarantined",
    "Sighting",
    "TenderParty",
    "TenderRelease",
    "Version",
]
