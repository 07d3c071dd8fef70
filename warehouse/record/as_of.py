"""The one definition of what was known on a date, as SQL that DuckDB and Spark both run.

Everything that reads vintages reads them through ``vintages_query``; ``statements_query`` gives
what every publication states, also where it repeats a value and so is no vintage. The queries work
on row hashes only and join the requested columns at the end, for the rows they have chosen: that
is a quarter faster than carrying them through. The engine must cast timestamps to days in UTC.
"""

from collections.abc import Iterable, Sequence
from datetime import date
from typing import TYPE_CHECKING, Literal

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
# The order of knowledge. A hash of 64 bits can collide, so the second hash separates figures too.
# NULLS FIRST is Spark's default but not DuckDB's.
_WINDOW = (
    "PARTITION BY figure, figure_check ORDER BY available_at NULLS FIRST, publication NULLS FIRST"
)
# What readings of a figure are compared by.
_COMPARED = (
    *("figure", "figure_check", "sighting", "content", "withdrawn", "again"),
    *("available_at", "publication", "observed_at", "document", "load_seq"),
)
# Identifies a stored row.
_ROW = "sighting, figure_check, content, observed_at, load_seq"
# Stands for "no evidence of a day": two readings without a day have the same one.
_NO_DAY = "DATE '0001-01-01'"


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
    in_scope = f"({where}) AND {_published_by(as_of)} AND {_loaded_by(load_seq)}"
    return f"""
WITH {_readings(relation, in_scope)},
with_previous AS (
    SELECT *, lag(content) OVER ({_WINDOW}) AS previous_content FROM readings
),
-- A vintage is a change of content: equal neighbours collapse, the rest is numbered from 1.
vintages AS (
    SELECT *,
        row_number() OVER ({_WINDOW}) AS vintage,
        lead(available_at) OVER ({_WINDOW}) AS superseded_at,
        lead(figure) OVER ({_WINDOW}) AS next_figure
    FROM with_previous
    WHERE previous_content IS NULL OR previous_content <> content
),
chosen AS (
    SELECT {_ROW}, vintage, superseded_at FROM vintages WHERE {_CHOICE[vintages]}
)
{_full_rows(table, relation, in_scope, columns, ("vintage", "superseded_at"))}
""".strip()


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
    return f"""
WITH {_readings(relation, in_scope)},
chosen AS (SELECT {_ROW} FROM readings)
{_full_rows(table, relation, in_scope, columns)}
""".strip()


def readings_query(relation: str) -> str:
    """Return the query for the hashes of every reading of ``relation`` that counts.

    A reading counts unless it was retracted, or another reading of the same publication replaces
    it; repetitions of a value in later publications are included, which ``vintages_query``
    collapses.
    """
    return f"WITH {_readings(relation, 'TRUE')}\nSELECT * FROM readings"


def _readings(relation: str, in_scope: str) -> str:
    return f"""
-- Everything published by as_of and loaded by load_seq, and not retracted by then.
candidates AS (
    {standing_rows(relation, _COMPARED, in_scope)}
),
-- Most publications are read once. Only the sightings read more than once (the writer flags
-- every reading after the first with "again") need to be compared with each other.
rereads AS (
    SELECT sighting, figure_check, available_at, observed_at, document, load_seq
    FROM candidates WHERE sighting IN (SELECT sighting FROM candidates WHERE again)
),
-- Drop every reading that another reading of the same publication replaces.
readings AS (
    SELECT candidate.figure, candidate.figure_check, candidate.sighting, candidate.content,
        candidate.withdrawn, candidate.available_at, candidate.publication,
        candidate.observed_at, candidate.load_seq
    FROM candidates AS candidate LEFT JOIN rereads AS other
      ON other.sighting = candidate.sighting
     AND other.figure_check = candidate.figure_check
     AND (CASE
        -- Newer code read the same document again: the last load counts, whatever its day.
        WHEN other.observed_at = candidate.observed_at AND other.document = candidate.document
        THEN other.load_seq > candidate.load_seq
        -- Readings that were known from different days are vintages of their own.
        WHEN coalesce(other.available_at, {_NO_DAY}) <> coalesce(candidate.available_at, {_NO_DAY})
        THEN FALSE
        -- Two documents observed at the same moment: an arbitrary but stable choice.
        WHEN other.observed_at = candidate.observed_at THEN other.document > candidate.document
        -- A later reading replaces an earlier one of its day if it was made on that day, or if
        -- no day is known.
        WHEN other.observed_at > candidate.observed_at
        THEN coalesce(other.available_at >= CAST(other.observed_at AS DATE), TRUE)
        -- An earlier reading turned up after this one had been dated as the first: this copy is
        -- dropped, the writer appended it again under the day on which it was read.
        ELSE coalesce(candidate.available_at < CAST(candidate.observed_at AS DATE), FALSE)
     END)
    WHERE other.sighting IS NULL
)""".strip()


def _full_rows(
    table: "RecordTable",
    relation: str,
    in_scope: str,
    columns: Sequence[str] | None,
    added: Sequence[str] = (),
) -> str:
    """Return the end of a query: the requested columns of the rows in ``chosen``."""
    selected = tuple(table.row.model_fields) if columns is None else tuple(columns)
    names = [*(f"full_row.{name}" for name in selected), *(f"chosen.{name}" for name in added)]
    return f"""
-- Join the requested columns back. A sighting may be stored several times; load, moment of
-- reading and content tell which of its rows was chosen.
SELECT {", ".join(names)}
FROM chosen JOIN (SELECT * FROM {relation} WHERE {in_scope}) AS full_row
  ON full_row.sighting = chosen.sighting AND full_row.figure_check = chosen.figure_check
 AND full_row.load_seq = chosen.load_seq AND full_row.observed_at = chosen.observed_at
 AND full_row.content = chosen.content
""".strip()


def standing_rows(relation: str, columns: Iterable[str], where: str = "TRUE") -> str:
    """Return the query for stored rows without those that newer code retracted.

    A retraction is a copy of the row it takes back, from the same reading of the same document. A
    row stored after it, by yet newer code, counts again.
    """
    return f"""
    SELECT {", ".join(f"stored.{name}" for name in columns)}
    FROM (SELECT * FROM {relation} WHERE {where}) AS stored LEFT JOIN (
        SELECT sighting, figure_check, observed_at, document, load_seq
        FROM {relation} WHERE {where} AND retracted
    ) AS retraction
      ON retraction.sighting = stored.sighting AND retraction.figure_check = stored.figure_check
     AND retraction.observed_at = stored.observed_at AND retraction.document = stored.document
     AND retraction.load_seq >= stored.load_seq
    WHERE retraction.sighting IS NULL
""".strip()


def _published_by(as_of: date | None) -> str:
    # A null day fails the comparison: what nobody can date is in no past day's answer.
    return "TRUE" if as_of is None else f"available_at <= DATE '{as_of.isoformat()}'"


def _loaded_by(load_seq: int | None) -> str:
    return "TRUE" if load_seq is None else f"load_seq <= {int(load_seq)}"
