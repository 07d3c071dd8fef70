"""When assets are materialised by themselves: fetched by the clock, everything else when it can be.

A source that is late is loaded when it comes, and published then; nothing waits for an hour of the
night. The conditions are evaluated by two sensors, so that fetching, which sends requests to
others, is turned on by itself.
"""

from datetime import timedelta
from typing import Any

import dagster as dg

from warehouse.settings import Settings

# How far back partitions are fetched again every night: as long as a source still edits what it
# published, and over the end of a month. A window counts if it lies in this span as a whole.
_LOOK_BACK: dict[type, timedelta] = {
    dg.DailyPartitionsDefinition: timedelta(days=31),
    dg.MonthlyPartitionsDefinition: timedelta(days=62),
}
FETCH_SENSOR, FETCH_CRON = "fetch_every_night", "0 3 * * *"
_AT_THREE: dg.AutomationCondition[Any] = dg.AutomationCondition.cron_tick_passed(FETCH_CRON)
_NIGHTLY = _AT_THREE.since_last_handled()
# Not `eager`, which waits until every upstream partition was fetched once.
WHEN_INPUTS_CHANGE = (
    (
        dg.AutomationCondition.any_deps_updated()
        | dg.AutomationCondition.any_deps_match(dg.AutomationCondition.will_be_requested())
    ).since_last_handled()
    & ~dg.AutomationCondition.any_deps_in_progress()
    & ~dg.AutomationCondition.in_progress()
)


def nightly(partitions: dg.PartitionsDefinition[str] | None) -> dg.AutomationCondition[Any]:
    """Return when a source is fetched: at 3:00, with the partitions that it may have changed."""
    look_back = _LOOK_BACK.get(type(partitions))
    if look_back is None:
        return _NIGHTLY
    return _NIGHTLY & dg.AutomationCondition.in_latest_time_window(look_back)


def automation_sensors(
    settings: Settings, fetched: dg.AssetSelection
) -> list[dg.AutomationConditionSensorDefinition]:
    """Return what evaluates the conditions: of fetching with a contact, of the rest always."""
    return [
        dg.AutomationConditionSensorDefinition(
            FETCH_SENSOR,
            target=fetched,
            description="Fetch every source at 3:00, with what it may have changed. On by itself "
            "if SANKOFA_CONTACT is set.",
            default_status=_status(bool(settings.contact)),
        ),
        dg.AutomationConditionSensorDefinition(
            "load_and_publish",
            target=dg.AssetSelection.all() - fetched,
            description="Load what was fetched and publish what was loaded, once it is there.",
            default_status=_status(True),
        ),
    ]


def _status(running: bool) -> dg.DefaultSensorStatus:
    return dg.DefaultSensorStatus.RUNNING if running else dg.DefaultSensorStatus.STOPPED
