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
from pipelines.doctor.findings import CheckContext, Finding, fault, ok
from pipelines.ports import holder, is_free
from warehouse.publish.steps import ProcessPool
from warehouse.shared.settings import Settings

_DISK_FULL = (errno.ENOSPC, errno.EDQUOT)
_CLOCK_TOLERANCE = timedelta(minutes=5)


def python(context: CheckContext) -> Iterator[Finding]:
    """Check the version of Python."""
    python_version = ".".join(map(str, sys.version_info[:3]))
    wanted = str(metadata("sankofa")["Requires-Python"])
    if SpecifierSet(wanted).contains(python_version):
        yield ok("Python", f"{python_version}, {sys.executable}")
    else:
        yield fault("Python", f"{python_version} is not {wanted}", "install a Python that is")


def libraries(context: CheckContext) -> Iterator[Finding]:
    """Check that every required library is installed in a supported version."""
    needed = [Requirement(line) for line in requires("sankofa") or []]
    wrong = [
        words
        for requirement in needed
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""})
        if (words := _missing(requirement))
    ]
    if wrong:
        yield fault(
            "libraries",
            "; ".join(wrong),
            "install again: `make clean`, then `make run`; what was loaded stays",
        )
    else:
        yield ok("libraries", f"Sankofa {version('sankofa')}, and all that it needs")


def _missing(requirement: Requirement) -> str | None:
    try:
        installed = version(requirement.name)
    except PackageNotFoundError:
        return f"{requirement.name} is not installed"
    return (
        None
        if requirement.specifier.contains(installed)
        else f"{requirement.name} {installed} is not {requirement.specifier}"
    )


def compute(context: CheckContext) -> Iterator[Finding]:
    """Say how many processes compute a publication, and with how much memory."""
    settings = context.settings
    yield ok("compute", ProcessPool(settings.processes, settings.memory_mb).words)


def disk_space(context: CheckContext) -> Iterator[Finding]:
    """Check that every disk we write to has room for another build."""
    least = context.settings.least_free_mb
    for name, folder in _by_disk(context.settings).items():
        free = shutil.disk_usage(folder).free >> 20
        if free >= least:
            yield ok("disk space", f"{free:,} MB free at {folder} ({name})")
        else:
            yield fault(
                "disk space",
                f"no disk space: {free:,} MB free at {folder} ({name}); {least:,} MB are wanted",
                "free some, hold fewer builds (SANKOFA_KEEP_BUILDS), or set SANKOFA_LEAST_FREE_MB",
            )


def folders(context: CheckContext) -> Iterator[Finding]:
    """Check that every folder can be written, by writing a small file."""
    written: dict[Path, Finding | None] = {}
    for name, folder in _folders(context.settings).items():
        existing = _existing(folder)
        if existing not in written:
            written[existing] = _cannot_be_written(name, existing)
    wrong = [finding for finding in written.values() if finding is not None]
    yield from wrong
    if not wrong:
        yield ok("folders", f"{len(written)} folders can be written, below {context.settings.home}")


def clock(context: CheckContext) -> Iterator[Finding]:
    """Check that the clock is not behind the newest build."""
    now = datetime.now(UTC)
    moments = [build.published_at for build in list_builds(context.settings) if build.published_at]
    newest = max(moments, default=now)
    if newest > now + _CLOCK_TOLERANCE:
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
            "move it away, or configure another one",
        )
    try:
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".sankofa-doctor-") as file:
            # Only fsync reports a full disk or quota; small writes stay in the page cache.
            file.write(bytes(4096))
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        if error.errno in _DISK_FULL:
            says = f"no disk space: {folder} ({name}) is full"
            return fault("folders", says, "free some, or use a folder on another disk")
        says = f"{folder} ({name}) cannot be written: {error.strerror}"
        return fault(
            "folders", says, f"let user {os.getuid()} write there, or configure another one"
        )
    return None


def _folders(settings: Settings) -> dict[str, Path]:
    """Return the local folders that are written to, by what they are for."""
    urls = {
        "landing": settings.landing,
        "record": settings.record,
        "builds": settings.marts,
        "exports": settings.exports.removeprefix("file://"),
    }
    local = {name: Path(url) for name, url in urls.items() if "://" not in url}
    stores = {"control": settings.control, "usage": settings.usage}
    beside = {name: Path(url).parent for name, url in stores.items() if "://" not in url}
    ours = {
        "home": settings.home,
        "staging": settings.work,
        "Dagster": settings.dagster,
    }
    return {**ours, **local, **beside, "temporary files": Path(tempfile.gettempdir())}


def _by_disk(settings: Settings) -> dict[str, Path]:
    """Return one folder for every disk."""
    disks: dict[int, tuple[str, Path]] = {}
    for name, folder in _folders(settings).items():
        existing = _existing(folder)
        disks.setdefault(existing.stat().st_dev, (name, existing))
    return dict(disks.values())


def _existing(folder: Path) -> Path:
    """Return the folder, or its nearest parent that exists."""
    return next(path for path in (folder, *folder.absolute().parents) if path.exists())


# Parts of the command line by which our own servers are recognised.
_OURS = {"REST": ("-m api ",), "MCP": ("-m mcp_server",), "Dagster": ("bin/dagster", "-m dagster")}
OPTIONS = {"REST": "--port", "MCP": "--mcp-port", "Dagster": "--dagster-port"}


def ports(context: CheckContext) -> Iterator[Finding]:
    """Check that the port of every server is free, or used by that server."""
    for name, port in context.ports.items():
        if is_free(context.host, port):
            yield ok("ports", f"{port} is free ({name})")
            continue
        process = holder(port)
        if process is not None and any(words in process.command for words in _OURS[name]):
            yield ok("ports", f"our server answers at {port} ({name}): process {process.pid}")
            continue
        by = "" if process is None else f", by {process}"
        yield fault(
            "ports",
            f"port {port} is in use ({name}){by}",
            f"stop what listens there, or start with `{OPTIONS[name]}` of another number",
        )
