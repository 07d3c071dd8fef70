"""A query of one table: its rows, and why there are none.

No such rows, none of that combination, none known then, none on those days: the filters of the
question are added one after the other, until no row is left. With ``as_of`` only what was public
by then is looked at: about later publications a reason says no more than that there are some.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Literal

import msgspec

from warehouse.serve.build import Build
from warehouse.serve.packs import PACKED_BY
from warehouse.serve.rows import (
    Condition,
    Key,
    RowPage,
    between,
    distinct_values,
    equal,
    fetch_page,
    fetch_rows,
    files_for,
    known_on,
    latest_on,
    matching,
    published_by,
)
from warehouse.shared.texts import nearest

EmptyCode = Literal[
    "nothing_held",
    "value_not_held",
    "not_held_together",
    "not_known_then",
    "withdrawn",
    "not_recorded",
    "out_of_range",
    "no_match",
    "not_computable",
]
# A vocabulary is compared and named as far as this.
_MOST_WORDS = 20_000
_FEW_WORDS = 12
# With other filters fewer are left, and one of them is the value that is wanted.
_FEW_TOGETHER = 40


@dataclass(frozen=True)
class Empty:
    """The reason: a code, a sentence, the nearest values of ``parameter``, and the data's span."""

    code: EmptyCode
    detail: str
    parameter: str | None = None
    nearest: Sequence[str] = ()
    held: tuple[str, str] | None = None

    def as_json(self) -> dict[str, object]:
        """Return the member ``empty`` of an envelope."""
        held = None if self.held is None else {"from": self.held[0], "to": self.held[1]}
        return {
            "code": self.code,
            "detail": self.detail,
            "parameter": self.parameter,
            "nearest": list(self.nearest),
            "held": held,
        }


class Filter(msgspec.Struct, frozen=True):
    """A requested value: its parameter, its column, and the conditions of rows with it.

    Other values of the column could be requested if their rows match ``among``.
    """

    parameter: str
    value: str
    where: Sequence[Condition]
    column: str = ""
    among: Sequence[Condition] = ()


class TableQuery(msgspec.Struct, frozen=True):
    """The filters of a question to a table.

    The parameters ``bounds`` ask for ``days`` of the column ``dated``.

    ``known`` match what the answer for ``as_of`` can have. What was public by then has a day no
    later than it in each of the columns ``public_since``.
    """

    table: str
    rows: str
    filters: Sequence[Filter] = ()
    known: Sequence[Condition] = ()
    as_of: date | None = None
    dated: str = ""
    days: tuple[date | None, date | None] = (None, None)
    public_since: Sequence[str] = ("available_at",)
    bounds: tuple[str, str] = ("from", "to")

    @property
    def public(self) -> Sequence[Condition]:
        """Match rows that were public by ``as_of``, in whatever vintage."""
        return [
            condition for name in self.public_since for condition in published_by(self.as_of, name)
        ]

    @property
    def named(self) -> Sequence[Condition]:
        """Match rows that every filter lets through."""
        return [condition for each in self.filters for condition in each.where]


def query_rows(build: Build, query: TableQuery, limit: int | None, after: Key | None) -> RowPage:
    """Return the rows that match, in the order of the table."""
    named, is_dated = query.named, query.days != (None, None)
    key = PACKED_BY.get(query.table)
    is_of_key = bool(key) and not is_dated and [each.column for each in named] == [key]
    if key and is_of_key and query.known == known_on(query.as_of):
        # The common case: runs of rows as they lie in the packs, without looking at single rows.
        value = str(named[0].values[0])
        return latest_on(build, query.table, value, query.as_of, limit, after)
    where = [*named, *(between(query.dated, *query.days) if is_dated else ()), *query.known]
    return fetch_page(build, query.table, where, limit, after=after)


def filters_of(**values: str | None) -> list[Filter]:
    """Return a filter for each parameter that was sent, which is a column of the same name."""
    return [
        Filter(name, value, equal(**{name: value}), name)
        for name, value in values.items()
        if value is not None
    ]


def why_empty(build: Build, query: TableQuery) -> Empty:
    """Return why no row of a table matches."""
    reason = _not_public(build, query)
    if reason is None:
        return _not_among_public(build, query)
    if query.as_of is not None and _exists(build, query, query.named):
        return not_known_then(query.rows, query.as_of)
    return reason


def not_known_then(rows: str, as_of: date) -> Empty:
    """Return the reason of a day on which nothing that matches was public yet."""
    detail = (
        f"No {rows} that match are known to have been public by {as_of}; some became public "
        f"later, and must not be presented as known on {as_of}."
    )
    return Empty("not_known_then", detail, "as_of")


def _not_public(build: Build, query: TableQuery) -> Empty | None:
    """Return why nothing that the filters let through was public; None if something was."""
    if not _exists(build, query, query.public):
        why = ": no source that it has loaded gives any"
        why = why if query.as_of is None else f" that were public by {query.as_of}"
        return Empty("nothing_held", f"This installation has no {query.rows}{why}.")
    for each in query.filters:
        if not _exists(build, query, [*each.where, *query.public]):
            return _value_not_held(build, query, each)
    if not _exists(build, query, [*query.named, *query.public]):
        return _not_together(build, query)
    return None


def _not_among_public(build: Build, query: TableQuery) -> Empty:
    known = [*query.named, *query.known]
    if not _exists(build, query, known):
        detail = f"The {query.rows} that match were withdrawn by their publisher."
        return Empty("withdrawn", detail)
    held = _span(build, query, known)
    if query.days != (None, None) and not _exists(build, query, [*known, *_dated(query)]):
        if query.as_of is not None and _exists(build, query, [*query.named, *_dated(query)]):
            return replace(not_known_then(query.rows, query.as_of), held=held)
        return _no_such_days(query, held)
    return Empty("no_match", f"No {query.rows} match all filters together.", held=held)


def _no_such_days(query: TableQuery, held: tuple[str, str] | None) -> Empty:
    """Return the reason for days outside the span of the data, or in a gap within it."""
    since, until = (str(day) if day else "…" for day in query.days)
    parameter = query.bounds[0 if query.days[0] else 1]
    if held and None not in query.days and held[0] < since and until < held[1]:
        detail = (
            f"Nothing is recorded between {since} and {until}: the {query.rows} that match go "
            f"from {held[0]} to {held[1]}, with a gap there."
        )
        return Empty("not_recorded", detail, parameter, held=held)
    spans = f"they go from {held[0]} to {held[1]}" if held else "they have no date"
    detail = f"No {query.rows} between {since} and {until}: {spans}."
    return Empty("out_of_range", detail, parameter, held=held)


def _value_not_held(build: Build, query: TableQuery, missing: Filter) -> Empty:
    near, few = _values(build, query, missing, query.public)
    if not near and not few:
        # Of a long vocabulary, the values that the other filters leave may be few.
        others = [each for each in query.filters if each is not missing]
        where = [condition for each in others for condition in each.where]
        near, few = _values(build, query, missing, [*where, *query.public])
    detail = f"No {query.rows} have {missing.parameter} {missing.value!r}."
    if near and missing.value.casefold() != near[0].casefold():
        detail += f" The nearest are: {', '.join(near)}."
    elif few:
        detail += f" There are {', '.join(few)}."
    return Empty("value_not_held", detail, missing.parameter, near or few)


def _not_together(build: Build, query: TableQuery) -> Empty:
    for each in reversed(query.filters):
        others = [
            condition for other in query.filters if other is not each for condition in other.where
        ]
        others += query.public
        if not _exists(build, query, others):
            continue
        near, few = _values(build, query, each, others, _FEW_TOGETHER)
        with_others = ", ".join(
            f"{other.parameter} {other.value!r}" for other in query.filters if other is not each
        )
        detail = (
            f"There is {each.parameter} {each.value!r}, and there is {with_others}, but not "
            "together."
        )
        if near or few:
            detail += f" With {with_others}, {each.parameter} can be {', '.join(near or few)}."
        return Empty("not_held_together", detail, each.parameter, near or few)
    detail = f"No {query.rows} match all filters together; each by itself has some."
    return Empty("not_held_together", detail)


def _exists(build: Build, query: TableQuery, where: Sequence[Condition]) -> bool:
    return bool(fetch_rows(build, "1", query.table, where, limit=1))


def _values(
    build: Build, query: TableQuery, of: Filter, where: Sequence[Condition], most: int = _FEW_WORDS
) -> tuple[list[str], list[str]]:
    """Return the nearest values of a filter's column, and all of them if they are few."""
    if not of.column:
        return [], []
    where = [*where, *of.among]
    words = distinct_values(build, of.column, query.table, where, _MOST_WORDS)
    words = [word for word in words if word]
    return nearest(of.value, words), words if len(words) <= most else []


def _dated(query: TableQuery) -> list[Condition]:
    # What has no date is stored as empty text, which is before every day.
    return [*between(query.dated, *query.days), Condition(f"{query.dated} <> ''")]


def _span(build: Build, query: TableQuery, where: Sequence[Condition]) -> tuple[str, str] | None:
    """Return the first and the last day of rows that match; None if none has a day."""
    if not query.dated:
        return None
    where = [*where, Condition(f"{query.dated} <> ''")]
    conditions, values = matching(query.table, where)
    statement = f"SELECT min({query.dated}), max({query.dated}) FROM {query.table}"
    ends = [
        end
        for file in files_for(build, query.table, where)
        for end in file.run(f"{statement} WHERE {conditions}", values)
        if end[0] is not None
    ]
    return (min(end[0] for end in ends), max(end[1] for end in ends)) if ends else None
