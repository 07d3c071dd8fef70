"""Dagster's own storage folder and configuration file."""

import os

from warehouse.private_folders import make_private
from warehouse.settings import Settings, read_settings

# Each source is a pool of its own, in which one run at a time is allowed.
_POOLS = """\
concurrency:
  pools:
    default_limit: 1
    granularity: op
  runs:
    max_concurrent_runs: 4
run_monitoring:
  enabled: true
  free_slots_after_run_end_seconds: 60
  max_runtime_seconds: 86400
"""
_QUIET = "telemetry:\n  enabled: false\n"
# No prompt for an e-mail address before the asset graph is shown.
_CONFIGURATION = f"{_QUIET}nux:\n  enabled: false\n{_POOLS}"
# By name: the address can hold a password, which belongs into no file.
_POSTGRES = """\
storage:
  postgres:
    postgres_url:
      env: SANKOFA_RUNS
"""
# Configurations written by us, now or by earlier versions: replaced, unlike a person's own.
_WRITTEN = (_QUIET, _QUIET + _POOLS, _CONFIGURATION, _CONFIGURATION + _POSTGRES)


def create_dagster_home(settings: Settings) -> None:
    """Create Dagster's folder and its configuration, unless a person wrote one."""
    settings.dagster.mkdir(parents=True, exist_ok=True)
    file = settings.dagster / "dagster.yaml"
    configuration = _CONFIGURATION + (_POSTGRES if settings.runs else "")
    found = file.read_text() if file.exists() else None
    # Several processes may start at once: none reads a half-written file.
    if found is None or (found in _WRITTEN and found != configuration):
        beside = file.with_name(f".{file.name}.{os.getpid()}")
        beside.write_text(configuration)
        beside.replace(file)


if __name__ == "__main__":
    # What a machine does before it starts Dagster's own programs (deploy/processes.py).
    settings = read_settings(os.environ)
    make_private(settings)
    create_dagster_home(settings)
