"""Address patterns: texts with placeholders such as ``{year}``, ``{month:02}`` or ``{page}``."""

from collections.abc import Mapping
from string import Formatter
from typing import Any


class PatternError(ValueError):
    """A pattern that cannot be filled; the message says which placeholder and why."""


def placeholders(pattern: str) -> dict[str, str]:
    """Return the placeholders of a pattern, each with its format."""
    try:
        parts = [(name, spec) for _, name, spec, _ in Formatter().parse(pattern)]
    except ValueError as error:
        raise PatternError(f"{pattern!r}: {error}") from None
    return {name: spec or "" for name, spec in parts if name is not None}


def check_pattern(pattern: str, examples: Mapping[str, Any]) -> None:
    """Raise PatternError for a placeholder that is not known here, or a format that is not valid.

    ``examples`` has a value for each placeholder that may be used.
    """
    for name, spec in placeholders(pattern).items():
        if name not in examples:
            known = ", ".join(f"{{{known}}}" for known in sorted(examples)) or "none"
            raise PatternError(f"{{{name}}} is not known here; possible: {known}")
        try:
            format(examples[name], spec)
        except (ValueError, TypeError) as error:
            raise PatternError(f"{{{name}:{spec}}} cannot be written: {error}") from None


def fill(pattern: str, values: Mapping[str, Any]) -> str:
    """Replace the placeholders of a pattern."""
    return pattern.format(**values)


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
    return fill(value, values)


def texts_in(value: Any, name: str) -> dict[str, str]:
    """Return all texts of a JSON value by their names, such as ``body.skip``."""
    if isinstance(value, dict):
        members = [texts_in(member, f"{name}.{key}") for key, member in value.items()]
    elif isinstance(value, list):
        members = [texts_in(item, f"{name}[{n}]") for n, item in enumerate(value)]
    else:
        return {name: value} if isinstance(value, str) else {}
    return {name: text for found in members for name, text in found.items()}
