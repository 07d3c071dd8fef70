"""`sankofa withhold` and `release` take whatever the service shows, and say what they affect."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

from pipelines.builds import drop_builds
from pipelines.commands.doctor import held_back
from pipelines.commands.doctor_machine import CheckContext
from tests.helpers.damage import copy_home
from tests.helpers.installation import run_command, settings_of
from tests.helpers.publishing import publish
from tests.helpers.reads import releases
from tests.helpers.record_rows import entity_row, load, party_row, release_row
from tests.helpers.whole_tables import query
from warehouse.publish.builds import builds_at
from warehouse.record.erase import enter_erasure
from warehouse.record.landing import FetchedResponse, Landing
from warehouse.record.store import Record, open_record
from warehouse.record.tables import ENTITIES, TENDER_PARTIES, TENDER_RELEASES
from warehouse.serve.build import Mart
from warehouse.shared.errors import SankofaError, UnknownVersion
from warehouse.shared.settings import Settings

PERSON = "Nomsa Fictional Dlamini"
URL = "https://example.org/releases-{}.json"
IN_TEXTS = "Thandi Mokoena Fictional"


@dataclass(frozen=True)
class Quoted:
    """A release that names one person as its buyer, and what somebody quotes of it."""

    number: int
    person: str
    text: Callable[[Settings, "Quoted"], str]

    @property
    def ocid(self) -> str:
        return f"ocds-{self.number:04}"

    @property
    def party(self) -> str:
        return str(8000 + self.number)

    @property
    def url(self) -> str:
        return URL.format(self.number)

    def document(self, settings: Settings) -> str:
        (document,) = Landing(settings.landing).find(url=self.url)
        return document.sha256

    def party_id(self, settings: Settings) -> str:
        """Return the id that the service shows for the party that has the person's name."""
        rows = query(Mart(settings.marts).build(), "SELECT row FROM tender_parties")
        (row,) = [row for (row,) in rows if self.person.encode() in bytes(row)]
        return str(json.loads(row)["party_id"])

    def row_id(self, settings: Settings) -> str:
        record = open_record(settings)
        rows = record.query(
            "SELECT md5(concat_ws('/', figure, figure_check, sighting, available_at)) AS row_id "
            f"FROM {record.relation('tender_releases')} WHERE ocid = '{self.ocid}'"
        )
        return str(rows["row_id"][0])


# Each of another release and person: what withholds one withholds none of the others.
QUOTED: Mapping[str, Quoted] = {
    "the name": Quoted(1, PERSON, lambda _, __: "nomsa fictional DLAMINI"),
    "the party_id": Quoted(
        11, "Sipho Fictional Khumalo", lambda home, quoted: quoted.party_id(home)
    ),
    "the key of the party": Quoted(
        12, "Zanele Fictional Ndlovu", lambda _, quoted: f"ZA-ID:{quoted.party}"
    ),
    "the number of the party": Quoted(13, "Bongani Fictional Zulu", lambda _, quoted: quoted.party),
    "the ocid": Quoted(14, "Lindiwe Fictional Mthembu", lambda _, quoted: quoted.ocid),
    "the record_id of the release": Quoted(
        15, "Themba Fictional Nkosi", lambda home, quoted: quoted.row_id(home)
    ),
    "the source_ref": Quoted(
        16, "Ayanda Fictional Sithole", lambda _, quoted: f"{quoted.url}#/releases/0"
    ),
    "the address of the document": Quoted(
        17, "Mandla Fictional Cele", lambda _, quoted: quoted.url
    ),
    "the SHA-256 of the document": Quoted(
        18, "Busisiwe Fictional Ngcobo", lambda home, quoted: quoted.document(home)
    ),
    "the beginning of the SHA-256": Quoted(
        19, "Jabulani Fictional Buthelezi", lambda home, quoted: quoted.document(home)[:12]
    ),
}


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = settings_of(tmp_path_factory.mktemp("published") / "home")
    releases, parties = [], []
    for quoted in QUOTED.values():
        content = json.dumps({"releases": [quoted.number]}).encode()
        moment = datetime(2026, 1, 1, 6, tzinfo=UTC)
        response = FetchedResponse("test", quoted.url, content, "cc-by", moment)
        document, _ = Landing(home.landing).land(response)
        place = {"document": document.sha256, "source_ref": f"{quoted.url}#/releases/0"}
        body = json.dumps({"buyer": {"id": quoted.party, "name": quoted.person}})
        releases.append(release_row(quoted.number, release=body, **place))
        named = {"identifier_scheme": "ZA-ID", "identifier_id": quoted.party}
        key = {"party_key": f"ZA-ID:{quoted.party}"}
        parties.append(party_row(ocid=quoted.ocid, name=quoted.person, **named, **key, **place))
    text = json.dumps({"tender": {"title": "Report of Fictional, Thandi Mokoena"}})
    # The second was withdrawn, and has a name in its id alone.
    withdrawn = release_row(8, release=None, release_id="8-thandi-mokoena-fictional")
    record = Record(home.record)
    texts = [release_row(7, release=text), withdrawn]
    load(record, TENDER_RELEASES, *releases, release_row(2), *texts)
    load(record, TENDER_PARTIES, *parties, party_row(ocid="ocds-0002", name="Roads Ltd"))
    load(record, ENTITIES, entity_row(service_id="DCTEST1"))
    publish(record, home.marts, "notice")
    return home.home


@dataclass(frozen=True)
class Withheld:
    """A home after the command withheld what is quoted, and a publication: what it answered."""

    home: Path
    texts: Mapping[str, str]
    answers: Mapping[str, tuple[int, str]]


@pytest.fixture(scope="module")
def withheld(published: Path, tmp_path_factory: pytest.TempPathFactory) -> Withheld:
    home = copy_home(published, tmp_path_factory.mktemp("withheld") / "home")
    settings = settings_of(home)
    texts = {quoted: case.text(settings, case) for quoted, case in QUOTED.items()}
    texts["a name in texts"] = IN_TEXTS
    answers = {
        quoted: run_in(home, "withhold", text, "--why", "reported", "--yes")
        for quoted, text in texts.items()
    }
    publish(Record(settings.record), settings.marts, "notice")
    return Withheld(home, texts, answers)


@pytest.fixture
def here(published: Path, tmp_path: Path) -> Settings:
    """A home in which nothing is withheld."""
    return settings_of(copy_home(published, tmp_path / "home"))


@pytest.fixture
def since(withheld: Withheld, tmp_path: Path) -> Settings:
    """A home with two builds: what is quoted was withheld between them."""
    return settings_of(copy_home(withheld.home, tmp_path / "since"))


def run_in(home: Path, *arguments: str) -> tuple[int, str]:
    status, out, err = run_command(home, *arguments)
    return status, out + err


def run(settings: Settings, *arguments: str) -> tuple[int, str]:
    return run_in(settings.home, *arguments)


def served_names(settings: Settings) -> str:
    page = releases(Mart(settings.marts), "ZA")
    return b"".join(bytes(row) for row in page.rows).decode()


def test_what_the_service_shows_can_be_withheld_and_released(
    published: Path, withheld: Withheld, since: Settings
) -> None:
    before, after = served_names(settings_of(published)), served_names(since)
    for quoted, (status, said) in withheld.answers.items():
        assert (status, "tender_" in said, "withheld as" in said) == (0, True, True), quoted
    for quoted, case in QUOTED.items():
        assert (case.person in before, case.person in after) == (True, False), quoted
    assert "ocds-0002" in after
    listed = run(since, "withheld", "--json")[1]
    assert not [case.person for case in QUOTED.values() if case.person.split()[-1] in listed]
    for quoted, text in withheld.texts.items():
        status, said = run(since, "release", text, "--why", "it is a firm")
        assert (status, "released as" in said) == (0, True), quoted
    publish(Record(since.record), since.marts, "notice")
    released = served_names(since)
    assert [case.person for case in QUOTED.values() if case.person not in released] == []


def test_a_dry_run_shows_what_it_would_affect_and_changes_nothing(here: Settings) -> None:
    for text in (PERSON, "ocds-0014", QUOTED["the source_ref"].url):
        status, said = run(here, "withhold", text, "--why", "reported", "--dry-run")
        assert (status, "tender_" in said, "dry run" in said) == (0, True, True), text
    status, said = run(here, "withhold", IN_TEXTS, "--why", "reported", "--dry-run")
    assert (status, "Fictional, Thandi Mokoena" in said) == (0, True)
    assert run(here, "withheld")[1].strip() == "nothing is withheld"


def test_an_organisation_is_withheld_with_its_names(here: Settings) -> None:
    load(Record(here.record), TENDER_PARTIES, party_row(name="Ubuntu Fictional Mining Ltd"))
    status, said = run(here, "withhold", "DCTEST1", "--why", "reported", "--json", "--yes")
    assert (status, json.loads(said)["rows"]) == (0, {"entities": 1, "tender_parties": 1})
    assert len(json.loads(said)["withheld"]) == 3


def test_what_is_nowhere_is_refused_and_the_message_says_what_was_looked_for(
    here: Settings,
) -> None:
    status, said = run(here, "withhold", "Nobody At All", "--why", "reported")
    assert status == 1
    assert "the name of a party" in said
    assert "SHA-256 of a document" in said
    status, said = run(here, "withhold", "Nobody At All", "--why", "reported", "--in-advance")
    assert (status, "withheld as" in said) == (0, True)
    status, said = run(here, "release", "nobody at all", "--why", "a mistake")
    assert (status, "released as" in said) == (0, True)
    status, said = run(here, "release", "Nobody At All", "--why", "twice")
    assert (status, "is not withheld" in said) == (1, True)


def test_a_name_that_is_only_in_texts_is_withheld_there(since: Settings) -> None:
    assert "Report of [withheld]" in served_names(since)


def test_a_name_is_withheld_only_after_somebody_has_seen_what_it_covers(here: Settings) -> None:
    firm = "Nomsa Fictional Dlamini & Sons (Pty) Ltd"
    load(Record(here.record), TENDER_PARTIES, party_row(ocid="ocds-0009", name=firm))
    status, said = run(here, "withhold", PERSON, "--why", "reported")
    assert (status, firm in said, "--yes" in said) == (1, True, True)
    assert run(here, "withheld")[1].strip() == "nothing is withheld"


def test_the_reason_may_not_repeat_the_name(here: Settings) -> None:
    status, said = run(here, "withhold", PERSON, "--why", f"{PERSON} is a person")
    assert (status, "without the name" in said) == (1, True)


def test_withholding_twice_changes_nothing(since: Settings) -> None:
    entries = Record(since.record).table("withheld").count()
    status, said = run(since, "withhold", PERSON, "--why", "reported again", "--yes")
    assert (status, "withheld already" in said) == (0, True)
    assert Record(since.record).table("withheld").count() == entries


def test_a_tombstone_is_released_by_its_id(since: Settings) -> None:
    entry, *others = json.loads(run(since, "withheld", "--json")[1])
    assert run(since, "release", entry["withheld_id"][:12], "--why", "a firm")[0] == 0
    listed = json.loads(run(since, "withheld", "--all", "--json")[1])
    assert [entry["why"] for entry in listed if entry["released"]] == ["a firm"]
    assert [entry for entry in listed if not entry["released"]] == others


def test_dropped_builds_are_gone_with_files_and_pins_say_so(since: Settings) -> None:
    older, newer = builds_at(since.marts).names()
    (Path(since.exports) / older).mkdir(parents=True)
    (Path(since.exports) / older / "manifest.json").write_text("{}")
    assert run(since, "builds", "drop", "--json", "--all-others") == (
        0,
        json.dumps({"dropped": [older]}, indent=2) + "\n",
    )
    assert builds_at(since.marts).names() == [newer]
    assert not list(Path(since.exports).iterdir())
    with pytest.raises(UnknownVersion, match="was withdrawn: its publisher removed it on 2"):
        Mart(since.marts).at(older).build()
    assert run(since, "builds", "drop", "--all-others")[1].strip() == "there is no other build"


def test_readers_are_not_rolled_back_to_a_build_with_what_was_withheld_since(
    since: Settings,
) -> None:
    older, newer = builds_at(since.marts).names()
    status, said = run(since, "rollback")
    assert (status, f"{older} was made before" in said) == (1, True)
    assert "`sankofa publish`" in said
    assert builds_at(since.marts).current() == newer
    assert run(since, "rollback", "--even-with-withheld")[0] == 0
    assert builds_at(since.marts).current() == older
    # The newer build follows what is withheld.
    assert run(since, "rollback", newer)[0] == 0


def test_every_action_is_in_the_trail_with_its_reason_and_without_a_name(since: Settings) -> None:
    older, newer = builds_at(since.marts).names()
    run(since, "withhold", PERSON, "--why", "dry", "--yes", "--dry-run")
    assert run(since, "release", PERSON, "--why", f"it is {PERSON}")[0] == 1
    run(since, "release", PERSON, "--why", "a mistake")
    run(since, "rollback", "20000101.1", "--why", "a typo")
    run(since, "rollback", older, "--why", "bad data", "--even-with-withheld")
    run(since, "builds", "drop", newer, "--why", "not needed")

    first, *others = json.loads(run(since, "actions", "--json")[1])
    rows = [first, *others[len(QUOTED) :]]

    listed = json.loads(run(since, "withheld", "--all", "--json")[1])
    (withheld,) = [entry["withheld_id"] for entry in listed if entry["released"]]
    assert {row["kind"] for row in others[: len(QUOTED)]} == {"withhold"}
    assert [(row["kind"], row["what"], row["why"]) for row in rows] == [
        ("withhold", f"party {withheld[:12]}", "reported"),
        ("release", f"party {withheld[:12]}", "a mistake"),
        ("rollback", f"from {newer} to 20000101.1", "a typo"),
        ("rollback", f"from {newer} to {older}", "bad data"),
        ("builds drop", newer, "not needed"),
    ]
    assert [row["failure"] is not None for row in rows] == [False, False, True, False, False]
    assert PERSON not in str(rows)


def test_the_build_that_is_served_and_unknown_ones_are_not_dropped(here: Settings) -> None:
    current = str(builds_at(here.marts).current())
    with pytest.raises(SankofaError, match="is being served"):
        drop_builds(here, [current])
    with pytest.raises(UnknownVersion, match="there is no build"):
        drop_builds(here, ["20000101.1"])
    assert run(here, "builds", "drop")[0] == 2


def test_doctor_says_when_a_build_contains_what_is_withheld_or_erased(
    here: Settings, since: Settings
) -> None:
    context = CheckContext(here)
    assert list(held_back(context)) == []
    run(here, "withhold", PERSON, "--why", "reported", "--yes")
    (finding,) = held_back(context)
    assert (finding.state, finding.do) == ("fault", "`sankofa publish`")
    published = CheckContext(since)
    (finding,) = held_back(published)
    assert (finding.state, "1 older builds" in finding.says) == ("note", True)
    run(since, "builds", "drop", "--all-others")
    assert list(held_back(published)) == []
    document = QUOTED["the name"].document(since)
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    enter_erasure(Record(since.record), document, "test", moment, "a request", "op")
    assert [finding.subject for finding in held_back(published)] == ["erased", "withheld"]
