"""Dagster's own storage folder: its configuration, its jobs, and which runs have a living process.

The process that executes a run has the lock on ``alive/<run id>``, which the kernel releases when
it dies, and deletes the file when the run has ended. One with a free lock is left of a killed run.
"""

import os
import sys
from pathlib import Path

from warehouse.shared.files import make_private
from warehouse.shared.locks import is_locked
from warehouse.shared.settings import Settings, read_settings

# The jobs; `ingest_definitions.fetch_job` names those that fetch one source each.
INGEST, PUBLISH, COMPACT = "ingest", "publish", "compact"
_CONFIGURATION = (Path(__file__).parent / "templates" / "dagster.yaml").read_text("utf-8")
# By name: the address can hold a password, which belongs into no file.
_POSTGRES = """\
storage:
  postgres:
    postgres_url:
      env: SANKOFA_RUNS
"""
# Written by us, and replaced if SANKOFA_RUNS is set or taken away, unlike a person's own.
_OWN = (_CONFIGURATION, _CONFIGURATION + _POSTGRES)


def create_dagster_home(settings: Settings) -> None:
    """Create Dagster's folder and its configuration, unless a person wrote one."""
    settings.dagster.mkdir(parents=True, exist_ok=True)
    file = settings.dagster / "dagster.yaml"
    configuration = _CONFIGURATION + (_POSTGRES if settings.runs else "")
    found = file.read_text() if file.exists() else None
    # Several processes may start at once: none reads a half-written file.
    if found is None or (found in _OWN and found != configuration):
        partial = file.with_name(f".{file.name}.{os.getpid()}")
        partial.write_text(configuration)
        partial.replace(file)


def alive_folder(settings: Settings) -> Path:
    """Return the folder of the files that show whether the process of a run is alive."""
    return settings.dagster / "alive"


def killed_runs(settings: Settings) -> list[str]:
    """Return the ids of runs whose process was killed and that were not yet ended for it."""
    files = sorted(alive_folder(settings).glob("[!.]*"))
    # It may have ended in this moment.
    return [file.name for file in files if not is_locked(file) and file.exists()]


if __name__ == "__main__":
    # What a machine does before it starts Dagster's own programs (deploy/).
    settings = read_settings()
    make_private(settings)
    create_dagster_home(settings)
    if killed_runs(settings):
        # Only then: it takes seconds.
        os.execv(sys.executable, [sys.executable, "-m", "pipelines.jobs"])  # noqa: S606
