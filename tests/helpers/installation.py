"""Installations of the sample world: loaded, published, copied, run with the command."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from click.testing import CliRunner

from assets.ingest.land import land_sample
from assets.ingest.load import load_source
from assets.ingest.sources import SOURCES, sources_of
from assets.source import Source
from pipelines.commands.main import sankofa as command
from pipelines.publication import Publication, refuse_failed
from pipelines.sample_world import unpack_world
from pipelines.stages import NODES
from quality.audit import audit
from quality.report import Report
from tests.helpers.made_once import copy_of as copy_of
from tests.helpers.made_once import made_once
from tests.helpers.withheld_key import WITHHELD_KEY
from tests.sample_world.world import SMALL_WORLD, SampleWorld, write_world
from warehouse.publish.builds import SAMPLE_NOTICE, builds_at, starter_notice
from warehouse.publish.snapshot import Snapshot
from warehouse.record.landing import open_landing
from warehouse.record.store import Record, open_record
from warehouse.record.versions import last_read
from warehouse.shared.files import make_private
from warehouse.shared.settings import Settings, read_settings


def settings_of(home: Path) -> Settings:
    """Return the settings of a home, whatever the environment says."""
    with pytest.MonkeyPatch.context() as environment:
        for name in ("LANDING_URL", "RECORD_URL", "MARTS", "KEYS", "EXPORTS", "EXPORTS_URL"):
            environment.delenv(f"SANKOFA_{name}", raising=False)
        environment.setenv("SANKOFA_HOME", str(home))
        return read_settings(os.environ)


class WholePublication(Publication):
    """A publication that runs its stages in one call, as Dagster does one by one."""

    def run(self) -> str:
        """Publish what is loaded and return the data_version."""
        if self.begin() is None:
            return str(builds_at(self.settings.marts).current())
        for node in NODES:
            self.make(node)
        refuse_failed(self.audit())
        self.export()
        self.write_mart()
        return self.switch()


class BriefPublication(WholePublication):
    """A publication whose audit skips the suites, which take seconds."""

    def audited(self, snapshot: Snapshot) -> Report:
        # Rows of tests may be left out in any number.
        return audit(snapshot, measured_at=datetime.now(UTC), suites=(), confirmed="rows of a test")


def publication(
    settings: Settings, kind: type[WholePublication] = WholePublication, **others: str
) -> WholePublication:
    """Return a publication of a home; ``others`` replaces some of its URLs."""
    return kind(open_record(settings), settings.model_copy(update=others), SAMPLE_NOTICE)


def write_sample(home: Path, world: SampleWorld = SMALL_WORLD) -> None:
    """Write the documents of the sample world."""
    settings = settings_of(home)
    make_private(settings)
    write_world(settings.sample, world)


def load_sample(home: Path, *keys: str, sources: Iterable[Source] = SOURCES) -> Record:
    """Load the sample world, or some sources of it."""
    settings = settings_of(home)
    landing, record = open_landing(settings), open_record(settings)
    for source in sources:
        if source.permitted and (not keys or source.key in keys):
            land_sample(landing, settings.sample, source)
            load_source(record, landing, source.with_withheld_key(settings.withheld_key))
    return record


def loaded_home(factory: pytest.TempPathFactory) -> Path:
    """Return the home with the loaded sample world: shared, so copy it before changing it."""

    def make(home: Path) -> None:
        write_sample(home)
        load_sample(home)

    return made_once(factory, "loaded-sample", make)


def sample_home(factory: pytest.TempPathFactory) -> Path:
    """Return the home with the published sample world: shared, so copy it before changing it."""

    def make(home: Path) -> None:
        shutil.copytree(loaded_home(factory), home)
        # With the whole audit: what tests publish after it takes its results over.
        publication(settings_of(home)).run()

    return made_once(factory, "published-sample", make)


def starter_home(factory: pytest.TempPathFactory) -> Path:
    """Return the home with the starter world, published as ``make run`` does: without elements.

    It is shared, so copy it before changing it.
    """

    def make(home: Path) -> None:
        settings = settings_of(home).model_copy(update={"elements": False})
        make_private(settings)
        unpack_world(settings.sample, "starter")
        record = load_sample(home, "sec-companyfacts", sources=sources_of(settings))
        BriefPublication(record, settings, starter_notice(last_read(record))).run()

    return made_once(factory, "published-starter", make)


def with_dagster(factory: pytest.TempPathFactory, home: Path) -> None:
    """Make a home in which Dagster ran before: its empty databases take longer than an ingest."""

    def make(folder: Path) -> None:
        # It is imported where it is used: it takes seconds.
        from pipelines.jobs import open_runner

        with open_runner(settings_of(folder)):
            pass

    made = settings_of(made_once(factory, "dagster", make)).dagster
    shutil.copytree(made, settings_of(home).dagster)


def loaded_record(factory: pytest.TempPathFactory) -> Record:
    """Return a fresh record of the sample world."""
    return Record(settings_of(copy_of(loaded_home(factory), "loaded", factory)).record)


def sankofa(home: Path, *arguments: str, **environment: str) -> "subprocess.Popen[str]":
    """Start the command in a home."""
    others = {name: value for name, value in os.environ.items() if not name.startswith("SANKOFA_")}
    return subprocess.Popen(
        [str(Path(sys.executable).with_name("sankofa")), *arguments],
        env={
            **others,
            "SANKOFA_WITHHELD_KEY": WITHHELD_KEY,
            "SANKOFA_HOME": str(home),
            **environment,
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run_command(home: Path, *arguments: str, **environment: str) -> tuple[int, str, str]:
    """Run the command in this process; return exit status, stdout and stderr."""
    with pytest.MonkeyPatch.context() as changed:
        for name in [name for name in os.environ if name.startswith("SANKOFA_")]:
            changed.delenv(name)
        changed.setenv("SANKOFA_WITHHELD_KEY", WITHHELD_KEY)
        changed.setenv("SANKOFA_HOME", str(home))
        for name, value in environment.items():
            changed.setenv(name, value)
        result = CliRunner().invoke(command, arguments, catch_exceptions=False)
    return result.exit_code, result.stdout, result.stderr


def run_process(home: Path, *arguments: str, **environment: str) -> tuple[int, str, str]:
    """Run the command in a process of its own; return exit status, stdout and stderr."""
    with sankofa(home, *arguments, **environment) as process:
        out, err = process.communicate(timeout=600)
    return process.returncode, out, err


def files_below(folder: Path) -> Iterator[str]:
    """Yield the relative path of every file below a folder."""
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            yield path.relative_to(folder).as_posix()
