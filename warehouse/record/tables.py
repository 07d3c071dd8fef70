"""The tables of the record as data: what identifies a figure, and what its content is."""

from dataclasses import dataclass

from sqlmodel import SQLModel

from warehouse.tables import (
    Entity,
    Fundamental,
    Identifier,
    MacroAnnual,
    MacroSeries,
    TenderParty,
    TenderRelease,
)


@dataclass(frozen=True)
class RecordTable:
    """One table of sightings.

    Two sightings with the same ``identity`` speak of the same figure. A change of any
    ``content`` column is a new vintage. Files are sorted by ``cluster``, the column by
    which rows arrive together, so that a load reads only the files it touches.
    """

    name: str
    row: type[SQLModel]
    identity: tuple[str, ...]
    content: tuple[str, ...]
    cluster: str


FUNDAMENTALS = RecordTable(
    "fundamentals",
    Fundamental,
    ("service_id", "line_item", "unit", "basis", "period_start", "period_end"),
    ("value_reported",),
    "service_id",
)
TENDER_RELEASES = RecordTable(
    "tender_releases",
    TenderRelease,
    ("source", "ocid", "release_id"),
    ("released_on", "tag", "release"),
    "ocid",
)
TENDER_PARTIES = RecordTable(
    "tender_parties",
    TenderParty,
    ("source", "ocid", "release_id", "party_key", "role"),
    ("name", "identifier_scheme", "identifier_id", "org_evidence"),
    "ocid",
)
MACRO_ANNUAL = RecordTable(
    "macro_annual",
    MacroAnnual,
    ("source", "country_iso3", "indicator", "period_start", "period_end", "unit", "base_period"),
    ("value", "obs_status"),
    "indicator",
)
MACRO_SERIES = RecordTable(
    "macro_series",
    MacroSeries,
    (
        "source",
        "series",
        "country_iso3",
        "frequency",
        "period_start",
        "period_end",
        "unit",
        "base_period",
    ),
    ("value", "obs_status"),
    "series",
)
ENTITIES = RecordTable(
    "entities",
    Entity,
    ("source", "service_id"),
    (
        "legal_name",
        "other_names",
        "jurisdiction",
        "country",
        "entity_type",
        "status",
        "lei",
        "lei_status",
        "same_as",
    ),
    "service_id",
)
IDENTIFIERS = RecordTable(
    "identifiers",
    Identifier,
    ("source", "service_id", "id_type", "id_value", "issuer"),
    ("status",),
    "service_id",
)

RECORD_TABLES = (
    FUNDAMENTALS,
    TENDER_RELEASES,
    TENDER_PARTIES,
    MACRO_ANNUAL,
    MACRO_SERIES,
    ENTITIES,
    IDENTIFIERS,
)
