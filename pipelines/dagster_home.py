"""The folder in which Dagster keeps its runs, and how it is configured."""

from warehouse.settings import Settings

# Every source has a pool of its own name, in which one run at a time has its turn.
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
# Nobody is asked for an e-mail address before the graph can be seen.
_CONFIGURATION = f"{_QUIET}nux:\n  enabled: false\n{_POOLS}"
# What we wrote before; it is replaced, what a person wrote is not.
_FORMER = (_QUIET, _QUIET + _POOLS)


def settle_dagster_home(settings: Settings) -> None:
    """Make the folder with its configuration where there is none."""
    settings.dagster.mkdir(parents=True, exist_ok=True)
    file = settings.dagster / "dagster.yaml"
    if not file.exists() or file.read_text() in _FORMER:
        file.write_text(_CONFIGURATION)
