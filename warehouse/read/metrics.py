"""Metrics of issuers, and rankings; only what was exactly computable on the day."""

from dataclasses import dataclass
from datetime import date
from typing import Any, Literal, get_args

from warehouse.json_encoding import encode
from warehouse.mart.row_json import NEVER
from warehouse.mart.tables import FILES_SINCE
from warehouse.methodology.metrics import LATER_REASONS, AbsentReason
from warehouse.read.crosswalk import organisation_id
from warehouse.read.mart import Build, Mart
from warehouse.read.rows import (
    Condition,
    RowPage,
    cap_at_today,
    equal,
    fetch_page,
    make_page,
    select,
    with_bodies,
)
from warehouse.read.rows import Order as RowOrder

Order = Literal["asc", "desc"]
REASONS: tuple[str, ...] = get_args(AbsentReason)


@dataclass(frozen=True)
class Screen:
    """Ranked rows, and how many issuers are covered, ranked, and left out, with the reasons."""

    rows: RowPage
    universe: dict[str, Any]


def metrics(
    mart: Mart,
    service_id: str,
    metric: str | None = None,
    as_of: date | None = None,
    limit: int | None = None,
) -> RowPage:
    """Return every metric of an issuer for its latest full year published by ``as_of``."""
    build = mart.build()
    owner = organisation_id(build, service_id)
    where = [*equal(organisation=owner, metric=metric), *_current_on(as_of)]
    page = fetch_page(build, "metrics", where, limit)
    return page.with_rows([_with_as_of(row, as_of) for row in page.rows])


def screen(
    mart: Mart,
    metric: str,
    order: Order = "desc",
    as_of: date | None = None,
    country: str | None = None,
    limit: int | None = None,
) -> Screen:
    """Rank issuers by a metric; ``rank`` is the position by value, not a rating."""
    build = mart.build()
    universe = equal(metric=metric, country=None if country is None else country.upper())
    where = [*universe, *_current_on(as_of)]
    if build.schema_version < FILES_SINCE:
        # Rows are stored in descending order of the value.
        by_value = RowOrder("row_number" if order == "desc" else "row_number DESC")
        page = fetch_page(build, "metrics", where, limit, by_value)
        count = _count_issuers(build, "1", "metrics", where).get(1, 0)
    else:
        page, count = _ranked(build, where, order, limit)
    ranked = [_with_as_of(row, as_of, rank) for rank, row in enumerate(page.rows, 1)]
    return Screen(page.with_rows(ranked), _universe(build, universe, as_of, count))


def _ranked(
    build: Build, where: list[Condition], order: Order, limit: int | None
) -> tuple[RowPage, int]:
    """Return the first rows by value, and how many issuers have one.

    An issuer has one row a day at most. All are counted anyway, so that each file is asked once,
    for keys; rows of one value are ranked by their organisation.
    """
    by_index = RowOrder("size DESC, organisation")
    ranked = sorted(
        (
            (-size, organisation, number, file)
            for file in build.files("metrics")
            for size, organisation, number in select(
                file, "size, organisation, row_number", "metrics", where, by_index
            )
        ),
        # Not by file: files cannot be compared, and an organisation lies in one.
        key=lambda row: row[:3],
        reverse=order == "asc",
    )
    one_more = None if limit is None else limit + 1
    found = [(file, (number,)) for _, _, number, file in ranked[:one_more]]
    rows = with_bodies(build, "metrics", found)
    return make_page(build, rows, limit), len({organisation for _, organisation, *_ in ranked})


def _universe(
    build: Build, universe: list[Condition], as_of: date | None, ranked: int
) -> dict[str, Any]:
    absent = [*universe, *_absent_on(as_of)]
    by_reason = _count_issuers(build, "reason", "metrics_absent", absent)
    # An answer pinned to an older build has the bytes that it always had.
    unknown = LATER_REASONS if build.metadata.get("layout") == "7" else ()
    left_out = {reason: by_reason.get(reason, 0) for reason in REASONS if reason not in unknown}
    return {
        "covered": ranked + sum(left_out.values()),
        "ranked": ranked,
        "left_out": left_out,
    }


def _count_issuers(
    build: Build, group: str, table: str, where: list[Condition]
) -> dict[object, int]:
    conditions = " AND ".join(condition.sql for condition in where)
    values = [value for condition in where for value in condition.values]
    statement = (
        f"SELECT {group}, count(DISTINCT service_id) FROM {{table}} WHERE {conditions} GROUP BY 1"
    )
    counts: dict[object, int] = {}
    # All rows of an issuer lie in one file, so that counts of files add up.
    for value, count in build.rows(table, statement, *values):
        counts[value] = counts.get(value, 0) + int(count)
    return counts


def _current_on(as_of: date | None) -> list[Condition]:
    return _interval("answers_from", "answers_until", as_of)


def _absent_on(as_of: date | None) -> list[Condition]:
    return _interval("holds_from", "holds_until", as_of)


def _interval(begin: str, end: str, as_of: date | None) -> list[Condition]:
    if as_of is None:
        return [Condition(f"{end} = ?", (NEVER,))]
    day = cap_at_today(as_of)
    # Half-open, so that for every day at most one row of an issuer and metric is the answer.
    return [Condition(f"{begin} <= ? AND {end} > ?", (day, day))]


def _with_as_of(row: bytes, as_of: date | None, rank: int | None = None) -> bytes:
    """Put the members that depend on the request in front of a row's others."""
    day = b"null" if as_of is None else encode(cap_at_today(as_of))
    # The row is a complete JSON object: its opening brace is replaced, nothing is parsed.
    rank_member = b"" if rank is None else b'"rank":%d,' % rank
    return b"{" + rank_member + b'"as_of":' + day + b"," + row[1:]
