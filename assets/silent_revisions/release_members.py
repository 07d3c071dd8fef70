"""Which members of a tender release differ from those of an earlier reading.

A member has a path such as ``tender.value.amount`` or ``awards[AW-1].status``: an element of a list
is known by its ``id``, or by its position if the elements have none of their own.
"""

import json
from collections.abc import Iterator
from typing import Any


def changed_members(before: str, after: str) -> Iterator[tuple[str, str | None, str | None]]:
    """Yield path, old and new text of every member that differs; None where it is absent."""
    old, new = (dict(_members("", _decode(text))) for text in (before, after))
    for path in dict.fromkeys([*old, *new]):
        if old.get(path) != new.get(path):
            yield path, old.get(path), new.get(path)


def _decode(text: str) -> Any:
    # Numbers stay text: digits are compared, and shown, as the portal wrote them.
    return json.loads(text, parse_float=str, parse_int=str)


def _members(path: str, value: Any) -> Iterator[tuple[str, str | None]]:
    """Yield the path and the text of every member that holds no others."""
    if isinstance(value, dict) and value:
        for name, inner in value.items():
            yield from _members(f"{path}.{name}" if path else name, inner)
    elif isinstance(value, list) and value:
        for name, inner in _named_elements(value):
            yield from _members(f"{path}[{name}]", inner)
    elif path:
        yield path, _text(value)


def _named_elements(elements: list[Any]) -> Iterator[tuple[str, Any]]:
    ids = [element.get("id") if isinstance(element, dict) else None for element in elements]
    names = [name for name in ids if isinstance(name, str)]
    if len(set(names)) < len(elements):
        names = [str(position) for position in range(len(elements))]
    return zip(names, elements, strict=True)


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value)
