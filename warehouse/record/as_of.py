"""The one definition of what was known on a date, as SQL for DuckDB and for Spark.

``readings`` keeps what could be known: published by ``as_of``, loaded by ``load_seq``, and of
several readings of one publication on one day the last one made, and of one document the
last we made of it, whatever its day. A reading dated as the
first, of which an earlier one turned up, is dropped: it stands again at the day it was made.
The engine must take days in UTC. ``vintages`` puts them in the
order of knowledge, collapses equal neighbours and numbers what is left from 1. Both carry
marks only; the columns asked for join at the end, for the rows chosen (a quarter faster than
carrying them through). Everything that reads vintages reads them through here.
"""

from collections.abc import Sequence
from datetime import date
from typing import Literal

from warehouse.record.tables import RecordTable

Vintages = Literal["latest", "as_reported", "all"]

_CHOICE: dict[Vintages, str] = {
    "latest": "followed_by IS NULL AND NOT withdrawn",
    "as_reported": "vintage = 1 AND NOT withdrawn",
    "all": "TRUE",
}
_WINDOW = (
    "PARTITION BY figure, figure_check ORDER BY available_at NULLS FIRST, publication NULLS FIRST"
)
_NO_DAY = "DATE '0001-01-01'"


def vintages_query(
    table: RecordTable,
    relation: str,
    *,
    as_of: date | None = None,
    vintages: Vintages = "latest",
    load_seq: int | None = None,
    columns: Sequence[str] | None = None,
    where: str = "TRUE",
) -> str:
    """Write the query for what anyone could have known of ``relation`` on ``as_of``.

    ``latest`` gives the newest vintage of each figure unless it was withdrawn, ``as_reported``
    the first and ``all`` every one. ``load_seq`` leaves out what was loaded later, which is
    what a data_version pins. ``where`` may name identity columns only. The answer has the
    columns asked for, ``vintage``, and ``superseded_at``: the day from which another vintage
    was known, null for the last; never show it beside an ``as_of``.
    """
    asked = tuple(table.row.model_fields) if columns is None else tuple(columns)
    possible = f"({where}) AND {_published(as_of)} AND {_loaded(load_seq)}"
    return f"""
WITH possible AS (
    SELECT figure, figure_check, sighting, content, withdrawn, again,
        available_at, publication, observed_at, document, load_seq
    FROM {relation} WHERE {possible}
),
several AS (
    SELECT sighting, figure_check, available_at, observed_at, document, load_seq
    FROM possible WHERE sighting IN (SELECT sighting FROM possible WHERE again)
),
readings AS (
    SELECT possible.figure, possible.figure_check, possible.sighting, possible.content,
        possible.withdrawn, possible.available_at, possible.publication, possible.observed_at,
        possible.load_seq
    FROM possible LEFT JOIN several AS other
      ON other.sighting = possible.sighting
     AND other.figure_check = possible.figure_check
     AND (CASE
        WHEN other.observed_at = possible.observed_at AND other.document = possible.document
        THEN other.load_seq > possible.load_seq
        WHEN coalesce(other.available_at, {_NO_DAY}) <> coalesce(possible.available_at, {_NO_DAY})
        THEN FALSE
        WHEN other.observed_at = possible.observed_at THEN other.document > possible.document
        WHEN other.observed_at > possible.observed_at
        THEN coalesce(other.available_at >= CAST(other.observed_at AS DATE), TRUE)
        ELSE coalesce(possible.available_at < CAST(possible.observed_at AS DATE), FALSE)
     END)
    WHERE other.sighting IS NULL
),
neighbours AS (
    SELECT *, lag(content) OVER ({_WINDOW}) AS content_before FROM readings
),
vintages AS (
    SELECT *,
        row_number() OVER ({_WINDOW}) AS vintage,
        lead(available_at) OVER ({_WINDOW}) AS superseded_at,
        lead(figure) OVER ({_WINDOW}) AS followed_by
    FROM neighbours
    WHERE content_before IS NULL OR content_before <> content
),
chosen AS (
    SELECT sighting, figure_check, content, observed_at, load_seq, vintage, superseded_at
    FROM vintages WHERE {_CHOICE[vintages]}
)
SELECT {", ".join(f"shown.{name}" for name in asked)}, chosen.vintage, chosen.superseded_at
FROM chosen JOIN (SELECT * FROM {relation} WHERE {possible}) AS shown
  ON shown.sighting = chosen.sighting AND shown.figure_check = chosen.figure_check
 AND shown.load_seq = chosen.load_seq AND shown.observed_at = chosen.observed_at
 AND shown.content = chosen.content
""".strip()


def _published(as_of: date | None) -> str:
    return "TRUE" if as_of is None else f"available_at <= DATE '{as_of.isoformat()}'"


def _loaded(load_seq: int | None) -> str:
    return "TRUE" if load_seq is None else f"load_seq <= {int(load_seq)}"
