"""The tables of a build as data: what is asked by, in which order, in which form.

Rows lie in the order in which they are served, so that what is asked together is read
together: ``place`` numbers them. Writing them belongs to ``write``.
"""

from dataclasses import dataclass
from typing import Literal

from warehouse.mart.award_facts import AWARD_FACTS
from warehouse.mart.row_json import PROVENANCE
from warehouse.mart.served_rows import (
    CURRENT_ENTITIES,
    CURRENT_IDENTIFIERS,
    PARTIES,
    RELEASES,
    RELEASES_ORDER,
)

_VINTAGE = ("available_at", "superseded_at", "vintage", "withdrawn", "latest")
# What an organisation is asked by, whichever of its ids is given: the id that is pointed to.
_OWNED = (
    "SELECT held.*, coalesce(pointing.same_as, held.service_id) AS organisation "
    "FROM ({}) AS held LEFT JOIN same_as AS pointing ON pointing.service_id = held.service_id"
)
_OBSERVED = (
    *("period_start", "period_end", "value", "unit", "base_period", "obs_status"),
    *("vintage", "available_at"),
    *PROVENANCE,
)


# A number for the form of a build: one of another form is not read, and with another number an
# unchanged record is published anew.
MART_SCHEMA_VERSION = 6


# Column types of the mart tables, as both engines have them.
ColumnKind = Literal["text", "integer", "bytes"]
Columns = dict[str, ColumnKind]


@dataclass(frozen=True)
class Packed:
    """By which column neighbours are packed together, and how many at most."""

    by: str
    most: int


@dataclass(frozen=True)
class MartTable:
    """One table of a build, made by a statement over what is staged.

    ``members`` are those of a served row; of a release also ``inside``. ``keys`` stand beside
    the row to be asked by. Without members there are keys only. Rows that are ``packed`` lie
    in a table of packs, and only their keys in the table itself.
    """

    name: str
    rows: str
    order: str
    keys: tuple[str, ...]
    indexes: tuple[str, ...]
    members: tuple[str, ...] = ()
    inside: tuple[str, ...] = ()
    packed: Packed | None = None

    @property
    def packs(self) -> str:
        """Name the table of its packs."""
        return f"{self.name}_packs"


MART_TABLES = (
    MartTable(
        "fundamentals",
        _OWNED.format("SELECT *, row_id AS fact_id FROM fundamentals"),
        "organisation, period_end DESC, line_item, period_start DESC, unit, basis, service_id, "
        "vintage",
        ("organisation", "service_id", "period_type", "line_item", *_VINTAGE),
        ("(organisation, place)",),
        (
            *("fact_id", "service_id", "line_item", "statement", "value_reported"),
            *("currency_reported", "unit", "period_type", "period_start", "period_end"),
            *("fiscal_label", "basis", "accounting_standard", "vintage", "available_at"),
            *PROVENANCE,
        ),
        packed=Packed("organisation", 1_000),
    ),
    MartTable(
        "tender_releases",
        RELEASES,
        RELEASES_ORDER,
        (
            *("country", "released_on", "category", "buyer_id"),
            *("tender_value", "tender_currency", "row_id", *_VINTAGE),
        ),
        (
            "(country, released_on DESC, place)",
            "(country, category, released_on DESC, place) WHERE latest = 1",
            "(country, buyer_id, released_on DESC, place) WHERE buyer_id <> ''",
            "(country, released_on DESC, place) WHERE tender_value <> ''",
        ),
        (
            *("ocid", "release_id", "date", "tag", "country", "category", "parties_withheld"),
            *("vintage", "available_at", "source_url", *PROVENANCE),
        ),
        ("buyer", "tender", "awards", "contracts"),
        packed=Packed("country", 100),
    ),
    MartTable(
        "tender_parties",
        _OWNED.format(PARTIES),
        "country, role, releases DESC, name, party_id",
        ("country", "role", "organisation", "service_id"),
        (
            *("(country, role, place)", "(country, place)", "(role, place)"),
            "(organisation, place)",
        ),
        (
            *("party_id", "service_id", "name", "role", "country", "identifier", "releases"),
            *("first_release", "last_release", "match_method", "org_evidence", *PROVENANCE),
        ),
    ),
    MartTable(
        "award_facts",
        _OWNED.format(AWARD_FACTS),
        "organisation, released_on DESC, fact_id, vintage",
        ("organisation", "service_id", "measure", *_VINTAGE),
        ("(organisation, place)",),
        (
            *("fact_id", "entity_id", "entity_name", "country_iso3", "dataset", "measure"),
            *("value", "unit", "period_end", "period_type", "available_at", "vintage"),
            *PROVENANCE,
        ),
    ),
    MartTable(
        "macro_annual",
        "SELECT *, NULL::VARCHAR AS series_type, 'annual' AS frequency FROM macro_annual",
        "indicator, country_iso3, source, unit, base_period, period_end DESC, vintage",
        ("country", "country_iso3", "indicator", "period_end", "row_id", *_VINTAGE),
        ("(indicator, place)", "(country, place)", "(country_iso3, place)"),
        ("country", "country_iso3", "indicator", "series_type", "frequency", *_OBSERVED),
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
            *("(series, place)", "(country, place)", "(country_iso3, place)"),
            "(series_type, place)",
        ),
        ("country", "country_iso3", "series", "series_type", "frequency", *_OBSERVED),
        packed=Packed("series", 1_000),
    ),
    MartTable(
        "entities",
        CURRENT_ENTITIES,
        "service_id",
        ("service_id", "legal_name", "jurisdiction", "country", "country_iso3"),
        ("(service_id)",),
        (
            *("service_id", "legal_name", "other_names", "jurisdiction", "country"),
            *("entity_type", "status", "lei", "lei_status", "same_as", "listings", "datasets"),
            *PROVENANCE,
        ),
    ),
    MartTable(
        "identifiers",
        CURRENT_IDENTIFIERS,
        "organisation, id_type, id_value, issuer, source",
        ("organisation", "id_type", "id_match", "issuer"),
        ("(organisation, place)", "(id_match, id_type, place)"),
        ("id_type", "id_value", "issuer", "status", "source_ref", "license_class", "observed_at"),
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
        _OWNED.format(
            "SELECT held.* REPLACE (CAST(inputs AS JSON) AS inputs, CAST(value AS JSON) AS value), "
            "CAST(value AS DOUBLE) AS size, legal_name, country "
            f"FROM metrics AS held LEFT JOIN ({CURRENT_ENTITIES}) AS entity USING (service_id)"
        ),
        "metric, size DESC, service_id, period_end DESC, basis, currency",
        ("metric", "organisation", "service_id", "country", "answers_from", "answers_until"),
        ("(metric, place)", "(organisation, place)"),
        (
            *("service_id", "legal_name", "country", "metric", "value", "unit", "period_type"),
            *("period_start", "period_end", "published_at", "available_at", "methodology_ref"),
            *("inputs", *PROVENANCE),
        ),
    ),
    MartTable(
        "metrics_absent",
        f"SELECT held.*, country "
        f"FROM metrics_absent AS held LEFT JOIN ({CURRENT_ENTITIES}) AS entity USING (service_id)",
        "metric, service_id, period_end DESC, reason",
        ("metric", "service_id", "country", "reason", "holds_from", "holds_until"),
        ("(metric, place)",),
    ),
    MartTable(
        "signals",
        "SELECT * FROM signals",
        "signal_key, country, month DESC, dimension, dimension_value, measure, currency, "
        "service_id, vintage",
        (
            *("signal_key", "country", "month", "closed_at", "dimension", "dimension_value"),
            *("available_at", "superseded_at"),
        ),
        ("(signal_key, country, place)", "(signal_key, place)"),
        (
            *("signal_key", "country", "month", "closed_at", "dimension", "dimension_value"),
            *("service_id", "measure", "value", "unit", "currency", "n_eligible", "n_observed"),
            *("coverage", "n_withheld", "vintage", "available_at", "methodology_ref"),
            *PROVENANCE,
        ),
    ),
    MartTable(
        "quality",
        "SELECT * RENAME (value AS measured), CAST(CASE WHEN value IS NULL OR "
        "status = 'UNMEASURED' THEN '\"UNMEASURED\"' ELSE "
        "rtrim(rtrim(CAST(value AS VARCHAR), '0'), '.') END AS JSON) AS value FROM quality "
        "WHERE data_version = this_version()",
        "sku, dimension, metric, scope, unit, measured_at",
        ("sku",),
        ("(sku, place)",),
        (
            *("sku", "dimension", "metric", "scope", "value", "unit", "floor", "status"),
            *("n_checked", "n_passed", "measured_at", "data_version"),
        ),
    ),
)
