"""Metrics of issuers, rankings, and signal panels, as they were known on a day."""

from dataclasses import dataclass
from datetime import date
from typing import Any, Literal, get_args

import msgspec

from warehouse.methodology.metrics import AbsentReason
from warehouse.methodology.signals import PANEL_BY_KEY
from warehouse.publish.row_json import NEVER
from warehouse.serve.build import Build, Mart
from warehouse.serve.entities import organisation_id
from warehouse.serve.rows import (
    Condition,
    Key,
    RowPage,
    between,
    cap_at_today,
    equal,
    fetch_keyed,
    fetch_page,
    fetch_rows,
    files_for,
    make_page,
    row_statement,
    served_bodies,
)
from warehouse.serve.rows import Order as RowOrder
from warehouse.shared.json_encoding import encode

# Metrics of issuers, and rankings; only what was exactly computable on the day.

Order = Literal["asc", "desc"]
# The order of screens, reversed.
_ASCENDING = ("metric", "size", "organisation DESC")
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
    after: Key | None = None,
) -> RowPage:
    """Return every metric of an issuer for its latest full year published by ``as_of``."""
    build = mart.build()
    owner = organisation_id(build, service_id)
    where = [*equal(organisation=owner, metric=metric), *_current_on(as_of)]
    page = fetch_page(build, "metrics", where, limit, after=after)
    day = _as_of(as_of)
    return page.with_rows([_with_as_of(row, day) for row in page.rows])


def screen(
    mart: Mart,
    metric: str,
    order: Order = "desc",
    as_of: date | None = None,
    country: str | None = None,
    limit: int | None = None,
    after: Key | None = None,
) -> Screen:
    """Rank issuers by a metric; ``rank`` is the position by value, not a rating."""
    build = mart.build()
    universe = equal(metric=metric, country=country)
    # How many were ranked before is the last part of the key.
    place, ranked_before = (None, 0) if after is None else (after[:-1], int(after[-1]))
    where = [*universe, *_current_on(as_of)]
    page, count = _ranked(build, where, order, limit, place)
    day = _as_of(as_of)
    ranks = range(ranked_before + 1, ranked_before + 1 + len(page.rows))
    ranked = [_with_as_of(row, day, rank) for rank, row in zip(ranks, page.rows, strict=True)]
    keys = [(*key, str(rank)) for rank, key in zip(ranks, page.keys, strict=True)]
    page = msgspec.structs.replace(page, rows=ranked, keys=keys)
    return Screen(page, _universe(build, universe, as_of, count))


def absent_reasons(
    build: Build, service_id: str, metric: str | None, as_of: date | None
) -> dict[str, str]:
    """Return why each metric of an issuer is absent on a day."""
    where = [*equal(service_id=service_id, metric=metric), *_absent_on(as_of)]
    rows = fetch_rows(build, "metric, reason", "metrics_absent", where)
    return {str(slug): str(reason) for slug, reason in rows}


def _ranked(
    build: Build, where: list[Condition], order: Order, limit: int | None, after: Key | None
) -> tuple[RowPage, int]:
    """Return the first rows by value, and how many issuers have one.

    An issuer has one row a day at most; issuers with the same value are ranked by their id.
    """
    one_more = None if limit is None else limit + 1
    by_value = RowOrder("row_number DESC", _ASCENDING) if order == "asc" else None
    ranked = fetch_keyed(build, "organisation", "screens", where, by_value, one_more, after)
    on_the_day = [condition for condition in where if condition.column != "country"]
    rows: list[tuple[Key, bytes]] = []
    # One statement for all issuers: a screen asks as many files as it has rows.
    statement, values = row_statement(
        "row", "metrics", [Condition("organisation = ?"), *on_the_day]
    )
    for key, (issuer,) in ranked:
        for file in build.files_with("metrics", "organisation", issuer) or ():
            found = file.run(statement, [issuer, *values])
            bodies = served_bodies(build, file, "metrics", [row for (row,) in found])
            rows += [(key, body) for body in bodies]
    count = row_statement("count(*)", "screens", where, RowOrder("1"))
    counts = [file.run(count[0], count[1]) for file in files_for(build, "screens", where)]
    return make_page(build, rows, limit), sum(rows[0][0] for rows in counts)


def _universe(
    build: Build, universe: list[Condition], as_of: date | None, ranked: int
) -> dict[str, Any]:
    absent = [*universe, *_absent_on(as_of)]
    by_reason = _count_issuers(build, "reason", "metrics_absent", absent)
    left_out = {reason: by_reason.get(reason, 0) for reason in REASONS}
    return {
        "covered": ranked + sum(left_out.values()),
        "ranked": ranked,
        "left_out": left_out,
    }


def _count_issuers(
    build: Build, group: str, table: str, where: list[Condition]
) -> dict[object, int]:
    """Return how many issuers have rows that match, by a column."""
    files = files_for(build, table, where)
    conditions = " AND ".join(condition.sql for condition in where)
    values = [value for condition in where for value in condition.values]
    counted = f"FROM {table} WHERE {conditions} GROUP BY 1"
    if len(files) == 1:
        statement = f"SELECT {group}, count(DISTINCT service_id) {counted}"
        rows = files[0].run(statement, values)
        return {value: int(count) for value, count in rows}
    issuers: dict[object, set[str]] = {}
    for file in files:
        statement = f"SELECT {group}, service_id {counted}, 2"
        for value, service_id in file.run(statement, values):
            issuers.setdefault(value, set()).add(str(service_id))
    return {value: len(found) for value, found in issuers.items()}


def _current_on(as_of: date | None) -> list[Condition]:
    return _interval("answers_from", "answers_until", as_of)


def _absent_on(as_of: date | None) -> list[Condition]:
    return _interval("holds_from", "holds_until", as_of)


def _interval(begin: str, end: str, as_of: date | None) -> list[Condition]:
    if as_of is None:
        # Written out: an index of rows that hold now is used for nothing else.
        return [Condition(f"{end} = '{NEVER}'")]
    day = cap_at_today(as_of)
    # Half-open, so that for every day at most one row of an issuer and metric is the answer.
    return [Condition(f"{begin} <= ?", (day,)), Condition(f"{end} > ?", (day,), end, ">=")]


def _as_of(as_of: date | None) -> bytes:
    return b"null" if as_of is None else encode(cap_at_today(as_of))


def _with_as_of(row: bytes, day: bytes, rank: int | None = None) -> bytes:
    """Put the members that depend on the request in front of a row's others."""
    # The row is a complete JSON object: its opening brace is replaced, nothing is parsed.
    rank_member = b"" if rank is None else b'"rank":%d,' % rank
    return b"{" + rank_member + b'"as_of":' + day + b"," + row[1:]


PROCUREMENT_DEMAND = "procurement-demand"


def panel(
    mart: Mart,
    signal_key: str,
    country: str | None = None,
    dimension: str | None = None,
    dimension_value: str | None = None,
    measure: str | None = None,
    as_of: date | None = None,
    from_: date | None = None,
    to: date | None = None,
    limit: int | None = None,
    after: Key | None = None,
) -> RowPage | None:
    """Return a panel, newest month first; None if there is no panel of that key.

    ``from_`` and ``to`` bound the first day of a month; any day of a month stands for it. A panel
    without rows is empty.
    """
    build = mart.build()
    # A month is stored as its first day: any later day of ``from_`` would exclude it.
    months = between("month", None if from_ is None else from_.replace(day=1), to)
    where = [
        *equal(signal_key=signal_key, country=country),
        *equal(dimension=dimension, dimension_value=dimension_value),
        *equal(measure=measure),
        *months,
        *closed_by(as_of),
    ]
    page = fetch_page(build, "signals", where, limit, after=after)
    return (
        page
        if page.rows or signal_key in PANEL_BY_KEY or signal_key in signal_keys(build)
        else None
    )


def closed_by(as_of: date | None) -> list[Condition]:
    """Match months that were closed by a day, in the vintage of that day."""
    if as_of is None:
        return [Condition("superseded_at = ?", (NEVER,))]
    day = cap_at_today(as_of)
    closed_and_latest = "closed_at <= ? AND available_at <= ? AND superseded_at > ?"
    # A month is closed after it: later months lie in files that need not be read.
    not_later = Condition("month <= ?", (day,), "month", "<=")
    return [Condition(closed_and_latest, (day, day, day)), not_later]


def signal_keys(build: Build) -> list[str]:
    """Return the keys of all panels, also of those that only an older build has."""
    statement = "SELECT DISTINCT signal_key FROM {table}"
    found = {str(key) for (key,) in build.rows("signals", statement)}
    return sorted({*PANEL_BY_KEY, *found})
