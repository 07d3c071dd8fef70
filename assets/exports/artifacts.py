"""The files of an export, declared as data; the SQL of their rows is in ``sql/exports.sql``."""

from dataclasses import dataclass

from assets.exports import file_columns
from assets.exports.file_columns import (
    AWARD_ORIGIN,
    AWARDED_IN,
    Columns,
    FileColumn,
    provenance,
    vintages,
)
from warehouse.methodology.signals import PANEL_BY_KEY, PANELS, SIGNAL_SET
from warehouse.publish.awards import STATED_AWARDS
from warehouse.publish.served_rows import NAMED_AWARDS, PARTY_ID, SAME_PARTY
from warehouse.publish.snapshot import ORDERS
from warehouse.serve.exports import ArtifactKind
from warehouse.shared.data_files import sql_file
from warehouse.shared.tiers import TierName
from warehouse.tables import OPEN_CLASSES

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
_PARTIES = SQL["parties"]
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
        if "superseded_at" not in names or self.key in _UNDATED:
            return None
        return _AS_OF.format(
            other_columns=", latest" if "latest" in names else "",
            not_withdrawn=" AND NOT withdrawn" if "withdrawn" in names else "",
        )


# Files without as_of: their sources do not say when a value became public.
_UNDATED = ("af-macro-annual",)


def _table_file(
    key: str,
    title: str,
    sku: str,
    columns: Columns,
    period: str,
    table: str,
    *,
    kind: ArtifactKind = "licensed",
    where: str = "TRUE",
) -> ExportFile:
    """Return a file with rows of one table of the record, in the order of the snapshot."""
    names = {column.sql: column.name for column in columns}
    relation = f"SELECT * FROM {table} WHERE {where}"
    sort = tuple(names[name] for name in ORDERS[table])
    return ExportFile(key, title, kind, sku, columns, relation, sort, (period,), (table,))


EXPORT_FILES: tuple[ExportFile, ...] = (
    _table_file(
        "af-tender-releases",
        "Tender releases, every vintage",
        "AF-TENDER",
        file_columns.RELEASE,
        "date",
        "tender_releases",
    ),
    _table_file(
        "af-fund-facts",
        "Reported company figures, every vintage",
        "AF-FUND",
        file_columns.FACT,
        "period_end",
        "fundamentals",
    ),
    _table_file(
        "af-fund-filings",
        "Filings of companies: each version of each document, every vintage",
        "AF-FUND",
        file_columns.FILING,
        "received_on",
        "filings",
    ),
    ExportFile(
        "af-tender-awards",
        "Award facts: each award as each release states it, every vintage",
        "licensed",
        "AF-TENDER",
        file_columns.AWARD,
        SQL.statement("awards", parties=_PARTIES),
        ("country", "award_date", "ocid", "release_id", "vintage", "record_id"),
        ("award_date",),
        ("tender_releases", "tender_parties", "party_matches", STATED_AWARDS),
    ),
    ExportFile(
        "af-tender-facts",
        "Tender facts: the value of each process and each award won, every vintage",
        "licensed",
        "AF-TENDER",
        file_columns.TENDER_FACT,
        SQL["tender_facts"],
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
        _PARTIES,
        ("country", "role", "party_id", "ocid", "release_id", "vintage", "record_id"),
        ("released_on",),
        ("tender_parties", "party_matches"),
    ),
    _table_file(
        "af-macro-series",
        "Macroeconomic series, every vintage",
        "AF-MACRO",
        file_columns.SERIES,
        "period_end",
        "macro_series",
    ),
    _table_file(
        "af-macro-annual",
        "Annual indicators, every vintage; undated, so `latest` marks the current values",
        "AF-MACRO",
        file_columns.ANNUAL,
        "period_end",
        "macro_annual",
    ),
    _table_file(
        "macro-series",
        "Macroeconomic series, latest values",
        "AF-MACRO",
        file_columns.SERIES_NOW,
        "period_end",
        "macro_series",
        kind="open-panel",
        # An open file has open rows only, whatever else the table has.
        where=f"latest AND {_OPEN}",
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
        )
        for panel in PANELS
    ),
)
