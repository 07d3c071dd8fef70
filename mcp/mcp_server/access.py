"""The log of requests: lines are gathered and written together, a moment later."""

import asyncio
import logging

_ACCESS = logging.getLogger("sankofa.access")
_A_MOMENT = 0.1
_gathered: list[str] = []


def log_access(line: str) -> None:
    """Log a line of a request; the first of many sees to it that they are written."""
    if not _gathered:
        asyncio.get_running_loop().call_later(_A_MOMENT, write_log)
    _gathered.append(line)


def write_log() -> None:
    """Write what was gathered, in one piece."""
    lines = "\n".join(_gathered[:1] + [f"{_ACCESS.name} {line}" for line in _gathered[1:]])
    _gathered.clear()
    if lines:
        _ACCESS.info(lines)
