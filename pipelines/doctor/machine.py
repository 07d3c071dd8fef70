"""The machine: Python, libraries, disk space, folders that can be written, the clock."""

import errno
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from importlib.metadata import PackageNotFoundError, metadata, requires, version
from pathlib import Path

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from pipelines.builds import list_builds
from pipelines.doctor.findings import Asked, Finding, fault, ok
from pipelines.ports import holder, is_free
from warehouse.settings import Settings

_FULL = (errno.ENOSPC, errno.EDQUOT)
_SLACK = timedelta(minutes=5)


def python(asked: Asked) -> Iterator[Finding]:
    """See which Python runs."""
    said = ".".join(map(str, sys.version_info[:3]))
    wanted = str(metadata("sankofa")["Requires-Python"])
    if SpecifierSet(wanted).contains(said):
        yield ok("Python", f"{said}, {sys.executable}")
    else:
        yield fault("Python", f"{said} is not {wanted}", "install a Python that is")


def libraries(asked: Asked) -> Iterator[Finding]:
    """See whether every library is there in a version that we know."""
    needed = [Requirement(each) for each in requires("sankofa") or []]
    wrong = [
        words
        for each in needed
        if each.marker is None or each.marker.evaluate({"extra": ""})
        if (words := _missing(each))
    ]
    if wrong:
        yield fault(
            "libraries",
            "; ".join(wrong),
            "install again: `make clean`, then `make run`; what was loaded stays",
        )
    else:
        yield ok("libraries", f"Sankofa {version('sankofa')}, and all that it needs")


def _missing(each: Requirement) -> str | None:
    try:
        held = version(each.name)
    except PackageNotFoundError:
        return f"{each.name} is not installed"
    return None if each.specifier.contains(held) else f"{each.name} {held} is not {each.specifier}"


def disk_space(asked: Asked) -> Iterator[Finding]:
    """See whether every disk that is written to has room for another build."""
    least = asked.settings.least_free_mb
    for name, folder in _by_disk(asked.settings).items():
        free = shutil.disk_usage(folder).free >> 20
        if free >= least:
            yield ok("disk space", f"{free:,} MB free at {folder} ({name})")
        else:
            yield fault(
                "disk space",
                f"no disk space: {free:,} MB free at {folder} ({name}); {least:,} MB are wanted",
                "free some, hold fewer builds (SANKOFA_KEEP_BUILDS), or set SANKOFA_LEAST_FREE_MB",
            )


def folders(asked: Asked) -> Iterator[Finding]:
    """See whether every folder can be written, by writing a little to it."""
    written: dict[Path, Finding | None] = {}
    for name, folder in _folders(asked.settings).items():
        existing = _existing(folder)
        if existing not in written:
            written[existing] = _cannot_be_written(name, existing)
    wrong = [each for each in written.values() if each is not None]
    yield from wrong
    if not wrong:
        yield ok("folders", f"{len(written)} folders can be written, below {asked.settings.home}")


def clock(asked: Asked) -> Iterator[Finding]:
    """See whether the clock stands before something that has happened."""
    now = datetime.now(UTC)
    moments = [each.published_at for each in list_builds(asked.settings) if each.published_at]
    newest = max(moments, default=now)
    if newest > now + _SLACK:
        yield fault(
            "clock",
            f"the clock says {now:%Y-%m-%d %H:%M} UTC, before the newest build was published "
            f"({newest:%Y-%m-%d %H:%M} UTC)",
            "set this machine's clock, or let it follow a time server",
        )
    else:
        yield ok("clock", f"{now:%Y-%m-%d %H:%M} UTC")


def _cannot_be_written(name: str, folder: Path) -> Finding | None:
    if not folder.is_dir():
        return fault(
            "folders",
            f"{folder} ({name}) is a file, where a folder is needed",
            "move it away, or name another place",
        )
    try:
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".sankofa-doctor-") as file:
            file.write(bytes(4096))
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        if error.errno in _FULL:
            says = f"no disk space: {folder} ({name}) is full"
            return fault("folders", says, "free some, or name a place on another disk")
        says = f"{folder} ({name}) cannot be written: {error.strerror}"
        return fault("folders", says, f"let user {os.getuid()} write there, or name another place")
    return None


def _folders(settings: Settings) -> dict[str, Path]:
    """Give every local folder that is written to, by what it is."""
    places = {
        "landing": settings.landing,
        "record": settings.record,
        "builds": settings.marts.removeprefix("sqlite:///"),
        "exports": settings.exports.removeprefix("file://"),
    }
    local = {name: Path(place) for name, place in places.items() if "://" not in place}
    stores = {"keys": settings.keys, "usage": settings.usage}
    beside = {name: Path(place).parent for name, place in stores.items() if "://" not in place}
    ours = {
        "home": settings.home,
        "staging": settings.work,
        "Dagster": settings.dagster,
        "pages": settings.docs,
    }
    return {**ours, **local, **beside, "temporary files": Path(tempfile.gettempdir())}


def _by_disk(settings: Settings) -> dict[str, Path]:
    """Give one folder of each disk."""
    disks: dict[int, tuple[str, Path]] = {}
    for name, folder in _folders(settings).items():
        existing = _existing(folder)
        disks.setdefault(existing.stat().st_dev, (name, existing))
    return dict(disks.values())


def _existing(folder: Path) -> Path:
    """Give the folder, or the nearest above it that is there."""
    return next(each for each in (folder, *folder.absolute().parents) if each.exists())


# How the command of each server of ours is recognised.
_OURS = {"REST": ("-m api ",), "MCP": ("-m mcp_server",), "Dagster": ("bin/dagster", "-m dagster")}
OPTIONS = {"REST": "--port", "MCP": "--mcp-port", "Dagster": "--dagster-port"}


def ports(asked: Asked) -> Iterator[Finding]:
    """See whether each server of ours can listen, or does."""
    for name, port in asked.ports.items():
        if is_free(asked.host, port):
            yield ok("ports", f"{port} is free ({name})")
            continue
        found = holder(port)
        if found is not None and any(each in found.command for each in _OURS[name]):
            yield ok("ports", f"our server answers at {port} ({name}): process {found.pid}")
            continue
        by = "" if found is None else f", by {found}"
        yield fault(
            "ports",
            f"port {port} is in use ({name}){by}",
            f"stop what listens there, or start with `{OPTIONS[name]}` of another number",
        )
