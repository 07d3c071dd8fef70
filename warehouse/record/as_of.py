"""The one definition of what was known on a date, as SQL for DuckDB and for Spark.

The statement has two parts. ``readings`` keeps what could be known: published by ``as_of``,
loaded by ``load_seq``, and of several readings of one publication on one day the last one.
``vintages`` puts them in the order of knowledge, collapses equal neighbours and numbers
what is left from 1. Everything that reads vintages reads them through here.
"""

from collections.abc import Sequence
from datetime import date
from typing import Literal

from warehouse.record.tables import RecordTable

Vintages = Literal["latest", "as_reported", "all"]

_ORDER = ("available_at", "publication", "load_seq")
_WINDOW = (
    "PARTITION BY figure, figure_check "
    "ORDER BY available_at NULLS FIRST, publication NULLS FIRST, load_seq NULLS FIRST"
)
_CHOICE: dict[Vintages, str] = {
    "latest": "followed_by IS NULL AND NOT withdrawn",
    "as_reported": "vintage = 1 AND NOT withdrawn",
    "all": "TRUE",
}


def known(
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
    carried = ", ".join(
        dict.fromkeys(("figure", "figure_check", *_ORDER, "content", "withdrawn", *asked))
    )
    return f"""
WITH readings AS (
    SELECT {carried}
    FROM {relation} AS reading
    WHERE {where} AND {_by(as_of, load_seq)}
      AND NOT EXISTS (
        SELECT 1 FROM {relation} AS later
        WHERE later.again AND later.sighting = reading.sighting
          AND later.figure_check = reading.figure_check
          AND coalesce(later.available_at, DATE '0001-01-01')
            = coalesce(reading.available_at, DATE '0001-01-01')
          AND (later.load_seq > reading.load_seq
            OR (later.load_seq = reading.load_seq AND later.observed_at > reading.observed_at))
          AND {_loaded(load_seq, "later.")}
      )
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
)
SELECT {", ".join(asked)}, vintage, superseded_at
FROM vintages
WHERE {_CHOICE[vintages]}
""".strip()


def _by(as_of: date | None, load_seq: int | None) -> str:
    published = "TRUE" if as_of is None else f"available_at <= DATE '{as_of.isoformat()}'"
    return f"{published} AND {_loaded(load_seq)}"


def _loaded(load_seq: int | None, alias: str = "") -> str:
    return "TRUE" if load_seq is None else f"{alias}load_seq <= {int(load_seq)}"
