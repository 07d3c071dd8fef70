"""What the ``request`` of a portal's entry may contain, for each of the three shapes."""

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from assets.declared_files import DeclarationError, DeclaredTable, RegularExpression
from assets.declared_files import DeclaredText as Text
from assets.tenders.requests.patterns import (
    PatternError,
    PeriodKind,
    check_pattern,
    period_examples,
    placeholders,
    texts_in,
)

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
            except PatternError as error:
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
        if member != "whole":
            examples |= period_examples(self.period)
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
