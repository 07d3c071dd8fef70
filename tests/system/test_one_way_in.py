"""The command runs the jobs of Dagster, which stores their runs, partitions and failures."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from pathlib import Path
from subprocess import PIPE
from typing import Any, NoReturn

import dagster as dg
import pytest
from click.testing import CliRunner, Result

from assets.filings.fetch import BATCHES
from assets.ingest.assets import partitions_of
from assets.ingest.sources import source_of, sources_of
from assets.parsing.parsed import Parsed
from assets.source import Parser
from pipelines import ingest_definitions
from pipelines.alerts import BY_COMMAND
from pipelines.commands.exit_status import Exit
from pipelines.commands.main import sankofa
from pipelines.dagster_home import INGEST, alive_folder, killed_runs
from pipelines.jobs import instance, open_runner
from tests.helpers.in_this_process import InThisProcess
from tests.helpers.installation import with_dagster
from tests.helpers.replay_server import ReceivedRequest, Replay, Reply
from tests.helpers.waiting import wait_until
from tests.helpers.withheld_key import WITHHELD_KEY
from warehouse.record.landing import Document, open_landing
from warehouse.shared.locks import alive_file
from warehouse.shared.settings import Settings, read_settings

RATES = b"""KEY,FREQ,CURRENCY,CURRENCY_DENOM,EXR_TYPE,EXR_SUFFIX,TIME_PERIOD,OBS_VALUE,OBS_STATUS
EXR.D.ZAR.EUR.SP00.A,D,ZAR,EUR,SP00,A,2024-01-02,20.4,A
EXR.D.ZAR.EUR.SP00.A,D,ZAR,EUR,SP00,A,2024-01-03,oops,A
"""
RATES_PATH = "/service/data/EXR/D.ZAR.EUR.SP00.A"
MONTHLY = b"Date,Country,Exchange rate\n2024-01-01,South Africa,18.8\n"
BY = {BY_COMMAND: "command"}
STARTED, FAILURE, SUCCESS = (
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.FAILURE,
    dg.DagsterRunStatus.SUCCESS,
)
SETTINGS = {
    "SANKOFA_ECB_KEYS": "D.ZAR.EUR.SP00.A",
    "SANKOFA_H10_CADENCES": "monthly",
    "SANKOFA_CIKS": "16 17",
}


def configured(home: Path, server: Replay, patch: pytest.MonkeyPatch) -> Settings:
    """Let commands run in a home, and let every source be the server."""
    for name in [name for name in os.environ if name.startswith("SANKOFA_")]:
        patch.delenv(name)
    for name, value in SETTINGS.items():
        patch.setenv(name, value)
    patch.setenv("SANKOFA_WITHHELD_KEY", WITHHELD_KEY)
    patch.setenv("SANKOFA_HOME", str(home))
    for key in ("ECB", "ZA_ETENDERS", "H10", "SEC_SUBMISSIONS"):
        patch.setenv(f"SANKOFA_BASE_{key}", server.base)
    return read_settings(os.environ)


@pytest.fixture
def settings(tmp_path: Path, server: Replay, monkeypatch: pytest.MonkeyPatch) -> Settings:
    return configured(tmp_path, server, monkeypatch)


@pytest.fixture
def used(settings: Settings, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Let Dagster have run in the home before."""
    with_dagster(tmp_path_factory, settings.home)


def run(*words: str) -> Result:
    return CliRunner().invoke(sankofa, words)


def stored_runs(settings: Settings) -> list[dg.DagsterRun]:
    """Return all runs, the oldest first."""
    with instance(settings) as dagster_instance:
        return list(reversed(dagster_instance.get_runs()))


def filled_partitions(settings: Settings, asset: str) -> set[str]:
    with instance(settings) as dagster_instance:
        return set(dagster_instance.get_materialized_partitions(dg.AssetKey(asset)))


def a_day(request: ReceivedRequest) -> Reply:
    day = request.query["dateFrom"]
    package = {"releases": [{"ocid": f"ocds-1-{day}", "id": day, "date": f"{day}T00:00:00Z"}]}
    return Reply(json.dumps(package).encode())


@dataclass
class Ingests:
    """Live ingests of several sources into one home: what was requested and what was printed."""

    settings: Settings
    server: Replay
    outputs: dict[str, str] = field(default_factory=dict)
    requests: dict[str, list[ReceivedRequest]] = field(default_factory=dict)

    def run(self, name: str, *words: str) -> None:
        before = len(self.server.requests)
        done = run(*words)
        assert done.exit_code == 0, done.output
        self.outputs[name] = done.stdout
        self.requests[name] = self.server.requests[before:]

    def listed(self, name: str) -> dict[str, dict[str, Any]]:
        return {row["source"]: row for row in json.loads(self.outputs[name])}


@pytest.fixture(scope="module")
def ingests(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ingests]:
    with Replay() as server, pytest.MonkeyPatch.context() as patch:
        server.answer("/api/OCDSReleases", a_day)
        server.on("/monthly.csv", Reply(MONTHLY))
        for cik in ("16", "17"):
            server.on(f"/submissions/CIK{cik:0>10}.json", Reply(b'{"cik": 1}'))
        tagged = Reply(RATES, headers={"ETag": '"1"'})
        server.on(RATES_PATH, tagged, Reply(b"", 304), Reply(RATES))
        done = Ingests(configured(tmp_path_factory.mktemp("home"), server, patch), server)
        done.run("sources before", "sources", "--json")
        month = ("--from", "2024-01-15", "--to", "2024-02-03")
        done.run("month", "ingest", "ecb", "--live", *month)
        done.run("sources after", "sources", "--json")
        done.run("source", "sources", "ecb")
        first = open_landing(done.settings).last_fetched("ecb")
        done.run("month again", "ingest", "ecb", "--live", *month)
        second = open_landing(done.settings).last_fetched("ecb")
        assert first is not None and second is not None and second > first
        done.run("since", "ingest", "ecb", "--live", "--from", "2010-03-05")
        done.run("everything", "ingest", "ecb", "--live")
        days = ("--from", "2024-02-28", "--to", "2024-03-01")
        done.run("days", "ingest", "za-etenders", "--live", *days)
        done.run("issuers", "ingest", "sec-submissions", "--live")
        days = ("--from", "2024-01-01", "--to", "2024-01-31")
        done.run("without partitions", "ingest", "h10", "--live", *days)
        yield done


def test_a_window_of_days_fills_the_partitions_of_a_daily_source(ingests: Ingests) -> None:
    assert "3 documents, 3 new; 3 read, 3 appended" in ingests.outputs["days"]
    days = ["2024-02-28", "2024-02-29", "2024-03-01"]
    assert [request.query["dateFrom"] for request in ingests.requests["days"]] == days
    assert filled_partitions(ingests.settings, "za_etenders_landed") == set(days)
    runs = stored_runs(ingests.settings)
    place = [run.job_name for run in runs].index("fetch_za_etenders_landed")
    fetched, loaded = runs[place : place + 2]
    assert loaded.job_name == INGEST
    assert fetched.is_success and loaded.is_success


def test_a_window_that_begins_within_a_month_fetches_the_whole_month(ingests: Ingests) -> None:
    words = "1 documents, 1 new; 2 read, 1 appended, 1 quarantined"
    assert words in ingests.outputs["month"]
    assert ingests.requests["month"][0].query["updatedAfter"].startswith("2024-01-01")


def test_a_fetch_without_changes_is_a_success_too(ingests: Ingests) -> None:
    assert "0 documents, 0 new" in ingests.outputs["month again"]


def test_a_window_before_the_first_partition_is_fetched_without_partitions(
    ingests: Ingests,
) -> None:
    (since,), (everything,) = ingests.requests["since"], ingests.requests["everything"]
    assert since.query["updatedAfter"].startswith("2010-03-05")
    assert "updatedAfter" not in everything.query
    # Those of the months that were fetched before, and no other.
    months = {"2024-01-01", "2024-02-01"}
    assert filled_partitions(ingests.settings, "ecb_landed") == months
    with instance(ingests.settings) as dagster_instance:
        event = dagster_instance.get_latest_materialization_event(dg.AssetKey("ecb_landed"))
    assert event is not None and event.dagster_event is not None
    assert event.dagster_event.partition is None


def test_issuers_are_fetched_in_all_their_batches(ingests: Ingests) -> None:
    assert len(ingests.requests["issuers"]) == 2
    assert filled_partitions(ingests.settings, "sec_submissions_landed") == set(BATCHES)


def test_the_days_of_a_source_without_partitions_are_in_the_configuration_of_its_run(
    ingests: Ingests,
) -> None:
    days = {"first_day": "2024-01-01", "last_day": "2024-01-31"}
    configs = [run.run_config.get("ops") for run in stored_runs(ingests.settings)]
    assert {"h10_landed": {"config": days}} in configs


def test_a_source_is_listed_with_what_is_requested_and_what_the_home_has_of_it(
    ingests: Ingests,
) -> None:
    before, after = (ingests.listed(f"sources {when}") for when in ("before", "after"))
    server, settings = ingests.server, ingests.settings
    assert before.keys() == {source.key for source in sources_of(settings)}
    assert before["xbrl-filings"]["state"] == "refused"
    assert (before["ecb"]["state"], before["ecb"]["last_success"]) == ("untried", None)
    ecb = after["ecb"]
    assert (ecb["state"], ecb["documents"], ecb["rows"]) == ("working", 1, 1)
    assert datetime.fromisoformat(ecb["last_success"]).date() == datetime.now(UTC).date()
    assert ecb["address"] == "https://data-api.ecb.europa.eu"
    assert ecb["asked_at"] == server.base
    assert ecb["requests"][0].startswith("https://data-api.ecb.europa.eu/service/data/EXR/")
    assert ecb["licence"] and ecb["licence_stated_at"].startswith("https://")
    one = ingests.outputs["source"]
    assert "working" in one and ecb["requests"][0] in one and server.base in one
    unknown = run("sources", "nonsense")
    assert unknown.exit_code == Exit.FAILED and "unknown source: nonsense" in unknown.stderr


@pytest.mark.usefixtures("used")
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--from", "2024-02-01", "--to", "2024-01-01"), "begins on 2024-02-01, after its end"),
        (("--from", "2999-01-01"), "2999-01-01 is in the future"),
    ],
)
def test_an_impossible_window_is_refused_before_any_request(
    settings: Settings, server: Replay, words: tuple[str, ...], message: str
) -> None:
    done = run("ingest", "ecb", "--live", *words)
    assert done.exit_code == Exit.FAILED
    assert message in done.stderr
    assert not server.requests and not stored_runs(settings)


@pytest.mark.usefixtures("used")
def test_a_source_that_fails_is_a_failed_run_with_its_message_and_the_others_go_on(
    settings: Settings, server: Replay
) -> None:
    server.on("/monthly.csv", Reply(b"gone", 410))
    server.on(RATES_PATH, Reply(RATES))

    done = run("ingest", "h10", "ecb", "--live", "--json")

    assert done.exit_code == Exit.FAILED
    assert "h10 failed" in done.stderr and "Traceback" not in done.stderr
    h10, ecb = json.loads(done.stdout)
    assert "it answers 410" in h10["failed"]
    assert ecb["failed"] is None and ecb["counts"]["appended"] == 1
    failed, *others = stored_runs(settings)
    assert failed.status == dg.DagsterRunStatus.FAILURE
    assert all(other.is_success for other in others)
    with instance(settings) as dagster_instance:
        [failure] = dagster_instance.get_records_for_run(
            failed.run_id, of_type=dg.DagsterEventType.STEP_FAILURE
        ).records
    event = failure.event_log_entry.dagster_event
    assert event is not None
    assert "it answers 410" in str(event.step_failure_data.user_failure_data)
    # A person at a terminal does not wait for the retries that Dagster makes.
    assert len(server.requests) == 2


@pytest.mark.usefixtures("used")
def test_a_parser_that_raises_is_a_failed_step_and_once_fixed_the_next_ingest_reads_on(
    settings: Settings, server: Replay, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.on(RATES_PATH, Reply(RATES))
    sound = source_of(settings, "ecb")

    def broken(document: Document, body: bytes) -> Parsed:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr("assets.ingest.load.readers", InThisProcess)

    def use_parser(parser: Parser) -> None:
        monkeypatch.setattr("assets.ingest.sources.SOURCES", (replace(sound, parser=parser),))

    use_parser(replace(sound.parser, parse=broken))
    failed = run("ingest", "ecb", "--live")

    assert failed.exit_code == Exit.FAILED
    assert "ZeroDivisionError: a bug" in failed.stdout
    assert "parser fails on 1 documents" in run("sources").stdout
    [listed] = json.loads(run("sources", "--json").stdout)
    assert "ZeroDivisionError: a bug" in listed["failing"][0]
    fetched, loaded = stored_runs(settings)
    assert fetched.is_success and loaded.is_failure
    use_parser(sound.parser)
    assert "2 read, 1 appended, 1 quarantined" in run("ingest", "ecb").stdout
    [listed] = json.loads(run("sources", "--json").stdout)
    assert (listed["failing"], listed["rows"]) == ([], 1)


def test_a_source_of_which_nothing_is_landed_needs_no_run(settings: Settings) -> None:
    done = run("ingest", "ecb")
    assert "0 documents, 0 new; nothing new" in done.stdout
    assert not settings.dagster.exists()


@pytest.mark.usefixtures("used")
def test_two_commands_ingest_different_sources_at_once_and_the_same_one_in_turn(
    settings: Settings, server: Replay, caplog: pytest.LogCaptureFixture
) -> None:
    """The first one is interrupted while it is read from: that ends its run."""
    first_request, go_on = threading.Event(), threading.Event()

    def wait_for_release(request: ReceivedRequest) -> Reply:
        first_request.set()
        go_on.wait(240)
        return Reply(RATES)

    server.answer(RATES_PATH, wait_for_release)
    server.on("/monthly.csv", Reply(MONTHLY))
    command = [sys.executable, "-m", "pipelines.commands.main", "ingest", "ecb", "--live"]
    with (
        subprocess.Popen(command, stdout=PIPE, stderr=PIPE, text=True) as interrupted,
        ThreadPoolExecutor(1) as other,
    ):
        assert first_request.wait(120)
        assert "1 appended" in run("ingest", "h10", "--live").stdout
        words = f"waiting for the source ecb, in use by process {interrupted.pid} on "

        def interrupt() -> str:
            try:
                wait_until(lambda: any(text.startswith(words) for text in caplog.messages))
                interrupted.send_signal(signal.SIGINT)
                return interrupted.communicate(timeout=240)[1]
            finally:
                interrupted.kill()
                go_on.set()

        err = other.submit(interrupt)
        output = run("ingest", "ecb", "--live").stdout

    assert (interrupted.returncode, err.result().strip()) == (1, "Aborted!")
    assert "1 documents, 1 new; 2 read, 1 appended" in output
    assert len(server.requests) == 3
    first, *others = stored_runs(settings)
    assert first.status == FAILURE and all(other.is_success for other in others)


@pytest.mark.usefixtures("used")
def test_what_a_killed_command_left_is_ended_by_the_next(
    settings: Settings, server: Replay
) -> None:
    with instance(settings) as dagster_instance:
        # One was killed after the command before had ended it, and before the alert was sent.
        dead, marked, done, alive, elsewhere = (
            dagster_instance.add_run(dg.DagsterRun("ingest", tags=BY, status=status))
            for status in (STARTED, FAILURE, SUCCESS, STARTED, STARTED)
        )
    folder, told = alive_folder(settings), settings.home / "told"
    folder.mkdir()
    for run in (dead, marked, done):
        (folder / run.run_id).touch()
    keeper = f"{sys.executable} -c \"import sys; open('{told}', 'a').write(sys.stdin.read())\""
    settings = settings.model_copy(update={"alert_command": keeper})

    with alive_file(folder / alive.run_id):
        with pytest.raises(KeyboardInterrupt), open_runner(settings):
            raise KeyboardInterrupt
        # Whoever interrupts a command does not wait for the alerts of others.
        assert not told.exists()
        with open_runner(settings):
            assert killed_runs(settings) == []

    statuses = {stored.run_id: stored.status for stored in stored_runs(settings)}
    assert statuses[dead.run_id] == statuses[marked.run_id] == FAILURE
    # Nothing is known here of a process of another home.
    assert statuses[alive.run_id] == statuses[elsewhere.run_id] == STARTED
    assert all(told.read_text().count(f'"{run.run_id}"') == 1 for run in (dead, marked))
    assert done.run_id not in told.read_text()
    assert list(folder.iterdir()) == []


def test_a_home_that_was_never_used_is_not_called_broken(settings: Settings) -> None:
    published = run("publish")
    assert published.exit_code == Exit.NOTHING_PUBLISHED
    assert "nothing is loaded" in published.stderr and "`sankofa up`" in published.stderr
    listed = run("builds")
    assert listed.exit_code == 0 and "nothing has been published yet" in listed.stdout
    assert json.loads(run("builds", "--json").stdout) == []
    findings = json.loads(run("doctor", "--json").stdout)
    assert [finding for finding in findings if finding["state"] == "fault"] == []
    [build] = [finding for finding in findings if finding["area"] == "Build"]
    assert build["says"] == "nothing here yet" and "`sankofa up`" in build["do"]


def test_the_partitions_of_every_time_window_begin_on_the_same_day(settings: Settings) -> None:
    for source in sources_of(settings):
        partitions = partitions_of(source)
        if isinstance(partitions, dg.TimeWindowPartitionsDefinition):
            assert partitions.start.date() == date(2015, 1, 1)


@pytest.mark.usefixtures("used")
def test_a_run_that_cannot_begin_is_reported_for_each_of_its_sources(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(path: Path) -> NoReturn:
        raise OSError("no such disk")

    monkeypatch.setattr(ingest_definitions, "alive_file", broken)
    done = run("ingest", "h10", "ecb", "--live", "--json")
    assert done.exit_code == Exit.FAILED
    h10, ecb = json.loads(done.stdout)
    assert "no such disk" in h10["failed"] and "no such disk" in ecb["failed"]


def test_a_live_ingest_into_the_sample_world_is_refused_once(settings: Settings) -> None:
    open_landing(settings).enter("fictional")
    done = run("ingest", "--live")
    assert done.exit_code == Exit.FAILED
    assert "this home holds the sample world" in done.stderr
    assert not settings.dagster.exists()
