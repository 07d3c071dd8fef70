"""What ``sankofa doctor`` finds out about the machine, its stores, keys and settings."""

import errno
import os
import platform
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Literal

from warehouse.control.keys import KeyStore, list_keys
from warehouse.publish.builds import builds_at
from warehouse.publish.shared_builds import SETTING, read_list
from warehouse.publish.steps import compute_of
from warehouse.record.landing import open_landing
from warehouse.record.store import open_record
from warehouse.record.versions import MAKE_WITHHELD_KEY, why_weak
from warehouse.serve.build import Mart, check_readable
from warehouse.serve.exports import PublishedExports
from warehouse.serve.usage import Usage
from warehouse.shared.errors import (
    BadStore,
    DamagedFile,
    DamagedRecord,
    NothingPublished,
    SankofaError,
    in_one_line,
)
from warehouse.shared.file_store import FileStore, require_known_store
from warehouse.shared.files import readable_by_others
from warehouse.shared.settings import SETTINGS, SettingError, Settings
from warehouse.shared.tiers import configured_tiers

_DISK_FULL = (errno.ENOSPC, errno.EDQUOT)
_LIKE_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+(:|//)")
_SECRET = re.compile(r"(?<=//).*@|\?.*")
_REDIS = ("redis://", "rediss://", "unix://")
_POSTGRES = ("postgresql://", "postgres://")
_OBJECTS = ("s3://", "gs://", "az://", "abfs://")
_EXTRAS = {"redis": "redis", "s3fs": "s3"}
# What to do without keys, and without those that there were.
_CREATE_KEYS = "`sankofa keys sandbox` or `sankofa keys create --tier starter` creates one"
_RESTORE_KEYS = "restore it from a backup, or create new keys with `sankofa keys create`"


@dataclass(frozen=True)
class Finding:
    """The result of one check; a note or a fault says what to do."""

    subject: str
    state: Literal["ok", "note", "fault"]
    says: str
    do: str | None = None


@dataclass(frozen=True)
class CheckContext:
    """What the checks run against; ``live`` also sends a request to each source."""

    settings: Settings
    live: bool = False
    setting_errors: Sequence[SettingError] = ()


def ok(subject: str, says: str) -> Finding:
    """Return a finding that something is in order."""
    return Finding(subject, "ok", says)


def note(subject: str, says: str, do: str | None = None) -> Finding:
    """Return a finding that is worth knowing but no fault."""
    return Finding(subject, "note", says, do)


def fault(subject: str, says: str, do: str) -> Finding:
    """Return a fault and what to do about it."""
    return Finding(subject, "fault", says, do)


def program(context: CheckContext) -> Iterator[Finding]:
    """Say which Sankofa it is and which Python runs it: pip installs it only with what it needs."""
    python = f"Python {platform.python_version()}, {sys.executable}"
    yield ok("program", f"Sankofa {version('sankofa')}, {python}")


def compute(context: CheckContext) -> Iterator[Finding]:
    """Say how many processes compute a publication, and with how much memory."""
    with compute_of(context.settings) as used:
        yield ok("compute", used.words)


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
    parents = {name: Path(url).parent for name, url in stores.items() if "://" not in url}
    ours = {
        "home": settings.home,
        "staging": settings.work,
        "Dagster": settings.dagster,
    }
    return {**ours, **local, **parents, "temporary files": Path(tempfile.gettempdir())}


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


# Reads a store: what it answers, or the finding that it is not there.
_Read = Callable[[Settings], str | Finding]


def stores(context: CheckContext) -> Iterator[Finding]:
    """Read every store once."""
    settings = context.settings
    yield _checked(settings, "datastore", "marts", "a folder", (), _datastore)
    if settings.shared_marts:
        yield _checked(settings, "shared builds", "shared_marts", "nothing", _OBJECTS, _shared)
    yield _checked(settings, "control database", "control", "a file", _POSTGRES, _control)
    yield _checked(settings, "usage store", "usage", "a file", _REDIS, _usage)
    yield _checked(settings, "record", "record", "a folder", _OBJECTS, _record)
    yield _checked(settings, "exports", "exports", "a folder", _OBJECTS, _exports)


def _checked(
    settings: Settings,
    name: str,
    field: str,
    otherwise: str,
    schemes: tuple[str, ...],
    read: _Read,
) -> Finding:
    """Read a store, which is a path (``otherwise``) or a URL of one of the schemes."""
    location, setting = str(getattr(settings, field)), SETTINGS[field].name
    is_path = _LIKE_URL.match(location) is None or Path(location).exists()
    if not is_path and not location.startswith(schemes or ("\0",)):
        # Of an invalid URL only how it begins: a password may be anywhere in it.
        shown = f"{location.partition(':')[0].partition('//')[0]}…"
        allowed = " or ".join([otherwise, *(f"{scheme}…" for scheme in schemes)])
        return fault(name, f"wrong URL: {setting} is {shown}", f"give {allowed}")
    try:
        answer = read(settings)
        return answer if isinstance(answer, Finding) else ok(name, answer)
    except NothingPublished as nothing:
        return note(name, f"answers, but {nothing}")
    except (DamagedFile, DamagedRecord) as error:
        return fault(name, f"is damaged: {error}", "`sankofa verify` lists what is damaged")
    except BadStore as error:
        return fault(name, str(error), f"correct {setting}")
    except ImportError as error:
        extra = next((extra for part, extra in _EXTRAS.items() if part in str(error)), "dev")
        return fault(name, f"its driver is missing ({error})", f"install the extra `{extra}`")
    # Drivers raise exceptions of any kind; all of them mean that the store does not answer.
    except Exception as error:
        shown = _SECRET.sub("", location)
        return fault(
            name,
            f"is down, or its URL is wrong: {shown} does not answer ({in_one_line(error)})",
            f"start it, or correct {setting}",
        )


def _datastore(settings: Settings) -> str | Finding:
    mart, current = Mart(settings.marts), builds_at(settings.marts).current()
    try:
        if current is None:
            # Nothing is published, or the pointer is damaged.
            mart.build()
        return f"answers with data_version {check_readable(mart)}"
    except NothingPublished as error:
        if current is None:
            raise
        return fault("datastore", f"cannot be read: {error}", "`sankofa publish`")
    finally:
        mart.close()


def _shared(settings: Settings) -> str:
    require_known_store(settings.shared_marts, SETTING)
    shared = read_list(FileStore.of(settings.shared_marts)).current
    if shared is None:
        raise NothingPublished("nothing is shared there yet")
    here = builds_at(settings.marts).current()
    return f"answers with data_version {shared}; this machine serves {here}"


def _is_absent(location: str) -> bool:
    """Return whether a store would be a file, and there is none."""
    return "://" not in location and not Path(location).exists()


def _was_used(settings: Settings) -> bool:
    """Return whether requests of keys were counted in a file."""
    return "://" not in settings.usage and not _is_absent(settings.usage)


def _control(settings: Settings) -> str | Finding:
    if not _is_absent(settings.control):
        KeyStore(settings.control).check()
        return "answers"
    if _was_used(settings):
        return fault("control database", f"{settings.control} is missing", _RESTORE_KEYS)
    return note("control database", f"{settings.control} does not exist yet", _CREATE_KEYS)


def _usage(settings: Settings) -> str | Finding:
    location = settings.usage
    if _is_absent(location):
        says = f"{location} does not exist yet"
        return note("usage store", says, "the first request creates it")
    Usage(location).check()
    aside = Path(f"{location}.damaged")
    return f"answers; {aside} was damaged and is not counted" if aside.exists() else "answers"


def _record(settings: Settings) -> str | Finding:
    record = open_record(settings)
    if record.stored_table("loads") is None:
        says = f"{_SECRET.sub('', settings.record)} does not exist yet"
        return note("record", says, "`sankofa ingest` creates it")
    counted = record.query(f"SELECT count(*) AS loads FROM {record.relation('loads')}")
    return f"answers; {counted['loads'][0].as_py():,} loads"


def _exports(settings: Settings) -> str:
    return f"answers; the latest is {PublishedExports(settings.exports).latest()}"


def api_keys(context: CheckContext) -> Iterator[Finding]:
    """Check that at least one API key works."""
    no_request, control = "no request can be authorised", context.settings.control
    try:
        rows = [] if _is_absent(control) else list_keys(KeyStore(control))
    except SankofaError:
        # Whether the database answers is reported with the stores.
        return
    active = sum(row.is_active() for row in rows)
    if active:
        yield ok("API keys", f"{active} in use")
    elif rows:
        make = "`sankofa keys create --tier starter` creates one"
        yield fault("API keys", f"no key is in use: {no_request}", make)
    elif _was_used(context.settings):
        yield fault("API keys", f"{control} has none any more: {no_request}", _RESTORE_KEYS)
    else:
        yield note("API keys", f"there is none yet: {no_request}", _CREATE_KEYS)


def signing_key(context: CheckContext) -> Iterator[Finding]:
    """Check that only its owner can read the key that signs manifests."""
    path = context.settings.signing_key
    if not path.exists():
        yield note("signing key", f"{path} does not exist yet", "the first publication creates it")
    elif path.stat().st_mode & 0o077:
        says = f"{path} can be read by other users"
        yield fault("signing key", says, f"restrict it: `chmod 600 {path}`")
    else:
        yield ok("signing key", "exists, readable only by its owner")


def contact(context: CheckContext) -> Iterator[Finding]:
    """Check that a contact is set, which sources are sent."""
    if context.settings.contact:
        yield ok("contact", f"SANKOFA_CONTACT is {context.settings.contact}")
        return
    report = fault if context.live else note
    yield report(
        "contact",
        "missing: SANKOFA_CONTACT is not set, and live sources block anonymous clients",
        "set it to your e-mail address or web page",
    )


def withheld_key(context: CheckContext) -> Iterator[Finding]:
    """Check that withheld parties of real sources are hashed under a secret."""
    if open_landing(context.settings).world() != "real":
        return
    reason = why_weak(context.settings.withheld_key)
    if reason is None:
        yield ok("withheld parties", "hashed under a secret")
    else:
        yield fault(
            "withheld parties",
            f"SANKOFA_WITHHELD_KEY {reason}: real documents are neither loaded nor published",
            f"{MAKE_WITHHELD_KEY}; docs/operating.md says what to do in a home that was loaded "
            "under another key",
        )


def private_folders(context: CheckContext) -> Iterator[Finding]:
    """Check that other users of the machine cannot read documents, record, keys and counters."""
    opened = readable_by_others(context.settings)
    if not opened:
        yield ok("private folders", "landing, record, stage, keys and counters are the user's own")
        return
    # A store of keys or counters holds no documents, and may be new.
    report = fault if any(path.is_dir() for path in opened) else note
    yield report(
        "private folders",
        f"other users can read {', '.join(map(str, opened))}",
        "the next other `sankofa` command of their owner closes them",
    )


def setting_values(context: CheckContext) -> Iterator[Finding]:
    """Check the values of all settings and the file of tiers."""
    for error in context.setting_errors:
        yield fault("settings", str(error), f"correct or unset {error.name}")
    tiers, kept = configured_tiers(context.settings.tiers_file), context.settings.keep_builds
    yield ok("settings", f"{kept} builds are kept; tiers: {', '.join(tiers)}")
