"""The tables of a build as data: key columns, order, indexes and the members of a served row.

Rows are stored in the order in which they are served, so that rows read together lie together;
``row_number`` counts them from 1. ``write`` writes them; the SQL of the rows is in
``served_rows``, ``award_facts`` and ``tender_facts``. Nothing here imports Arrow: the surfaces
load this module.
"""

from dataclasses import dataclass
from typing import Literal

from sqlmodel import SQLModel

from warehouse.mart.award_facts import AWARD_FACTS
from warehouse.mart.row_json import PROVENANCE
from warehouse.mart.served_rows import (
    CURRENT_ENTITIES,
    CURRENT_IDENTIFIERS,
    NAMED_ENTITIES,
    PARTIES,
    RELEASES,
    RELEASES_ORDER,
)
from warehouse.mart.tender_facts import TENDER_FACTS
from warehouse.tables import (
    Entity,
    EntityIdentifier,
    FundamentalVintage,
    MacroAnnual,
    MacroSeries,
    Metric,
    QualityMetric,
    SharedFact,
    Signal,
    TenderParty,
    TenderRelease,
)
from warehouse.tables.column import members_of

_VINTAGE = ("available_at", "superseded_at", "vintage", "withdrawn", "latest")
# `organisation` is the id under which all rows of an organisation are found. Rows have canonical
# ids, so it is their own; in builds made before, rows could have another.
_WITH_ORGANISATION = "SELECT *, service_id AS organisation FROM ({})"
# Members that a row of a party has besides the columns of its class.
_PARTY = (
    *("party_id", "service_id", "name", "role", "country", "identifier", "releases"),
    *("first_release", "last_release", "match_method", "org_evidence"),
)


def _dated(own: tuple[str, ...], row: type[SQLModel]) -> tuple[str, ...]:
    """Return the members of a row with vintages, whose own columns are given."""
    times, origins = members_of(row, "time"), members_of(row, "origin")
    return (*own, "vintage", *times, *origins, *PROVENANCE)


def _insert(members: tuple[str, ...], after: str, *new: str) -> tuple[str, ...]:
    """Return the members with new ones that the mart adds to the columns of a class."""
    place = members.index(after) + 1
    return (*members[:place], *new, *members[place:])


# Mart schema version. Bump it if builds get tables, keys or packs that readers do not know yet. A
# new member of a row is no reason: rows are served as they were written.
MART_SCHEMA_VERSION = 8
# The versions that readers can read. Keep an older one as long as its builds can be answered: a
# pin to a build of any other version is refused.
READABLE_SCHEMA_VERSIONS = (7, 8)
# From this version on, every row has the canonical id of its organisation.
CANONICAL_IDS_SINCE = 8

# Column types of the mart tables, as both engines have them.
ColumnKind = Literal["text", "integer", "bytes"]
Columns = dict[str, ColumnKind]
# Columns that number rows; the first column of a table with one of these names is its primary key.
ROW_NUMBERS = ("row_number", "first_row")


@dataclass(frozen=True)
class Packing:
    """Pack neighbouring rows with the same value of the column ``by``, at most so many.

    A pack is read whole. It should hold what one request mostly needs and not much more, so the
    large rows of releases are packed in smaller numbers.
    """

    by: str
    max_rows: int


@dataclass(frozen=True)
class MartTable:
    """One table of a build: ``rows`` is a SELECT over the snapshot.

    ``keys`` are columns to filter by. ``members`` are the members of a served row, in order;
    without them the table has keys only. ``inside`` are members taken over from the release JSON.
    Packed rows are stored in a table of packs, and this table has their keys only.
    """

    name: str
    rows: str
    order: str
    keys: tuple[str, ...]
    indexes: tuple[str, ...]
    members: tuple[str, ...] = ()
    inside: tuple[str, ...] = ()
    packed: Packing | None = None

    @property
    def packs(self) -> str:
        """The name of its table of packs."""
        return f"{self.name}_packs"


MART_TABLES = (
    MartTable(
        "fundamentals",
        _WITH_ORGANISATION.format("SELECT *, row_id AS fact_id FROM fundamentals"),
        "organisation, period_end DESC, line_item, period_start DESC, unit, basis, service_id, "
        "vintage",
        ("organisation", "service_id", "period_type", "period_end", "line_item", *_VINTAGE),
        ("(organisation, row_number)",),
        _dated(("fact_id", *members_of(FundamentalVintage, "own")), FundamentalVintage),
        packed=Packing("organisation", 1_000),
    ),
    MartTable(
        "tender_releases",
        RELEASES,
        RELEASES_ORDER,
        ("country", "released_on", "category", "buyer_id", *_VINTAGE),
        # Partial indexes: unknown text is stored as '', and such rows are never searched for.
        (
            "(country, released_on DESC, row_number)",
            "(country, category, released_on DESC, row_number) WHERE latest = 1",
            "(country, buyer_id, released_on DESC, row_number) WHERE buyer_id <> ''",
        ),
        _dated(members_of(TenderRelease, "own"), TenderRelease),
        ("buyer", "tender", "awards", "contracts"),
        packed=Packing("country", 100),
    ),
    MartTable(
        "tender_parties",
        _WITH_ORGANISATION.format(PARTIES),
        "country, role, releases DESC, name, party_id",
        ("country", "role", "organisation", "service_id"),
        (
            *("(country, role, row_number)", "(country, row_number)", "(role, row_number)"),
            "(organisation, row_number)",
        ),
        (
            *dict.fromkeys((*_PARTY, *members_of(TenderParty, "own"))),
            *PROVENANCE,
        ),
    ),
    MartTable(
        "award_facts",
        _WITH_ORGANISATION.format(AWARD_FACTS),
        "organisation, released_on DESC, fact_id, vintage",
        ("organisation", "service_id", "measure", *_VINTAGE),
        ("(organisation, row_number)",),
        (*members_of(SharedFact), "available_at", "vintage", *PROVENANCE),
    ),
    MartTable(
        "tender_facts",
        TENDER_FACTS,
        # Newest first; an undated one comes last: '' sorts before every date.
        "country_iso3, coalesce(CAST(released_on AS VARCHAR), '') DESC, ocid DESC, source DESC, "
        "vintage",
        ("country_iso3", "measure", *_VINTAGE),
        ("(country_iso3, row_number)",),
        (*members_of(SharedFact), "available_at", "vintage", *PROVENANCE),
    ),
    MartTable(
        "macro_annual",
        "SELECT *, NULL::VARCHAR AS series_type, 'annual' AS frequency FROM macro_annual",
        "indicator, country_iso3, source, unit, base_period, period_end DESC, vintage",
        ("country", "country_iso3", "indicator", "period_end", "row_id", *_VINTAGE),
        ("(indicator, row_number)", "(country, row_number)", "(country_iso3, row_number)"),
        _dated(
            _insert(members_of(MacroAnnual, "own"), "indicator", "series_type", "frequency"),
            MacroAnnual,
        ),
    ),
    MartTable(
        "macro_series",
        "SELECT * FROM macro_series",
        "series, country_iso3, source, frequency, unit, base_period, period_end DESC, vintage",
        (
            *("country", "country_iso3", "series", "series_type", "frequency", "period_end"),
            *("row_id", *_VINTAGE),
        ),
        (
            *("(series, row_number)", "(country, row_number)", "(country_iso3, row_number)"),
            "(series_type, row_number)",
        ),
        _dated(members_of(MacroSeries, "own"), MacroSeries),
        packed=Packing("series", 1_000),
    ),
    MartTable(
        "entities",
        CURRENT_ENTITIES,
        "service_id",
        ("service_id", "legal_name", "jurisdiction", "country", "country_iso3"),
        ("(service_id)",),
        (
            *members_of(Entity, "own"),
            *("aliases", "joins", "listings", "datasets", *PROVENANCE),
        ),
    ),
    MartTable(
        "identifiers",
        CURRENT_IDENTIFIERS,
        "organisation, id_type, id_value, issuer, source",
        ("organisation", "id_type", "id_match", "issuer"),
        ("(organisation, row_number)", "(id_match, id_type, row_number)"),
        # Only the source, the licence and the time of its provenance.
        (*members_of(EntityIdentifier, "own"), "match_method", *PROVENANCE[:3]),
    ),
    MartTable(
        "same_as",
        "SELECT * FROM same_as",
        "service_id",
        ("service_id", "same_as"),
        ("(service_id)", "(same_as)"),
    ),
    MartTable(
        "countries",
        "SELECT * FROM countries",
        "country",
        ("country", "country_iso3", "name"),
        ("(country_iso3)",),
    ),
    MartTable(
        "metrics",
        _WITH_ORGANISATION.format(
            "SELECT metrics.* REPLACE (CAST(inputs AS JSON) AS inputs, "
            "CAST(value AS JSON) AS value), CAST(value AS DOUBLE) AS size, legal_name, country "
            f"FROM metrics LEFT JOIN ({NAMED_ENTITIES}) AS entity USING (service_id)"
        ),
        "metric, size DESC, service_id, period_end DESC, basis, currency",
        ("metric", "organisation", "service_id", "country", "answers_from", "answers_until"),
        ("(metric, row_number)", "(organisation, row_number)"),
        (
            *_insert(members_of(Metric, "own"), "service_id", "legal_name", "country"),
            *PROVENANCE,
        ),
    ),
    MartTable(
        "metrics_absent",
        f"SELECT metrics_absent.*, country "
        f"FROM metrics_absent LEFT JOIN ({NAMED_ENTITIES}) AS entity USING (service_id)",
        "metric, service_id, period_end DESC, reason",
        ("metric", "service_id", "country", "reason", "holds_from", "holds_until"),
        ("(metric, row_number)",),
    ),
    MartTable(
        "signals",
        "SELECT * FROM signals",
        # Newest first, whether or not a country is asked for.
        "signal_key, month DESC, country, dimension, dimension_value, measure, currency, "
        "service_id, vintage",
        (
            *("signal_key", "country", "month", "closed_at", "dimension", "dimension_value"),
            *("available_at", "superseded_at"),
        ),
        ("(signal_key, country, row_number)", "(signal_key, row_number)"),
        (*members_of(Signal, "own"), *PROVENANCE),
    ),
    MartTable(
        "quality",
        # A value that was not measured is served as the text UNMEASURED, not as null.
        "SELECT * RENAME (value AS measured), CAST(CASE WHEN value IS NULL OR "
        "status = 'UNMEASURED' THEN '\"UNMEASURED\"' ELSE "
        "rtrim(rtrim(CAST(value AS VARCHAR), '0'), '.') END AS JSON) AS value FROM quality "
        "WHERE data_version = this_version()",
        "sku, dimension, metric, scope, unit, measured_at",
        ("sku",),
        ("(sku, row_number)",),
        members_of(QualityMetric),
    ),
)
