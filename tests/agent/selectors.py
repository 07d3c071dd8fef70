"""Selectors: where in earlier results a value stands, such as ``$1.data[0].service_id``.

``$1`` is the result of the first call, ``$tools`` the list of tools by name. Steps:

- ``.name``: a member; what is absent is None, as absent means unknown
- ``[0]``: an element; ``[-1]`` the last one
- ``[*]``: of every element what the rest of the selector says
- ``[name=value]``: the first element with this value; several conditions are separated by commas
- ``[?name=value]``: every element with this value; ``[?name]``: every element that has the member
- ``[~word]``: of an object, the first member whose name contains the word

Rows of a result have the members of ``shared``, as a reader takes them.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

_STEP = re.compile(r"\.(?P<member>\w+)|\[(?P<index>-?\d+)\]|\[(?P<rest>[^\]]+)\]")
_ROWS = ("data", "observations")


def is_selector(value: object) -> bool:
    return isinstance(value, str) and value.startswith("$")


def select(selector: str, results: Sequence[Any], tools: Mapping[str, Any]) -> Any:
    """Return what a selector points at in the results of earlier calls, or in the list of tools."""
    root, _, _ = selector[1:].partition(".")
    root = root.partition("[")[0]
    if root != "tools":
        assert 1 <= int(root) <= len(results), f"{selector} is of no earlier call"
    start = tools if root == "tools" else readable(results[int(root) - 1])
    steps = selector[1 + len(root) :]
    assert "".join(match[0] for match in _STEP.finditer(steps)) == steps, f"malformed: {selector}"
    return _follow(start, [match.groupdict() for match in _STEP.finditer(steps)])


def readable(result: Any) -> Any:
    """Return a result whose rows have the members that they share."""
    shared = result.get("shared", {})
    return {
        **result,
        **{name: [shared | row for row in result[name]] for name in _ROWS if name in result},
    }


def _follow(value: Any, steps: list[dict[str, str | None]]) -> Any:
    if not steps or value is None:
        return value
    step, rest = steps[0], steps[1:]
    if step["member"] is not None:
        return _follow(value.get(step["member"]), rest)
    if step["index"] is not None:
        position = int(step["index"])
        found = value[position] if -len(value) <= position < len(value) else None
        return _follow(found, rest)
    sought = str(step["rest"])
    if sought == "*":
        return [_follow(each, rest) for each in value]
    if sought.startswith("~"):
        named = (each for name, each in value.items() if sought[1:].casefold() in name.casefold())
        return _follow(next(named, None), rest)
    if sought.startswith("?"):
        return [_follow(each, rest) for each in value if _meets(each, sought[1:])]
    return _follow(next((each for each in value if _meets(each, sought)), None), rest)


def _meets(row: Mapping[str, Any], conditions: str) -> bool:
    for condition in conditions.split(","):
        name, has_value, value = condition.partition("=")
        if row.get(name) is None or (has_value and str(row[name]) != value):
            return False
    return True
