"""Metrics of issuers, and their ranking; only what was exactly computable on the day."""

from dataclasses import dataclass
from datetime import date
from typing import Any, Literal, get_args

from warehouse.json_encoding import encode
from warehouse.mart.row_json import NEVER
from warehouse.methodology.metrics import AbsentReason
from warehouse.read.crosswalk import organisation_id
from warehouse.read.mart import Build, Mart
from warehouse.read.rows import Condition, RowPage, cap_at_today, equal, fetch_page

Order = Literal["asc", "desc"]
REASONS: tuple[str, ...] = get_args(AbsentReason)


@dataclass(frozen=True)
class Screen:
    """Ranked rows, and of which issuers: how many are covered, ranked, and left out and why."""

    rows: RowPage
    universe: dict[str, Any]


def metrics(
    mart: Mart,
    service_id: str,
    metric: str | None = None,
    as_of: date | None = None,
    limit: int | None = None,
) -> RowPage:
    """Give every metric of an issuer for its latest full year published by ``as_of``."""
    build = mart.build()
    owner = organisation_id(build, service_id)
    where = [*equal(organisation=owner, metric=metric), *_answering(as_of)]
    rows = fetch_page(build, "metrics", where, limit)
    return rows.written([_told(row, as_of) for row in rows.rows])


def screen(
    mart: Mart,
    metric: str,
    order: Order = "desc",
    as_of: date | None = None,
    country: str | None = None,
    limit: int | None = None,
) -> Screen:
    """Rank issuers on a metric; ``rank`` is the position by size and no rating."""
    build = mart.build()
    within = equal(metric=metric, country=None if country is None else country.upper())
    where = [*within, *_answering(as_of)]
    rows = fetch_page(build, "metrics", where, limit, "place" if order == "desc" else "place DESC")
    ranked = [_told(row, as_of, rank) for rank, row in enumerate(rows.rows, 1)]
    return Screen(rows.written(ranked), _universe(build, within, as_of))


def _universe(build: Build, within: list[Condition], as_of: date | None) -> dict[str, Any]:
    ranked = _counted(build, "1", "metrics", [*within, *_answering(as_of)]).get(1, 0)
    absent = [*within, *_holding(as_of)]
    counted = _counted(build, "reason", "metrics_absent", absent)
    left_out = {reason: counted.get(reason, 0) for reason in REASONS}
    return {
        "covered": ranked + sum(left_out.values()),
        "ranked": ranked,
        "left_out": left_out,
    }


def _counted(build: Build, by: str, table: str, where: list[Condition]) -> dict[object, int]:
    conditions = " AND ".join(each.sql for each in where)
    values = [value for each in where for value in each.values]
    asked = f"SELECT {by}, count(DISTINCT service_id) FROM {table} WHERE {conditions} GROUP BY 1"
    return dict(build.rows(asked, *values))


def _answering(as_of: date | None) -> list[Condition]:
    return _interval("answers_from", "answers_until", as_of)


def _holding(as_of: date | None) -> list[Condition]:
    return _interval("holds_from", "holds_until", as_of)


def _interval(begins: str, ends: str, as_of: date | None) -> list[Condition]:
    if as_of is None:
        return [Condition(f"{ends} = ?", (NEVER,))]
    day = cap_at_today(as_of)
    return [Condition(f"{begins} <= ? AND {ends} > ?", (day, day))]


def _told(row: bytes, as_of: date | None, rank: int | None = None) -> bytes:
    """Put in front of a row what depends on the question."""
    day = b"null" if as_of is None else encode(cap_at_today(as_of))
    place = b"" if rank is None else b'"rank":%d,' % rank
    return b"{" + place + b'"as_of":' + day + b"," + row[1:]
