"""The columns of each bulk file: name, type, meaning, and the SQL that computes it.

Types and meanings are those of the row class a column comes from; the few columns that only bulk
files have are described here. Names are those of the records that the API serves.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

import pyarrow as pa
from sqlmodel import SQLModel

from warehouse.mart.row_json import PROVENANCE
from warehouse.record.tables import arrow_schema
from warehouse.tables import (
    Fundamental,
    MacroAnnual,
    MacroSeries,
    PartyMatch,
    QualityMetric,
    Sighting,
    Signal,
    TenderParty,
    TenderRelease,
)
from warehouse.tables.sighting import column

# The provenance of the mart; an id in a file has a meaning of its own, see ``ExportOnlyColumns``.
_PROVENANCE = tuple(name for name in PROVENANCE if name != "provenance_id")


@dataclass(frozen=True)
class FileColumn:
    """One column of a bulk file; ``sql`` computes it from a row of the snapshot."""

    field: pa.Field
    meaning: str
    example: Any
    sql: str

    @property
    def name(self) -> str:
        """The name in the file."""
        return str(self.field.name)


class ExportOnlyColumns(SQLModel):
    """Columns that only bulk files have, and those that the snapshot adds to a row."""

    fact_id: str = column("Id of this vintage of the figure.", "7a1d0c3b5e9f4a2280c6d1e2f3a4b5c6")
    record_id: str = column("Id of this row in the file.", "7a1d0c3b5e9f4a2280c6d1e2f3a4b5c6")
    party_id: str = column(
        "Id of the party in its role, as the API serves it.", "0f8b2c4d6e1a4c3b9d7e5f6a8b9c0d1e"
    )
    provenance_id: str = column(
        "Id of the location in the document.", "1c9e0b7d4f6a48529b3d2e1f0a5c6b7d"
    )
    vintage: int = column("1 for the first publication of the figure, then rising.", 1)
    superseded_at: date | None = column(
        "Day from which the next vintage was available; null for the last. It makes any as_of "
        "a single filter; drop it before a backtest.",
        "2020-03-30",
    )
    latest: bool = column("True for the current vintage; do not use it in a backtest.", True)


class Award(SQLModel):
    """One award as one vintage of one release states it.

    Releases of a process repeat its awards: of an ocid and award_id take the newest release.
    """

    award_id: str | None = column("Id of the award within its process.", "1")
    award_date: date | None = column("Day of the award as stated.", "2026-05-04")
    award_status: str | None = column("OCDS status of the award.", "active")
    amount: Decimal | None = column(
        "Amount as stated, digit for digit; null where none is.", Decimal("1450000.00")
    )
    currency: str | None = column("ISO 4217 code of the amount.", "ZAR")
    service_id: str | None = column(
        "Organisation identifier of the supplier, where one is named and resolved.", "DC7Q2M4XK9"
    )
    supplier_name: str | None = column(
        "Name of the supplier, where exactly one is named.", "Mzansi Fictional Roads (Pty) Ltd"
    )
    suppliers: list[str] = column(
        "Names of the suppliers that are established to be organisations.",
        ["Mzansi Fictional Roads (Pty) Ltd"],
    )
    supplier_service_ids: list[str] = column(
        "Their organisation identifiers in the same order, null where not resolved.",
        ["DC7Q2M4XK9"],
    )


def columns(
    row: type[SQLModel], names: tuple[str, ...], sql: Mapping[str, str] | None = None
) -> tuple[FileColumn, ...]:
    """Return columns of a row class; the name ``new=old`` renames one."""
    schema, expressions = arrow_schema(row), sql or {}
    selected = []
    for renamed in names:
        name, _, old = renamed.partition("=")
        field, info = schema.field(old or name), row.model_fields[old or name]
        selected.append(
            FileColumn(
                field.with_name(name),
                str(info.description),
                info.examples[0] if info.examples else None,
                expressions.get(name, old or name),
            )
        )
    return tuple(selected)


def provenance() -> tuple[FileColumn, ...]:
    """Return the provenance columns."""
    return columns(Sighting, _PROVENANCE) + columns(ExportOnlyColumns, ("provenance_id",))


def vintages() -> tuple[FileColumn, ...]:
    """Return the columns that make any as_of a single filter."""
    return (
        columns(ExportOnlyColumns, ("vintage",))
        + columns(Sighting, ("available_at", "withdrawn"))
        + columns(ExportOnlyColumns, ("superseded_at", "latest"))
    )


def record_id(sql: str = "row_id", name: str = "record_id") -> tuple[FileColumn, ...]:
    """Return the primary key column, computed by ``sql``."""
    return columns(ExportOnlyColumns, (name,), {name: sql})


_OBSERVED = ("period_start", "period_end", "value", "unit", "base_period", "obs_status")
# Parts of an id are separated by a control character that no published text contains.
_HASHED_ID = "md5(concat_ws(chr(31), {}))"
_SIGNAL_ID = (
    "signal_key, country, month, dimension, dimension_value, coalesce(service_id, ''), measure, "
    "coalesce(currency, ''), vintage"
)

FACT = (
    record_id(name="fact_id")
    + columns(
        Fundamental,
        (
            "service_id",
            "line_item",
            "statement",
            "value_reported",
            "currency_reported",
            "unit",
            "period_type",
            "period_start",
            "period_end",
            "fiscal_label",
            "basis",
            "accounting_standard",
        ),
    )
    + vintages()
    + provenance()
)
RELEASE = (
    record_id()
    + columns(
        TenderRelease,
        (
            "ocid",
            "release_id",
            "date=released_on",
            "tag",
            "country",
            "category",
            "tender_status",
            "procurement_method",
            "tender_value",
            "tender_currency",
            "tender_start",
            "tender_end",
            "number_of_tenderers",
            "release",
            "parties_withheld",
            "source",
            "source_url",
        ),
    )
    + vintages()
    + provenance()
)
AWARD = (
    record_id("award_row_id")
    + columns(TenderRelease, ("ocid", "release_id", "country"))
    + columns(Award, tuple(Award.model_fields))
    + columns(TenderRelease, ("parties_withheld", "source", "source_url"))
    + vintages()
    + provenance()
)
PARTY = (
    record_id()
    + columns(TenderParty, ("ocid", "release_id", "country"))
    + columns(ExportOnlyColumns, ("party_id",))
    + columns(PartyMatch, ("service_id", "match_method"))
    + columns(
        TenderParty,
        ("role", "name", "identifier_scheme", "identifier_id", "org_evidence", "released_on"),
    )
    + columns(TenderParty, ("source",))
    + vintages()
    + provenance()
)
_SERIES = columns(
    MacroSeries, ("country", "country_iso3", "series", "series_type", "frequency", *_OBSERVED)
)
SERIES = record_id() + _SERIES + columns(MacroSeries, ("source",)) + vintages() + provenance()
SERIES_NOW = (
    record_id()
    + _SERIES
    + columns(MacroSeries, ("source", "available_at"))
    + columns(ExportOnlyColumns, ("vintage",))
    + provenance()
)
ANNUAL = (
    record_id()
    + columns(MacroAnnual, ("country", "country_iso3", "indicator", *_OBSERVED, "source"))
    + vintages()
    + provenance()
)
SIGNAL = record_id(_HASHED_ID.format(_SIGNAL_ID)) + columns(Signal, tuple(Signal.model_fields))
QUALITY = record_id(_HASHED_ID.format("data_version, sku, dimension, metric, scope")) + columns(
    QualityMetric, tuple(QualityMetric.model_fields)
)
