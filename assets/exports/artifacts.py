"""The files of an export, declared as data."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

from assets.exports import file_columns
from assets.exports.file_columns import FileColumn
from assets.exports.parquet import Reader
from assets.exports.tenders import AWARDS, PARTIES, TENDER_FACTS, reading_awards
from warehouse.exports.published import ArtifactKind
from warehouse.mart.snapshot import Snapshot
from warehouse.methodology.signals import PANELS, SIGNAL_SET
from warehouse.tables import OPEN_CLASSES
from warehouse.tiers import TierName

_OPEN = f"license_class IN ({', '.join(repr(name) for name in OPEN_CLASSES)})"
_AS_OF = (
    # superseded_at is left out of the answer: it tells what happened after as_of.
    "SELECT * EXCLUDE (superseded_at{other_columns}) FROM '{{url}}' "
    "WHERE available_at <= DATE '{{as_of}}' "
    "AND (superseded_at IS NULL OR superseded_at > DATE '{{as_of}}'){not_withdrawn}"
)
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

    ``sorted_table`` names a snapshot table if the relation selects rows of it without changing
    their order: such a file need not be sorted. ``row_reader`` opens a reader that sees the rows
    while they are written; a file made from what it collects names the first file in ``after``.
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
    sorted_table: str | None = None
    row_reader: Callable[[Snapshot], AbstractContextManager[Reader]] | None = None
    after: str | None = None
    signal_key: str | None = None
    methodology_ref: str | None = None

    @property
    def id(self) -> str:
        """The name of the primary key column."""
        return self.columns[-1].name

    @property
    def statement(self) -> str:
        """The query for its rows, in the order of the relation."""
        selected = ", ".join(f"{column.sql} AS {column.name}" for column in self.columns)
        return f"SELECT {selected} FROM ({self.relation})"

    @property
    def snapshot_sort(self) -> tuple[str, ...]:
        """The columns of its sort order, as the snapshot table names them."""
        sql = {column.name: column.sql for column in self.columns}
        return tuple(sql[name] for name in self.sort)

    @property
    def sql_as_of(self) -> str | None:
        """The query for any as_of; None if the file has no history or no publication dates."""
        names = {column.name for column in self.columns}
        if "superseded_at" not in names or self.key in _UNDATED:
            return None
        return _AS_OF.format(
            other_columns=", latest" if "latest" in names else "",
            not_withdrawn=" AND NOT withdrawn" if "withdrawn" in names else "",
        )


# Files without as_of: their sources do not say when a value became public.
_UNDATED = ("af-macro-annual",)

EXPORT_FILES: tuple[ExportFile, ...] = (
    ExportFile(
        "af-tender-releases",
        "Tender releases, every vintage",
        "licensed",
        "AF-TENDER",
        file_columns.RELEASE,
        "SELECT * FROM tender_releases",
        ("country", "date", "ocid", "release_id", "vintage", "record_id"),
        ("date",),
        ("tender_releases",),
        sorted_table="tender_releases",
        row_reader=reading_awards,
    ),
    ExportFile(
        "af-fund-facts",
        "Reported company figures, every vintage",
        "licensed",
        "AF-FUND",
        file_columns.FACT,
        "SELECT * FROM fundamentals",
        ("service_id", "period_end", "line_item", "vintage", "fact_id"),
        ("period_end",),
        ("fundamentals",),
        sorted_table="fundamentals",
    ),
    ExportFile(
        "af-fund-filings",
        "Filings of companies: each version of each document, every vintage",
        "licensed",
        "AF-FUND",
        file_columns.FILING,
        "SELECT * FROM filings",
        ("service_id", "received_on", "document_id", "vintage", "record_id"),
        ("received_on",),
        ("filings",),
        sorted_table="filings",
    ),
    ExportFile(
        "af-tender-awards",
        "Award facts: each award as each release states it, every vintage",
        "licensed",
        "AF-TENDER",
        file_columns.AWARD,
        AWARDS,
        ("country", "award_date", "ocid", "release_id", "vintage", "record_id"),
        ("award_date",),
        ("tender_releases", "tender_parties", "party_matches"),
        after="af-tender-releases",
    ),
    ExportFile(
        "af-tender-facts",
        "Tender facts: the value of each process and each award won, every vintage",
        "licensed",
        "AF-TENDER",
        file_columns.TENDER_FACT,
        TENDER_FACTS,
        ("country", "measure", "period_end", "ocid", "vintage", "record_id"),
        ("period_end",),
        ("tender_vintages", "award_vintages", "entities"),
    ),
    ExportFile(
        "af-tender-parties",
        "Parties of tenders that are established to be organisations, every vintage",
        "licensed",
        "AF-TENDER",
        file_columns.PARTY,
        PARTIES,
        ("country", "role", "party_id", "ocid", "release_id", "vintage", "record_id"),
        ("released_on",),
        ("tender_parties", "party_matches"),
    ),
    ExportFile(
        "af-macro-series",
        "Macroeconomic series, every vintage",
        "licensed",
        "AF-MACRO",
        file_columns.SERIES,
        "SELECT * FROM macro_series",
        ("series", "country_iso3", "frequency", "period_end", "vintage", "record_id"),
        ("period_end",),
        ("macro_series",),
        sorted_table="macro_series",
    ),
    ExportFile(
        "af-macro-annual",
        "Annual indicators, every vintage; undated, so `latest` marks the current values",
        "licensed",
        "AF-MACRO",
        file_columns.ANNUAL,
        "SELECT * FROM macro_annual",
        ("indicator", "country_iso3", "period_end", "vintage", "record_id"),
        ("period_end",),
        ("macro_annual",),
        sorted_table="macro_annual",
    ),
    ExportFile(
        "macro-series",
        "Macroeconomic series, latest values",
        "open-panel",
        "AF-MACRO",
        file_columns.SERIES_NOW,
        # An open file holds open rows only, whatever else the table has.
        f"SELECT * FROM macro_series WHERE latest AND {_OPEN}",
        ("series", "country_iso3", "frequency", "period_end", "vintage", "record_id"),
        ("period_end",),
        ("macro_series",),
        sorted_table="macro_series",
    ),
    ExportFile(
        "silent-revisions",
        "Silent revisions: what publishers changed without saying so",
        "open-panel",
        None,
        file_columns.SILENT_REVISION,
        f"SELECT * FROM silent_revisions WHERE {_OPEN}",
        ("after_first_seen_at", "source", "record_id"),
        ("after_first_seen_at",),
        ("silent_revisions",),
    ),
    ExportFile(
        "quality-history",
        "Quality measurements of every dataset",
        "open-panel",
        None,
        file_columns.QUALITY,
        "SELECT * FROM quality",
        ("sku", "dimension", "metric", "scope", "measured_at", "record_id"),
        ("measured_at",),
        ("quality",),
    ),
    *(
        ExportFile(
            panel.key,
            panel.title,
            "open-panel",
            "AF-TENDER",
            file_columns.SIGNAL,
            f"SELECT * FROM signals WHERE signal_key = '{panel.key}' AND {_OPEN}",
            ("country", "month", "dimension", "dimension_value", "measure", "vintage", "record_id"),
            ("month",),
            ("signals",),
            signal_key=panel.key,
            methodology_ref=f"{SIGNAL_SET}/{panel.key}",
        )
        for panel in PANELS
    ),
)
