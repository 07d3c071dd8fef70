"""What a rule of a table is: in words, over which value, and how it is checked.

Rules are data and load nothing: Great Expectations, which takes seconds to load, reads them
in ``expectations``. A rule looks at one value of each row, written in SQL, and sees every
distinct value once: its cost follows the values, not the rows.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from warehouse.tables import LICENSE_CLASSES

Given = Mapping[str, Any]

SERVED_CLASSES = tuple(each for each in LICENSE_CLASSES if each != "restricted")
SERVICE_ID = "^DC[0-9A-Z]+$"
COUNTRY = "^[A-Z]{2}$"
ISO3 = CURRENCY = "^[A-Z]{3}$"
_TRUE: Given = {"value_set": [True]}


@dataclass(frozen=True)
class Rule:
    """One expectation: ``value`` is SQL over ``relation``, else over the suite's."""

    words: str
    column: str
    value: str
    expectation: str
    given: Given
    relation: str | None = None


@dataclass(frozen=True)
class Suite:
    """The rules of one table, and where a row of it is found: ``place`` is SQL."""

    name: str
    table: str
    relation: str
    place: str
    rules: tuple[Rule, ...]


def given(words: str, column: str, value: str | None = None) -> Rule:
    """Expect a value that is there, and no empty text."""
    seen = f"nullif({value or column}, '')"
    return Rule(words, column, f"{seen} IS NOT NULL", "ExpectColumnValuesToBeInSet", _TRUE)


def holds(words: str, column: str, condition: str, relation: str | None = None) -> Rule:
    """Expect a condition that is true, or null where it does not apply."""
    return Rule(words, column, condition, "ExpectColumnValuesToBeInSet", _TRUE, relation)


def one_of(words: str, column: str, values: Iterable[str]) -> Rule:
    """Expect one of some values, or null where the column permits it."""
    return Rule(words, column, column, "ExpectColumnValuesToBeInSet", {"value_set": sorted(values)})


# None at all is a fault, so it is read as a class of its own.
LICENSED = Rule(
    "every row has a licence under which it may be served",
    "license_class",
    "coalesce(license_class, 'none')",
    "ExpectColumnValuesToBeInSet",
    {"value_set": list(SERVED_CLASSES)},
)


def matches(words: str, column: str, pattern: str) -> Rule:
    """Expect text of a pattern, or null."""
    return Rule(words, column, column, "ExpectColumnValuesToMatchRegex", {"regex": pattern})


def within(words: str, column: str, value: str, least: int | None, most: int | None) -> Rule:
    """Expect a number between two, or null."""
    bounds = {"min_value": least, "max_value": most}
    return Rule(words, column, value, "ExpectColumnValuesToBeBetween", bounds)


def unique(words: str, table: str, key: Iterable[str], place: str) -> Rule:
    """Expect each key once."""
    columns = ", ".join(key)
    times = f"SELECT count(*) AS times, min({place}) AS place FROM {table} GROUP BY {columns}"
    return Rule(
        words,
        "rows_of_a_key",
        "times",
        "ExpectColumnValuesToBeBetween",
        {"min_value": 1, "max_value": 1},
        times,
    )
