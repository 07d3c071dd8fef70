"""The one definition of what was known on a date; the statements are in ``sql/as_of.sql``.

Everything that reads vintages reads them through ``vintages_query``; ``statements_query`` gives
what every publication states, also where that is no vintage: it repeats a value, or only looks like
a restatement of it.
"""

from collections.abc import Iterable, Sequence
from datetime import date
from typing import TYPE_CHECKING, Literal

from warehouse.shared.data_files import sql_file

# Not at run time: the surfaces import this module, and must not load pyarrow.
if TYPE_CHECKING:
    from warehouse.record.tables import RecordTable

Vintages = Literal["latest", "as_reported", "all"]

# The last vintage is the one without a successor. A null ``superseded_at`` would not tell: the
# successor may have no day.
_CHOICE: dict[Vintages, str] = {
    "latest": "next_figure IS NULL AND NOT withdrawn",
    "as_reported": "vintage = 1 AND NOT withdrawn",
    "all": "TRUE",
}
# Statements of a table with this column are no vintages where it has a value.
_APPARENT = "apparent_restatement"
# What readings of a figure are compared by.
_COMPARED = (
    *("figure", "figure_check", "sighting", "content", "withdrawn", "again"),
    *("available_at", "publication", "observed_at", "document", "load_seq"),
)
_SQL = sql_file(__name__, "as_of")


def vintages_query(
    table: "RecordTable",
    relation: str,
    *,
    as_of: date | None = None,
    vintages: Vintages = "latest",
    load_seq: int | None = None,
    columns: Sequence[str] | None = None,
    where: str = "TRUE",
) -> str:
    """Return the query for what anyone could have known of ``relation`` on ``as_of``.

    ``latest`` selects the newest vintage of each figure unless it was withdrawn, ``as_reported``
    the first and ``all`` every one. ``load_seq`` leaves out later loads, which is what a
    data_version pins. ``where`` may only name identity columns.

    The result has ``columns`` (default: all of the row), ``vintage``, and ``superseded_at``: the
    day from which another vintage was known, null for the last. Never show ``superseded_at``
    together with an ``as_of``: it lies in the future of that day.
    """
    # A null day fails the comparison: what has no known date is in no past day's answer.
    published = "TRUE" if as_of is None else f"available_at <= DATE '{as_of.isoformat()}'"
    in_scope = f"({where}) AND {published} AND {_loaded_by(load_seq)}"
    return _SQL.statement(
        "vintages",
        readings=_readings(relation, in_scope, table),
        choice=_CHOICE[vintages],
        full_row=_full_row(table, columns),
        relation=relation,
        in_scope=in_scope,
    )


def statements_query(
    table: "RecordTable",
    relation: str,
    *,
    load_seq: int | None = None,
    columns: Sequence[str] | None = None,
) -> str:
    """Return the query for every figure as every publication states it.

    These are all readings that no other reading of the same publication replaces: a publication
    that was edited silently has one for each day on which its content was new.
    """
    in_scope = _loaded_by(load_seq)
    return _SQL.statement(
        "statements",
        readings=_readings(relation, in_scope),
        full_row=_full_row(table, columns),
        relation=relation,
        in_scope=in_scope,
    )


def readings_query(relation: str) -> str:
    """Return the query for the hashes of every reading of ``relation`` that counts.

    A reading counts unless it was retracted, or another reading of the same publication replaces
    it; repetitions of a value in later publications are included, which ``vintages_query``
    collapses.
    """
    return _readings(relation, "TRUE")


def _readings(relation: str, in_scope: str, table: "RecordTable | None" = None) -> str:
    """Return the query for all readings; with whether each can be a vintage, if ``table`` tells."""
    marked = table is not None and _APPARENT in table.row.model_fields
    columns = (*_COMPARED, _APPARENT) if marked else _COMPARED
    return _SQL.statement(
        "readings",
        standing_rows=standing_rows(relation, columns, in_scope),
        counts=f"{_APPARENT} IS NULL" if marked else "TRUE",
    )


def _full_row(table: "RecordTable", columns: Sequence[str] | None) -> str:
    selected = tuple(table.row.model_fields) if columns is None else tuple(columns)
    return ", ".join(f"full_row.{name}" for name in selected)


def standing_rows(relation: str, columns: Iterable[str], where: str = "TRUE") -> str:
    """Return the query for stored rows without those that newer code retracted.

    A retraction is a copy of the row it takes back, from the same reading of the same document. A
    row stored after it, by yet newer code, counts again.
    """
    return _SQL.statement(
        "standing_rows",
        columns=", ".join(f"stored.{name}" for name in columns),
        relation=relation,
        in_scope=where,
    )


def _loaded_by(load_seq: int | None) -> str:
    return "TRUE" if load_seq is None else f"load_seq <= {int(load_seq)}"
