"""Publishing by the command: a failure, a kill or a loss leaves the current build as it was."""

import json
import re
import signal
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipelines.publication import CONFIRMED
from quality.audit import audit
from quality.report import history
from tests.helpers.exports import current_loads, load, party_row, verify_export
from tests.helpers.facts import fact
from tests.helpers.installation import load_sample, run_command, sample_home, sankofa, settings_of
from tests.helpers.made_once import copy_of
from tests.helpers.reads import facts_known, issuers, panel, screen, series_known
from tests.helpers.waiting import wait_until
from warehouse.publish.builds import builds_at
from warehouse.publish.snapshot import Snapshot
from warehouse.record.store import Record, open_record
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


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Add a source whose suppliers are all one person, with forged evidence."""
    home = copy_of(sample_home(tmp_path_factory), "faulty", tmp_path_factory)
    record = Record(settings_of(home).record)
    load(record, TENDER_PARTIES, *(party_row(PERSON, ocid=f"ocds-{n}") for n in range(25)))
    return home


def test_a_failed_audit_leaves_everything_as_it_was_and_says_why(faulty: Path) -> None:
    before, told_before = seen(faulty), answers(faulty)

    status, out, err = run_command(faulty, "publish")

    assert status == 4 and "published as" not in out
    assert "the audit failed; nothing was published." in err
    assert "tender_parties: " in err and "fails for 25 of 25 rows, more than 5%" in err
    assert "Traceback" not in err
    assert seen(faulty) == before
    assert answers(faulty) == told_before
    (failed,) = (settings_of(faulty).work / "failed").iterdir()
    why = (failed / "why.txt").read_text()
    assert "fails for 25 of 25 rows" in why and why.splitlines()[1] in err
    page = (failed / "quality" / "index.html").read_text()
    assert "Not published: checks failed." in page and "fails for 25 of 25 rows" in page
    assert PERSON not in pq.read_table(failed / "tender_parties")["name"].to_pylist()
    (left_out,) = pq.read_table(failed / "left_out.parquet").to_pylist()
    assert (left_out["table_name"], left_out["rows_left_out"]) == ("tender_parties", 25)
    work = {path.name for path in settings_of(faulty).work.iterdir()}
    assert work == {"failed", "steps", "builds", "searched.msgpack", failed.name}
    versions = set(history(Record(settings_of(faulty).record))["data_version"].to_pylist())
    assert versions == set(before.build_names)


def test_rows_the_writer_refuses_are_reported_with_the_snapshot(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    settings = settings_of(sample_home(tmp_path_factory))
    record = open_record(settings)
    with Snapshot(tmp_path / "stage", record, current_loads(record), "20991231.1") as snapshot:
        snapshot.copy_record()
        _spoil(snapshot)
        report = audit(snapshot, measured_at=datetime.now(UTC))
    assert not report.ok
    words = report.problems
    assert "every row has a licence that permits serving it; fails for 1 row" in words
    assert "no two rows have the same" in words
    assert "licence_complete" in words and "key_unique" in words


def _spoil(snapshot: Snapshot) -> None:
    """Remove the licence from one row of the series, and duplicate a figure."""
    series = snapshot.read("FROM macro_series")
    position = series.schema.get_field_index("license_class")
    licences = [None, *series["license_class"].to_pylist()[1:]]
    spoiled = series.set_column(
        position, series.schema.field(position).with_nullable(True), pa.array(licences, pa.string())
    )
    pq.write_table(spoiled, snapshot.path("macro_series"))
    figures = snapshot.read("FROM fundamentals")
    pq.write_table(pa.concat_tables([figures, figures[:1]]), snapshot.path("fundamentals"))


@dataclass
class Story:
    """The steps in a home whose source suddenly shows nothing, and their results."""

    home: Path
    first: str
    answers: list[bytes]
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
    story.run("blocked", "publish")
    _killed(home)
    story.see("killed")
    story.run("confirmed", "publish", "--confirm-loss", WHY)
    story.run("back", "rollback")
    story.run("forward", "rollback", _published(story.steps["confirmed"][1]))
    story.answers_after["pinned"] = answers(home, first)
    story.run("again", "publish", SANKOFA_KEEP_BUILDS="1")
    story.run("too far back", "rollback")
    return story


def _killed(home: Path) -> None:
    """Kill the command as soon as it has begun to write the snapshot."""
    work = settings_of(home).work
    with sankofa(home, "publish", "--confirm-loss", WHY) as command:

        def is_staging() -> bool:
            assert command.poll() is None
            # What was refused is taken up again.
            return not any((work / "failed").iterdir())

        wait_until(is_staging, 200, every=0.01)
        command.send_signal(signal.SIGKILL)


def _published(out: str) -> str:
    return out.split("published as data_version ")[1].split()[0]


def test_a_source_that_suddenly_shows_nothing_waits_for_a_person(story: Story) -> None:
    status, _, err = story.steps["blocked"]

    assert status == 4
    assert re.search(r"records per fetch of listings fell from \d+ to 0", err)
    assert 'sankofa publish --confirm-loss "why"' in err
    assert story.states["blocked"] == story.states["before"]
    assert story.answers_after["blocked"] == story.answers


def test_a_killed_command_leaves_the_current_build_and_the_next_one_works(story: Story) -> None:
    assert story.states["killed"] == story.states["before"]
    assert story.answers_after["killed"] == story.answers
    assert story.steps["confirmed"][0] == 0
    work = {path.name for path in settings_of(story.home).work.iterdir()}
    version = _published(story.steps["confirmed"][1])
    assert work == {"failed", "steps", "builds", "searched.msgpack", version}
    assert not any((settings_of(story.home).work / "failed").iterdir())


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
    assert why["why"] == WHY and re.search(r"listings fell from \d+ to 0", why["losses"][0])
    assert story.answers_after["confirmed"] != story.answers


def test_a_publication_says_what_changed_and_where_it_is(story: Story) -> None:
    _, out, _ = story.steps["confirmed"]
    assert re.search(r"^AF-FUND +1 +0 +0 *$", out, re.MULTILINE)
    assert "AF-TENDER" not in out and "/changes\n" in out
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
