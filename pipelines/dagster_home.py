"""Dagster's own storage folder and configuration file."""

from warehouse.settings import Settings

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
# Configurations written by earlier versions: replaced, unlike one that a person wrote.
_FORMER = (_QUIET, _QUIET + _POOLS)


def create_dagster_home(settings: Settings) -> None:
    """Create Dagster's folder and its configuration, unless a person wrote one."""
    settings.dagster.mkdir(parents=True, exist_ok=True)
    file = settings.dagster / "dagster.yaml"
    if not file.exists() or file.read_text() in _FORMER:
        file.write_text(_CONFIGURATION)
