"""The builds that are held, by what each says of itself."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

import msgspec

from warehouse.mart.builds import builds_at
from warehouse.settings import Settings

# What a build says of itself beside its manifest.
COUNTS, MEASURED = "served_counts", "measured"


@dataclass(frozen=True)
class Held:
    """A build that is held: whether it is the one that is read, since when, how much it has."""

    data_version: str
    current: bool
    published_at: datetime | None
    rows: int | None


class _Measurement(msgspec.Struct):
    measured_at: datetime


_measurements = msgspec.json.Decoder(list[_Measurement])
_counts = msgspec.json.Decoder(dict[str, dict[str, int]])


def held_builds(settings: Settings) -> list[Held]:
    """Give the builds that are held, the newest first."""
    builds = builds_at(settings.marts)
    current = builds.current()
    return [
        _held(name, name == current, builds.metadata(name)) for name in reversed(builds.names())
    ]


def _held(name: str, current: bool, about: Mapping[str, str]) -> Held:
    measured = _measurements.decode(about.get(MEASURED, "[]"))
    counted = _counts.decode(about[COUNTS]) if COUNTS in about else None
    return Held(
        name,
        current,
        max((each.measured_at for each in measured), default=None),
        None if counted is None else sum(sum(each.values()) for each in counted.values()),
    )
