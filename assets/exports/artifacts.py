"""The files of an export, as data: ``files.csv``, and one for each panel.

The SQL of rows that are more than those of a table is in ``sql/exports.sql``.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

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
from warehouse.publish.served_rows import NAMED_AWARDS, PARTY_ID, SAME_PARTY
from warehouse.publish.snapshot import ORDERS
from warehouse.serve.exports import ArtifactKind
from warehouse.shared.data_files import csv_rows, sql_file
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
_STATEMENTS = {
    "parties": SQL["parties"],
    "awards": SQL.statement("awards", parties=SQL["parties"]),
    "tender_facts": SQL["tender_facts"],
}
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


def _export_file(row: Mapping[str, str]) -> ExportFile:
    """Return the file of a line of ``files.csv``.

    Its rows are those of a statement, or of the table it needs, in the order of the snapshot. An
    open file has open rows only, whatever else the table has.
    """
    columns: Columns = getattr(file_columns, row["columns"])
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
            file_columns.SIGNAL,
            f"SELECT * FROM signals WHERE signal_key = '{panel.key}' AND {_OPEN}",
            ("country", "month", "dimension", "dimension_value", "measure", "vintage", "record_id"),
            ("month",),
            ("signals",),
        )
        for panel in PANELS
    ),
)
