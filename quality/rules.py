"""The rules of a table, as data: a description, a value in SQL, and an expectation about it.

Importing rules is cheap: Great Expectations, which takes seconds to import, only runs them in
``expectations``. A rule checks each distinct value once, so its cost depends on the number of
distinct values and not on the number of rows.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from warehouse.record.rules import SERVED_LICENCES

Arguments = Mapping[str, Any]

_IS_TRUE: Arguments = {"value_set": [True]}


@dataclass(frozen=True)
class Rule:
    """One expectation about ``value``, which is SQL over ``relation`` or the suite's relation.

    ``expectation`` is the name of a Great Expectations class and ``arguments`` are its arguments.
    A relation of its own has a column ``row_reference``.
    """

    description: str
    column: str
    value: str
    expectation: str
    arguments: Arguments
    relation: str | None = None


@dataclass(frozen=True)
class Suite:
    """The rules of one table; ``row_reference`` is SQL for the text that identifies a row."""

    name: str
    table: str
    relation: str
    row_reference: str
    rules: tuple[Rule, ...]


def present(description: str, column: str, value: str | None = None) -> Rule:
    """Expect a value that is neither null nor empty."""
    # Great Expectations ignores nulls, so presence is checked as a condition that is never null.
    is_present = f"nullif({value or column}, '') IS NOT NULL"
    return Rule(description, column, is_present, "ExpectColumnValuesToBeInSet", _IS_TRUE)


def satisfies(description: str, column: str, condition: str, relation: str | None = None) -> Rule:
    """Expect a condition to be true, or null where it does not apply."""
    return Rule(description, column, condition, "ExpectColumnValuesToBeInSet", _IS_TRUE, relation)


def one_of(description: str, column: str, values: Iterable[str]) -> Rule:
    """Expect one of the values, or null if the column permits it."""
    return Rule(
        description, column, column, "ExpectColumnValuesToBeInSet", {"value_set": sorted(values)}
    )


# A missing licence must fail, and nulls are not checked: it is read as a class of its own.
LICENSED = Rule(
    "every row has a licence that permits serving it",
    "license_class",
    "coalesce(license_class, 'none')",
    "ExpectColumnValuesToBeInSet",
    {"value_set": list(SERVED_LICENCES)},
)


def matches(description: str, column: str, pattern: str) -> Rule:
    """Expect text that matches a pattern, or null."""
    return Rule(description, column, column, "ExpectColumnValuesToMatchRegex", {"regex": pattern})


def within(
    description: str, column: str, value: str, minimum: int | None, maximum: int | None
) -> Rule:
    """Expect a number within bounds, or null."""
    bounds = {"min_value": minimum, "max_value": maximum}
    return Rule(description, column, value, "ExpectColumnValuesToBeBetween", bounds)


def unique(description: str, table: str, key: Iterable[str], row_reference: str) -> Rule:
    """Expect no key to occur twice."""
    columns = ", ".join(key)
    occurrences = (
        f"SELECT count(*) AS occurrences, min({row_reference}) AS row_reference "
        f"FROM {table} GROUP BY {columns}"
    )
    return Rule(
        description,
        "rows_per_key",
        "occurrences",
        "ExpectColumnValuesToBeBetween",
        {"min_value": 1, "max_value": 1},
        occurrences,
    )
