"""Types of parameters: one object both parses a value and describes it as JSON Schema."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import cached_property
from typing import Any, Literal, Protocol

from warehouse.shared.texts import DATA_VERSION

Schema = Mapping[str, Any]
ParameterLocation = Literal["query", "path"]

# date.fromisoformat alone would accept other forms of ISO 8601, such as 20240630 or 2024-W26-7.
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_YEAR = re.compile(r"[0-9]{4}")
# Years that exist, without a look-ahead, which RE2 and Rust do not have.
_YEARS = "([1-9][0-9]{3}|0[1-9][0-9]{2}|00[1-9][0-9]|000[1-9])"
_YEAR_PATTERN = f"^{_YEARS}$"
_NUMBER = re.compile(r"[+-]?[0-9]{1,30}(\.[0-9]{1,18})?([eE][+-]?[0-9]{1,2})?")
_INTEGER = re.compile(r"[0-9]+")
# Python converts at most 4,300 digits. No ceiling has that many: the first ones are enough.
_MOST_DIGITS = 4_000
# Eight digits that are a date: of long and short months, of February, and of leap days.
_REAL_DAY = (
    f"{_YEARS}((0[13578]|1[02])(0[1-9]|[12][0-9]|3[01])"
    "|(0[469]|11)(0[1-9]|[12][0-9]|30)|02(0[1-9]|1[0-9]|2[0-8]))"
    "|([0-9]{2}(0[48]|[2468][048]|[13579][26])|(0[48]|[2468][048]|[13579][26])00)0229"
)


class ParameterType(Protocol):
    """A type of parameter; ``expected`` describes a valid value in words."""

    @property
    def expected(self) -> str:
        """Describe a valid value."""

    def read(self, text: str) -> object:
        """Parse a value; raise ValueError if it is not of this type."""

    def schema(self) -> Schema:
        """Return the JSON Schema of the type."""


@dataclass(frozen=True)
class PatternText:
    """A text that matches a pattern; ``words`` are the ones that exist, if all are known."""

    pattern: str
    expected: str
    upper: bool = False
    words: Sequence[str] = ()

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        return re.compile(self.pattern)

    def read(self, text: str) -> str:
        """Parse a text; ``upper`` converts codes that may be sent in any case."""
        if not self._compiled.fullmatch(text):
            raise ValueError
        return text.upper() if self.upper else text

    def schema(self) -> Schema:
        """Return the JSON Schema of the pattern."""
        # JSON Schema searches for a pattern anywhere, hence the anchors.
        return {"type": "string", "pattern": f"^{self.pattern}$"}


@dataclass(frozen=True)
class FreeText:
    """Any text within bounds of length."""

    longest: int
    shortest: int = 1

    @property
    def expected(self) -> str:
        """Describe a valid value."""
        return f"a text of {self.shortest} to {self.longest} characters"

    def read(self, text: str) -> str:
        """Return the text as it is."""
        if not self.shortest <= len(text) <= self.longest:
            raise ValueError
        return text

    def schema(self) -> Schema:
        """Return the JSON Schema of the length."""
        return {"type": "string", "minLength": self.shortest, "maxLength": self.longest}


@dataclass(frozen=True)
class OpaqueText:
    """A token that we issued; whoever decodes it reports its own errors."""

    longest: int
    expected: str = "the value that the service returned, unchanged"

    def read(self, text: str) -> str:
        """Return the token as it is."""
        return text

    def schema(self) -> Schema:
        """Return the JSON Schema of the length."""
        return {"type": "string", "minLength": 1, "maxLength": self.longest}


@dataclass(frozen=True)
class Choice:
    """One of several words."""

    words: Sequence[str]

    @property
    def expected(self) -> str:
        """Describe a valid value."""
        return f"one of {', '.join(self.words)}"

    def read(self, text: str) -> str:
        """Parse a word."""
        if text not in self.words:
            raise ValueError
        return text

    def schema(self) -> Schema:
        """Return the JSON Schema of the words."""
        return {"type": "string", "enum": list(self.words)}


@dataclass(frozen=True)
class ListOf:
    """Several values of one type: in a query separated by commas, in a tool a list."""

    of: "PatternText | Choice"
    most: int

    @property
    def expected(self) -> str:
        """Describe a valid value."""
        return f"1 to {self.most} values separated by commas, each {self.of.expected}"

    def read(self, text: str) -> list[str]:
        """Parse values that are separated by commas."""
        return self.read_all(text.split(","))

    def read_all(self, texts: Sequence[str]) -> list[str]:
        """Parse each value, and return each once."""
        if not 1 <= len(texts) <= self.most:
            raise ValueError
        return list(dict.fromkeys(self.of.read(text) for text in texts))

    def schema(self) -> Schema:
        """Return the JSON Schema of the list."""
        items = self.of.schema()
        return {"type": "array", "items": items, "minItems": 1, "maxItems": self.most}


@dataclass(frozen=True)
class Day:
    """A date that exists; with ``by_today`` a future date is read as today."""

    by_today: bool = False
    expected: str = "a valid date (YYYY-MM-DD)"

    def read(self, text: str) -> date:
        """Parse a date."""
        if not _DATE.fullmatch(text):
            raise ValueError
        day = date.fromisoformat(text)
        return min(day, datetime.now(UTC).date()) if self.by_today else day

    def schema(self) -> Schema:
        """Return the JSON Schema of a date."""
        return {"type": "string", "format": "date"}


@dataclass(frozen=True)
class DayOrVersion:
    """A date, or a data_version, which stands for its day."""

    expected: str = "a date YYYY-MM-DD, or a data_version such as 20261114.3"

    def read(self, text: str) -> date:
        """Parse a date."""
        if DATA_VERSION.fullmatch(text):
            text = f"{text[:4]}-{text[4:6]}-{text[6:8]}"
        return Day().read(text)

    def schema(self) -> Schema:
        """Return the JSON Schema of a date or a version."""
        version = {"type": "string", "pattern": f"^({_REAL_DAY})\\.[0-9]{{1,9}}$"}
        return {"anyOf": [{"type": "string", "format": "date"}, version]}


@dataclass(frozen=True)
class YearOrDay:
    """A date or a year, returned as text: which day a year means depends on the mode."""

    expected: str = "a date YYYY-MM-DD, or in annual mode a year"

    def read(self, text: str) -> str:
        """Check a year or a date and return its text."""
        year_as_day(text, "01-01")
        return text

    def schema(self) -> Schema:
        """Return the JSON Schema of a date or four digits."""
        # Python has no year 0.
        year = {"type": "string", "pattern": _YEAR_PATTERN}
        return {"anyOf": [{"type": "string", "format": "date"}, year]}


@dataclass(frozen=True)
class Flag:
    """Yes or no."""

    expected: str = "true or false"

    def read(self, text: str) -> bool:
        """Parse a word."""
        if text not in ("true", "false"):
            raise ValueError
        return text == "true"

    def schema(self) -> Schema:
        """Return the JSON Schema of a boolean."""
        return {"type": "boolean"}


@dataclass(frozen=True)
class Number:
    """A number with all its digits."""

    expected: str = "a number, such as 1250.5"

    def read(self, text: str) -> Decimal:
        """Parse a number."""
        if not _NUMBER.fullmatch(text):
            raise ValueError
        return Decimal(text)

    def schema(self) -> Schema:
        """Return the JSON Schema of a number, which may be sent as text to keep its digits."""
        return {"type": ["number", "string"]}


@dataclass(frozen=True)
class RowCount:
    """A number of rows, at least 1; the tier cap is checked later."""

    ceiling: int
    expected: str = "an integer of at least 1"

    def read(self, text: str) -> int:
        """Parse a number."""
        digits = text.lstrip("0")
        if not _INTEGER.fullmatch(text) or not digits:
            raise ValueError
        return int(digits[:_MOST_DIGITS])

    def schema(self) -> Schema:
        """Return the JSON Schema of the bounds."""
        return {"type": "integer", "minimum": 1, "maximum": self.ceiling}


@dataclass(frozen=True)
class Parameter:
    """One parameter. All examples of an endpoint can be sent together."""

    name: str
    kind: ParameterType
    description: str
    example: str | int | None = None
    required: bool = False
    default: str | None = None
    location: ParameterLocation = "query"


def allowed_words(kind: ParameterType) -> Sequence[str]:
    """Return the words of a closed vocabulary; none for any other type."""
    kind = kind.of if isinstance(kind, ListOf) else kind
    return kind.words if isinstance(kind, Choice | PatternText) else ()


def year_as_day(text: str, month_day: str) -> date:
    """Parse a date, or a year as its day ``month_day``."""
    return Day().read(f"{text}-{month_day}" if _YEAR.fullmatch(text) else text)
