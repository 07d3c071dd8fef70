"""The files of an export, as data: ``files.csv``, and one for each panel.

The SQL of rows that are more than those of a table is in ``sql/exports.sql``.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any, cast

import pyarrow as pa
from sqlmodel import SQLModel

from warehouse.methodology.signals import PANEL_BY_KEY, PANELS, SIGNAL_SET
from warehouse.publish.row_json import PROVENANCE
from warehouse.publish.served_rows import (
    CURRENT_ENTITIES,
    CURRENT_IDENTIFIERS,
    NAMED_AWARDS,
    PARTY_ID,
    SAME_PARTY,
)
from warehouse.publish.snapshot import ORDERS
from warehouse.record.tables import arrow_schema
from warehouse.serve.exports import ArtifactKind
from warehouse.shared.data_files import csv_rows, sql_file
from warehouse.shared.tiers import TierName
from warehouse.tables import (
    OPEN_CLASSES,
    DerivedFigure,
    Entity,
    EntityIdentifier,
    Filing,
    FundamentalVintage,
    MacroAnnual,
    MacroSeries,
    Metric,
    PartyMatch,
    QualityMetric,
    SharedFact,
    Sighting,
    Signal,
    SilentRevision,
    TenderParty,
    TenderRelease,
    TenderReleaseVintage,
)
from warehouse.tables.column import Part, column, identity_of, shown_columns

# The columns of each file: name, type, meaning, and the SQL that computes it.
#
# Types and meanings are those of the row class a column comes from; the few columns that only bulk
# files have are described here. Names are those of the records that the API serves. Columns of
# hashes come last: they are for joins and deltas, and nobody wants to look at them first.


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


Columns = tuple[FileColumn, ...]


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


class OrganisationColumns(SQLModel):
    """What organisations and identifiers have besides the columns of registers."""

    aliases: list[str] = column("Other ids that are this organisation.", ["DC2Y7N4QX8TA"])
    listings: str = column(
        "Where it is or was traded, a JSON array: mic, ticker, status, from and to.",
        '[{"mic":"XJSE","ticker":"UFM"}]',
    )
    datasets: list[str] = column("Datasets with rows about it.", ["AF-FUND"])
    match_method: str | None = column(
        "The evidence that joined the id with this identifier to the organisation; null if it was "
        "stated of the organisation's own id.",
        None,
    )


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
    amount_implausible: bool = column(
        "True if the amount cannot be, as `implausible` of its release says; leave it out of sums.",
        False,
    )
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
        "Their organisation identifiers in the same order, null where not resolved.", ["DC7Q2M4XK9"]
    )


def columns(
    row: type[SQLModel], names: Iterable[str], sql: Mapping[str, str] | None = None
) -> Columns:
    """Return columns of a row class under the names that they have in files."""
    schema, shown, expressions = arrow_schema(row), shown_columns(row, "file"), sql or {}
    selected = []
    for name in names:
        info = row.model_fields[name]
        selected.append(
            FileColumn(
                schema.field(name).with_name(shown.get(name, name)),
                str(info.description),
                info.examples[0] if info.examples else None,
                expressions.get(name, name),
            )
        )
    return tuple(selected)


def parts(row: type[SQLModel], *names: Part) -> Columns:
    """Return the columns of these parts of a row that appear in files; all without parts."""
    return columns(row, shown_columns(row, "file", *names))


def provenance() -> Columns:
    """Return the provenance columns."""
    return parts(Sighting, "provenance") + columns(ExportOnlyColumns, ("provenance_id",))


def vintages(row: type[SQLModel] = Sighting) -> Columns:
    """Return the columns that make any as_of a single filter."""
    return (
        columns(ExportOnlyColumns, ("vintage",))
        + parts(row, "time")
        + columns(ExportOnlyColumns, ("superseded_at", "latest"))
    )


def record_id(sql: str = "row_id", name: str = "record_id") -> Columns:
    """Return the primary key column, computed by ``sql``."""
    return columns(ExportOnlyColumns, (name,), {name: sql})


# Ids that are hashes, in the order in which they end a row, before its primary key.
_HASHES = ("party_id", "fact_id", "provenance_id")


def keyed(key: Columns, *others: Columns) -> Columns:
    """Return the columns of a file: those to read, the hashes, and as the last the primary key."""
    rest = sum(others, ())
    by_name = {column.name: column for column in rest}
    hashes = tuple(by_name[name] for name in _HASHES if name in by_name)
    return (*(column for column in rest if column not in hashes), *hashes, *key)


def _dated(row: type[SQLModel], own: Columns | None = None) -> Columns:
    """Return the columns of a row with vintages; ``own`` if they are not those of its class."""
    own = parts(row, "own") if own is None else own
    return own + parts(row, "origin") + vintages(row) + provenance()


# Parts of an id are separated by a control character that no published text contains.
_HASHED_ID = "md5(concat_ws(chr(31), {}))"
_SIGNAL_ID = (
    "signal_key, country, month, dimension, dimension_value, coalesce(service_id, ''), measure, "
    "coalesce(currency, ''), vintage"
)


# What every row of an award repeats of its release.
AWARDED_IN = columns(TenderRelease, ("ocid", "release_id", "country"))
AWARD_ORIGIN = columns(TenderRelease, ("parties_withheld",)) + parts(TenderRelease, "origin")
_NAMED_IN = ("ocid", "release_id", "country")
_NAMED = tuple(name for name in shown_columns(TenderParty, "file", "own") if name not in _NAMED_IN)

# The same for all facts of the file, or null; the country is given by its alpha-2 code.
_SAME_FOR_TENDERS = ("country_iso3", "dataset", "period_type", "base_period")
_FACT = tuple(name for name in SharedFact.model_fields if name not in _SAME_FOR_TENDERS)
_REVISION = tuple(name for name in shown_columns(SilentRevision, "file") if name != "revision_id")

# By the names that ``files.csv`` has for them.
_COLUMNS: Mapping[str, Columns] = {
    "FACT": keyed(record_id(name="fact_id"), _dated(FundamentalVintage)),
    "DERIVED": keyed(
        record_id(name="fact_id"),
        parts(DerivedFigure, "own"),
        vintages(DerivedFigure),
        provenance(),
    ),
    "FILING": keyed(record_id(), _dated(Filing)),
    "RELEASE": keyed(record_id(), _dated(TenderReleaseVintage)),
    "AWARD": keyed(
        record_id("award_row_id"), AWARDED_IN, parts(Award), AWARD_ORIGIN, vintages(), provenance()
    ),
    "PARTY": keyed(
        record_id(),
        _dated(
            TenderParty,
            columns(TenderParty, _NAMED_IN)
            + columns(ExportOnlyColumns, ("party_id",))
            + columns(PartyMatch, ("service_id", "match_method"))
            + columns(TenderParty, _NAMED),
        ),
    ),
    "TENDER_FACT": keyed(
        record_id(_HASHED_ID.format("fact_id, measure, vintage")),
        columns(TenderRelease, ("country",)),
        columns(SharedFact, _FACT),
        vintages(),
        provenance(),
    ),
    "SERIES": keyed(record_id(), _dated(MacroSeries)),
    "SERIES_NOW": keyed(
        record_id(),
        parts(MacroSeries, "own"),
        parts(MacroSeries, "origin"),
        columns(MacroSeries, ("available_at", "available_at_evidence")),
        columns(ExportOnlyColumns, ("vintage",)),
        provenance(),
    ),
    "ANNUAL": keyed(record_id(), _dated(MacroAnnual)),
    "ORGANISATION": keyed(
        record_id(_HASHED_ID.format("service_id")),
        parts(Entity, "own"),
        columns(OrganisationColumns, ("aliases", "listings", "datasets")),
        provenance(),
    ),
    "IDENTIFIER": keyed(
        record_id(_HASHED_ID.format("service_id, id_type, id_match, coalesce(issuer, '')")),
        columns(Entity, ("service_id",)),
        parts(EntityIdentifier, "own"),
        columns(OrganisationColumns, ("match_method",)),
        # Of an LEI that the record of an organisation states, only these.
        columns(Sighting, PROVENANCE[:3]),
    ),
    **{
        name: keyed(
            record_id(_HASHED_ID.format(", ".join((*identity_of(Metric), *more)))),
            columns(Metric, Metric.model_fields),
        )
        # One of twelve months has a row for each value.
        for name, more in (("METRIC", ()), ("TRAILING_METRIC", ("answers_from",)))
    },
    "SIGNAL": keyed(record_id(_HASHED_ID.format(_SIGNAL_ID)), parts(Signal)),
    "QUALITY": keyed(
        record_id(_HASHED_ID.format(", ".join(identity_of(QualityMetric)))), parts(QualityMetric)
    ),
    "SILENT_REVISION": keyed(record_id("revision_id"), columns(SilentRevision, _REVISION)),
}


_OF_RELEASE = AWARDED_IN + AWARD_ORIGIN + vintages() + provenance()
SQL = sql_file(
    __name__,
    "exports",
    fragments={
        "id_of_party": PARTY_ID,
        "same_party": SAME_PARTY,
        "named_awards": NAMED_AWARDS,
        "of_release": ", ".join(f"released.{column.sql}" for column in _OF_RELEASE),
    },
)
_STATEMENTS = {
    "parties": SQL["parties"],
    "awards": SQL.statement("awards", parties=SQL["parties"]),
    "tender_facts": SQL["tender_facts"],
    "organisations": SQL.statement("organisations", organisations=CURRENT_ENTITIES),
    "identifiers": CURRENT_IDENTIFIERS,
}
_OPEN = f"license_class IN ({', '.join(repr(name) for name in OPEN_CLASSES)})"
_AS_OF = (
    # The last day is left out of the answer: it tells what happened after as_of.
    "SELECT * EXCLUDE ({until}{other_columns}) FROM '{{url}}' "
    "WHERE {since} <= DATE '{{as_of}}' "
    "AND ({until} IS NULL OR {until} > DATE '{{as_of}}'){not_withdrawn}"
)
# The days from which and until which a row is the answer.
_DAYS = (("available_at", "superseded_at"), ("answers_from", "answers_until"))
LICENCES: dict[ArtifactKind, str] = {
    "open-panel": "CC-BY-4.0",
    # SPDX's form for a licence that is not on its list.
    "licensed": "LicenseRef-Sankofa-Licensed",
}
TIERS: dict[ArtifactKind, TierName | None] = {"open-panel": None, "licensed": "starter"}


@dataclass(frozen=True)
class ExportFile:
    """One file: ``relation`` is a SELECT over the snapshot tables it ``needs``.

    The last column is the primary key; ``sort`` ends with it. ``period`` are the date columns
    whose least and greatest day the manifest states.
    """

    key: str
    title: str
    kind: ArtifactKind
    sku: str | None
    columns: tuple[FileColumn, ...]
    relation: str
    sort: tuple[str, ...]
    period: tuple[str, ...]
    needs: tuple[str, ...]

    @property
    def id(self) -> str:
        """The name of the primary key column."""
        return self.columns[-1].name

    @property
    def signal_key(self) -> str | None:
        """The key of its panel, if it is the file of one."""
        return self.key if self.key in PANEL_BY_KEY else None

    @property
    def methodology_ref(self) -> str | None:
        """The reference of the methodology page of its panel, if it is the file of one."""
        return f"{SIGNAL_SET}/{self.key}" if self.signal_key else None

    @property
    def statement(self) -> str:
        """The query for its rows, in their order."""
        selected = ", ".join(f"{column.sql} AS {column.name}" for column in self.columns)
        return f"SELECT {selected} FROM ({self.relation}) ORDER BY {', '.join(self.sort)}"

    @property
    def sql_as_of(self) -> str | None:
        """The query for any as_of; None if the file has no history or no publication dates."""
        names = {column.name for column in self.columns}
        days = next((days for days in _DAYS if days[1] in names), None)
        if days is None or self.key in _UNDATED:
            return None
        return _AS_OF.format(
            since=days[0],
            until=days[1],
            other_columns=", latest" if "latest" in names else "",
            not_withdrawn=" AND NOT withdrawn" if "withdrawn" in names else "",
        )


# Files without as_of: their sources do not say when a value became public.
_UNDATED = ("af-macro-annual",)


def _export_file(row: Mapping[str, str]) -> ExportFile:
    """Return the file of a line of ``files.csv``.

    Its rows are those of a statement, or of the table it needs, in the order of the snapshot. An
    open file has open rows only, whatever else the table has.
    """
    columns: Columns = _COLUMNS[row["columns"]]
    needs = tuple(row["needs"].split())
    relation = f"SELECT * FROM {needs[0]} WHERE {row['where'].format(OPEN=_OPEN) or 'TRUE'}"
    names = {column.sql: column.name for column in columns}
    return ExportFile(
        row["key"],
        row["title"],
        cast(ArtifactKind, row["kind"]),
        row["sku"] or None,
        columns,
        _STATEMENTS[row["statement"]] if row["statement"] else relation,
        tuple(row["sort"].split()) or tuple(names[name] for name in ORDERS[needs[0]]),
        (row["period"],),
        needs,
    )


EXPORT_FILES: tuple[ExportFile, ...] = (
    *map(_export_file, csv_rows(__name__, "files")),
    *(
        ExportFile(
            panel.key,
            panel.title,
            "open-panel",
            "AF-TENDER",
            _COLUMNS["SIGNAL"],
            f"SELECT * FROM signals WHERE signal_key = '{panel.key}' AND {_OPEN}",
            ("country", "month", "dimension", "dimension_value", "measure", "vintage", "record_id"),
            ("month",),
            ("signals",),
        )
        for panel in PANELS
    ),
)
