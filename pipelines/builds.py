"""The builds of an installation: list them, roll back, delete old ones."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import msgspec

from assets.exports.export import switch_latest
from warehouse.control.models import recorded
from warehouse.publish.builds import Builds, builds_at, delete_old_builds
from warehouse.publish.shared_builds import push_builds
from warehouse.record.store import Record, open_record
from warehouse.record.tables import RECORD_TABLES
from warehouse.record.withheld import withheld_fingerprint
from warehouse.serve.build import READABLE, Mart
from warehouse.serve.exports import PublishedExports
from warehouse.shared.errors import NothingPublished, SankofaError, UnknownVersion
from warehouse.shared.settings import Settings
from warehouse.shared.texts import version_key

# What to do in a home in which nothing is loaded.
BEGIN = (
    "`sankofa sample`, `sankofa ingest` and `sankofa publish` bring in the sample world (`sankofa "
    "up` does all three and serves it), `sankofa ingest --live` and `sankofa publish` real data"
)


def is_loaded(record: Record) -> bool:
    """Return whether any row was ever appended to the record."""
    return any(record.load_seq(table) for table in RECORD_TABLES)


def refuse_empty(record: Record) -> None:
    """Raise NothingPublished if no row was ever appended to the record."""
    if not is_loaded(record):
        raise NothingPublished(f"nothing is loaded, so there is nothing to publish: {BEGIN}")


def begin_with(settings: Settings) -> str:
    """Return what to do in a home in which nothing is published."""
    return "run `sankofa publish`" if is_loaded(open_record(settings)) else BEGIN


def builds_before_withheld(settings: Settings) -> list[str]:
    """Return the builds made before the last change of what is withheld or erased."""
    builds, fingerprint = builds_at(settings.marts), withheld_fingerprint(open_record(settings))
    return [
        name
        for name in (builds.names() if fingerprint else ())
        if f"withheld {fingerprint}" not in builds.metadata(name).get("made_from", "")
    ]


def roll_back(
    settings: Settings,
    data_version: str | None = None,
    *,
    even_with_withheld: bool = False,
    why: str = "",
) -> str:
    """Switch readers to an older build, by default the previous one; return its name.

    A build made before something was withheld is refused, unless ``even_with_withheld``. The action
    is recorded with ``why``.
    """
    builds = builds_at(settings.marts)
    wanted = data_version or "the build before the current one"
    with (
        builds.publishing_lock(),
        recorded(settings.control, "rollback", wanted, why) as action,
    ):
        previous = builds.current()
        name = data_version or _before(builds, previous)
        if name in builds.names():
            # A build that cannot be read is refused before anyone is switched to it.
            mart = Mart(settings.marts)
            mart.at(name).check_files()
            mart.close()
        if not even_with_withheld and name in builds_before_withheld(settings):
            raise SankofaError(
                f"{name} was made before the last change of what is withheld or erased, and may "
                "contain it; `sankofa publish` makes a build without it. If you have looked and "
                "it may be served, use --even-with-withheld"
            )
        action.what = f"from {previous} to {name}"
        builds.switch(name)
        if name in PublishedExports(settings.exports).versions():
            switch_latest(settings.exports, name)
        push_builds(builds, settings.shared_marts)
    return name


def drop_builds(
    settings: Settings,
    data_versions: Sequence[str] = (),
    *,
    all_others: bool = False,
    why: str = "",
) -> list[str]:
    """Delete builds with their exports, or all but the current one; return which.

    Whoever pins one of them is told that it was withdrawn. The action is recorded with ``why``.
    """
    builds = builds_at(settings.marts)
    wanted = ", ".join(data_versions) or "all others"
    with (
        builds.publishing_lock(),
        recorded(settings.control, "builds drop", wanted, why) as action,
    ):
        current, names = builds.current(), builds.names()
        exported = PublishedExports(settings.exports).versions()
        known = sorted({*names, *exported}, key=version_key)
        for name in data_versions:
            if name not in known:
                raise UnknownVersion(f"there is no build {name!r}; see `sankofa builds`")
            if name == current:
                raise SankofaError(
                    f"{name} is being served; publish a new build or roll back, then drop it"
                )
        chosen = [name for name in known if name != current] if all_others else data_versions
        action.what = ", ".join(chosen) or "no other build"
        for name in chosen:
            _withdraw(settings, name, by_operator())
        push_builds(builds, settings.shared_marts)
        return list(chosen)


def withdraw_builds(
    settings: Settings, data_versions: Sequence[str], reason: str, *, unpublish: bool = False
) -> None:
    """Withdraw versions, also those deleted before, but not the current one.

    With ``unpublish`` the current one too: then nothing is served.
    """
    builds = builds_at(settings.marts)
    with builds.publishing_lock():
        current = builds.current()
        for name in data_versions:
            if name != current or unpublish:
                _withdraw(settings, name, reason)
        push_builds(builds, settings.shared_marts)


def by_operator() -> str:
    """Return the reason of a withdrawal that clients are told."""
    return f"its publisher removed it on {datetime.now(UTC):%Y-%m-%d}"


def _withdraw(settings: Settings, name: str, reason: str) -> None:
    """Withdraw a build with its exports; the publishing lock is taken."""
    builds_at(settings.marts).withdraw(name, reason)
    published = PublishedExports(settings.exports)
    if name in published.versions():
        published.remove(name)


def _before(builds: Builds, current: str | None) -> str:
    if current is None:
        raise NothingPublished("nothing has been published yet; run `sankofa publish`")
    # The current one itself may be gone.
    older = [name for name in builds.names() if version_key(name) < version_key(current)]
    if not older:
        raise UnknownVersion("there is no build before the current one; see `sankofa builds`")
    # Newer code may publish alongside this version, which cannot read those builds.
    readable = [name for name in older if builds.metadata(name).get("layout") in READABLE]
    return (readable or older)[-1]


def clear_unpublished(marts: str, exports: str) -> None:
    """Delete the exports of a publisher that died before its build was published."""
    published, build_names = PublishedExports(exports), builds_at(marts).names()
    try:
        last = version_key(published.latest())
    except NothingPublished:
        last = ()
    for name in published.versions():
        if name not in build_names and version_key(name) > last:
            published.remove(name)


def delete_old_versions(settings: Settings) -> list[str]:
    """Delete all but the newest builds and the current one, with exports; return which.

    Also deletes what an earlier, killed call left behind.
    """
    builds, keep = builds_at(settings.marts), settings.keep_builds
    deleted = delete_old_builds(builds, keep)
    if deleted:
        with builds.publishing_lock():
            push_builds(builds, settings.shared_marts)
    published, build_names = PublishedExports(settings.exports), builds.names()
    versions = published.versions()
    for name in versions:
        if name in deleted or (name in versions[:-keep] and name not in build_names):
            published.remove(name)
    return deleted


# Keys of a build's metadata, in addition to its manifest.
COUNTS, MEASURED = "served_counts", "measured"
LEFT_OUT, ACCEPTED = "left_out", "accepted_shares"


@dataclass(frozen=True)
class BuildInfo:
    """A build as `sankofa builds` lists it; ``current`` marks the one that readers see."""

    data_version: str
    current: bool
    published_at: datetime | None
    rows: int | None
    schema_version: int | None = None


class _Measurement(msgspec.Struct):
    measured_at: datetime


_measurements = msgspec.json.Decoder(list[_Measurement])
_counts = msgspec.json.Decoder(dict[str, dict[str, int]])


def list_builds(settings: Settings) -> list[BuildInfo]:
    """Return all builds, the newest first."""
    builds = builds_at(settings.marts)
    current = builds.current()
    return [
        _info(name, name == current, builds.metadata(name)) for name in reversed(builds.names())
    ]


def last_published(settings: Settings) -> datetime | None:
    """Return when the newest build was published."""
    moments = [build.published_at for build in list_builds(settings) if build.published_at]
    return max(moments, default=None)


def _info(name: str, current: bool, metadata: Mapping[str, str]) -> BuildInfo:
    measurements = _measurements.decode(metadata.get(MEASURED, "[]"))
    counts = _counts.decode(metadata[COUNTS]) if COUNTS in metadata else None
    return BuildInfo(
        name,
        current,
        max((measurement.measured_at for measurement in measurements), default=None),
        None if counts is None else sum(sum(table.values()) for table in counts.values()),
        int(metadata.get("layout", 0)) or None,
    )
