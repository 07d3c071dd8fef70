"""What the ``request`` of a portal's entry may contain, for each of the three shapes.

A portal is fetched by following links, by reading an index, or by downloading files of periods. Its
addresses are patterns: texts with placeholders such as ``{year}``, ``{month:02}`` or ``{page}``.
``fetch`` sends the requests.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from string import Formatter
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from assets.declared_files import DeclarationError, DeclaredTable, RegularExpression
from assets.declared_files import DeclaredText as Text
from assets.fetching.fetchers import Window

# Periods: the days, months or years that a portal can be fetched by, and those of a window.

PeriodKind = Literal["day", "month", "year", "financial-year", "window"]

# Without a window: how many periods before the current one are requested again, as long as portals
# still edit most of their releases.
RECENT: dict[PeriodKind, int] = {
    "day": 30,
    "month": 1,
    "year": 0,
    "financial-year": 0,
    "window": 30,
}
_DAY = timedelta(days=1)
_PLACEHOLDERS: dict[PeriodKind | None, tuple[str, ...]] = {
    "day": ("from", "to", "after", "year", "month", "day"),
    "month": ("from", "to", "after", "year", "month"),
    "year": ("from", "to", "after", "year"),
    "financial-year": ("from", "to", "after", "year", "next_year"),
    "window": ("from", "to", "after"),
    None: (),
}


@dataclass(frozen=True)
class Period:
    """The days from ``first`` to ``last``, both included."""

    kind: PeriodKind
    first: date
    last: date

    @property
    def name(self) -> str:
        """The period as a short text, for messages."""
        names = {
            "day": str(self.first),
            "month": f"{self.first:%Y-%m}",
            "year": str(self.first.year),
            "financial-year": f"{self.first.year}-{self.first.year + 1}",
        }
        return names.get(self.kind, f"{self.first} to {self.last}")

    def values(self, year_offset: int) -> dict[str, Any]:
        """Return the values of the placeholders; ``year_offset`` counts from another year 0."""
        year = self.first.year + year_offset
        values = {
            "from": self.first,
            "to": self.last,
            "after": self.last + _DAY,
            "year": year,
            "next_year": year + 1,
            "month": self.first.month,
            "day": self.first.day,
        }
        return {name: values[name] for name in _PLACEHOLDERS[self.kind]}


def periods_of(
    kind: PeriodKind,
    window: Window,
    today: date,
    since: date | None = None,
    year_starts: int = 1,
    recent: int | None = None,
) -> list[Period]:
    """Return the periods that a window touches, oldest first, none before ``since``.

    Without a window: the current period and as many before it as are still edited.
    """
    last = window.to or today
    first = window.from_
    if kind == "window":
        days = RECENT[kind] if recent is None else recent
        first = first or (since if recent is None and since else last - timedelta(days=days))
        first = max(first, since) if since else first
        return [Period(kind, first, last)] if first <= last else []
    if first is None:
        first = last
        for _ in range(RECENT[kind] if recent is None else recent):
            first = _start(kind, first, year_starts) - _DAY
    if since is not None:
        first = max(first, since)
    periods: list[Period] = []
    start = _start(kind, first, year_starts)
    while start <= last and first <= last:
        # As many days as a period may have after its first one lies in the next.
        longest = {"day": 1, "month": 31}.get(kind, 366)
        following = _start(kind, start + timedelta(days=longest), year_starts)
        periods.append(Period(kind, start, following - _DAY))
        start = following
    return periods


def _start(kind: PeriodKind, day: date, year_starts: int) -> date:
    """Return the first day of the period that a day lies in."""
    if kind in ("day", "month"):
        return day if kind == "day" else day.replace(day=1)
    month = year_starts if kind == "financial-year" else 1
    year = day.year if day.month >= month else day.year - 1
    return date(year, month, 1)


def placeholders(pattern: str) -> dict[str, str]:
    """Return the placeholders of a pattern, each with its format."""
    try:
        parts = [(name, spec) for _, name, spec, _ in Formatter().parse(pattern)]
    except ValueError as error:
        raise ValueError(f"{pattern!r}: {error}") from None
    return {name: spec or "" for name, spec in parts if name is not None}


def check_pattern(pattern: str, examples: Mapping[str, Any]) -> None:
    """Raise ValueError for a placeholder that is not known here, or a format that is not valid.

    ``examples`` has a value for each placeholder that may be used.
    """
    for name, spec in placeholders(pattern).items():
        if name not in examples:
            known = ", ".join(f"{{{known}}}" for known in sorted(examples)) or "none"
            raise ValueError(f"{{{name}}} is not known here; possible: {known}")
        try:
            format(examples[name], spec)
        except (ValueError, TypeError) as error:
            raise ValueError(f"{{{name}:{spec}}} cannot be written: {error}") from None


def fill_all(value: Any, values: Mapping[str, Any]) -> Any:
    """Replace the placeholders in all texts of a JSON value.

    A text that is nothing but a placeholder becomes the value itself: a number stays a number.
    """
    if isinstance(value, dict):
        return {name: fill_all(member, values) for name, member in value.items()}
    if isinstance(value, list):
        return [fill_all(item, values) for item in value]
    if not isinstance(value, str):
        return value
    found = placeholders(value)
    if len(found) == 1:
        ((name, spec),) = found.items()
        if not spec and value == f"{{{name}}}":
            return values[name]
    return value.format(**values)


def texts_in(value: Any, name: str) -> dict[str, str]:
    """Return all texts of a JSON value by their names, such as ``body.skip``."""
    if isinstance(value, dict):
        members = [texts_in(member, f"{name}.{key}") for key, member in value.items()]
    elif isinstance(value, list):
        members = [texts_in(item, f"{name}[{n}]") for n, item in enumerate(value)]
    else:
        return {name: value} if isinstance(value, str) else {}
    return {name: text for found in members for name, text in found.items()}


Status = Annotated[int, Field(ge=300, le=599)]
# What a document is: plain JSON (a package, a list, JSON Lines), or compressed.
DocumentFormat = Literal["json", "gzip", "zip", "any"]


class Request(DeclaredTable):
    """What all shapes share; ``docs/add-a-portal.md`` explains every member."""

    address: Text
    whole: Text | None = None
    period: PeriodKind | None = None
    year_starts: Annotated[int, Field(ge=1, le=12)] | None = None
    year_offset: int = 0
    recent: Annotated[int, Field(ge=0)] | None = None
    each: Mapping[str, Annotated[list[Text], Field(min_length=1)]] = {}
    first_page: Annotated[int, Field(ge=0)] = 1
    page_size: Annotated[int, Field(ge=1)] | None = None
    ends_on: frozenset[Status] = frozenset()
    repeats_on: frozenset[Status] = frozenset()
    delay: Annotated[float, Field(gt=0, le=3600)] | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        """Raise DeclarationError if members do not fit each other."""
        if both := self.ends_on & self.repeats_on:
            raise DeclarationError("repeats_on", f"{min(both)} is in ends_on as well")
        if (self.period == "financial-year") != (self.year_starts is not None):
            raise DeclarationError(
                "year_starts", 'give the first month with period = "financial-year", else omit it'
            )
        for member, pattern in self.patterns().items():
            try:
                check_pattern(pattern, self.examples(member))
            except ValueError as error:
                raise DeclarationError(member, str(error)) from None
            if member in ("address", "whole") and not pattern.startswith("/"):
                raise DeclarationError(
                    member, "must begin with /: it is what follows the host in base_url"
                )
        if "offset" in self.placeholders() and self.page_size is None:
            raise DeclarationError("page_size", "{offset} needs the number of items on a page")
        if unused := set(self.each) - set(self.placeholders()):
            raise DeclarationError("each", f"no pattern uses {{{min(unused)}}}")
        return self

    def patterns(self) -> dict[str, str]:
        """Return the texts with placeholders, by member."""
        patterns = {"address": self.address}
        return patterns if self.whole is None else {**patterns, "whole": self.whole}

    def placeholders(self) -> set[str]:
        """Return the placeholders that occur in any pattern."""
        return {name for pattern in self.patterns().values() for name in placeholders(pattern)}

    def examples(self, member: str) -> dict[str, Any]:
        """Return an example value for each placeholder that a member may use."""
        examples: dict[str, Any] = {name: values[0] for name, values in self.each.items()}
        if member != "whole" and self.period is not None:
            examples |= Period(self.period, date(2024, 7, 1), date(2024, 7, 31)).values(0)
        return examples | {"page": 1, "offset": 0, "publication": "1"}


class Links(Request):
    """Pages of packages, each of which links to the next."""

    shape: Literal["links"]
    next: Text = "links.next"
    next_needs: Text | None = None


class Index(Request):
    """Lists that name documents, each of which is then fetched."""

    shape: Literal["index"]
    items: Text | None = None
    name: Text | None = None
    pattern: RegularExpression | None = None
    body: dict[str, Any] | None = None
    next: Text | None = None
    pages: Text | None = None
    cursor: str | None = None
    document: Text | None = None
    replace: Mapping[str, str] = {}
    dated: RegularExpression | None = None
    format: DocumentFormat = "json"

    @model_validator(mode="after")
    def _check_index(self) -> Self:
        """Raise DeclarationError if members do not fit each other."""
        if (self.pattern is None) == (self.items is None and self.name is None):
            raise DeclarationError(
                "pattern", "say what names a document: items and name for JSON, pattern for text"
            )
        if self.pattern is not None and re.compile(self.pattern).groups != 1:
            raise DeclarationError("pattern", "needs one group in brackets: the name of a document")
        groups = set(re.compile(self.dated or "(?P<year>)").groupindex)
        if not {"year"} <= groups <= {"year", "month", "day"}:
            raise DeclarationError(
                "dated", "needs the groups (?P<year>…), and month and day if any"
            )
        if self.document is not None and "name" not in placeholders(self.document):
            raise DeclarationError("document", "the address of a document needs {name}")
        used = {name for name in ("page", "offset", "cursor") if name in self.placeholders()}
        if (self.next or self.pages) and not used:
            raise DeclarationError("next", "paging needs {page}, {offset} or {cursor}")
        if ("cursor" in used) != (self.cursor is not None) or ("cursor" in used and not self.next):
            raise DeclarationError(
                "cursor", "{cursor} needs cursor, its first value, and next, the member with it"
            )
        return self

    def patterns(self) -> dict[str, str]:
        """Return the texts with placeholders, by member."""
        patterns = super().patterns()
        if self.document is not None:
            patterns["document"] = self.document
        if self.cursor is not None:
            patterns["cursor"] = self.cursor
        return patterns | texts_in(self.body, "body")

    def examples(self, member: str) -> dict[str, Any]:
        """Return an example value for each placeholder that a member may use."""
        examples = super().examples(member) | {"cursor": "1"}
        return examples | {"name": "1"} if member == "document" else examples


class Files(Request):
    """Files whose addresses follow from a period or a number."""

    shape: Literal["files"]
    format: DocumentFormat = "json"
    follow_refresh: bool = False

    @model_validator(mode="after")
    def _check_files(self) -> Self:
        """Raise DeclarationError if members do not fit each other."""
        if {"page", "offset"} & self.placeholders() and not self.ends_on:
            raise DeclarationError("ends_on", "{page} needs the status after the last page")
        return self


AnyRequest = Annotated[Links | Index | Files, Field(discriminator="shape")]
