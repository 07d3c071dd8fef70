"""Why a question has no rows: what is not held, not held together, not known then, out of range.

The filters of the question are added one after the other, until no row is left. A reason never
tells a value: of what became public after ``as_of`` it says no more than that there is something.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Literal

from warehouse.nearest import nearest
from warehouse.read.conditions import Condition
from warehouse.read.mart import Build
from warehouse.read.rows import between, distinct_values, fetch_rows
from warehouse.read.several_files import files_for

EmptyCode = Literal[
    "nothing_held",
    "value_not_held",
    "not_held_together",
    "not_known_then",
    "withdrawn",
    "out_of_range",
    "no_match",
    "not_computable",
]
# A vocabulary is compared and named as far as this.
_MOST_WORDS = 20_000
_FEW_WORDS = 12
# Beside other filters fewer are left, and one of them is what is looked for.
_FEW_TOGETHER = 40


@dataclass(frozen=True)
class Empty:
    """The reason: a code, a sentence, the nearest values of ``parameter``, and what is held."""

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


@dataclass(frozen=True)
class Filter:
    """A value that was asked for: its parameter, its column, and the conditions of rows with it."""

    parameter: str
    value: str
    where: Sequence[Condition]
    column: str = ""


@dataclass(frozen=True)
class Asked:
    """The filters of a question to a table; ``days`` are the bounds of the column ``dated``."""

    table: str
    rows: str
    filters: Sequence[Filter] = ()
    known: Sequence[Condition] = ()
    as_of: date | None = None
    dated: str = ""
    days: tuple[date | None, date | None] = (None, None)
    further: Sequence[Condition] = field(default=())


def filters_of(**values: str | None) -> list[Filter]:
    """Return a filter for each parameter that was sent, which is a column of the same name."""
    return [
        Filter(name, value, [Condition(f"{name} = ?", (value,), name)], name)
        for name, value in values.items()
        if value is not None
    ]


def why_empty(build: Build, asked: Asked) -> Empty:
    """Return why no row of a table matches."""
    if not _exists(build, asked, ()):
        return Empty("nothing_held", f"{build.data_version} holds no {asked.rows}.")
    for each in asked.filters:
        if not _exists(build, asked, each.where):
            return _value_not_held(build, asked, each)
    named = [condition for each in asked.filters for condition in each.where]
    if not _exists(build, asked, named):
        return _not_together(build, asked)
    known = [*named, *asked.known]
    if not _exists(build, asked, known):
        return _not_known(asked)
    held = _span(build, asked, known)
    if asked.days != (None, None) and not _exists(build, asked, [*known, *_dated(asked)]):
        if asked.as_of is not None and _exists(build, asked, [*named, *_dated(asked)]):
            return replace(_not_known(asked), held=held)
        since, until = (str(day) if day else "…" for day in asked.days)
        spans = f"they are held from {held[0]} to {held[1]}" if held else "they have no date"
        detail = f"No {asked.rows} between {since} and {until}: {spans}."
        return Empty("out_of_range", detail, "from" if asked.days[0] else "to", held=held)
    return Empty("no_match", f"No {asked.rows} match all filters together.", held=held)


def _value_not_held(build: Build, asked: Asked, missing: Filter) -> Empty:
    near, few = _values(build, asked, missing, ())
    if not near and not few:
        # Of a long vocabulary, what is held with the rest of the question may be short.
        others = [each for each in asked.filters if each is not missing]
        near, few = _values(build, asked, missing, [c for each in others for c in each.where])
    detail = f"No {asked.rows} have {missing.parameter} {missing.value!r}."
    if near and missing.value.casefold() != near[0].casefold():
        detail += f" The nearest that are held: {', '.join(near)}."
    elif few:
        detail += f" Held are {', '.join(few)}."
    return Empty("value_not_held", detail, missing.parameter, near or few)


def _not_together(build: Build, asked: Asked) -> Empty:
    for each in reversed(asked.filters):
        others = [
            condition for other in asked.filters if other is not each for condition in other.where
        ]
        if not _exists(build, asked, others):
            continue
        near, few = _values(build, asked, each, others, _FEW_TOGETHER)
        with_others = ", ".join(
            f"{other.parameter} {other.value!r}" for other in asked.filters if other is not each
        )
        detail = (
            f"{each.parameter} {each.value!r} is held, and so is {with_others}, but not together."
        )
        if near or few:
            detail += f" With {with_others}, {each.parameter} can be {', '.join(near or few)}."
        return Empty("not_held_together", detail, each.parameter, near or few)
    detail = f"No {asked.rows} match all filters together; each by itself has some."
    return Empty("not_held_together", detail)


def _not_known(asked: Asked) -> Empty:
    if asked.as_of is None:
        detail = f"The {asked.rows} that match were withdrawn by their publisher."
        return Empty("withdrawn", detail)
    detail = (
        f"No {asked.rows} that match are known to have been public by {asked.as_of}; some became "
        f"public later, and must not be presented as known on {asked.as_of}."
    )
    return Empty("not_known_then", detail, "as_of")


def _exists(build: Build, asked: Asked, where: Sequence[Condition]) -> bool:
    return bool(fetch_rows(build, "1", asked.table, [*asked.further, *where], limit=1))


def _values(
    build: Build, asked: Asked, of: Filter, where: Sequence[Condition], most: int = _FEW_WORDS
) -> tuple[list[str], list[str]]:
    """Return the nearest values of a filter's column, and all of them if they are few."""
    if not of.column:
        return [], []
    words = distinct_values(build, of.column, asked.table, [*asked.further, *where], _MOST_WORDS)
    words = [word for word in words if word]
    return nearest(of.value, words), words if len(words) <= most else []


def _dated(asked: Asked) -> list[Condition]:
    return between(asked.dated, *asked.days)


def _span(build: Build, asked: Asked, where: Sequence[Condition]) -> tuple[str, str] | None:
    """Return the first and the last day of rows that match; None if none has a day."""
    if not asked.dated:
        return None
    where = [*asked.further, *where, Condition(f"{asked.dated} <> ''")]
    conditions = " AND ".join(condition.sql for condition in where)
    values = [value for condition in where for value in condition.values]
    statement = f"SELECT min({asked.dated}), max({asked.dated}) FROM {{prefix}}{asked.table}"
    ends = [
        end
        for file in files_for(build, asked.table, where)
        for end in file.run(
            f"{statement} WHERE {conditions}".replace("{prefix}", file.prefix), values
        )
        if end[0] is not None
    ]
    return (min(end[0] for end in ends), max(end[1] for end in ends)) if ends else None
