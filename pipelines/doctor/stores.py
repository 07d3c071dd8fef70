"""The stores, keys and settings: whether a store answers, what is missing or has a wrong value."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from pipelines.doctor.findings import CheckContext, Finding, fault, note, ok
from warehouse.control.keys import KeyStore, list_keys
from warehouse.publish.builds import builds_at
from warehouse.publish.shared_builds import SETTING, read_list
from warehouse.record.landing import open_landing
from warehouse.record.store import Record
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
from warehouse.shared.settings import Settings
from warehouse.shared.tiers import configured_tiers

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
class _Store:
    """A store: its setting, the schemes its URL may have, and how it is read."""

    name: str
    setting: str
    location: str
    schemes: tuple[str, ...]
    otherwise: str
    read: Callable[[str], str]

    @property
    def shown(self) -> str:
        """The URL without a password; of an invalid one, only how it begins."""
        if self.is_wrong:
            return f"{self.location.partition(':')[0].partition('//')[0]}…"
        return _SECRET.sub("", self.location)

    @property
    def is_wrong(self) -> bool:
        """True if this looks like a URL but has no supported scheme and is no existing path."""
        supported = bool(self.schemes) and self.location.startswith(self.schemes)
        looks_like_url = _LIKE_URL.match(self.location) is not None
        return looks_like_url and not supported and not Path(self.location).exists()


def stores(context: CheckContext) -> Iterator[Finding]:
    """Read every store once."""
    settings = context.settings
    for store in (
        _Store("datastore", "SANKOFA_MARTS", settings.marts, (), "a folder", _datastore),
        *_shared_builds(settings),
        _Store(
            "control database",
            "SANKOFA_CONTROL",
            settings.control,
            _POSTGRES,
            "a file",
            partial(_control, settings),
        ),
        _Store("usage store", "SANKOFA_USAGE", settings.usage, _REDIS, "a file", _usage_store),
        _Store(
            "record",
            "SANKOFA_RECORD_URL",
            settings.record,
            _OBJECTS,
            "a folder",
            partial(_record, settings.caches),
        ),
        _Store("exports", "SANKOFA_EXPORTS", settings.exports, _OBJECTS, "a folder", _exports),
    ):
        yield _check(store)


def _check(store: _Store) -> Finding:
    if store.is_wrong:
        allowed = " or ".join([store.otherwise, *(f"{scheme}…" for scheme in store.schemes)])
        return fault(
            store.name,
            f"wrong URL: {store.setting} is {store.shown}",
            f"give {allowed}",
        )
    try:
        return ok(store.name, store.read(store.location))
    except _Unreadable as error:
        return fault(store.name, f"cannot be read: {error}", "`sankofa publish`")
    except NothingPublished as nothing:
        return note(store.name, f"answers, but {nothing}")
    except _Lost as lost:
        return fault(store.name, f"{store.shown} is missing", str(lost))
    except _Absent as absent:
        return note(store.name, f"{store.shown} does not exist yet", str(absent))
    except (DamagedFile, DamagedRecord) as error:
        return fault(store.name, f"is damaged: {error}", "`sankofa verify` lists what is damaged")
    except BadStore as error:
        return fault(store.name, str(error), f"correct {store.setting}")
    except ImportError as error:
        extra = next((extra for name, extra in _EXTRAS.items() if name in str(error)), "dev")
        return fault(store.name, f"its driver is missing ({error})", f"install the extra `{extra}`")
    # Drivers raise exceptions of any kind; all of them mean that the store does not answer.
    except Exception as error:
        return fault(
            store.name,
            f"is down, or its URL is wrong: {store.shown} does not answer ({in_one_line(error)})",
            f"start it, or correct {store.setting}",
        )


class _Unreadable(Exception):
    """A build that this version of the service cannot read."""


class _Absent(Exception):
    """A store of files that nobody made yet."""


class _Lost(Exception):
    """A store of files that was there."""


def _datastore(location: str) -> str:
    mart = Mart(location)
    try:
        if builds_at(location).current() is None:
            # Nothing is published, or the pointer is damaged.
            mart.build()
        return f"answers with data_version {check_readable(mart)}"
    except NothingPublished as error:
        if builds_at(location).current() is None:
            raise
        raise _Unreadable(str(error)) from error
    finally:
        mart.close()


def _shared_builds(settings: Settings) -> Iterator[_Store]:
    if settings.shared_marts:
        yield _Store(
            *("shared builds", SETTING, settings.shared_marts, _OBJECTS, "nothing"),
            partial(_shared, settings.marts),
        )


def _shared(marts: str, location: str) -> str:
    require_known_store(location, SETTING)
    shared, here = read_list(FileStore.of(location)).current, builds_at(marts).current()
    if shared is None:
        raise NothingPublished("nothing is shared there yet")
    return f"answers with data_version {shared}; this machine serves {here}"


def is_file_absent(location: str) -> bool:
    """Return whether a store would be a file, and there is none."""
    return "://" not in location and not Path(location).exists()


def was_used(settings: Settings) -> bool:
    """Return whether requests of keys were counted in a file."""
    return "://" not in settings.usage and not _is_absent(settings.usage)


def _control(settings: Settings, location: str) -> str:
    if is_file_absent(location):
        raise _Lost(_RESTORE_KEYS) if was_used(settings) else _Absent(_CREATE_KEYS)
    KeyStore(location).check()
    return "answers"


def _usage_store(location: str) -> str:
    if _is_absent(location):
        raise _Absent("the first request creates it")
    Usage(location).check()
    aside = Path(f"{location}.damaged")
    return f"answers; {aside} was damaged and is not counted" if aside.exists() else "answers"


def _is_absent(location: str) -> bool:
    """Return whether a file is missing."""
    return not location.startswith(_REDIS) and not Path(location).exists()


def _record(caches: Path, location: str) -> str:
    record = Record(location, caches=caches)
    if record.stored_table("loads") is None:
        raise _Absent("`sankofa ingest` creates it")
    (counted,) = record.query(
        f"SELECT count(*) AS loads FROM {record.relation('loads')}"
    ).to_pylist()
    return f"answers; {counted['loads']:,} loads"


def _exports(location: str) -> str:
    return f"answers; the latest is {PublishedExports(location).latest()}"


def api_keys(context: CheckContext) -> Iterator[Finding]:
    """Check that at least one API key works."""
    no_request, control = "no request can be authorised", context.settings.control
    try:
        rows = [] if is_file_absent(control) else list_keys(KeyStore(control))
    except SankofaError:
        # Whether the database answers is reported with the stores.
        return
    if not rows and was_used(context.settings):
        yield fault("API keys", f"{control} has none any more: {no_request}", _RESTORE_KEYS)
        return
    if not rows:
        yield note("API keys", f"there is none yet: {no_request}", _CREATE_KEYS)
        return
    active = [row for row in rows if row.is_active()]
    make = "`sankofa keys create --tier starter` creates one"
    if not active:
        yield fault("API keys", f"no key is in use: {no_request}", make)
    else:
        yield ok("API keys", f"{len(active)} in use")


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
    if reason is not None:
        yield fault(
            "withheld parties",
            f"SANKOFA_WITHHELD_KEY {reason}: real documents are neither loaded nor published",
            f"{MAKE_WITHHELD_KEY}; docs/operating.md says what to do in a home that was loaded "
            "under another key",
        )
    else:
        yield ok("withheld parties", "hashed under a secret")


def private_folders(context: CheckContext) -> Iterator[Finding]:
    """Check that other users of the machine cannot read documents, record, keys and counters."""
    opened = readable_by_others(context.settings)
    if opened:
        # A store of keys or counters holds no documents, and may be new.
        report = fault if any(path.is_dir() for path in opened) else note
        yield report(
            "private folders",
            f"other users can read {', '.join(map(str, opened))}",
            "the next other `sankofa` command of their owner closes them",
        )
    else:
        yield ok("private folders", "landing, record, stage, keys and counters are the user's own")


def setting_values(context: CheckContext) -> Iterator[Finding]:
    """Check the values of all settings and the file of tiers."""
    for error in context.setting_errors:
        yield fault("settings", str(error), f"correct or unset {error.name}")
    tiers = configured_tiers(context.settings.tiers_file)
    yield ok(
        "settings", f"{context.settings.keep_builds} builds are kept; tiers: {', '.join(tiers)}"
    )


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
