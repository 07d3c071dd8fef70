"""Kinds of parameters: how each is read, and how it is described; the two cannot differ."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any, Literal, Protocol

Schema = Mapping[str, Any]
ParameterLocation = Literal["query", "path"]

_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_YEAR = re.compile(r"[0-9]{4}")
_WHOLE = re.compile(r"[0-9]{1,9}")


class ParameterType(Protocol):
    """What a value must be; ``expected`` says it in words."""

    @property
    def expected(self) -> str:
        """Say what a value must be."""

    def read(self, text: str) -> object:
        """Read a value; ValueError if it is none of this kind."""

    def schema(self) -> Schema:
        """Describe the kind as a JSON Schema."""


@dataclass(frozen=True)
class PatternText:
    """A text that matches a pattern as a whole."""

    pattern: str
    expected: str
    upper: bool = False

    def read(self, text: str) -> str:
        """Read a text; a code whose letters may be of any case is raised."""
        if not re.fullmatch(self.pattern, text):
            raise ValueError
        return text.upper() if self.upper else text

    def schema(self) -> Schema:
        """Describe the kind by its pattern."""
        return {"type": "string", "pattern": f"^{self.pattern}$"}


@dataclass(frozen=True)
class FreeText:
    """Any text of some length."""

    longest: int
    shortest: int = 1

    @property
    def expected(self) -> str:
        """Say what a value must be."""
        return f"a text of {self.shortest} to {self.longest} characters"

    def read(self, text: str) -> str:
        """Read a text."""
        if not self.shortest <= len(text) <= self.longest:
            raise ValueError
        return text

    def schema(self) -> Schema:
        """Describe the kind by its length."""
        return {"type": "string", "minLength": self.shortest, "maxLength": self.longest}


@dataclass(frozen=True)
class OpaqueText:
    """What we gave and get back; whoever reads it refuses it in words of its own."""

    longest: int
    expected: str = "what the service gave, as it came"

    def read(self, text: str) -> str:
        """Take it as it is."""
        return text

    def schema(self) -> Schema:
        """Describe the kind by its length."""
        return {"type": "string", "minLength": 1, "maxLength": self.longest}


@dataclass(frozen=True)
class Choice:
    """One of a few words."""

    words: Sequence[str]

    @property
    def expected(self) -> str:
        """Say what a value must be."""
        return f"one of {', '.join(self.words)}"

    def read(self, text: str) -> str:
        """Read a word."""
        if text not in self.words:
            raise ValueError
        return text

    def schema(self) -> Schema:
        """Describe the kind by its words."""
        return {"type": "string", "enum": list(self.words)}


@dataclass(frozen=True)
class Day:
    """A date that exists in the calendar; ``by_today`` reads one of the future as today."""

    by_today: bool = False
    expected: str = "a date of the calendar, YYYY-MM-DD"

    def read(self, text: str) -> date:
        """Read a date."""
        if not _DATE.fullmatch(text):
            raise ValueError
        day = date.fromisoformat(text)
        return min(day, datetime.now(UTC).date()) if self.by_today else day

    def schema(self) -> Schema:
        """Describe the kind as a date."""
        return {"type": "string", "format": "date"}


@dataclass(frozen=True)
class YearOrDay:
    """A date, or a year as its first or last day: the text itself, read where the mode is known."""

    expected: str = "a date YYYY-MM-DD, or in annual mode a year"

    def read(self, text: str) -> str:
        """Read a year or a date as it is written."""
        year_as_day(text, "01-01")
        return text

    def schema(self) -> Schema:
        """Describe the kind as a date or four digits."""
        year = {"type": "string", "pattern": "^(?!0000)[0-9]{4}$"}
        return {"anyOf": [{"type": "string", "format": "date"}, year]}


@dataclass(frozen=True)
class RowCount:
    """A number of rows, at least 1; what a tier allows is asked later."""

    ceiling: int
    expected: str = "an integer of at least 1"

    def read(self, text: str) -> int:
        """Read a number."""
        if not _WHOLE.fullmatch(text) or int(text) < 1:
            raise ValueError
        return int(text)

    def schema(self) -> Schema:
        """Describe the kind by its bounds."""
        return {"type": "integer", "minimum": 1, "maximum": self.ceiling}


@dataclass(frozen=True)
class Parameter:
    """One parameter; the examples of an endpoint can all be sent together."""

    name: str
    kind: ParameterType
    about: str
    example: str | int | None = None
    required: bool = False
    default: str | None = None
    place: ParameterLocation = "query"


def year_as_day(text: str, month_day: str) -> date:
    """Read a date, or a year as its day ``month_day``."""
    return Day().read(f"{text}-{month_day}" if _YEAR.fullmatch(text) else text)
