"""The tables of a build as data: what is asked by, in which order, in which form.

Rows lie in the order in which they are served, so that what is asked together is read
together. Writing them belongs to ``build``.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from warehouse.mart import shapes
from warehouse.mart.entities import current_entities
from warehouse.mart.vintages import VintagesOf
from warehouse.record.tables import (
    ENTITIES,
    FUNDAMENTALS,
    IDENTIFIERS,
    MACRO_ANNUAL,
    MACRO_SERIES,
    TENDER_PARTIES,
    TENDER_RELEASES,
    RecordTable,
)


@dataclass(frozen=True)
class MartTable:
    """One table of a build, made from one table of the record.

    ``keys`` are kept beside the row's JSON to be asked by; an unknown one is an empty text.
    """

    source: RecordTable
    keys: tuple[str, ...]
    order: str
    indexes: tuple[str, ...]
    shape: Callable[[shapes.Row], dict[str, Any]]
    rows: Callable[[VintagesOf], str]

    @property
    def name(self) -> str:
        """Give the name, which is that of the record's table."""
        return self.source.name


def _established(vintages: VintagesOf) -> str:
    """Leave out the withheld parties: they have no name, and are only counted."""
    return f"SELECT * FROM ({vintages(TENDER_PARTIES)}) WHERE name IS NOT NULL"


MART_TABLES = (
    MartTable(
        FUNDAMENTALS,
        ("service_id", "period_type"),
        "service_id, period_end DESC, line_item, period_start DESC, unit, basis, vintage",
        ("(service_id)",),
        shapes.fact,
        lambda vintages: vintages(FUNDAMENTALS),
    ),
    MartTable(
        TENDER_RELEASES,
        ("country", "released_on", "ocid", "release_id", "source"),
        "country, released_on DESC, ocid DESC, release_id DESC, source DESC, vintage",
        ("(country, released_on DESC, ocid DESC, release_id DESC, source DESC) WHERE latest = 1",),
        shapes.release,
        lambda vintages: vintages(TENDER_RELEASES),
    ),
    MartTable(
        TENDER_PARTIES,
        ("country", "role", "party_key"),
        "country, role, party_key, released_on DESC, ocid, release_id, source, vintage",
        ("(country, role, party_key)",),
        shapes.party,
        _established,
    ),
    MartTable(
        MACRO_ANNUAL,
        ("country", "country_iso3", "indicator", "period_end"),
        "indicator, country_iso3, source, unit, base_period, period_end DESC, vintage",
        ("(indicator)", "(country, indicator)", "(country_iso3, indicator)"),
        shapes.annual,
        lambda vintages: vintages(MACRO_ANNUAL),
    ),
    MartTable(
        MACRO_SERIES,
        ("country", "country_iso3", "series", "series_type", "frequency", "period_end"),
        "series, country_iso3, source, frequency, unit, base_period, period_end DESC, vintage",
        ("(series)", "(country, series)", "(country_iso3, series)"),
        shapes.series,
        lambda vintages: vintages(MACRO_SERIES),
    ),
    MartTable(
        ENTITIES,
        ("service_id",),
        "service_id",
        ("(service_id)",),
        shapes.entity,
        current_entities,
    ),
    MartTable(
        IDENTIFIERS,
        ("service_id", "id_type", "id_value"),
        "service_id, id_type, id_value, issuer, source, vintage",
        ("(service_id)", "(id_type, id_value)"),
        shapes.identifier,
        lambda vintages: vintages(IDENTIFIERS),
    ),
)
