"""One definition of each row: its columns, types, meanings and examples.

Start with ``sighting.py``: what every row of the record carries, and ``column.py``: what a column
says about itself; ``columns.csv`` has the meanings and examples. ``fundamentals`` (figures and
filings), ``tenders``, ``macro`` and ``entities`` add the columns of one subject each, ``derived``
has the rows that are computed for a build, ``operations`` what the record keeps about itself.

How rows are stored belongs to ``warehouse.record``, how they are served to
``warehouse.contract``. Every surface takes its types, descriptions and examples from here.
"""

# Imported for others: every row class is had from here.
# ruff: noqa: F401

from collections.abc import Mapping

from sqlmodel import SQLModel

from warehouse.tables.derived import (
    DERIVED_ABSENCES,
    DerivedFigure,
    ExchangeSession,
    FirstListing,
    LeftOut,
    Metric,
    MetricAbsent,
    PartyMatch,
    SameAs,
    SharedFact,
    Signal,
    SilentRevision,
    VetoedJoin,
)
from warehouse.tables.entities import Entity, EntityIdentifier, ListedIssuer
from warehouse.tables.fundamentals import (
    ElementFact,
    Filing,
    FilingVintage,
    Fundamental,
    FundamentalVintage,
)
from warehouse.tables.macro import MacroAnnual, MacroSeries
from warehouse.tables.operations import (
    ErasedEntry,
    FailureEntry,
    LoadEntry,
    QualityMetric,
    QuarantineEntry,
    RetryEntry,
    RetryOutcome,
    VersionEntry,
    WithheldBy,
    WithheldEntry,
    WithheldKind,
)
from warehouse.tables.sighting import (
    AS_SHOWN,
    FIRST_READ,
    LICENSE_CLASSES,
    OPEN_CLASSES,
    PUBLISHED,
    DayEvidence,
    EvidencedSighting,
    LicenseClass,
    Sighting,
)
from warehouse.tables.tenders import TenderParty, TenderRelease, TenderReleaseVintage

# The tables computed for a build, by name.
DERIVED: Mapping[str, type[SQLModel]] = {
    "same_as": SameAs,
    "vetoed_joins": VetoedJoin,
    "party_matches": PartyMatch,
    "metrics": Metric,
    "metrics_absent": MetricAbsent,
    "derived_figures": DerivedFigure,
    "metrics_ttm": Metric,
    "metrics_ttm_absent": MetricAbsent,
    "first_listings": FirstListing,
    "exchange_sessions": ExchangeSession,
    "signals": Signal,
    "silent_revisions": SilentRevision,
    "quality": QualityMetric,
    "left_out": LeftOut,
}
