"""One definition of each row: its columns, types, meanings and examples."""

from collections.abc import Mapping

from sqlmodel import SQLModel

from warehouse.tables.derived import PartyMatch, SameAs
from warehouse.tables.entities import Entity, Identifier
from warehouse.tables.fundamentals import Fundamental
from warehouse.tables.macro import MacroAnnual, MacroSeries
from warehouse.tables.metrics import Metric, MetricAbsent
from warehouse.tables.operations import Became, LoadEntry, Quarantined, Retried, Version
from warehouse.tables.quality import QualityMetric
from warehouse.tables.sighting import LICENSE_CLASSES, OPEN_CLASSES, LicenseClass, Sighting
from warehouse.tables.signals import Signal
from warehouse.tables.tenders import TenderParty, TenderRelease

# What is derived from the record for a build, by name.
DERIVED: Mapping[str, type[SQLModel]] = {
    "same_as": SameAs,
    "party_matches": PartyMatch,
    "metrics": Metric,
    "metrics_absent": MetricAbsent,
    "signals": Signal,
    "quality": QualityMetric,
}

__all__ = [
    "DERIVED",
    "LICENSE_CLASSES",
    "OPEN_CLASSES",
    "Became",
    "Entity",
    "Fundamental",
    "Identifier",
    "LicenseClass",
    "LoadEntry",
    "MacroAnnual",
    "MacroSeries",
    "Metric",
    "MetricAbsent",
    "PartyMatch",
    "QualityMetric",
    "Quarantined",
    "Retried",
    "SameAs",
    "Sighting",
    "Signal",
    "TenderParty",
    "TenderRelease",
    "Version",
]
