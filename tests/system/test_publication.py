"""Publishing by the command: a failure, a kill or a loss leaves the current build as it was."""

import json
import logging
import re
from dataclasses import dataclass, field
from datetime import date
from logging.handlers import BufferingHandler
from pathlib import Path
from typing import Any

import dagster as dg
import pyarrow.parquet as pq
import pytest

from pipelines.dagster_home import killed_runs
from pipelines.jobs import instance
from pipelines.publication import CONFIRMED
from pipelines.stages import NODES
from quality.report import history
from tests.helpers import killed_publications
from tests.helpers.exports import load, party_row, verify_export
from tests.helpers.facts import fact
from tests.helpers.installation import load_sample, run_command, sample_home, settings_of
from tests.helpers.killed_publications import lines_of, require_whole, state_after_kill
from tests.helpers.made_once import copy_of
from tests.helpers.nightly import is_nightly
from tests.helpers.reads import facts_known, issuers, panel, screen, series_known
from warehouse.publish.builds import builds_at
from warehouse.record.store import Record
from warehouse.record.tables import FUNDAMENTALS, TENDER_PARTIES
from warehouse.serve.build import Mart

PERSON = "Thandiwe Nomsa Mokoena"
WHY = "the register was split in two"


@dataclass(frozen=True)
class ReaderView:
    """What readers of an installation see."""

    builds: str
    current: str | None
    latest: str
    build_names: list[str]
    exported: list[str]


def seen(home: Path) -> ReaderView:
    settings = settings_of(home)
    status, listed, _ = run_command(home, "builds")
    assert status == 0
    return ReaderView(
        listed,
        builds_at(settings.marts).current(),
        Path(settings.exports, "latest").read_text(),
        builds_at(settings.marts).names(),
        sorted(path.name for path in Path(settings.exports).iterdir() if path.is_dir()),
    )


def answers(home: Path, data_version: str | None = None) -> list[bytes]:
    """Return the exact bytes of a few rows of every kind."""
    mart = Mart(settings_of(home).marts)
    build = mart if data_version is None else mart.at(data_version)
    days = (None, date(2021, 6, 30), date(2024, 6, 30))
    rows: list[bytes] = []
    for day in days:
        for issuer in issuers(build, 3):
            facts = facts_known(build, issuer, day)
            rows += facts.rows if facts else []
        rows += series_known(build, "ZA", as_of=day).rows
        rows += screen(build, "net_margin", as_of=day).rows.rows
        demand = panel(build, "procurement-demand", "ZA", as_of=day)
        rows += demand.rows if demand else []
    mart.close()
    return rows


@dataclass(frozen=True)
class Refused:
    """What a publication left whose audit failed."""

    why: str
    page: str
    parties: list[str]
    left_out: list[dict[str, Any]]
    work: set[str]
    measured: set[str]
    version: str


def refused(home: Path) -> Refused:
    settings = settings_of(home)
    (failed,) = (settings.work / "failed").iterdir()
    return Refused(
        (failed / "why.txt").read_text(),
        (failed / "quality" / "index.html").read_text(),
        pq.read_table(failed / "tender_parties")["name"].to_pylist(),
        pq.read_table(failed / "left_out.parquet").to_pylist(),
        {path.name for path in settings.work.iterdir()},
        set(history(Record(settings.record))["data_version"].to_pylist()),
        failed.name,
    )


@dataclass
class Story:
    """The steps in a home where one source suddenly shows nothing and another one only people."""

    home: Path
    first: str
    answers: list[bytes]
    refused: Refused | None = None
    terminated: dict[str, Any] = field(default_factory=dict)
    # At night: the state before the first kill, after each, and after the whole publication.
    killed: list[dict[str, Any]] = field(default_factory=list)
    # What that one said that it waits for.
    waits: list[str] = field(default_factory=list)
    steps: dict[str, tuple[int, str, str]] = field(default_factory=dict)
    states: dict[str, ReaderView] = field(default_factory=dict)
    answers_after: dict[str, list[bytes]] = field(default_factory=dict)

    def run(self, step: str, *arguments: str, **environment: str) -> None:
        self.steps[step] = run_command(self.home, *arguments, **environment)
        self.see(step)

    def see(self, step: str) -> None:
        self.states[step], self.answers_after[step] = seen(self.home), answers(self.home)


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Story:
    home = copy_of(sample_home(tmp_path_factory), "lost", tmp_path_factory)
    settings = settings_of(home)
    first = str(builds_at(settings.marts).current())
    story = Story(home, first, answers(home))
    story.see("before")
    nothing = settings.sample / "listings" / "2026-07-15" / "listings.csv"
    nothing.parent.mkdir()
    nothing.write_text("mic,ticker,isin,name,currency,status\n")
    record = load_sample(home, "listings")
    (issuer,) = issuers(Mart(settings.marts), 1)
    load(record, FUNDAMENTALS, fact("7", issuer=issuer, available_at=date(2024, 6, 30)))
    # A source whose suppliers are all one person, with forged evidence.
    load(record, TENDER_PARTIES, *(party_row(PERSON, ocid=f"ocds-{n}") for n in range(25)))
    story.run("blocked", "publish")
    story.refused = refused(home)
    confirm = ("--confirm-loss", WHY)
    expected: list[str] = []
    if is_nightly():
        expected = killed_publications.answers(home)
        story.terminated, *story.killed = lines_of("few", str(home), *confirm)
    said = BufferingHandler(1000)
    logging.getLogger("warehouse.shared.locks").addHandler(said)
    story.run("confirmed", "publish", *confirm)
    logging.getLogger("warehouse.shared.locks").removeHandler(said)
    story.waits = [entry.getMessage() for entry in said.buffer]
    if is_nightly():
        story.killed.append(state_after_kill(home, expected))
    story.run("back", "rollback")
    story.run("forward", "rollback", _published(story.steps["confirmed"][1]))
    story.answers_after["pinned"] = answers(home, first)
    story.run("again", "publish", SANKOFA_KEEP_BUILDS="1")
    story.run("too far back", "rollback")
    return story


def _published(out: str) -> str:
    return out.split("published as data_version ")[1].split()[0]


def test_a_failed_audit_leaves_everything_as_it_was_and_says_why(story: Story) -> None:
    status, out, err = story.steps["blocked"]

    assert status == 4 and "published as" not in out
    assert "the audit failed; nothing was published." in err
    assert "tender_parties: " in err and "fails for 25 of 25 rows, more than 5%" in err
    assert "Traceback" not in err
    assert story.states["blocked"] == story.states["before"]
    assert story.answers_after["blocked"] == story.answers
    failed = story.refused
    assert failed is not None
    assert "fails for 25 of 25 rows" in failed.why and failed.why.splitlines()[1] in err
    assert "Not published: checks failed." in failed.page
    assert "fails for 25 of 25 rows" in failed.page
    assert PERSON not in failed.parties
    (left_out,) = failed.left_out
    assert (left_out["table_name"], left_out["rows_left_out"]) == ("tender_parties", 25)
    assert failed.work == {"failed", "steps", "builds", "searched.msgpack", failed.version}
    assert failed.measured == {story.first}


def test_a_source_that_suddenly_shows_nothing_waits_for_a_person(story: Story) -> None:
    status, _, err = story.steps["blocked"]

    assert status == 4
    assert re.search(r"records per fetch of listings fell from \d+ to 0", err)
    assert 'sankofa publish --confirm-loss "why"' in err


def test_a_check_of_the_whole_blocks_what_makes_it_readable(story: Story) -> None:
    with instance(settings_of(story.home)) as dagster_instance:
        *_, blocked = dagster_instance.get_runs()
        logs = dagster_instance.all_logs(blocked.run_id)
    events = [entry.dagster_event for entry in logs if entry.dagster_event is not None]
    made = {
        event.asset_key.to_user_string()
        for event in events
        if event.is_step_materialization and event.asset_key
    }
    assert made == {"snapshot", *(node.name for node in NODES)}
    started = {event.step_key for event in events if event.is_step_start}
    assert "quality" in started and started.isdisjoint({"exports", "mart", "published_build"})
    checks = [
        event.asset_check_evaluation_data
        for event in events
        if event.event_type == dg.DagsterEventType.ASSET_CHECK_EVALUATION
    ]
    failed = {
        f"{check.asset_key.to_user_string()} {check.check_name}"
        for check in checks
        if not check.passed
    }
    assert len(checks) > len(NODES) and failed == {"quality left_out", "quality losses"}


def test_what_was_refused_is_taken_up_by_the_next_publication(story: Story) -> None:
    assert story.steps["confirmed"][0] == 0
    work = {path.name for path in settings_of(story.home).work.iterdir()}
    version = _published(story.steps["confirmed"][1])
    assert work == {"failed", "steps", "builds", "searched.msgpack", version}
    assert not any((settings_of(story.home).work / "failed").iterdir())


@pytest.mark.nightly
def test_killed_at_any_moment_the_old_build_answers_and_the_next_one_is_whole(story: Story) -> None:
    # Twice as a command, then before its export and in it.
    require_whole(story.home, story.killed, 4)


@pytest.mark.nightly
def test_killed_again_and_again_also_while_cleaning_up_the_next_publication_waits_for_nobody(
    story: Story,
) -> None:
    """``python -m tests.helpers.killed_publications`` does so 60 times, at every step."""
    kills = [state["attempt"] for state in story.killed[:-1] if state["attempt"]]
    moments = ["start of snapshot", "after marking"]
    assert [kill["moment"] for kill in kills if kill["killed"]] == moments
    settings = settings_of(story.home)
    assert killed_runs(settings) == []
    with instance(settings) as dagster_instance:
        # The publication of nothing new had none.
        confirmed, *failed = dagster_instance.get_runs()
    assert confirmed.is_success and story.waits == []
    # The one that was killed as it began, the one that was terminated and the one that was
    # refused: the one that was killed while it cleaned up had no run of its own yet.
    assert [run.status for run in failed] == [dg.DagsterRunStatus.FAILURE] * 3


@pytest.mark.nightly
def test_a_publication_says_what_it_waits_for_and_ends_at_once_when_it_is_terminated(
    story: Story,
) -> None:
    terminated = story.terminated
    words = f"waiting for the builds, in use by process {terminated['lock']} on "
    assert terminated["output"].startswith(words)
    assert terminated["status"] == 1 and "Aborted!" in terminated["output"]
    # Its run had ended by itself: otherwise the next command would have been the one to mark it.
    assert terminated["run"] == "FAILURE" and terminated["killed_runs"] == 0


def test_a_confirmed_loss_is_published_with_its_reason(story: Story) -> None:
    status, out, _ = story.steps["confirmed"]
    version = _published(out)

    assert status == 0
    state = story.states["confirmed"]
    first, second = (line.split() for line in state.builds.splitlines()[1:])
    assert first[:2] == ["*", version] and second[0] == story.first
    assert state.latest == version
    assert state.exported == [story.first, version]
    assert not verify_export(settings_of(story.home).exports, version)
    why = json.loads(builds_at(settings_of(story.home).marts).metadata(version)[CONFIRMED])
    assert why["why"] == WHY
    assert re.search(r"listings fell from \d+ to 0", "\n".join(why["losses"]))
    assert story.answers_after["confirmed"] != story.answers


def test_a_publication_says_what_changed_and_where_it_is(story: Story) -> None:
    _, out, _ = story.steps["confirmed"]
    assert re.search(r"^AF-FUND +1 +0 +0 +\d+ *$", out, re.MULTILINE)
    assert "AF-TENDER" not in out and "/changes\n" in out
    assert "left out because they fail a rule or are withheld: 25 rows" in out
    assert f"/exports/{_published(out)}/manifest.json\n" in out


def test_readers_go_back_to_the_build_before_and_forward_again(story: Story) -> None:
    version = _published(story.steps["confirmed"][1])

    assert story.steps["back"][1] == f"serving data_version {story.first}\n"
    assert "the next publication replaces it" in story.steps["back"][2]
    assert story.states["back"].latest == story.first
    assert story.answers_after["back"] == story.answers
    assert story.steps["forward"][1] == f"serving data_version {version}\n"
    assert story.states["forward"] == story.states["confirmed"]
    assert story.answers_after["forward"] == story.answers_after["confirmed"]


def test_a_pinned_build_answers_byte_for_byte_after_later_ones(story: Story) -> None:
    assert story.answers_after["pinned"] == story.answers


def test_publishing_an_unchanged_record_makes_no_build_and_removes_old_ones(story: Story) -> None:
    version = _published(story.steps["confirmed"][1])

    assert f"nothing has changed since data_version {version}" in story.steps["again"][1]
    state = story.states["again"]
    assert state.build_names == state.exported == [version]
    assert (state.latest, state.current) == (version, story.states["forward"].current)
    assert story.answers_after["again"] == story.answers_after["confirmed"]
    status, _, err = story.steps["too far back"]
    assert status == 1 and "there is no build before the current one" in err
    measured_versions = history(Record(settings_of(story.home).record))["data_version"].to_pylist()
    assert set(measured_versions) == {story.first, version}
