"""Types of parameters: each both reads a value and describes it, in words and as JSON Schema."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, Literal

from warehouse.shared.countries import area_named
from warehouse.shared.texts import DATA_VERSION

Schema = Mapping[str, Any]
ParameterLocation = Literal["query", "path", "body"]

# date.fromisoformat alone would accept other forms of ISO 8601, such as 20240630 or 2024-W26-7.
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_YEAR = re.compile(r"[0-9]{4}")
# Years that exist, without a look-ahead, which RE2 and Rust do not have.
_YEARS = "([1-9][0-9]{3}|0[1-9][0-9]{2}|00[1-9][0-9]|000[1-9])"
_NUMBER = re.compile(r"[+-]?[0-9]{1,40}(\.[0-9]{1,40})?([eE](\+?[0-9]{1,2}|-[0-9]{1,3}))?")
_INTEGER = re.compile(r"[0-9]+")
# Python converts at most 4,300 digits. No ceiling has that many: the first ones are enough.
_MOST_DIGITS = 4_000
# Eight digits that are a date: of long and short months, of February, and of leap days.
_REAL_DAY = (
    f"{_YEARS}((0[13578]|1[02])(0[1-9]|[12][0-9]|3[01])"
    "|(0[469]|11)(0[1-9]|[12][0-9]|30)|02(0[1-9]|1[0-9]|2[0-8]))"
    "|([0-9]{2}(0[48]|[2468][048]|[13579][26])|(0[48]|[2468][048]|[13579][26])00)0229"
)


@dataclass(frozen=True)
class ParameterType:
    """A type of parameter; ``expected`` describes a valid value in words.

    ``read`` raises ValueError for a text that is not of the type. ``words`` are those of a closed
    vocabulary, ``of`` is the type of the values of a list, and ``members`` are those of the
    objects of a list, which only JSON can have.
    """

    expected: str
    read: Callable[[str], Any]
    schema: Schema
    words: Sequence[str] = ()
    of: "ParameterType | None" = None
    members: Sequence["Parameter"] = ()


def pattern_text(
    pattern: str, expected: str, upper: str = "", words: Sequence[str] = ()
) -> ParameterType:
    """Return the type of texts that match a pattern; those that match ``upper`` become capitals."""
    compiled, in_any_case = re.compile(pattern), re.compile(upper)

    def read(text: str) -> str:
        if not compiled.fullmatch(text):
            raise ValueError
        return text.upper() if in_any_case.fullmatch(text) else text

    # JSON Schema searches for a pattern anywhere, hence the anchors.
    return ParameterType(expected, read, {"type": "string", "pattern": f"^{pattern}$"}, words)


def free_text(longest: int, shortest: int = 1) -> ParameterType:
    """Return the type of any text within bounds of length."""

    def read(text: str) -> str:
        if not shortest <= len(text) <= longest:
            raise ValueError
        return text

    schema = {"type": "string", "minLength": shortest, "maxLength": longest}
    return ParameterType(f"a text of {shortest} to {longest} characters", read, schema)


def _read_country(written: str) -> str:
    code = COUNTRY.read(written) if len(written) <= _CODE else area_named(written)
    if code is None:
        raise ValueError
    return code if isinstance(code, str) else code[0]


_CODE = 3
COUNTRY = pattern_text("[A-Za-z]{2,3}", "two or three letters, ISO 3166-1", upper=".+")
COUNTRY_OR_NAME = ParameterType(
    "a country, by its ISO 3166-1 code or its English name", _read_country, {"type": "string"}
)


def opaque_text(longest: int) -> ParameterType:
    """Return the type of a token that we issued; whoever decodes it reports its own errors."""
    schema = {"type": "string", "minLength": 1, "maxLength": longest}
    return ParameterType("the value that the service returned, unchanged", str, schema)


def choice(words: Sequence[str]) -> ParameterType:
    """Return the type of one of several words."""

    def read(text: str) -> str:
        if text not in words:
            raise ValueError
        return text

    schema = {"type": "string", "enum": list(words)}
    return ParameterType(f"one of {', '.join(words)}", read, schema, words)


def list_of(of: ParameterType, most: int) -> ParameterType:
    """Return the type of several values: in a query separated by commas, in a tool a list."""

    def read(text: str) -> list[str]:
        texts = text.split(",")
        if len(texts) > most:
            raise ValueError
        # Each once.
        return list(dict.fromkeys(map(of.read, texts)))

    schema = {"type": "array", "items": of.schema, "minItems": 1, "maxItems": most}
    expected = f"1 to {most} values separated by commas, each {of.expected}"
    return ParameterType(expected, read, schema, of.words, of)


def _read_day(text: str) -> date:
    if not _DATE.fullmatch(text):
        raise ValueError
    return date.fromisoformat(text)


def _read_day_or_version(text: str) -> date | str:
    if DATA_VERSION.fullmatch(text) is None:
        return _read_day(text)
    # One of a day that there is not was never published.
    _read_day(f"{text[:4]}-{text[4:6]}-{text[6:8]}")
    return text


def _read_year(text: str) -> str:
    year_as_day(text, "01-01")
    return text


def year_as_day(text: str, month_day: str) -> date:
    """Parse a date, or a year as its day ``month_day``."""
    return _read_day(f"{text}-{month_day}" if _YEAR.fullmatch(text) else text)


_OF_DAY = {"type": "string", "format": "date"}
DAY = ParameterType("a valid date (YYYY-MM-DD)", _read_day, _OF_DAY)
# A future date is read as today.
DAY_BY_TODAY = replace(DAY, read=lambda text: min(_read_day(text), datetime.now(UTC).date()))
DAY_OR_VERSION = ParameterType(
    "a date YYYY-MM-DD, or a data_version such as 20261114.3",
    _read_day_or_version,
    {"anyOf": [_OF_DAY, {"type": "string", "pattern": f"^({_REAL_DAY})\\.[0-9]{{1,9}}$"}]},
)
# Read as text: which day a year means depends on the mode. Python has no year 0.
YEAR_OR_DAY = ParameterType(
    "a date YYYY-MM-DD, or in annual mode a year",
    _read_year,
    {"anyOf": [_OF_DAY, {"type": "string", "pattern": f"^{_YEARS}$"}]},
)
YEAR = ParameterType(
    "an integer, a year such as 2023",
    lambda text: _read_day(f"{text}-01-01").year,
    {"type": "integer", "minimum": 1000, "maximum": 9999},
)


def _read_flag(text: str) -> bool:
    if text not in ("true", "false"):
        raise ValueError
    return text == "true"


def _read_number(text: str) -> Decimal:
    if not _NUMBER.fullmatch(text):
        raise ValueError
    return Decimal(text)


FLAG = ParameterType("true or false", _read_flag, {"type": "boolean"})
# It may be sent as text to keep its digits.
NUMBER = ParameterType(
    "a number, such as 1250.5",
    _read_number,
    {
        "type": ["number", "string"],
        "minimum": -1e30,
        "maximum": 1e30,
        "pattern": f"^{_NUMBER.pattern}$",
    },
)
_PERIOD = re.compile(
    f"(FY ?)?{_YEARS}|{_YEARS}-Q[1-4]|{_YEARS}-(0[1-9]|1[0-2])|(H[12]|Q[1-4]|9M) FY{_YEARS}"
)


def _read_period(text: str) -> str:
    if not _PERIOD.fullmatch(text):
        _read_day(text)
    return text


PERIOD = ParameterType(
    "a year such as FY2020, a quarter 2024-Q3, a month 2024-10, a fiscal_label such as H1 FY2024, "
    "or the last day of the period",
    _read_period,
    {"anyOf": [_OF_DAY, {"type": "string", "pattern": f"^({_PERIOD.pattern})$"}]},
)


def row_count(ceiling: int) -> ParameterType:
    """Return the type of a number of rows, at least 1; the tier cap is checked later."""

    def read(text: str) -> int:
        digits = text.lstrip("0")
        if not _INTEGER.fullmatch(text) or not digits:
            raise ValueError
        return int(digits[:_MOST_DIGITS])

    schema = {"type": "integer", "minimum": 1, "maximum": ceiling}
    return ParameterType("an integer of at least 1", read, schema)


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


# The names that an organisation's id has among parameters.
_NAMES_OF_IDS = ("service_id", "entity_id", "id")


def as_declared(sent: Mapping[str, Any], declared: Mapping[str, Parameter]) -> Mapping[str, Any]:
    """Return what was sent by the declared names: an id may be sent by any name that ids have."""
    own = [name for name in _NAMES_OF_IDS if name in declared]
    named = [name for name in _NAMES_OF_IDS if name in sent]
    if len(own) != 1 or len(named) != 1:
        return sent
    return {own[0] if name == named[0] else name: value for name, value in sent.items()}


def objects_schema(members: Sequence[Parameter]) -> Schema:
    """Describe an object whose members are parameters."""
    return {
        "type": "object",
        "properties": {
            each.name: {**each.kind.schema, "description": each.description} for each in members
        },
        "required": [each.name for each in members if each.required],
        "additionalProperties": False,
    }


def list_of_objects(members: Sequence[Parameter], most: int, which: Schema) -> ParameterType:
    """Return the type of several objects with such members; ``which`` says what goes together."""

    def read(text: str) -> object:
        raise ValueError

    schema = {
        "type": "array",
        "items": {**objects_schema(members), **which},
        "minItems": 1,
        "maxItems": most,
    }
    names = ", ".join(each.name for each in members)
    return ParameterType(
        f"a list of 1 to {most} objects with {names}", read, schema, (), None, members
    )
